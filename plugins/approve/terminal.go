package approve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Terminal asks a person at a terminal. It shows the tool, the path, the
// reason and the change, with control characters, characters that change the
// direction of text and bytes that are not UTF-8 made visible, so that what is
// shown cannot pass for something else. Anything but a plain yes is a no.
//
// One question is asked at a time. A question that is withdrawn while the
// terminal waits is cancelled. What a person typed before the question was
// shown does not answer it.
type Terminal struct {
	// MaxDiffLines bounds the lines of the change that are shown. Default 200.
	MaxDiffLines int
	// Echoes tells that an answer appears on the output as it is typed, with its
	// line feed; otherwise one is written, so that what follows has a line of its
	// own. NewTerminal sets it where answers come from a terminal.
	Echoes bool

	out   io.Writer
	turn  chan struct{} // holds one token
	lines func() <-chan string
	typed *os.File // the terminal at which a person types, or nil
	// started tells that lines are read; who holds the turn may use it.
	started bool
	// asking tells that a question is open. Only then does a line count that a
	// person types.
	asking atomic.Bool
}

// NewTerminal returns an answerer that reads answers from in, line by line,
// and writes to out. It begins to read when it first asks, in one goroutine
// that ends with in.
func NewTerminal(in io.Reader, out io.Writer) *Terminal {
	t := &Terminal{out: out, turn: make(chan struct{}, 1)}
	t.turn <- struct{}{}
	f, isFile := in.(*os.File)
	if isFile && term.IsTerminal(int(f.Fd())) {
		t.typed, t.Echoes = f, true
	}
	t.lines = sync.OnceValue(func() <-chan string { return t.read(in) })
	return t
}

// read yields the lines of in. Those of a file or pipe wait until they are
// wanted. Of a person who types, the first line after a question counts.
func (t *Terminal) read(in io.Reader) <-chan string {
	lines := make(chan string, 1)
	go func() {
		defer close(lines)
		r := bufio.NewReader(in)
		for {
			text, err := r.ReadString('\n')
			if err != nil && text == "" {
				return
			}
			if t.typed == nil {
				lines <- strings.TrimSpace(text)
				continue
			}
			if !t.asking.Load() {
				continue
			}
			select {
			case lines <- strings.TrimSpace(text):
			default: // the question is answered already
			}
		}
	}()
	return lines
}

// Answer asks the person.
func (t *Terminal) Answer(ctx context.Context, q approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	select {
	case <-t.turn:
		defer func() { t.turn <- struct{}{} }()
	case <-ctx.Done():
		return approval.Cancelled, nil
	}
	text, err := t.text(ctx, q)
	if err != nil {
		return approval.Unavailable, err
	}
	if t.typed != nil {
		// What was typed before nobody has read yet, and a reader may have kept a
		// line for a question that was withdrawn.
		discardInput(t.typed)
		if t.started {
			select {
			case <-t.lines():
			default:
			}
		}
	}
	if _, err := io.WriteString(t.out, text); err != nil {
		return approval.Unavailable, err
	}
	t.asking.Store(true)
	defer t.asking.Store(false)
	t.started = true
	lines := t.lines()
	select {
	case answer, open := <-lines:
		if !open || !t.Echoes {
			fmt.Fprintln(t.out)
		}
		if !open {
			return approval.Unavailable, errors.New("the input ended before there was an answer")
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return approval.AllowedOnce, nil
		}
		return approval.Rejected, nil
	case <-ctx.Done():
		fmt.Fprintln(t.out, "\nThe question was withdrawn.")
		return approval.Cancelled, nil
	}
}

// text is the question as it is shown.
func (t *Terminal) text(ctx context.Context, q approval.Question) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s asks for approval\n", Visible(q.ToolName))
	if q.Path != "" {
		fmt.Fprintf(&b, "  path    %s\n", Visible(q.Path))
	}
	if q.Resolved != "" && q.Resolved != q.Path {
		fmt.Fprintf(&b, "  leads to %s\n", Visible(q.Resolved))
	}
	b.WriteString("  reason  ")
	writeClipped(&b, q.Reason)
	if q.Diff != nil {
		diff, err := q.Diff(ctx)
		if err != nil {
			return "", fmt.Errorf("the change cannot be shown: %w", err)
		}
		b.WriteString(t.clip(diff))
	}
	b.WriteString("Allow this once? [y/N] ")
	return b.String(), nil
}

// clip makes a diff safe to show, and short enough.
func (t *Terminal) clip(diff string) string {
	most := t.MaxDiffLines
	if most <= 0 {
		most = 200
	}
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	left := 0
	if len(lines) > most {
		left = len(lines) - most
		lines = lines[:most]
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString("  ")
		writeClipped(&b, l)
	}
	if left > 0 {
		fmt.Fprintf(&b, "  ... and %d more lines\n", left)
	}
	return b.String()
}

// maxLineChars bounds what is shown of one line, in characters: a longer one
// would push everything else off the screen.
const maxLineChars = 1000

// writeClipped writes one line, and says what it leaves out.
func writeClipped(b *strings.Builder, line string) {
	left := utf8.RuneCountInString(line) - maxLineChars
	if left <= 0 {
		b.WriteString(Visible(line) + "\n")
		return
	}
	end := 0
	for range maxLineChars {
		_, size := utf8.DecodeRuneInString(line[end:])
		end += size
	}
	fmt.Fprintf(b, "%s\n  ... and %d more characters in this line\n", Visible(line[:end]), left)
}

// Visible returns one line of text as a terminal may show it. Tabs stay.
func Visible(s string) string {
	parts := strings.Split(s, "\t")
	for i, p := range parts {
		parts[i] = vfs.DisplayName(p)
	}
	return strings.Join(parts, "\t")
}
