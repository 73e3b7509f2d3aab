package search

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk"
)

// Root is where a search begins.
type Root struct {
	// Dir is the directory, open. Run does not close it.
	Dir walk.Dir
	// Rules are the ignore rules in force in Dir, including those of its own
	// files; nil to read the latter.
	Rules *gitignore.Dir
	// File, if not empty, restricts the search to this file of Dir, which is
	// then searched whatever the rules and patterns say.
	File string
}

// A job is a run of files of one directory, searched by one worker.
type job struct {
	dir   *sharedDir
	path  string // of the directory
	names []string
	found []found
	errs  []PathError // of the walk, before these files
	done  chan struct{}
}

// jobFiles bounds the files of a job: enough to make the hand-over cheap,
// few enough to bound what is searched beyond a limit.
const jobFiles = 24

// maxDepth is how deep the walk goes. Each level holds a directory open.
const maxDepth = 400

var errTooDeep = errors.New("nested too deep")

// sharedDir closes a directory when the last of its users is done.
type sharedDir struct {
	walk.Dir
	users atomic.Int32
	keep  bool
}

func share(d walk.Dir, keep bool) *sharedDir {
	s := &sharedDir{Dir: d, keep: keep}
	s.users.Store(1)
	return s
}

func (s *sharedDir) release() {
	if s.users.Add(-1) == 0 && !s.keep {
		s.Close()
	}
}

// walker makes the jobs in the order of paths. The queue tells the collector
// in which order to take them.
type walker struct {
	ctx         context.Context
	o           *Options
	queue, work chan<- *job
	errs        []PathError
	files       int
}

func (w *walker) run(root Root) {
	d := share(root.Dir, true)
	defer d.release()
	if root.File != "" {
		w.send(d, "", []string{root.File})
		return
	}
	entries, err := d.Entries(w.ctx)
	if err != nil {
		w.errs = append(w.errs, PathError{"", err})
	} else {
		rules := root.Rules
		if rules == nil {
			rules = walk.RootRules(w.ctx, d, entries)
		}
		w.dir(d, "", rules, entries, 0)
	}
	if len(w.errs) > 0 {
		w.send(d, "", nil)
	}
}

// dir walks one directory and reports whether to go on.
func (w *walker) dir(d *sharedDir, path string, rules *gitignore.Dir, entries []walk.Entry, depth int) bool {
	walk.SortByPath(entries)
	var names []string
	flush := func() bool {
		ok := len(names) == 0 || w.send(d, path, names)
		names = nil
		return ok
	}
	for _, e := range entries {
		if e.Type != vfs.File && e.Type != vfs.Directory || e.Hidden() || w.o.Skip != nil && w.o.Skip(e.Name) {
			continue
		}
		if rules.Ignored(e.Name, e.IsDir()) {
			continue
		}
		var full string
		if w.o.Include != nil || w.o.Types != nil || w.o.Exclude != nil || e.IsDir() {
			full = walk.Join(path, e.Name)
		}
		if w.o.Exclude.Match(full, e.IsDir()) {
			continue
		}
		if !e.IsDir() {
			if w.o.Include != nil && !w.o.Include.Match(full, false) || w.o.Types != nil && !w.o.Types.Match(full, false) {
				continue
			}
			if names = append(names, e.Name); len(names) == jobFiles && !flush() {
				return false
			}
			continue
		}
		if !flush() || !w.sub(d, full, e.Name, rules, depth) {
			return false
		}
	}
	return flush()
}

func (w *walker) sub(d *sharedDir, path, name string, rules *gitignore.Dir, depth int) bool {
	if w.ctx.Err() != nil {
		return false
	}
	if depth == maxDepth {
		w.errs = append(w.errs, PathError{path, errTooDeep})
		return true
	}
	child, err := d.OpenDir(w.ctx, name)
	if err != nil {
		w.errs = append(w.errs, PathError{path, err})
		return true
	}
	shared := share(child, false)
	defer shared.release()
	entries, err := child.Entries(w.ctx)
	if err != nil {
		w.errs = append(w.errs, PathError{path, err})
		return true
	}
	return w.dir(shared, path, walk.EnterRules(w.ctx, rules, name, child, entries), entries, depth+1)
}

// send hands a job over. It reports false once the search is to stop.
func (w *walker) send(d *sharedDir, path string, names []string) bool {
	d.users.Add(1)
	j := &job{dir: d, path: path, names: names, errs: w.errs, done: make(chan struct{})}
	w.errs = nil
	select {
	case w.queue <- j:
	case <-w.ctx.Done():
		d.release()
		return false
	}
	// The workers take jobs until work is closed, so this cannot block for
	// good, and every job in the queue is done at some time.
	w.work <- j
	w.files += len(names)
	// One file more than the limit is enough to know that it was hit.
	return w.files <= w.o.MaxScannedFiles
}

func (j *job) search(ctx context.Context, s *scanner, o Options) {
	defer j.dir.release()
	want := o.MaxResults + 1
	j.found = make([]found, 0, len(j.names))
	for _, name := range j.names {
		if ctx.Err() != nil {
			return
		}
		f := j.file(ctx, s, name, want)
		j.found = append(j.found, f)
		if s.content {
			if want -= len(f.matches); want <= 0 {
				return
			}
		}
	}
}

func (j *job) file(ctx context.Context, s *scanner, name string, want int) found {
	data, rest, err := j.dir.ReadFile(ctx, name, s.buf)
	if err != nil {
		return found{err: err}
	}
	if rest == nil {
		return s.file(ctx, data, nil, want)
	}
	defer rest.Close()
	return s.file(ctx, data, io.Reader(rest), want)
}

// collector puts the results of jobs together in order and applies the
// limits, so that what is returned does not depend on timing.
type collector struct {
	o    Options
	r    Result
	full bool // a limit was hit
	torn bool // the end of the run cut a job short: what follows has a gap
	tick int
}

func (c *collector) add(j *job) {
	for _, e := range j.errs {
		c.fail(e)
	}
	for i, f := range j.found {
		path := walk.Join(j.path, j.names[i])
		if f.err != nil && (errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded)) {
			// The run is over: what this file has is not all it has.
			c.torn = true
			return
		}
		if c.r.Searched >= c.o.MaxScannedFiles {
			c.stop(HitScannedFiles)
			return
		}
		if f.err != nil {
			c.fail(PathError{path, f.err})
			continue
		}
		if f.binary {
			continue
		}
		if c.r.Bytes > 0 && c.r.Bytes+f.bytes > c.o.MaxScannedBytes {
			c.stop(HitScannedBytes)
			return
		}
		c.r.Searched++
		c.r.Bytes += f.bytes
		if f.count > 0 && !c.file(path, f) {
			return
		}
		if f.partial {
			c.stop(HitScannedBytes)
			return
		}
	}
	c.torn = len(j.found) < len(j.names)
	if c.tick++; c.o.Progress != nil && c.tick%16 == 0 {
		c.o.Progress(c.r.Searched)
	}
}

// file takes in a file with matches and reports whether to go on.
func (c *collector) file(path string, f found) bool {
	if c.o.Mode == Content {
		if room := c.o.MaxResults - c.r.Total; len(f.matches) > room {
			f.matches, f.count = f.matches[:room], room
			c.stop(HitMaxResults)
		}
		if f.count == 0 {
			return false
		}
	} else if len(c.r.Matched) == c.o.MaxFiles {
		if c.stop(HitMaxFiles); c.o.Mode == Files {
			return false
		}
		// Counting goes on when the list is full.
		c.full = false
		c.r.MatchedFiles++
		c.r.Total += f.count
		return true
	}
	c.r.MatchedFiles++
	c.r.Total += f.count
	c.r.Matched = append(c.r.Matched, File{Path: path, Count: f.count, Matches: f.matches})
	return !c.full
}

func (c *collector) stop(r Reason) {
	c.full = true
	c.r.Reason = r
}

func (c *collector) fail(e PathError) {
	c.r.Failed++
	if len(c.r.Errors) < maxErrors {
		c.r.Errors = append(c.r.Errors, e)
	}
}
