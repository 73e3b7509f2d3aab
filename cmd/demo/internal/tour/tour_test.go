package tour_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/cmd/demo/internal/tour"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// deploy is the deployment of the golden file, which stays the same when the
// basic deployment grows.
func deploy(ctx context.Context, dir string, model plug.Plugin) (*harness.Deployment, error) {
	return harness.Compose(ctx, models.Plugin(models.Config{}), model,
		fslocal.Plugin(fslocal.Config{Cwd: dir}), fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}))
}

// scratch makes a temp directory for the tour alone, and checks in the end
// that nothing is left in it.
func scratch(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir) // Windows
	t.Cleanup(func() {
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func give(t *testing.T, env map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	out := term.New(&b, func(key string) string { return env[key] })
	if err := tour.Run(t.Context(), out, deploy); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var workspaces = regexp.MustCompile(`[^\s"]*bridle-tour-\d+`)

func TestTour(t *testing.T) {
	scratch(t)
	got := workspaces.ReplaceAllString(give(t, nil), "$$WORKSPACE")
	const golden = "testdata/tour.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("run the test with -update to accept (-want +got):\n%s", diff)
	}
}

func TestColourChangesNothingElse(t *testing.T) {
	scratch(t)
	plain := workspaces.ReplaceAllString(give(t, nil), "")
	colour := workspaces.ReplaceAllString(give(t, map[string]string{"CLICOLOR_FORCE": "1"}), "")
	sequences := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	if !sequences.MatchString(colour) {
		t.Fatal("there is no colour")
	}
	trailing := regexp.MustCompile(`(?m) +$`)
	got := trailing.ReplaceAllString(sequences.ReplaceAllString(colour, ""), "")
	if diff := cmp.Diff(trailing.ReplaceAllString(plain, ""), got); diff != "" {
		t.Errorf("(-plain +colour):\n%s", diff)
	}
}

func TestAnInterruptLeavesNothingBehind(t *testing.T) {
	// The tour is interrupted at each of its writes in turn.
	apart := 1
	if testing.Short() {
		apart = 7
	}
	for at := 1; ; at += apart {
		scratch(t)
		ctx, cancel := context.WithCancel(t.Context())
		w := &interrupting{left: at, cancel: cancel}
		err := tour.Run(ctx, term.New(w, func(string) string { return "" }), deploy)
		interrupted := ctx.Err() != nil
		cancel()
		if !interrupted {
			if err != nil {
				t.Errorf("a whole tour: %v", err)
			}
			return
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at write %d: %v", at, err)
		}
	}
}

// interrupting cancels at a given write.
type interrupting struct {
	left   int
	cancel func()
}

func (w *interrupting) Write(p []byte) (int, error) {
	if w.left--; w.left == 0 {
		w.cancel()
	}
	return len(p), nil
}

func TestADeploymentThatBehavesOtherwiseFailsTheTour(t *testing.T) {
	scratch(t)
	// Without the policy nothing is refused.
	err := tour.Run(t.Context(), term.New(new(bytes.Buffer), func(string) string { return "" }),
		func(ctx context.Context, dir string, model plug.Plugin) (*harness.Deployment, error) {
			return harness.Compose(ctx, models.Plugin(models.Config{}), model, fslocal.Plugin(fslocal.Config{Cwd: dir}), toolfs.Plugin(toolfs.Config{}))
		})
	if err == nil {
		t.Error("the tour shows a refusal that did not happen")
	}
}
