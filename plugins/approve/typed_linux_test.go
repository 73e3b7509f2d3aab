package approve_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/plugins/approve"
)

// screen is an output that tells when a question is on it.
type screen struct {
	mu    sync.Mutex
	text  bytes.Buffer
	asked chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.Contains(p, []byte("[y/N]")) {
		s.asked <- struct{}{}
	}
	return s.text.Write(p)
}

// openTerminal returns the two ends of a terminal: the keyboard, and what a
// program reads.
func openTerminal(t *testing.T) (keys, tty *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	n := 0
	if err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		n, err = unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	return keys, tty
}

// What was typed before a question is on the screen answers neither the first
// question nor a later one.
func TestWhatWasTypedBeforeIsNoAnswer(t *testing.T) {
	keys, tty := openTerminal(t)
	defer tty.Close()
	defer keys.Close() // ends the reading
	out := &screen{asked: make(chan struct{}, 1)}
	term := approve.NewTerminal(tty, out)
	for i, c := range []struct {
		before, after string
		want          approval.Outcome
	}{
		{"y\n", "n\n", approval.Rejected},
		{"n\n", "y\n", approval.AllowedOnce},
		{"y\ny\n", "no\n", approval.Rejected},
	} {
		press(t, keys, c.before)
		got := make(chan approval.Outcome, 1)
		go func() {
			outcome, err := term.Answer(t.Context(), approval.Question{Request: approval.Request{ToolName: "write"}}, nil)
			if err != nil {
				t.Error(err)
			}
			got <- outcome
		}()
		<-out.asked
		press(t, keys, c.after)
		if outcome := <-got; outcome != c.want {
			t.Errorf("question %d: %s, want %s", i+1, outcome, c.want)
		}
	}
}

func press(t *testing.T, keys *os.File, text string) {
	t.Helper()
	if _, err := keys.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// A question whose change has a very long line stays on the screen, and says
// how much of the line it leaves out.
func TestLongLinesAreCut(t *testing.T) {
	var out bytes.Buffer
	term := approve.NewTerminal(strings.NewReader("n\n"), &out)
	q := approval.Question{Request: approval.Request{ToolName: "write", Reason: strings.Repeat("r", 2000),
		Diff: func(context.Context) (string, error) { return "+" + strings.Repeat("\u20ac", 5000) + "\n+end\n", nil }}}
	if outcome, err := term.Answer(t.Context(), q, nil); outcome != approval.Rejected || err != nil {
		t.Fatal(outcome, err)
	}
	if !strings.Contains(out.String(), "\n  ... and 4001 more characters in this line\n  +end\n") || strings.Count(out.String(), "\u20ac") != 999 ||
		!strings.Contains(out.String(), "r\n  ... and 1000 more characters in this line\n") {
		t.Errorf("shown: %d bytes", out.Len())
	}
}
