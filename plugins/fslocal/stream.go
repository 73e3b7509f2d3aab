package fslocal

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/vfs"
)

const (
	// streamChunk is large enough to make the hand-over cheap and small enough
	// to stay in a processor's cache between the reader and the consumer.
	streamChunk = 256 << 10
	// streamDepth is how many chunks exist. With the consumer's buffer a stream
	// takes about a MiB.
	streamDepth = 4
)

// StreamText implements [vfs.FileSystem]. Reading and digesting run ahead of
// the caller in one goroutine, which ends with the file, an error or Close.
func (f *FS) StreamText(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
	if err := aborted(ctx, "read", t.Path); err != nil {
		return nil, err
	}
	s, err := f.openFile("read", t)
	if err != nil {
		return nil, err
	}
	st := &stream{fs: f, ctx: ctx, t: t, ahead: &readAhead{src: s, sum: newHasher()}}
	st.text = textedit.NewReader(st.ahead)
	return st, nil
}

type stream struct {
	fs    *FS
	ctx   context.Context // of the whole pass; Read has none of its own
	t     vfs.Target
	ahead *readAhead
	text  *textedit.Reader

	version vfs.Version
	err     error
	closed  bool
}

func (st *stream) Read(p []byte) (int, error) {
	if st.err != nil {
		return 0, st.err
	}
	if st.closed {
		return 0, refuse(errs.IO, "read", st.t.Path, "the stream has been closed", nil)
	}
	if err := aborted(st.ctx, "read", st.t.Path); err != nil {
		return 0, st.end(err)
	}
	n, err := st.text.Read(p)
	if err == nil || errors.Is(err, io.ErrShortBuffer) {
		return n, err
	}
	if n > 0 && err == io.EOF {
		return n, nil // the next call meets the end again
	}
	var notText *textedit.NotTextError
	switch {
	case err == io.EOF:
		st.version = st.fs.done(st.ahead.src, st.ahead.sum.digest())
	case errors.As(err, &notText):
		err = vfs.NotText(st.t, "read", err)
	default:
		err = readFailure("read", st.t.Path, err)
	}
	return n, st.end(err)
}

// end stops the reading ahead; the file stays open until Close.
func (st *stream) end(err error) error {
	st.err = err
	st.ahead.stop()
	return err
}

func (st *stream) Version() vfs.Version { return st.version }

func (st *stream) Close() error {
	if st.closed {
		return nil
	}
	st.closed = true
	st.ahead.stop()
	return fail("close", st.t.Path, st.ahead.src.Close())
}

// readAhead reads and digests a file in a goroutine of its own and hands the
// chunks over in order. A file of one chunk is read without one.
type readAhead struct {
	src *source
	sum *hasher

	begun   bool
	full    chan chunk
	free    chan []byte
	quit    chan struct{}
	quitNow sync.Once
	ended   chan struct{}

	current []byte // what is left of the chunk being handed out
	buffer  []byte // the whole of it, to be returned
	err     error
}

type chunk struct {
	data []byte
	err  error
}

func (r *readAhead) Read(p []byte) (int, error) {
	for len(r.current) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.next()
	}
	n := copy(p, r.current)
	r.current = r.current[n:]
	return n, nil
}

func (r *readAhead) next() {
	if !r.begun && r.src.size >= 0 && r.src.size < streamChunk {
		// Room for one byte more than expected finds the end without waiting.
		r.take(r.fill(make([]byte, max(r.src.size, 511)+1)))
		return
	}
	if !r.begun {
		r.begin()
	}
	if r.buffer != nil {
		r.free <- r.buffer
		r.buffer = nil
	}
	r.take(<-r.full)
}

func (r *readAhead) take(c chunk) {
	r.current, r.err = c.data, c.err
	if r.begun {
		r.buffer = c.data[:0]
	}
}

func (r *readAhead) begin() {
	r.begun = true
	r.full = make(chan chunk, streamDepth)
	r.free = make(chan []byte, streamDepth)
	r.quit = make(chan struct{})
	r.ended = make(chan struct{})
	for range streamDepth {
		r.free <- nil
	}
	go r.run()
}

func (r *readAhead) run() {
	defer close(r.ended)
	for {
		var buf []byte
		select {
		case buf = <-r.free:
		case <-r.quit:
			return
		}
		if cap(buf) == 0 {
			buf = make([]byte, streamChunk)
		}
		c := r.fill(buf[:cap(buf)])
		r.full <- c // has room for every buffer there is
		if c.err != nil {
			return
		}
	}
}

// fill reads one chunk and digests it.
func (r *readAhead) fill(buf []byte) chunk {
	n, err := r.src.Read(buf)
	_, _ = r.sum.Write(buf[:n]) // never fails
	if r.src.size < 0 && r.sum.size > maxUnsized && err == nil {
		err = errEndless
	}
	return chunk{data: buf[:n], err: err}
}

// stop ends the goroutine and waits for it.
func (r *readAhead) stop() {
	if !r.begun {
		return
	}
	r.quitNow.Do(func() { close(r.quit) })
	<-r.ended
}
