package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	style "github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/approve"
)

// prompt asks for tasks until the input or the command ends.
func (r *running) prompt(ctx context.Context) error {
	out := r.app.out
	mode := ""
	if m := r.session.SandboxMode(); m != "" {
		mode = ", " + string(m)
	}
	fmt.Fprintf(out, "%s in %s%s\n", out.Paint(style.Bold, style.Line(r.model)), style.Line(r.session.Cwd()), mode)
	fmt.Fprintln(out, dim(out, "One line is one task; a line typed while the model works steers it. Ctrl-D ends."))
	defer r.farewell(ctx)
	for {
		fmt.Fprintf(out, "\n%s ", out.Paint(style.Cyan, "›"))
		var task string
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return ctx.Err()
		case line, open := <-r.keyboard.lines:
			if !open {
				fmt.Fprintln(out)
				return nil
			}
			if task = strings.TrimSpace(line); task == "" {
				continue
			}
		}
		fmt.Fprintln(out)
		if err := r.promptedTurn(ctx, task); err != nil {
			return err
		}
	}
}

// promptedTurn runs a turn that an interrupt ends without ending the command.
func (r *running) promptedTurn(ctx context.Context, task string) error {
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	undo := r.app.interrupts.On(func() bool {
		if turn.Err() != nil {
			return false // the second one ends the command
		}
		cancel()
		return true
	})
	defer undo()
	err := r.steeredTurn(turn, task)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.discard:
		return err
	case err != nil && turn.Err() == nil:
		// The session is kept, so a turn that failed need not end it all.
		f := asFailure(ctx, nil, err)
		fmt.Fprintf(r.app.errors, "%s %s\n", r.app.errors.Paint(style.Red, f.code+":"), style.Line(f.message))
	}
	return nil
}

// steeredTurn runs a turn that typed lines steer.
func (r *running) steeredTurn(ctx context.Context, task string) error {
	if r.keyboard == nil {
		return r.turn(ctx, task)
	}
	done := make(chan error, 1)
	go func() { done <- r.turn(ctx, task) }()
	lines := r.keyboard.lines
	for {
		select {
		case line, open := <-lines:
			if !open {
				lines = nil
				continue
			}
			text := strings.TrimSpace(line)
			if text == "" || ctx.Err() != nil {
				continue
			}
			if err := r.agent.Steer(ctx, llm.Text(text)); err != nil && ctx.Err() == nil {
				return errors.Join(coded(err), <-done)
			}
		case err := <-done:
			return err
		}
	}
}

// keyboard gives the lines that a person types to whoever wants them: the
// question that is open, else the prompt or the running turn.
type keyboard struct {
	lines  chan string
	closed chan struct{} // nobody wants lines any more

	mu   sync.Mutex
	open *io.PipeWriter // of the open question
}

// openKeyboard returns nil where nobody types.
func (a *app) openKeyboard() *keyboard {
	if !a.typed {
		return nil
	}
	k := &keyboard{lines: make(chan string), closed: make(chan struct{})}
	// It ends with the input: a read of a terminal cannot be taken back.
	go k.read(a.stdin)
	return k
}

func (k *keyboard) read(in io.Reader) {
	defer close(k.lines)
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if line != "" && !k.answered(line) {
			select {
			case k.lines <- line:
			case <-k.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (k *keyboard) close() { close(k.closed) }

// answered gives a line to the open question, if there is one.
func (k *keyboard) answered(line string) bool {
	k.mu.Lock()
	w := k.open
	k.open = nil // one line answers it
	k.mu.Unlock()
	if w == nil {
		return false
	}
	_, err := io.WriteString(w, strings.TrimSuffix(line, "\n")+"\n")
	return err == nil
}

// question returns where the answer to a question is read from, and what to
// call when it is answered or withdrawn.
func (k *keyboard) question() (in io.Reader, done func()) {
	r, w := io.Pipe()
	k.mu.Lock()
	k.open = w
	k.mu.Unlock()
	return r, func() {
		k.mu.Lock()
		k.open = nil
		k.mu.Unlock()
		r.Close()
		w.Close()
	}
}

// ask puts a question to whoever is at the other end of standard input, unless
// that was read as data.
func (a *app) ask(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	if a.consumed {
		return approval.Unavailable, errors.New("standard input was read as data, so that nobody can answer there")
	}
	outcome, err := a.terminal().Answer(ctx, q, next)
	a.refused = outcome == approval.Rejected
	return outcome, err
}

// readInput reads standard input as data. Nobody can answer a question there
// afterwards.
func (a *app) readInput(ctx context.Context) (string, error) {
	a.consumed, a.typed = true, false
	return readAll(ctx, a.stdin)
}

// terminal returns the answerer that reads standard input. There is one, since
// it may have read ahead.
func (a *app) terminal() *approve.Terminal {
	if a.answerer == nil {
		a.answerer = approve.NewTerminal(a.stdin, a.errors)
	}
	return a.answerer
}
