package main

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"demo": main}) }

// TestScripts runs the command lines of testdata/script and compares what they
// print and leave behind.
func TestScripts(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", home) // scenarios want a place that is no temp directory
			env.Setenv("TERM", "xterm")
			// Files whose content has no place in a script.
			odd := filepath.Join(env.WorkDir, ".odd")
			env.Setenv("ODD", odd)
			return errors.Join(
				os.Mkdir(odd, 0o755),
				os.WriteFile(filepath.Join(odd, "hostile.txt"), []byte("a \u202e b\x1b[31m c\n"), 0o644),
				os.WriteFile(filepath.Join(odd, "binary"), []byte("a\x00b\n"), 0o644),
				os.WriteFile(filepath.Join(odd, "small.png"), pngOf(30, 20), 0o644),
				os.WriteFile(filepath.Join(odd, "large.png"), pngOf(4096, 16), 0o644),
				os.WriteFile(filepath.Join(odd, "cut.png"), pngOf(30, 20)[:60], 0o644),
			)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"empty":  empty,
			"closed": closed,
			"await":  await,
			"typed":  typed,
		},
		RequireExplicitExec: true,
	})
}

// pngOf returns a picture of a size, a ramp in grey.
func pngOf(w, h int) []byte {
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = uint8(i % w * 255 / w)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// empty checks that a directory holds nothing: empty DIR.
func empty(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: empty DIR")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s has %v", args[0], entries)
	}
}

// await waits until a file in a directory holds a text: await DIR TEXT. It is
// for what another process writes.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: await DIR TEXT")
	}
	for range 3000 {
		files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*"))
		ts.Check(err)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(args[1])) {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("no file in %s has %q", args[0], args[1])
}

// closed runs a program whose output nobody reads: closed PROGRAM ARG...
func closed(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 || neg {
		ts.Fatalf("usage: closed PROGRAM ARG...")
	}
	if runtime.GOOS == "windows" {
		return
	}
	r, w, err := os.Pipe()
	ts.Check(err)
	r.Close()
	program, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(program, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"))
	cmd.Stdout = w
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	w.Close()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		ts.Fatalf("%v ended with %v (%v), want status 130", args, code, err)
	}
}
