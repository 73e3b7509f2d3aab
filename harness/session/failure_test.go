package session

import (
	"context"
	"errors"
	"os"
	"testing"
)

// A log that cannot be written takes no more events, says so each time, gives
// up its lock, and opens again with what was written.
func TestWriteFailure(t *testing.T) {
	store := NewFileStore(t.TempDir(), Config{})
	s, err := store.Create(context.Background(), Header{ID: "s", Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(TurnStart{Turn: 1}.Event()); err != nil {
		t.Fatal(err)
	}
	s.backend.(*fileLog).f.Close() // as good as a full disk
	for range 2 {
		if _, err := s.Append(TurnStart{Turn: 2}.Event()); !errors.Is(err, WriteFailed) || !errors.Is(err, os.ErrClosed) {
			t.Errorf("append: %v", err)
		}
		if err := s.Checkpoint(context.Background()); !errors.Is(err, WriteFailed) {
			t.Errorf("checkpoint: %v", err)
		}
	}
	if s.Len() != 1 || s.OpenTurn() != 1 {
		t.Errorf("the failed event is in the folds: %d events, turn %d", s.Len(), s.OpenTurn())
	}
	if err := s.Close(); !errors.Is(err, WriteFailed) {
		t.Errorf("close: %v", err)
	}
	s, err = store.Open(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Repaired().Turn != 1 {
		t.Errorf("repaired %+v", s.Repaired())
	}
}
