package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
)

const backupFolder = backup.Folder

const (
	journalPrefix = "journal-"
	journalSuffix = ".json"
	// maxJournal bounds a journal that is read: a hundred changes take some
	// 100 KiB.
	maxJournal = 16 << 20
)

// A journal says what is being changed by a call that takes several steps, so
// that what a killed process leaves half done can be finished. It is one file
// in the backup folder of the root, which is written anew, durably, before
// each step.
type journal struct {
	t    vfs.Target
	opts vfs.Options
	doc  journalDoc
	dir  string
	path string // physical
	made bool   // the folder is new
	// written is the document as the file has it.
	written journalDoc
	// witnessed are the lines that the witnesses have.
	witnessed []string
}

// journalDoc is the file's form.
type journalDoc struct {
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Operation string    `json:"operation"`
	Owner     owner     `json:"owner"`
	Created   time.Time `json:"created"`
	// Root is the root that the journal is of.
	Root string `json:"root,omitempty"`
	// Session is the session whose call it is; "" for none.
	Session string `json:"session,omitempty"`
	// Records are the changes that were begun, in order.
	Records []Record `json:"records"`
	// Scratch are paths that are of no use once the call is over.
	Scratch []string `json:"scratch,omitempty"`
	// Witnesses are the files that vouch for the journal.
	Witnesses []string `json:"witnesses,omitempty"`
	// Complete tells that all changes are made, and only scratch is left.
	Complete bool `json:"complete,omitempty"`
}

// owner is the process that writes a journal.
type owner struct {
	PID  int    `json:"pid"`
	Host string `json:"host"`
	// Started tells processes of one number apart; "" where it is not known.
	Started string `json:"started,omitempty"`
}

func self() owner {
	host, _ := os.Hostname() // "" is no host's name, so nobody takes the journal over
	return owner{PID: os.Getpid(), Host: host, Started: startOf(os.Getpid())}
}

// live are the journals of this process.
var live sync.Map

// foreignRest is how long a journal that another machine wrote must have rested
// before it counts as abandoned: of its process nothing can be known, and it is
// written before each step. A container that was replaced is such a machine.
const foreignRest = time.Hour

// alive reports whether the owner of a journal, last written a time ago, may
// still be at work.
func (o owner) alive(id string, rested time.Duration) bool {
	me := self()
	if o.Host != me.Host {
		return rested < foreignRest
	}
	if o.PID == me.PID && o.Started == me.Started {
		_, running := live.Load(id)
		return running
	}
	return running(o.PID) && (o.Started == "" || startOf(o.PID) == o.Started)
}

// journalDir is the backup folder of the root.
func (r *run) journalDir(ctx context.Context) (string, error) {
	if r.cfg.BackupRoot != "" {
		return r.physicalPath(ctx, r.cfg.BackupRoot)
	}
	base, err := r.processPath(r.base)
	return path.Join(base, backupFolder), err
}

// begin starts a journal; the caller ends it.
func (r *run) begin(ctx context.Context) (*journal, error) {
	dir, err := r.journalDir(ctx)
	if err != nil {
		return nil, err
	}
	id, err := r.drawID("journal")
	if err != nil {
		return nil, err
	}
	root, err := r.processPath(r.base)
	if err != nil {
		return nil, err
	}
	s := r.store()
	j := &journal{dir: dir, path: path.Join(dir, journalPrefix+id+journalSuffix), opts: s.options(),
		doc: journalDoc{Version: 1, ID: id, Operation: r.op, Owner: self(), Created: r.clock.time(), Root: root, Session: idOf(r.call.Session())}}
	if j.t, err = r.fs.Resolve(ctx, j.path, vfs.ResolveOptions{}); err != nil {
		return nil, err
	}
	if _, err := s.List(ctx, dir); err != nil {
		j.made = true
	}
	if r.cfg.BackupRoot == "" {
		if err := s.Create(ctx, path.Join(dir, ".gitignore"), []byte("*\n"), 0o644); err != nil && !errors.Is(err, os.ErrExist) {
			if j.made {
				r.dropFolder(ctx, dir, r.cfg.BackupRoot)
			}
			return nil, err
		}
	}
	j.written = j.doc
	live.Store(id, true)
	if err := r.save(ctx, j); err != nil {
		return nil, errors.Join(err, r.end(ctx, j))
	}
	return j, nil
}

func (r *run) save(ctx context.Context, j *journal) error {
	if err := r.witness(ctx, j); err != nil {
		return err
	}
	return r.writeDown(ctx, j, j.doc)
}

// writeDown replaces the file.
func (r *run) writeDown(ctx context.Context, j *journal, doc journalDoc) error {
	data, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	if _, err = r.put(ctx, j.t, append(data, '\n'), vfs.Attr{}, j.opts); err != nil {
		return fmt.Errorf("the journal could not be written: %w", err)
	}
	j.written = doc
	j.written.Records, j.written.Scratch = slices.Clone(doc.Records), slices.Clone(doc.Scratch)
	return nil
}

// end removes a journal whose call is over. Where it cannot, the journal is
// found when the root is opened again, and does what it says.
func (r *run) end(ctx context.Context, j *journal) error {
	ctx = context.WithoutCancel(ctx)
	defer live.Delete(j.doc.ID)
	r.dismiss(ctx, j)
	err := vfs.Remove(ctx, r.fs, j.t, j.opts)
	if err != nil && !errors.Is(err, errs.NotFound) {
		err = vfs.Remove(ctx, r.fs, j.t, j.opts)
	}
	if err != nil && !errors.Is(err, errs.NotFound) {
		r.forget()
		return fmt.Errorf("the journal %s is left over: %w", vfs.DisplayName(j.path), err)
	}
	if j.made {
		r.dropFolder(ctx, j.dir, r.cfg.BackupRoot)
	}
	return nil
}

// leave gives a journal up that is not at its end, for the next call to go on
// with.
func (r *run) leave(j *journal) {
	live.Delete(j.doc.ID)
	r.forget()
}

// close removes the scratch of a call that is over, and its journal. Where
// scratch stays, so does the journal, for the next call to try again.
func (r *run) close(ctx context.Context, j *journal) error {
	err := r.clean(ctx, j)
	if err != nil {
		err = r.clean(ctx, j)
	}
	if err != nil {
		j.doc.Complete, j.doc.Records = true, nil
		// What the file says otherwise is no less true.
		_ = r.save(context.WithoutCancel(ctx), j)
		r.leave(j)
		return err
	}
	// Left over it has nothing to do.
	_ = r.end(ctx, j)
	return nil
}

// forget has the next call look for journals again.
func (r *run) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.opened, rootKey{r.fs, r.base.Key})
}

// note writes down a change that is about to be made.
func (r *run) note(ctx context.Context, rec Record) error {
	if r.journal == nil {
		return nil
	}
	r.journal.doc.Records = append(r.journal.doc.Records, rec)
	err := r.save(ctx, r.journal)
	if err != nil {
		r.journal.doc.Records = r.journal.doc.Records[:len(r.journal.doc.Records)-1]
	}
	return err
}

// unnote strikes out the last change, which was not made. On disk it may stay:
// taking it back does nothing.
func (r *run) unnote(context.Context) {
	if r.journal != nil {
		r.journal.doc.Records = r.journal.doc.Records[:len(r.journal.doc.Records)-1]
	}
}

// scratch writes down paths that are to vanish when the call is over.
func (r *run) scratch(ctx context.Context, paths ...string) error {
	r.journal.doc.Scratch = append(r.journal.doc.Scratch, paths...)
	return r.save(ctx, r.journal)
}

// clean removes scratch. What cannot be removed is told.
func (r *run) clean(ctx context.Context, j *journal) error {
	ctx = context.WithoutCancel(ctx)
	var failures []error
	for _, p := range j.doc.Scratch {
		if !isScratch(p) {
			failures = append(failures, fmt.Errorf("%s is no scratch of a file operation and stays", vfs.DisplayName(p)))
			continue
		}
		s, err := r.fs.Resolve(ctx, p, vfs.ResolveOptions{})
		if err == nil {
			var info vfs.Info
			if info, err = r.fs.Lstat(ctx, s); err == nil {
				err = r.drop(ctx, spot{t: s, State: State{Type: typeOf(info.Type)}})
			}
		}
		if err != nil && !errors.Is(err, errs.NotFound) {
			failures = append(failures, fmt.Errorf("%s is left over: %w", vfs.DisplayName(p), err))
		}
	}
	return errors.Join(failures...)
}

// scratchName names something that is made beside a path for the length of a
// call.
func scratchName(physical, kind, id string) string {
	return path.Join(path.Dir(physical), ".fileops-"+kind+"-"+id)
}

var scratchPattern = regexp.MustCompile(`^\.fileops-(stage|aside|gone|link)-[0-9A-HJKMNP-TV-Z]{26}$`)

// isScratch reports whether a path is one that scratchName gives. A journal is
// a file like any other, and must not be able to have anything else removed.
func isScratch(p string) bool { return scratchPattern.MatchString(path.Base(p)) }

func typeOf(t vfs.Type) string {
	switch t {
	case vfs.Absent:
		return isAbsent
	case vfs.Directory:
		return isDir
	case vfs.Link:
		return isLink
	}
	return isOther // removed without a guard
}
