package change

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"path"
	"slices"

	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// rewindOp is the operation in the receipts of a rewind.
const rewindOp = "rewind"

// RewindOptions say how far to go back.
type RewindOptions struct {
	// ToTurn is the last turn whose changes stay; 0 keeps none. What a rewind
	// itself has changed counts as after every turn before it: going back to
	// the last turn takes the rewind back.
	ToTurn int
	// DryRun only tells what would be done.
	DryRun bool
	// Force goes on where somebody else has changed a file since, whose
	// content is backed up like everything that is replaced.
	Force bool
}

// RewindChange is what a rewind does, or would do, at one path.
type RewindChange struct {
	// Path is relative to the session's workspace where it lies below it.
	Path string `json:"path"`
	// Action is restore, delete or move_back.
	Action string `json:"action"`
	// To is where a moved entry goes back to.
	To string `json:"to,omitempty"`
	// ReceiptIDs are the changes that are taken back, newest first.
	ReceiptIDs []string `json:"receipt_ids"`
	Turns      []int    `json:"turns"`
	// BackupID is the backup that is restored.
	BackupID string `json:"backup_id,omitempty"`
	// Problem says why it cannot be done.
	Problem string `json:"problem,omitempty"`
	// Done tells that it was done; Receipt is what the log has of it.
	Done    bool     `json:"done"`
	Receipt *Receipt `json:"receipt,omitempty"`

	rec Record
	hop int
}

// RewindReport tells of a rewind.
type RewindReport struct {
	SessionID string         `json:"session_id"`
	ToTurn    int            `json:"to_turn"`
	DryRun    bool           `json:"dry_run"`
	Changes   []RewindChange `json:"changes"`
	// Problems counts the changes that cannot be taken back. Unless forced,
	// nothing is done then.
	Problems int `json:"problems"`
	// Recovered tells of interrupted changes that were finished first.
	Recovered []Recovery `json:"recovered,omitempty"`
}

// Rewind takes back what a session changed after a turn, from the receipts in
// its log and the backups they name. Each path must be as the session left it,
// unless forced. What is replaced is backed up, and what is done is logged with
// receipts, so that a rewind can be taken back too. A dry run changes neither
// files nor the log.
func (e *Engine) Rewind(ctx context.Context, fs vfs.FileSystem, s *session.Session, o RewindOptions) (RewindReport, error) {
	report := RewindReport{SessionID: s.ID(), ToTurn: o.ToTurn, DryRun: o.DryRun, Changes: []RewindChange{}}
	if o.ToTurn < 0 || o.ToTurn > s.LastTurn() {
		return report, fault.New(fault.InvalidArguments, "to_turn", fmt.Sprintf("there is no turn %d; the session has %d", o.ToTurn, s.LastTurn()))
	}
	call := &tool.Call{ID: "rewind-" + s.NewID(), Name: "rewind", Agent: &tool.Agent{Session: s}}
	r, err := e.start(ctx, fs, call, rewindOp, o.DryRun)
	if err != nil {
		return report, err
	}
	report.Recovered = r.recovered
	past, logged, err := timelineOf(s.Events(), s.LastTurn())
	if err != nil {
		return report, err
	}
	r.made = map[string]bool{}
	for _, l := range logged {
		for _, dir := range l.Undo.Made {
			r.made[dir] = true
		}
	}
	back := past.backTo(o.ToTurn)
	report.Changes = r.planRewind(ctx, back, o)
	for _, c := range report.Changes {
		if c.Problem != "" {
			report.Problems++
		}
	}
	if o.DryRun {
		return report, ctx.Err()
	}
	if report.Problems > 0 && !o.Force {
		return report, fault.New(fault.HashMismatch, "", fmt.Sprintf("%s cannot be taken back; nothing was changed", count(report.Problems, "change")))
	}
	return report, r.carryOut(ctx, &report, back, o.Force)
}

// planRewind says what has to be done to take changes back in their order.
// Changes of one path that follow each other in a hop become one.
func (r *run) planRewind(ctx context.Context, back []hop, o RewindOptions) []RewindChange {
	plan := []RewindChange{}
	for n, h := range back {
		first := len(plan)
		for _, l := range h.changes {
			if i := joinable(plan[first:], l.Undo); i >= 0 {
				plan[first+i].join(l)
				continue
			}
			plan = append(plan, RewindChange{ReceiptIDs: []string{l.Receipt.ReceiptID}, Turns: l.turns(), rec: l.Undo, hop: n})
		}
	}
	now := &imagined{r: r, at: map[string]State{}}
	needed := plan[:0]
	for _, c := range plan {
		c.describe(r)
		does, problem := now.undo(ctx, c.rec, o.Force)
		if problem != nil && c.Problem == "" {
			c.Problem = problem.Error()
		}
		if does || c.Problem != "" {
			needed = append(needed, c)
		}
	}
	return needed
}

// joinable finds the planned change that an older one of the same path can be
// joined to: nothing in between may touch that path or move anything.
func joinable(plan []RewindChange, rec Record) int {
	if rec.From != "" || rec.After.Type == isDir || rec.Before.Type == isDir {
		return -1
	}
	for i := len(plan) - 1; i >= 0; i-- {
		p := plan[i].rec
		switch {
		case p.From != "" || p.After.Type == isDir || p.Before.Type == isDir:
			return -1
		case p.Path == rec.Path:
			return i
		}
	}
	return -1
}

// join adds an older change of the same path.
func (c *RewindChange) join(l logged) {
	c.ReceiptIDs = append(c.ReceiptIDs, l.Receipt.ReceiptID)
	for _, n := range l.turns() {
		if !slices.Contains(c.Turns, n) {
			c.Turns = append(c.Turns, n)
		}
	}
	if !c.rec.Before.equal(l.Undo.After) && c.Problem == "" {
		c.Problem = "somebody else changed it between two changes of the session"
	}
	c.rec.Before = l.Undo.Before
	c.rec.Made = append(slices.Clone(l.Undo.Made), c.rec.Made...)
}

func (c *RewindChange) describe(r *run) {
	c.Path = r.rel(c.rec.Path)
	switch {
	case c.rec.From != "":
		c.Action, c.To = "move_back", r.rel(c.rec.From)
		c.BackupID = c.rec.Before.BackupID
	case c.rec.Before.Type == isAbsent:
		c.Action = "delete"
	default:
		c.Action, c.BackupID = "restore", c.rec.Before.BackupID
	}
}

// carryOut makes the planned changes, with a journal: a rewind that is killed
// is taken back as a whole.
func (r *run) carryOut(ctx context.Context, report *RewindReport, back []hop, force bool) error {
	if len(report.Changes) == 0 {
		return nil
	}
	j, err := r.begin(ctx)
	if err != nil {
		return err
	}
	r.journal = j
	defer func() { r.journal = nil }()
	for i := range report.Changes {
		c := &report.Changes[i]
		if c.Problem != "" && !force {
			continue
		}
		first := len(r.receipts)
		err := ctx.Err()
		if err == nil {
			err = r.takeOne(ctx, c.rec, force)
		}
		if n := len(r.receipts); n > first {
			c.Receipt = &r.receipts[n-1]
		}
		if err != nil && !force {
			c.Problem = err.Error()
			report.Problems++
			res := &BatchResult{}
			return r.settleBatch(ctx, res, fault.New(fault.Of(err, "").Kind, "", fmt.Sprintf("%s could not be taken back: %v", c.Path, err)))
		}
		if err != nil {
			if c.Problem == "" {
				report.Problems++
			}
			c.Problem = err.Error()
			continue
		}
		c.Done, c.Problem = true, ""
		if last := i == len(report.Changes)-1 || report.Changes[i+1].hop != c.hop; last && report.Problems == 0 {
			if err := r.logRewound(back[c.hop]); err != nil {
				r.remark(err)
			}
		}
	}
	return r.complete(ctx)
}

// takeOne takes one change back, with a backup and a receipt of its own.
func (r *run) takeOne(ctx context.Context, rec Record, force bool) error {
	now, err := r.examine(ctx, rec.Path)
	if err != nil {
		return err
	}
	if rec.From != "" {
		return r.takeMove(ctx, rec, now, force)
	}
	leftover := now.Type == isDir && rec.After.Type == isAbsent && r.leftover(ctx, rec.Path)
	if now.equal(rec.Before) || leftover && rec.Before.Type == isAbsent {
		r.unmake(ctx, rec.Made)
		return nil
	}
	if leftover {
		if now, err = r.makeWay(ctx, rec.Path, now); err != nil {
			return err
		}
	}
	if !r.asLeft(ctx, now, rec.After) && !force {
		return errConflict
	}
	know := r.knowing(ctx, rec, r.call.Session().ID())
	if err := r.exchange(ctx, rec, now); err != nil {
		return err
	}
	r.unmake(ctx, rec.Made)
	know.tell(ctx)
	return nil
}

// exchange puts the state from before in place of what is there now, which is
// kept.
func (r *run) exchange(ctx context.Context, rec Record, now spot) error {
	if now.Type == isDir {
		if err := r.putAway(ctx, rec, now); err != nil || rec.Before.Type == isAbsent {
			return err
		}
		var err error
		if now, err = r.examine(ctx, rec.Path); err != nil {
			return err
		}
	}
	dir := ""
	if r.cfg.BackupRoot != "" {
		var err error
		if dir, err = r.physicalPath(ctx, r.cfg.BackupRoot); err != nil {
			return err
		}
	}
	was := &file{}
	var k *kept
	if now.Type == isFile {
		var err error
		if was, err = r.read(ctx, &place{t: now.t, info: vfs.Info{Type: vfs.File, Mode: now.Mode}}); err != nil {
			return err
		}
		if k, err = r.keep(ctx, rec.Path, was, dir, "before a rewind"); err != nil {
			return err
		}
		now.BackupID, now.BackupDir = k.ID, k.dir
	}
	reverse := Record{Path: rec.Path, Before: now.State, After: rec.Before}
	if err := r.note(ctx, reverse); err != nil {
		r.discard(ctx, k, dir)
		return err
	}
	err := r.restore(ctx, rec, now)
	then, verr := r.examine(context.WithoutCancel(ctx), rec.Path)
	if err != nil && (verr != nil || !then.same(rec.Before)) {
		return err
	}
	out := Receipt{
		Path: vfs.DisplayName(rec.Path), Effect: Restored, SHA256Before: now.SHA256, SHA256After: rec.Before.SHA256,
		record: reverse, shown: [2]string{r.rel(rec.Path)}, was: now.Type != isAbsent,
	}
	if rec.Before.Type == isAbsent {
		out.Effect = Deleted
	}
	if k != nil {
		out.BackupID = k.ID
	}
	out.SelfVerified, out.VerificationError = r.transferred(then, rec.Before, verr, err)
	r.finish(out)
	return nil
}

// putAway takes a directory that was copied here out of the workspace: into
// the backup folder, from where a rewind of the rewind moves it back.
func (r *run) putAway(ctx context.Context, rec Record, now spot) error {
	id, err := r.clock.id()
	if err != nil {
		return err
	}
	folder := path.Join(path.Dir(rec.Path), backup.Folder)
	s := r.store()
	if err := s.Create(ctx, path.Join(folder, ".gitignore"), []byte("*\n"), 0o644); err != nil && !errors.Is(err, iofs.ErrExist) {
		return err
	}
	away := path.Join(folder, "tree-"+id)
	to, err := r.fs.Resolve(ctx, away, vfs.ResolveOptions{})
	if err != nil {
		return err
	}
	reverse := Record{Path: away, From: rec.Path, Before: State{Type: isAbsent}, After: State{Type: isDir}}
	if err := r.note(ctx, reverse); err != nil {
		return err
	}
	if err := vfs.Rename(ctx, r.fs, now.t, to, false, r.options(vfs.Guard{})); err != nil && r.exists(context.WithoutCancel(ctx), &place{t: now.t}) {
		r.unnote(ctx)
		return err
	}
	out := Receipt{
		Path: vfs.DisplayName(rec.Path), Effect: Deleted, record: reverse, shown: [2]string{r.rel(rec.Path)}, was: true,
		SelfVerified: !r.exists(context.WithoutCancel(ctx), &place{t: now.t}),
	}
	r.finish(out)
	return nil
}

// takeMove moves an entry back, and restores what it replaced.
func (r *run) takeMove(ctx context.Context, rec Record, now spot, force bool) error {
	source, err := r.examine(ctx, rec.From)
	if err != nil {
		return err
	}
	if source.Type == isDir && r.leftover(ctx, rec.From) {
		if source, err = r.makeWay(ctx, rec.From, source); err != nil {
			return err
		}
	}
	if source.Type != isAbsent || now.Type == isAbsent || !r.asLeft(ctx, now, rec.After) && !force {
		return errConflict
	}
	know := r.knowing(ctx, rec, r.call.Session().ID())
	made, err := r.missingParents(ctx, rec.From)
	if err != nil {
		return err
	}
	if err := r.makeParents(ctx, &transfer{missing: made}); err != nil {
		return err
	}
	state := now.State
	if state.Type == isDir {
		state.Print = ""
	}
	reverse := Record{Path: rec.From, From: rec.Path, Before: State{Type: isAbsent}, After: state, Made: made}
	if err := r.note(ctx, reverse); err != nil {
		return err
	}
	if err := r.moveBack(ctx, now, source.t, rec.From); err != nil && r.exists(context.WithoutCancel(ctx), &place{t: now.t}) {
		return err // the journal's record of it is undone already, or undoes it
	}
	then, verr := r.examine(context.WithoutCancel(ctx), rec.From)
	out := Receipt{
		Path: vfs.DisplayName(rec.Path), DestinationPath: vfs.DisplayName(rec.From), Effect: Moved,
		SHA256After: state.SHA256, record: reverse, shown: [2]string{r.rel(rec.Path), r.rel(rec.From)},
	}
	out.SelfVerified, out.VerificationError = r.transferred(then, state, verr, nil)
	r.finish(out)
	if rec.Before.Type == isAbsent {
		r.unmake(ctx, rec.Made)
		know.tell(ctx)
		return nil
	}
	if now, err = r.examine(ctx, rec.Path); err != nil {
		return err
	}
	restored := rec
	restored.From = ""
	if err := r.exchange(ctx, restored, now); err != nil {
		return err
	}
	know.tell(ctx)
	return nil
}
