package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// Recovery tells of an interrupted call that was finished.
type Recovery struct {
	ID        string    `json:"id"`
	Operation string    `json:"operation"`
	Began     time.Time `json:"began"`
	// Completed tells that everything had been done; otherwise it was undone.
	Completed bool `json:"completed"`
	// Undone are the paths that were put back, and Problems what could not be.
	Undone   []string `json:"undone,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Doubt says why nothing was done: what was found need not be what an
	// operation has left.
	Doubt string `json:"doubt,omitempty"`
}

// String tells it in one line.
func (r Recovery) String() string {
	what := "was undone"
	switch {
	case r.Doubt != "":
		return r.Doubt
	case r.Completed:
		what = "was complete and has been cleaned up"
	case len(r.Problems) > 0:
		what = "was undone as far as possible: " + strings.Join(r.Problems, "; ")
	}
	return fmt.Sprintf("%s of %s was interrupted; it %s", r.Operation, r.Began.Format(time.RFC3339), what)
}

// TypeRecovered is the type of the event that logs a recovery. It is
// ignorable.
const TypeRecovered = "fileops/recovered"

// open finishes what was interrupted in the root of a call, the first time
// that it is used.
func (e *Engine) open(ctx context.Context, r *run) ([]Recovery, error) {
	key := rootKey{r.fs, r.base.Key}
	e.mu.Lock()
	done := e.opened[key]
	e.mu.Unlock()
	if done {
		return nil, nil
	}
	found, err := r.recover(ctx)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.opened[key] = true
	e.mu.Unlock()
	return found, nil
}

// Recover finishes the calls that were interrupted in the root that calls of
// this session have: all their changes were made, or those that were are taken
// back. Operations do it themselves the first time they see a root.
func (e *Engine) Recover(ctx context.Context, fs vfs.FileSystem, call *tool.Call) ([]Recovery, error) {
	r, err := e.start(ctx, fs, call, "recover", true)
	if err != nil {
		return nil, err
	}
	return e.open(ctx, r)
}

func (r *run) recover(ctx context.Context) ([]Recovery, error) {
	dir, err := r.journalDir(ctx)
	if err != nil {
		return nil, err
	}
	names, err := r.store().List(ctx, dir)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errs.CodeOf(err) == errs.NotDirectory {
			return nil, nil
		}
		return nil, err
	}
	var found []Recovery
	for _, name := range names {
		if !strings.HasPrefix(name, journalPrefix) || !strings.HasSuffix(name, journalSuffix) {
			continue
		}
		rec, err := r.finishJournal(ctx, dir, name)
		if err != nil {
			return found, err
		}
		if rec != nil {
			found = append(found, *rec)
		}
	}
	return found, nil
}

// finishJournal takes a journal over, unless its owner is at work.
func (r *run) finishJournal(ctx context.Context, dir, name string) (*Recovery, error) {
	j := &journal{dir: dir, path: path.Join(dir, name), opts: r.store().options()}
	var err error
	if j.t, err = r.fs.Resolve(ctx, j.path, vfs.ResolveOptions{}); err != nil {
		return nil, err
	}
	b, err := r.fs.ReadBytes(ctx, j.t, maxJournal)
	if errors.Is(err, errs.NotFound) {
		return nil, nil // somebody else has finished it
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(b.Data, &j.doc) != nil || j.doc.Version != 1 || journalPrefix+j.doc.ID+journalSuffix != name {
		return nil, nil // not of this form: not ours to judge
	}
	info, err := r.fs.Stat(ctx, j.t)
	if err != nil {
		return nil, err
	}
	if j.doc.Owner.alive(j.doc.ID, r.cfg.Now().Sub(info.Modified)) {
		return nil, nil
	}
	if root, err := r.processPath(r.base); err != nil || r.cfg.BackupRoot != "" && j.doc.Root != "" && j.doc.Root != root {
		return nil, err // in the folder of many roots it waits for its own
	}
	if why := r.doubt(ctx, j); why != "" {
		return &Recovery{ID: j.doc.ID, Operation: j.doc.Operation, Began: j.doc.Created, Doubt: fmt.Sprintf(
			"%s looks like the journal of an interrupted %s, but was left alone: %s; remove the file if nobody misses what it tells of",
			vfs.DisplayName(j.path), vfs.DisplayName(j.doc.Operation), why)}, nil
	}
	live.Store(j.doc.ID, true)
	defer live.Delete(j.doc.ID)
	if mine, err := r.claim(ctx, j, b.Version); err != nil || !mine {
		return nil, err
	}
	r.sweepRemains(ctx, j)
	rec := &Recovery{ID: j.doc.ID, Operation: j.doc.Operation, Began: j.doc.Created, Completed: j.doc.Complete}
	if !j.doc.Complete {
		if r.root.Key == "" && len(j.doc.Witnesses) == 0 {
			// All of it is below the root now, and nothing that is swapped
			// meanwhile may lead out of it.
			defer func() { r.root = vfs.Target{} }()
			r.root = r.base
		}
		if !r.undoInterrupted(ctx, j, rec) {
			r.logRecovery(*rec)
			return rec, nil
		}
	}
	if err := r.close(ctx, j); err != nil {
		rec.Problems = append(rec.Problems, err.Error())
	}
	r.logRecovery(*rec)
	return rec, nil
}

// claim makes this process the owner of a journal that still has the version
// that was read. Of several who find it, one takes it over.
func (r *run) claim(ctx context.Context, j *journal, version vfs.Version) (mine bool, err error) {
	j.doc.Owner = self()
	j.written = j.doc
	j.written.Records, j.written.Scratch = slices.Clone(j.doc.Records), slices.Clone(j.doc.Scratch)
	opts := j.opts
	opts.Guard = vfs.ReplaceIfVersion(version)
	data, err := json.Marshal(j.doc)
	if err != nil {
		return false, err
	}
	_, err = r.put(ctx, j.t, data, vfs.Attr{}, opts)
	if errs.CodeOf(err) == errs.StaleVersion {
		return false, nil
	}
	return err == nil, err
}

// undoInterrupted takes back the changes of a journal that its owner did not
// complete, and tells rec of each. It reports whether none is left for later.
func (r *run) undoInterrupted(ctx context.Context, j *journal, rec *Recovery) (finished bool) {
	r.journal = j
	undone := map[int]bool{}
	finished = r.takeBack(ctx, j, func(entry int, u Record, err error) {
		if err != nil {
			rec.Problems = append(rec.Problems, err.Error())
			return
		}
		undone[entry] = true
		rec.Undone = append(rec.Undone, r.rel(u.Path))
	})
	r.journal = nil
	r.logUndone(j.doc.ID, undone)
	return finished
}

// sweepRemains removes what the provider of the dead process had staged beside
// the paths of the journal. What stays is small, and swept by the next change
// of the path.
func (r *run) sweepRemains(ctx context.Context, j *journal) {
	for _, rec := range j.doc.Records {
		for _, p := range []string{rec.Path, rec.From} {
			if p == "" {
				continue
			}
			if t, err := r.fs.Resolve(ctx, p, vfs.ResolveOptions{}); err == nil {
				_ = vfs.Sweep(ctx, r.fs, t, r.options(vfs.Guard{}))
			}
		}
	}
}

// takeBack undoes the records of a journal, newest first, and strikes each out
// once it is dealt with. It calls done with the number of each, from 1. Where
// the provider fails, twice, it stops, and returns false: what is left stays in
// the journal for when the root is opened again, and no older change can be
// judged before.
func (r *run) takeBack(ctx context.Context, j *journal, done func(entry int, rec Record, err error)) (finished bool) {
	for len(j.doc.Records) > 0 {
		n := len(j.doc.Records)
		u := j.doc.Records[n-1]
		know := r.knowing(ctx, u, j.doc.Session)
		err := r.undo(ctx, u, false)
		if err != nil && !final(err) {
			err = r.undo(ctx, u, false)
		}
		switch {
		case err == nil:
			know.tell(ctx)
		case final(err):
			// What was put out of sight may be all that is left.
			j.keepAside(u.Gone)
			j.keepAside(u.Aside)
			err = errors.New(err.Error() + whereKept(u))
		default:
			err = errors.New(err.Error() + whereKept(u) + "; it is taken back when the workspace is opened again")
			for ; n > 0; n-- {
				done(n, j.doc.Records[n-1], err)
			}
			return false
		}
		done(n, u, err)
		j.doc.Records = j.doc.Records[:n-1]
		if len(j.doc.Records) == 0 {
			j.doc.Complete = true
		}
		// A record that stays in the file is undone already: that is noticed.
		_ = r.save(ctx, j)
	}
	return true
}

// final reports whether a change cannot be taken back later either.
func final(err error) bool {
	var f *fault.Fault
	return errors.Is(err, errConflict) || errors.Is(err, errLost) ||
		errors.As(err, &f) && (f.Kind == fault.BackupCorrupt || f.Kind == fault.BackupNotFound)
}

// whereKept says where what was there before a change is to be found.
func whereKept(u Record) string {
	switch {
	case u.Before.BackupID != "":
		return fmt.Sprintf(" (what was there before is backup %s in %s)", u.Before.BackupID, vfs.DisplayName(u.Before.BackupDir))
	case u.Aside != "":
		return fmt.Sprintf(" (what was there before may be in %s)", vfs.DisplayName(u.Aside))
	}
	return ""
}

func (j *journal) keepAside(aside string) {
	kept := j.doc.Scratch[:0]
	for _, p := range j.doc.Scratch {
		if p != aside {
			kept = append(kept, p)
		}
	}
	j.doc.Scratch = kept
}

// logUndone tells which changes that a session has in its log were taken back
// when their journal was finished. Only the session itself can tell.
func (r *run) logUndone(journal string, entries map[int]bool) {
	s := r.call.Session()
	if s == nil || len(entries) == 0 {
		return
	}
	var ids []string
	for e, err := range s.Events() {
		if err != nil {
			return // the log cannot be read, and says so itself
		}
		var l Logged
		if e.Type == TypeReceipt && e.Decode(&l) == nil && l.Journal == journal && entries[l.Entry] {
			ids = append(ids, l.Receipt.ReceiptID)
		}
	}
	r.logRolledBack(ids)
}

func (r *run) logRecovery(rec Recovery) {
	s := r.call.Session()
	if s == nil {
		return
	}
	if data, err := json.Marshal(rec); err == nil {
		// The outcome tells it too; a log that takes no more says so itself.
		_, _ = s.Append(session.Event{Type: TypeRecovered, Data: data, Ignorable: true})
	}
}
