package change

import (
	"context"
	"sync"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// watcher keeps what other tools of a deployment are about to change, and logs
// receipts of what they have changed.
type watcher struct {
	e  *Engine
	fs *plug.Service[vfs.FileSystem]

	mu      sync.Mutex
	pending map[*tool.Call]*pending
}

// pending is a change that a tool has announced.
type pending struct {
	r        *run
	physical string
	key      vfs.Key
	before   State
	made     []string
	kept     *kept
	root     string
	// problem says why no backup was made.
	problem string
}

// Listen keeps a backup of each file that another tool announces to change
// through the file events, and logs a receipt once it has, so that these
// changes can be rewound too. It concerns calls of sessions alone. A change
// whose backup fails is not held up: its receipt says why there is none.
func (e *Engine) Listen(scope event.Scope, fs *plug.Service[vfs.FileSystem]) {
	w := &watcher{e: e, fs: fs, pending: map[*tool.Call]*pending{}}
	for _, intent := range []*event.Waterfall[vfs.Intent, vfs.Guard]{vfs.WriteIntent, vfs.EditIntent} {
		intent.On(e.bus, scope, w.announced, event.First())
	}
	vfs.Observed.On(e.bus, scope, w.observed)
	tool.Done.On(e.bus, scope, w.done)
}

// announced is first in line, and looks at the file only once the policies
// allow the change.
func (w *watcher) announced(ctx context.Context, in vfs.Intent, next event.Next[vfs.Intent, vfs.Guard]) (vfs.Guard, error) {
	g, err := next(ctx, in)
	call, ok := in.Actor.(*tool.Call)
	if err != nil || !ok || call.Session() == nil || ctx.Value(own{}) != nil {
		return g, err
	}
	fs, release, err := w.fs.Acquire()
	if err != nil {
		return g, nil
	}
	defer release()
	p, err := w.prepare(ctx, fs, call, in.Target)
	if err != nil {
		return g, nil // what cannot be looked at cannot be changed either
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[call] = p
	return g, nil
}

// prepare keeps what is at a target. The sandbox root of the operations does
// not confine other tools, and neither does it their backups.
func (w *watcher) prepare(ctx context.Context, fs vfs.FileSystem, call *tool.Call, t vfs.Target) (*pending, error) {
	r, err := w.e.start(ctx, fs, call, call.Name, true)
	if err != nil {
		return nil, err
	}
	r.root = vfs.Target{}
	r.keeper = r.newKeeper()
	p := &pending{r: r, key: t.Key}
	if p.physical, err = r.processPath(t); err != nil {
		return nil, err
	}
	info, err := fs.Stat(ctx, t)
	if err != nil {
		return nil, err
	}
	was, err := r.read(ctx, &place{t: t, info: info})
	if err != nil {
		return nil, err
	}
	p.before = was.state(nil)
	if p.made, err = r.missingParents(ctx, p.physical); err != nil || !was.exists {
		return p, err
	}
	if p.root, err = r.backupRoot(ctx, ""); err == nil {
		p.kept, err = r.keep(ctx, p.physical, was, p.root, "before "+call.Name)
	}
	if err != nil {
		p.problem = "no backup was made: " + err.Error()
		return p, nil
	}
	p.before = was.state(p.kept)
	return p, nil
}

func (w *watcher) take(call *tool.Call) *pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pending[call]
	delete(w.pending, call)
	return p
}

// observed comes after a tool has made its change.
func (w *watcher) observed(ctx context.Context, o vfs.Observation) error {
	call, ok := o.Actor.(*tool.Call)
	if !ok {
		return nil
	}
	w.mu.Lock()
	p := w.pending[call]
	w.mu.Unlock()
	if p == nil || p.key != o.Target.Key {
		return nil
	}
	w.take(call)
	now, err := p.r.examine(ctx, p.physical)
	if err != nil {
		return err
	}
	if now.same(p.before) {
		// The receipt says that there is nothing to take back.
		p.r.discard(ctx, p.kept, p.root)
		p.kept, p.before.BackupID, p.before.BackupDir = nil, "", ""
	}
	rec := Record{Path: p.physical, Made: p.made, Before: p.before, After: now.State}
	out := Receipt{
		Path: vfs.DisplayName(o.Target.Path), Effect: Updated, SHA256Before: p.before.SHA256, SHA256After: now.SHA256,
		BytesAfter: &now.Size, SelfVerified: true, VerificationError: p.problem,
		record: rec, shown: [2]string{p.r.rel(p.physical)}, was: p.before.Type == isFile,
	}
	switch {
	case p.before.Type == isAbsent:
		out.Effect = Created
	default:
		out.BytesBefore = &p.before.Size
	}
	if p.kept != nil {
		out.BackupID = p.kept.ID
	}
	p.r.finish(out)
	return nil
}

// done comes at the end of each call: what was announced and not done needs no
// backup.
func (w *watcher) done(ctx context.Context, x tool.Executed) error {
	if p := w.take(x.Call); p != nil {
		now, err := p.r.glance(context.WithoutCancel(ctx), p.physical, true)
		if err == nil && now.same(p.before) {
			p.r.discard(ctx, p.kept, p.root)
		}
	}
	return nil
}
