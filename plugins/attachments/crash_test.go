//go:build unix

package attachments

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bridle-go/bridle/plugins/attachments/internal/picture"
)

// Killed at any moment, a store holds whole objects only, every reference that
// was handed out, and nothing that a later save trips over.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Log("fewer kills")
	}
	dir := filepath.Join(t.TempDir(), "store")
	kills := 12
	if testing.Short() {
		kills = 4
	}
	saved := map[string]bool{}
	for i := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		// A different number of saves each time, then a moment into the next.
		for n := 0; n <= 3*i && lines.Scan(); n++ {
			id, ok := strings.CutPrefix(lines.Text(), "saved ")
			if !ok {
				t.Fatal(lines.Text())
			}
			saved[id] = true
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			if id, ok := strings.CutPrefix(lines.Text(), "saved "); ok && len(id) == len(idPrefix)+64 {
				saved[id] = true
			}
		}
		_ = cmd.Wait() // killed
	}
	s := open(t, Config{Dir: dir})
	for _, id := range list(t, s) {
		d, err := parseID(id)
		if err != nil {
			t.Fatal(err)
		}
		data, err := s.root.ReadFile(d.path())
		if err != nil {
			t.Fatal(err)
		}
		if digestOf(data) != d {
			t.Errorf("%s is not whole", id)
		}
		if _, err := picture.Normalize(context.Background(), data, "", s.limits); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		delete(saved, id)
	}
	if len(saved) > 0 {
		t.Errorf("%d references were handed out and are gone", len(saved))
	}
	// What was staged when the process died goes when it is old.
	age(t, s, 48*time.Hour)
	if err := s.sweepStaging(); err != nil {
		t.Fatal(err)
	}
	for _, f := range files(t, s) {
		if strings.HasPrefix(f, stagingDir) {
			t.Errorf("left in staging: %s", f)
		}
	}
}
