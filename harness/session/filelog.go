package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"sync"
)

const (
	// flushBytes is how much is buffered at most before it is written.
	flushBytes = 32 << 10
	// flushAfter is how long a delta waits in the buffer at most, in
	// milliseconds of event time, when more events come.
	flushAfter = 1000
)

// fileLog is a backend that appends to a file. Stream deltas are buffered so
// that they can be packed; any other event is handed to the system at once.
type fileLog struct {
	path  string
	types []string
	lock  *fileLock

	mu      sync.Mutex
	f       *os.File
	pack    packer
	buf     []byte // whole lines not yet written
	since   int64  // time of the oldest event that is not written
	waiting bool   // there is one
	written int64  // length of the file
	synced  int64  // how much of it is durable
	syncing chan struct{}
	failed  error
}

func (l *fileLog) append(events []Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	urgent := false
	for _, e := range events {
		if !l.waiting {
			l.since, l.waiting = e.Time, true
		}
		l.buf = l.pack.add(l.buf, e)
		urgent = urgent || e.Type != TypeAssistantChunk || e.Time-l.since >= flushAfter
	}
	if !urgent && len(l.buf)+l.pack.bytes < flushBytes {
		return nil
	}
	if err := l.flush(); err != nil {
		return err
	}
	if events[len(events)-1].Type == TypeTurnEnd {
		// A session is idle between turns, and keeps no buffers then.
		l.buf, l.pack.run = nil, nil
	}
	return nil
}

// flush writes everything that is buffered. After a failure the end of the
// file is unknown, so nothing is written any more; opening the log again
// repairs it.
func (l *fileLog) flush() error {
	l.buf = l.pack.flush(l.buf)
	l.waiting = false
	if len(l.buf) == 0 {
		return nil
	}
	n, err := l.f.Write(l.buf)
	l.written += int64(n)
	if err != nil {
		l.failed = err
		return err
	}
	l.buf = l.buf[:0]
	return nil
}

// checkpoint makes durable what was appended before. Whoever comes while a
// sync runs waits for it and shares the next one.
func (l *fileLog) checkpoint(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if err := l.flush(); err != nil {
		return err
	}
	goal := l.written
	for l.synced < goal {
		if l.failed != nil {
			return l.failed
		}
		if running := l.syncing; running != nil {
			l.mu.Unlock()
			select {
			case <-running:
				l.mu.Lock()
			case <-ctx.Done():
				l.mu.Lock()
				return ctx.Err()
			}
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		done := make(chan struct{})
		l.syncing = done
		covers := l.written
		l.mu.Unlock()
		err := l.f.Sync()
		l.mu.Lock()
		l.syncing = nil
		close(done)
		if err != nil {
			l.failed = err
			return err
		}
		l.synced = max(l.synced, covers)
	}
	return nil
}

// events reads the file as far as it was written when it was called, and then
// what is still buffered.
func (l *fileLog) events() iter.Seq2[Event, error] {
	l.mu.Lock()
	length := l.written
	lines := bytes.Clone(l.buf)
	held := slices.Clone(l.pack.run)
	l.mu.Unlock()
	return func(yield func(Event, error) bool) {
		f, err := os.Open(l.path)
		if err != nil {
			yield(Event{}, readFailed(l.path, err))
			return
		}
		defer f.Close()
		rd, err := NewReader(io.MultiReader(io.NewSectionReader(f, 0, length), bytes.NewReader(lines)), l.types...)
		if err != nil {
			yield(Event{}, err)
			return
		}
		for e, err := range rd.all() {
			if !yield(e, err) || err != nil {
				return
			}
		}
		for _, e := range held {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (l *fileLog) close() error {
	err := l.checkpoint(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.syncing != nil {
		running := l.syncing
		l.mu.Unlock()
		<-running
		l.mu.Lock()
	}
	if l.failed == nil {
		l.failed = os.ErrClosed
	}
	l.buf, l.pack = nil, packer{}
	return errors.Join(err, l.f.Close(), l.lock.release())
}
