package deploy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/testkit/replay"
)

// TestRecordedSessions replays sessions that another implementation of the
// format recorded. They are no part of the module, and lie beside it where
// they are at hand.
func TestRecordedSessions(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "..", "shared", "sessions")
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded sessions beside the module")
	}
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d recorded sessions: %v", len(entries), err)
	}
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			rec, err := replay.Load(filepath.Join(root, entry.Name()))
			if err != nil {
				t.Fatal(err)
			}
			report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: deploy.Replay})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range report.Differences {
				t.Error(d)
			}
			if len(report.Calls) == 0 || report.Requests < 2 {
				t.Errorf("%d calls and %d requests were compared", len(report.Calls), report.Requests)
			}
			for _, c := range report.Calls {
				if !c.Equal || c.Replayed == nil || c.Skipped != "" {
					t.Errorf("%s (%s): equal %v, skipped %q", c.Name, c.ID, c.Equal, c.Skipped)
				}
			}
		})
	}
}
