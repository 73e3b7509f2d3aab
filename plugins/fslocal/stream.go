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
	// streamChunk is a leaf of the digest: large enough to make the hand-over
	// cheap, small enough to stay in a processor's cache until it is digested.
	streamChunk = leafSize
	// streamDepth is how many chunks exist. A stream takes 1 MiB: where one
	// processor does all the work, a chunk has to stay in its cache from the
	// digest to the caller.
	streamDepth = 4
	// streamReaders is how many chunks are read at a time. Two keep up with a
	// caller that does nothing but count lines.
	streamReaders = 2
)

// StreamText implements [vfs.FileSystem]. Reading and digesting run ahead of
// the caller in goroutines of their own, which end with the file, an error or
// Close.
func (f *FS) StreamText(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
	if err := vfs.Aborted(ctx, "read", t.Path); err != nil {
		return nil, err
	}
	s, err := f.openFile("read", t)
	if err != nil {
		return nil, err
	}
	st := &stream{fs: f, ctx: ctx, t: t, ahead: &readAhead{src: s}}
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
		return 0, st.refuseClosed()
	}
	if err := vfs.Aborted(st.ctx, "read", st.t.Path); err != nil {
		return 0, st.end(err)
	}
	n, err := st.text.Read(p)
	if err == nil || errors.Is(err, io.ErrShortBuffer) {
		return n, err
	}
	if n > 0 && err == io.EOF {
		return n, nil // the next call meets the end again
	}
	return n, st.finish(err)
}

// WriteTo implements [io.WriterTo]: what is read is handed to w without being
// copied. Errors of w are returned as they are.
func (st *stream) WriteTo(w io.Writer) (int64, error) {
	switch {
	case st.err == io.EOF:
		return 0, nil
	case st.err != nil:
		return 0, st.err
	case st.closed:
		return 0, st.refuseClosed()
	}
	to := &sink{st: st, to: w}
	n, err := st.text.WriteTo(to)
	switch {
	case err == nil:
		_ = st.finish(io.EOF)
		return n, nil
	case to.err != nil:
		return n, st.end(err)
	}
	return n, st.finish(err)
}

// sink is where a stream writes to, for as long as nobody cancels.
type sink struct {
	st  *stream
	to  io.Writer
	err error // what Write returned last
}

func (s *sink) Write(p []byte) (n int, err error) {
	if s.err = vfs.Aborted(s.st.ctx, "read", s.st.t.Path); s.err == nil {
		n, s.err = s.to.Write(p)
	}
	return n, s.err
}

func (st *stream) refuseClosed() error {
	return refuse(errs.IO, "read", st.t.Path, "the stream has been closed", nil)
}

// finish ends the stream for a reason that the text or the file gives.
func (st *stream) finish(err error) error {
	var notText *textedit.NotTextError
	switch {
	case err == io.EOF:
		st.version = st.fs.done(st.ahead.src, st.ahead.sum.digest())
	case errors.As(err, &notText):
		err = vfs.NotText(st.t, "read", err)
	default:
		err = readFailure("read", st.t.Path, err)
	}
	return st.end(err)
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

// readAhead reads a file in chunks, several at a time, digests them and hands
// them over in order. A file of one chunk, or of unknown size, is read by the
// caller itself.
type readAhead struct {
	src *source
	sum treeHash

	begun  bool
	wanted chan int64 // numbers of the chunks to be read
	slots  [streamDepth]slot
	work   sync.WaitGroup
	ended  bool

	number  int64  // of the chunk being handed out
	current []byte // what is left of it
	total   int64
	err     error
}

// slot takes the chunks whose numbers leave the same remainder.
type slot struct {
	ready chan struct{}
	buf   []byte
	n     int
	leaf  leaf
	err   error
}

func (r *readAhead) Read(p []byte) (int, error) {
	if err := r.more(); err != nil {
		return 0, err
	}
	n := copy(p, r.current)
	r.current = r.current[n:]
	return n, nil
}

// WriteTo implements [io.WriterTo]: chunks are handed over as they are.
func (r *readAhead) WriteTo(w io.Writer) (total int64, err error) {
	for {
		if err := r.more(); err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
		n, err := w.Write(r.current)
		total += int64(n)
		r.current = r.current[n:]
		if err != nil {
			return total, err
		}
	}
}

// more makes sure that something is left of the current chunk.
func (r *readAhead) more() error {
	for len(r.current) == 0 {
		if r.err != nil {
			return r.err
		}
		if r.src.size < streamChunk {
			r.direct()
		} else {
			r.next()
		}
	}
	return nil
}

// direct reads the next chunk in the caller's own time.
func (r *readAhead) direct() {
	s := &r.slots[0]
	if s.buf == nil {
		s.buf = make([]byte, streamChunk)
	}
	if r.total > 0 && s.n < streamChunk {
		r.err = io.EOF
		return
	}
	r.fill(s, func(p []byte) (int, error) { return io.ReadFull(r.src, p) })
	r.take(s)
	if r.src.size < 0 && r.total > maxUnsized {
		r.err = errEndless
	}
}

// next waits for the next chunk, and lets the slot of the last one be filled
// anew.
func (r *readAhead) next() {
	if !r.begun {
		r.begin()
	} else {
		r.wanted <- r.number + streamDepth // has room for every slot
		r.number++
	}
	s := &r.slots[r.number%streamDepth]
	<-s.ready
	r.take(s)
}

func (r *readAhead) take(s *slot) {
	r.current, r.err = s.buf[:s.n], s.err
	r.total += int64(s.n)
	if s.n > 0 {
		r.sum.add(s.leaf, s.n)
	}
}

func (r *readAhead) begin() {
	r.begun = true
	r.wanted = make(chan int64, streamDepth)
	for i := range r.slots {
		r.slots[i] = slot{ready: make(chan struct{}, 1), buf: make([]byte, streamChunk)}
		r.wanted <- int64(i)
	}
	for range streamReaders {
		r.work.Go(func() {
			for number := range r.wanted {
				s := &r.slots[number%streamDepth]
				r.fill(s, func(p []byte) (int, error) { return r.src.ReadAt(p, number*streamChunk) })
				s.ready <- struct{}{}
			}
		})
	}
}

// fill reads and digests one chunk. What is shorter than a chunk ends the file.
func (r *readAhead) fill(s *slot, read func([]byte) (int, error)) {
	s.n, s.err = read(s.buf)
	if errors.Is(s.err, io.ErrUnexpectedEOF) {
		s.err = io.EOF
	}
	s.leaf = leafOf(s.buf[:s.n])
}

// stop ends the goroutines and waits for them.
func (r *readAhead) stop() {
	if r.begun && !r.ended {
		r.ended = true
		close(r.wanted)
		r.work.Wait()
	}
}
