// Package search finds text in the files below a directory: literal or RE2,
// within lines or across them, with gitignore rules honoured and binary files
// passed over, in parallel, in sorted order and in bounded memory.
//
// [Compile] makes a [Pattern] of a [Query], and [Run] applies it to a tree
// seen through package walk, so that it works over any filesystem provider.
//
// It is fast by looking at as few bytes as it can. A literal is found by the
// rarest of its bytes. An expression is searched for a text that every match
// must contain; where there is none, an automaton built while searching says
// which lines match; and package regexp only looks at the lines that are
// reported. Files are never split into lines before something is found.
package search

import (
	"context"
	"time"

	"github.com/bridle-go/bridle/plugins/fileops/internal/gitignore"
)

// Mode says what is wanted of each matching file.
type Mode int

const (
	// Content wants the matches.
	Content Mode = iota
	// Files wants the paths of files with matches, and how many.
	Files
	// Count wants the number of matches in each file.
	Count
)

// DefaultScannedFiles and DefaultScannedBytes are what a search looks at most
// where nothing else is said.
const (
	DefaultScannedFiles = 50_000
	DefaultScannedBytes = 256 << 20
)

// Options of [Run]. Zero limits mean the defaults.
type Options struct {
	Mode Mode
	// Context is the number of lines shown before and after a match.
	Context int
	// Include and Types, if not nil, keep the files they match; both must.
	// Exclude drops what it matches. Paths are relative to the root of the
	// search.
	Include, Types, Exclude *gitignore.Globs
	// Skip, if not nil, drops more entries by name.
	Skip func(name string) bool
	// Workers is the number of files searched at a time; 2 if 0.
	Workers int

	// MaxResults bounds the matches of Content mode (default 200), MaxFiles
	// the files listed in the other modes (default 500).
	MaxResults, MaxFiles int
	// MaxScannedFiles bounds the files opened (default 50 000) and
	// MaxScannedBytes the bytes searched (default 256 MiB). A single file is
	// searched up to the latter.
	MaxScannedFiles int
	MaxScannedBytes int64
	// Timeout bounds the time; 0 is no bound.
	Timeout time.Duration

	// Progress, if not nil, is called now and then from one goroutine with
	// the files searched so far.
	Progress func(files int)
}

// Reason says which limit ended a search early.
type Reason string

// The limits.
const (
	Complete        Reason = ""
	HitMaxResults   Reason = "max_results"
	HitMaxFiles     Reason = "max_files"
	HitScannedFiles Reason = "max_scanned_files"
	HitScannedBytes Reason = "max_scanned_bytes"
	HitTimeout      Reason = "timeout_ms"
)

// Result is what a search found. Everything is in byte order of paths, and
// what a limit cut off comes after what is there.
type Result struct {
	Matched  []File
	Searched int // files whose content was searched
	Bytes    int64
	Total    int // matches in Matched, or in all files where MaxFiles cut it
	// MatchedFiles is the number of files with matches.
	MatchedFiles int
	Reason       Reason
	// Failed counts what could not be read, with the first few of them.
	Failed int
	Errors []PathError
}

// File is a file with matches.
type File struct {
	Path    string // relative to the root of the search
	Count   int    // matches in the file; in Content mode those returned
	Matches []Match
}

// PathError is an entry that could not be read.
type PathError struct {
	Path string
	Err  error
}

// maxErrors is the number of errors that are kept of those that are counted.
const maxErrors = 5

func (o Options) withDefaults() Options {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.MaxResults, 200)
	def(&o.MaxFiles, 500)
	def(&o.MaxScannedFiles, DefaultScannedFiles)
	def(&o.Workers, 2)
	if o.MaxScannedBytes == 0 {
		o.MaxScannedBytes = DefaultScannedBytes
	}
	return o
}

// ahead is the number of jobs that may wait for those before them. More of
// them keep the workers busy where directories are small; each may hold as
// many matches as are wanted in all.
func (o Options) ahead() int {
	jobs := 16
	if o.Mode == Content {
		jobs = min(16, max(4, 16*200/o.MaxResults))
	}
	return jobs * o.Workers
}

// Run searches below root. On cancellation of ctx it returns its error; a
// timeout of its own is not an error but a [Reason]. It returns after all its
// goroutines have.
func Run(ctx context.Context, root Root, p *Pattern, o Options) (Result, error) {
	o = o.withDefaults()
	timed, release := ctx, func() {}
	if o.Timeout > 0 {
		timed, release = context.WithTimeout(ctx, o.Timeout)
	}
	defer release()
	run, cancel := context.WithCancel(timed)
	defer cancel()
	ahead := o.ahead()
	queue := make(chan *job, ahead)
	work := make(chan *job, ahead)
	done := make(chan struct{})
	big := make(chan struct{}, 1)
	go func() {
		defer close(done)
		w := walker{ctx: run, o: &o, queue: queue, work: work}
		w.run(root)
		close(work)
		close(queue)
	}()
	workers := make(chan struct{})
	for range o.Workers {
		go func() {
			defer func() { workers <- struct{}{} }()
			s := newScanner(p, o, big)
			for j := range work {
				j.search(run, s, o)
				close(j.done)
			}
		}()
	}
	c := collector{o: o}
	for j := range queue {
		<-j.done
		if c.full || c.torn {
			continue
		}
		if c.add(j); c.full {
			cancel()
		}
	}
	for range o.Workers {
		<-workers
	}
	<-done
	if !c.full && run.Err() != nil {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		c.r.Reason = HitTimeout
	}
	return c.r, nil
}
