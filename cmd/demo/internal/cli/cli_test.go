package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) string { return "" }

func TestAnInterruptEndsTheWaitForInput(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	defer w.Close() // lets the reader go
	var stdout, stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "f")
	status := cli.Run(ctx, cli.Env{
		Args: []string{"write", file, "-"}, Stdin: &telling{r, cancel},
		Stdout: &stdout, Stderr: &stderr, Getenv: noEnv,
	})
	if status != 130 || stderr.String() != "demo: ABORTED: interrupted\n" || stdout.Len() > 0 {
		t.Errorf("status %d, stderr %q, stdout %q", status, stderr.String(), stdout.String())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written")
	}
}

// telling calls a function before it reads.
type telling struct {
	io.Reader
	tell func()
}

func (r *telling) Read(p []byte) (int, error) {
	r.tell()
	return r.Reader.Read(p)
}

func TestAnInterruptedCommandDoesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	for _, args := range [][]string{
		nil,
		{"write", "f", "--content", "x", "--cwd", dir},
		{"scenario", "../../../../testkit/testdata/read.json"},
	} {
		var stdout, stderr bytes.Buffer
		status := cli.Run(ctx, cli.Env{Args: args, Stdout: &stdout, Stderr: &stderr, Getenv: noEnv})
		if status != 130 || stderr.String() != "demo: ABORTED: interrupted\n" {
			t.Errorf("%v: status %d, stderr %q", args, status, stderr.String())
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLostOutputIsAFailure(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		status int
		stderr string
	}{
		{"full disk", errors.New("no space left"), 1, "demo: FS_IO_ERROR: cannot write the output: no space left; "},
		{"a reader that has seen enough", syscall.EPIPE, 130, ""},
	} {
		for _, args := range [][]string{
			nil,
			{"--help"},
			{"read", "cli.go"},
			{"read", "cli.go", "--json"},
			{"scenario", "../../../../testkit/testdata/read.json"},
		} {
			t.Run(tt.name+" "+strings.Join(args, " "), func(t *testing.T) {
				var stderr bytes.Buffer
				status := cli.Run(t.Context(), cli.Env{Args: args, Stdout: failing{tt.err}, Stderr: &stderr, Getenv: noEnv})
				if status != tt.status || !strings.HasPrefix(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
					t.Errorf("status %d, stderr %q", status, stderr.String())
				}
			})
		}
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }
