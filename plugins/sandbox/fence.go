package sandbox

import (
	"context"
	"fmt"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// fence asks the policy about each change and lets it happen below an open
// handle of a writable root.
type fence struct {
	policy sandbox.Policy
	// recovery is the directory of the local provider's own, which no call may
	// change: what is in it is put over files later, whoever writes them.
	recovery string

	mu     sync.Mutex
	places map[string]string // where each root was found, by its spelling
	pins   map[string]*pin   // by the root's path as the policy spells it
	uses   uint64
	closed bool
}

// pin is a root in use: an open directory, and the path it was found at.
type pin struct {
	physical string
	dir      *fslocal.Dir

	// Guarded by fence.mu.
	users   int
	lastUse uint64
	dropped bool // out of the table; closed when the last user leaves
}

// maxPins bounds how many roots are held open. The one unused for longest goes
// first; it is found anew when it is needed again.
const maxPins = 256

// maxPlaces bounds how many places of roots are remembered. Beyond that any of
// them is forgotten, and found anew.
const maxPlaces = 1 << 16

// Enter implements [fslocal.Fence].
func (f *fence) Enter(ctx context.Context, c fslocal.Change) (fslocal.Gate, error) {
	grant := c.Options.Grant
	if grant != nil && (grant.Target != string(c.Target.Key) || grant.Target != c.Path) {
		grant = nil // given for another file, or for where the path led before
	}
	access, err := f.policy.Access(ctx, c.Options.Actor, grant)
	if err != nil {
		return fslocal.Gate{}, err
	}
	switch access.Mode {
	case sandbox.FullAccess:
		return fslocal.Gate{}, nil
	case sandbox.WorkspaceWrite:
	default:
		return fslocal.Gate{}, vfs.Denied(c.Target, access.Mode)
	}
	denied := vfs.Denied(c.Target, access.Mode)
	if f.reserved(c) {
		return fslocal.Gate{}, denied
	}
	f.locate(access.Roots)
	for _, root := range access.Roots {
		p := f.take(root)
		if p == nil {
			continue
		}
		rel, ok := fslocal.Below(p.physical, c.Path)
		if !ok || rel == "" && !leavesDirectories(c.Op) {
			f.release(p)
			continue
		}
		if p = f.confirm(root, p); p == nil {
			denied = movedRoot(c.Target, access.Mode, root)
			continue
		}
		return fslocal.Gate{
			Root: p.dir, Rel: rel,
			OneName: true,
			Refusal: func() error { return manyNames(c.Target, access.Mode) },
			Release: func() { f.release(p) },
		}, nil
	}
	return fslocal.Gate{}, denied
}

// leavesDirectories reports whether an operation cannot change a root itself.
func leavesDirectories(op string) bool {
	return op == fslocal.OpWrite || op == fslocal.OpEdit || op == fslocal.OpMakeDir
}

// reserved reports whether a change is of the recovery directory, or would move
// it.
func (f *fence) reserved(c fslocal.Change) bool {
	if f.recovery == "" {
		return false
	}
	_, in := fslocal.Below(f.recovery, c.Path)
	_, holds := fslocal.Below(c.Path, f.recovery)
	return in || holds && !leavesDirectories(c.Op)
}

// locate finds out where roots are, all of them before the first change below
// any: a root that is missing yet is where it would be now, and a symlink that
// a later change puts there cannot lead it elsewhere.
func (f *fence) locate(roots []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, root := range roots {
		if f.places[root] != "" {
			continue
		}
		physical, err := fslocal.Physical(root)
		if err != nil {
			continue
		}
		if f.places == nil {
			f.places = map[string]string{}
		}
		for any := range f.places {
			if len(f.places) < maxPlaces {
				break
			}
			delete(f.places, any)
		}
		f.places[root] = physical
	}
}

// take returns the pin of a root, for use until release; nil when there is no
// such directory.
func (f *fence) take(root string) *pin {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	p := f.pins[root]
	if p == nil {
		physical := f.places[root]
		if physical == "" {
			return nil
		}
		if p = f.pinAt(root, physical); p == nil {
			return nil
		}
	}
	f.uses++
	p.lastUse = f.uses
	p.users++
	return p
}

// pinAt opens a directory at a path without symlinks and keeps it. f.mu is
// held.
func (f *fence) pinAt(root, physical string) *pin {
	dir, err := fslocal.OpenDir(physical)
	if err != nil {
		return nil
	}
	for len(f.pins) >= maxPins {
		f.drop(f.oldest())
	}
	p := &pin{physical: physical, dir: dir}
	f.pins[root] = p
	return p
}

// confirm makes sure that the root's path still leads to the directory that is
// held open, and returns the pin to be used; nil, and the pin released, when it
// does not. The change is confined either way; but when the directory has been
// moved away, the path that was asked for is not below it any more.
func (f *fence) confirm(root string, p *pin) *pin {
	if p.dir.Same(p.physical) {
		return p
	}
	removed := p.dir.Removed()
	f.release(p)
	if !removed {
		return nil
	}
	// Deleted; what was made in its place since is the root now. It has to be
	// there itself: a symlink in its place leads elsewhere.
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pins[root] == p {
		f.drop(root)
		if f.closed || f.pinAt(root, p.physical) == nil {
			return nil
		}
	}
	next := f.pins[root]
	if next == nil || next.physical != p.physical || !next.dir.Same(next.physical) {
		return nil
	}
	next.users++
	return next
}

func (f *fence) release(p *pin) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.users--
	if p.users == 0 && p.dropped {
		p.dir.Close()
	}
}

// drop takes a root out of the table. f.mu is held.
func (f *fence) drop(root string) {
	p := f.pins[root]
	delete(f.pins, root)
	p.dropped = true
	if p.users == 0 {
		p.dir.Close()
	}
}

func (f *fence) oldest() (root string) {
	var at uint64
	for r, p := range f.pins {
		if root == "" || p.lastUse < at {
			root, at = r, p.lastUse
		}
	}
	return root
}

func (f *fence) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for root := range f.pins {
		f.drop(root)
	}
}

func movedRoot(t vfs.Target, mode sandbox.Mode, root string) error {
	return because(t, mode, fmt.Sprintf(`the writable directory "%s" has been moved or replaced since it was first used`, vfs.DisplayName(root)))
}

func manyNames(t vfs.Target, mode sandbox.Mode) error {
	return because(t, mode, "it has several hard links and could only be overwritten in place, which would change it under names outside the writable directories")
}

func because(t vfs.Target, mode sandbox.Mode, why string) error {
	err := vfs.Denied(t, mode)
	return &errs.Error{Code: errs.SandboxDenied, Op: "write", Path: t.Path, Err: err, Message: err.Error() + ": " + why}
}
