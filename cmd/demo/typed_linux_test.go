package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// typed runs a program at a terminal and types an answer when it asks: typed
// ANSWER PROGRAM ARG... What the program prints goes to the file "typed". The
// builtin ttyin types before the program runs, and that answers nothing.
func typed(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: typed ANSWER PROGRAM ARG...")
	}
	keys, tty, err := openTerminal()
	ts.Check(err)
	defer keys.Close()
	program, err := exec.LookPath(args[1])
	ts.Check(err)
	out := &prompted{keys: keys, answer: args[0] + "\n"}
	cmd := exec.Command(program, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "TMPDIR="+ts.Getenv("TMPDIR"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, out, out
	err = cmd.Run()
	tty.Close()
	ts.Check(os.WriteFile(ts.MkAbs("typed"), out.text.Bytes(), 0o644))
	if failed := err != nil; failed != neg {
		ts.Fatalf("%v: %v\n%s", args[1:], err, out.text.Bytes())
	}
}

// prompted is an output that answers the question on it.
type prompted struct {
	mu     sync.Mutex
	text   bytes.Buffer
	keys   *os.File
	answer string
}

func (p *prompted) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	if p.answer != "" && bytes.Contains(p.text.Bytes(), []byte("[y/N]")) {
		_, err := p.keys.WriteString(p.answer)
		p.answer = ""
		return len(b), err
	}
	return len(b), nil
}

// openTerminal returns the two ends of a terminal: the keyboard, and what a
// program reads.
func openTerminal() (keys, tty *os.File, err error) {
	if keys, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	n := 0
	if err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		n, err = unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		keys.Close()
	}
	return keys, tty, err
}
