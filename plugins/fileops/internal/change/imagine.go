package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// imagined is the tree as it would be in the middle of a rewind.
type imagined struct {
	r     *run
	at    map[string]State
	moves []Rename // directories that would have moved back
}

// state is what would be at a path.
func (m *imagined) state(ctx context.Context, physical string) (State, error) {
	if s, ok := m.known(physical); ok {
		return s, nil
	}
	now, err := m.r.examine(ctx, m.onDisk(physical))
	if err != nil {
		return State{}, err
	}
	if now.Type == isDir {
		_, now.Content, err = m.r.compareTrees(ctx, now.t, now.t, false)
	}
	return now.State, err
}

// known is what would be at a path, where that is not what is on the disk.
func (m *imagined) known(physical string) (State, bool) {
	if s, ok := m.at[physical]; ok {
		return s, true
	}
	for dir := path.Dir(physical); dir != path.Dir(dir); dir = path.Dir(dir) {
		if s, ok := m.at[dir]; ok {
			return State{Type: isAbsent}, s.Type != isDir // what was below it has gone with it
		}
	}
	return State{}, false
}

// onDisk is where a path of the imagined tree is now.
func (m *imagined) onDisk(physical string) string {
	for _, mv := range slices.Backward(m.moves) {
		if physical == mv.To {
			physical = mv.From
		} else if below, ok := strings.CutPrefix(physical, mv.To+"/"); ok {
			physical = mv.From + "/" + below
		}
	}
	return physical
}

// undo takes a change back in the mind, and says whether there is anything
// to do, and why it could not be done.
func (m *imagined) undo(ctx context.Context, rec Record, force bool) (bool, error) {
	now, err := m.state(ctx, rec.Path)
	if err != nil {
		return true, err
	}
	if now.Type == isDir && rec.From == "" && rec.After.Type == isAbsent && m.leftover(ctx, rec.Path) {
		now = State{Type: isAbsent}
	}
	if rec.From == "" && now.equal(rec.Before) {
		return false, nil
	}
	if err := m.restorable(ctx, rec); err != nil {
		return true, err
	}
	if !now.equal(rec.After) && !m.touchedBelow(rec) {
		if !force {
			return true, errConflict
		}
		if now.Type == isDir || now.Type == isOther {
			return true, fmt.Errorf("there is a %s now", now.Type)
		}
	}
	if rec.From != "" {
		source, err := m.state(ctx, rec.From)
		if err != nil {
			return true, err
		}
		if source.Type != isAbsent && !(source.Type == isDir && m.leftover(ctx, rec.From)) {
			return true, fmt.Errorf("there is something at %s, where it came from", m.r.rel(rec.From))
		}
		m.put(ctx, rec.From, now)
		if now.Type == isDir {
			m.moveBelow(rec)
		}
	}
	m.put(ctx, rec.Path, rec.Before)
	return true, nil
}

// put imagines a state at a path, and the directories above it that it needs.
func (m *imagined) put(ctx context.Context, physical string, s State) {
	for p := range m.at {
		if strings.HasPrefix(p, physical+"/") {
			delete(m.at, p) // of what was there until now
		}
	}
	m.at[physical] = s
	if s.Type == isAbsent {
		return
	}
	for dir := path.Dir(physical); dir != path.Dir(dir); dir = path.Dir(dir) {
		there, ok := m.known(dir)
		if !ok {
			now, err := m.r.glance(ctx, m.onDisk(dir), false)
			if err != nil {
				return
			}
			there = now.State
		}
		if there.Type != isAbsent {
			return
		}
		m.at[dir] = State{Type: isDir}
	}
}

// touchedBelow reports whether what would be below a copied directory by then
// was put back already, so that its content now says nothing.
func (m *imagined) touchedBelow(rec Record) bool {
	if rec.After.Type != isDir {
		return false
	}
	for p := range m.at {
		if strings.HasPrefix(p, rec.Path+"/") {
			return true
		}
	}
	return false
}

// moveBelow moves what is known of a directory's content with it.
func (m *imagined) moveBelow(rec Record) {
	m.moves = append(m.moves, Rename{From: rec.Path, To: rec.From})
	for p, s := range m.at {
		if below, ok := strings.CutPrefix(p, rec.Path+"/"); ok {
			delete(m.at, p)
			m.at[rec.From+"/"+below] = s
		}
	}
}

// restorable makes sure that what was there before is still kept.
func (m *imagined) restorable(ctx context.Context, rec Record) error {
	switch rec.Before.Type {
	case isDir, isFile:
		if rec.Before.BackupID == "" {
			return errors.New("no backup was made of what was there before")
		}
		b, err := m.r.keeper.Find(ctx, rec.Path, m.onDisk(rec.Before.BackupDir), rec.Before.BackupID)
		if err == nil {
			err = m.r.keeper.Verify(ctx, b)
		}
		if err != nil {
			return backupFault(err)
		}
	}
	return nil
}
