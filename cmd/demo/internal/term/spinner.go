package term

import (
	"fmt"
	"sync"
	"time"
)

// frames are the pictures of a spinner, and every how long each is shown.
const (
	frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	every  = 100 * time.Millisecond
	// patience is how long something takes before a spinner tells of it.
	patience = 300 * time.Millisecond
)

// Spinner shows that something is going on, in the line that is written next.
// On anything but a terminal it shows nothing.
//
// It draws while its locker is free, and every other writer of the output
// holds the locker and calls Hide first.
type Spinner struct {
	out    *Output
	locker sync.Locker
	stop   chan struct{}
	done   chan struct{}

	label string
	since time.Time
	frame int
	shown bool
}

// NewSpinner returns a spinner that shows nothing yet. Stop ends it.
func NewSpinner(out *Output, locker sync.Locker) *Spinner {
	s := &Spinner{out: out, locker: locker, stop: make(chan struct{}), done: make(chan struct{})}
	if !out.moves {
		close(s.done)
		return s
	}
	go s.run()
	return s
}

func (s *Spinner) run() {
	defer close(s.done)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.locker.Lock()
			s.draw()
			s.locker.Unlock()
		}
	}
}

func (s *Spinner) draw() {
	waited := time.Since(s.since)
	if s.label == "" || waited < patience {
		return
	}
	pictures := []rune(frames)
	picture := string(pictures[s.frame%len(pictures)])
	s.frame++
	text := s.label
	if waited >= time.Second {
		text += fmt.Sprintf(" %ds", int(waited.Seconds()))
	}
	if most := s.out.width - 3; len([]rune(text)) > most {
		text = string([]rune(text)[:max(most, 0)])
	}
	fmt.Fprintf(s.out, "\r%s %s\x1b[K", s.out.Paint(Cyan, picture), s.out.Paint(Dim, text))
	s.shown = true
}

// Show says what is going on from now on. The caller holds the locker.
func (s *Spinner) Show(label string) {
	s.label, s.since = Line(label), time.Now()
}

// Update changes what is said, without beginning anew. The caller holds the
// locker.
func (s *Spinner) Update(label string) { s.label = Line(label) }

// Hide takes the spinner off the line, so that something else can be written
// there. The caller holds the locker.
func (s *Spinner) Hide() {
	s.label = ""
	if s.shown {
		s.shown = false
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

// Stop ends the spinner and returns when it has ended. The caller does not
// hold the locker.
func (s *Spinner) Stop() {
	s.locker.Lock()
	s.Hide()
	s.locker.Unlock()
	close(s.stop)
	<-s.done
}
