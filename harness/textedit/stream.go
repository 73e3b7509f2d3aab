package textedit

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Validator checks a stream of bytes for being text, chunk by chunk, with
// constant memory. Chunks may be cut anywhere. The zero value is ready and
// looks for NUL as [Decode] does.
type Validator struct {
	// NULEverywhere makes a NUL behind the first NULWindow bytes an offence,
	// too. Set it before the first Write.
	NULEverywhere bool

	offset int64             // Bytes accepted, those in part included.
	part   [utf8.UTFMax]byte // The beginning of a rune that is not complete.
	parts  int
	err    error
}

// Write accepts the next chunk. The first offence gives a [*NotTextError], and
// so does every later call. The chunk is not kept. The count is that of the
// bytes that were accepted.
func (v *Validator) Write(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	start := v.offset
	nul := -1
	if window := v.window(len(p)); window > 0 {
		nul = bytes.IndexByte(p[:window], 0)
	}
	body, done := p, 0
	// Complete the rune that the last chunk left open.
	for v.parts > 0 && len(body) > 0 {
		v.part[v.parts] = body[0]
		v.parts++
		body, done = body[1:], done+1
		if !utf8.FullRune(v.part[:v.parts]) {
			continue
		}
		// An invalid rune is full as soon as it is known to be invalid; the
		// offence then lies where it begins.
		if !utf8.Valid(v.part[:v.parts]) {
			bad := start + int64(done-v.parts)
			return v.fail(p, start, bad, nul)
		}
		v.parts = 0
	}
	whole := len(body) - openTail(body)
	if !valid(body[:whole]) {
		return v.fail(p, start, start+int64(done+validPrefix(body[:whole])), nul)
	}
	if nul >= 0 {
		return v.fail(p, start, start+int64(len(p)), nul)
	}
	if whole < len(body) {
		v.parts = copy(v.part[:], body[whole:])
	}
	v.offset += int64(len(p))
	return len(p), nil
}

// window returns how many of the next n bytes must be free of NUL.
func (v *Validator) window(n int) int {
	if v.NULEverywhere {
		return n
	}
	return int(min(int64(n), max(0, NULWindow-v.offset)))
}

// fail remembers the first of two offences: invalid UTF-8 at bad, and a NUL at
// position nul of the chunk if that is not negative.
func (v *Validator) fail(p []byte, start, bad int64, nul int) (int, error) {
	e := &NotTextError{Offset: bad}
	if nul >= 0 && start+int64(nul) < bad {
		e = &NotTextError{Offset: start + int64(nul), NUL: true}
	}
	v.err = e
	return int(min(int64(len(p)), max(0, e.Offset-start))), v.err
}

// Close says that the stream ends here. It gives a [*NotTextError] if that is
// inside a rune, or the error of an earlier Write.
func (v *Validator) Close() error {
	if v.err == nil && v.parts > 0 {
		v.err = &NotTextError{Offset: v.offset - int64(v.parts)}
	}
	return v.err
}

// openTail returns how many bytes at the end of p begin a rune that is not
// complete, 0 to 3.
func openTail(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Reader reads the text of a file as a stream: what [Decode] would return, in
// chunks that are never cut inside a rune.
type Reader struct {
	src   io.Reader
	check Validator
	carry [utf8.UTFMax]byte
	held  int // Bytes in carry: read, but not a complete rune.
	begun bool
	err   error
}

// NewReader returns a reader of the text in src. Large buffers make it fast:
// apart from the check it costs nothing beyond what src costs.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Read fills p with checked text. If the file turns out not to be text, the
// error is a [*NotTextError]; what was read before it was valid. Errors of the
// source are returned as they are. A buffer shorter than one rune (4 bytes) is
// io.ErrShortBuffer.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) < utf8.UTFMax {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.ErrShortBuffer
	}
	for {
		if r.err != nil {
			return 0, r.err
		}
		n := copy(p, r.carry[:r.held])
		m, err := r.src.Read(p[n:])
		if _, bad := r.check.Write(p[n : n+m]); bad != nil {
			r.err = bad
			return 0, bad
		}
		n += m
		if err == io.EOF {
			if bad := r.check.Close(); bad != nil {
				err = bad
			}
		}
		r.err = err
		// Checked text can only be incomplete at its very end.
		whole := n - openTail(p[:n])
		r.held = copy(r.carry[:], p[whole:n])
		text := p[:whole]
		if !r.begun && whole > 0 {
			r.begun = true
			// A mark is one rune, so it is never split between chunks.
			if bytes.HasPrefix(text, []byte(bom)) {
				whole = copy(p, text[len(bom):])
			}
		}
		if whole > 0 || m == 0 && r.err == nil {
			return whole, nil
		}
	}
}

// writePiece is how much WriteTo checks and hands over at a time: little enough
// to stay in a processor's nearest cache from the one to the other.
const writePiece = 16 << 10

// WriteTo writes the rest of the text to w, in pieces as Read gives them, with
// the errors of Read or that of w. From a source that is an [io.WriterTo],
// nothing is copied; w must not keep the pieces.
func (r *Reader) WriteTo(w io.Writer) (int64, error) {
	out := &textWriter{r: r, to: w}
	if r.err == nil {
		if _, r.err = io.Copy(out, r.src); r.err == nil {
			r.err = io.EOF
			if bad := r.check.Close(); bad != nil {
				r.err = bad
			}
		}
	}
	if r.err == io.EOF {
		return out.n, nil
	}
	return out.n, r.err
}

// textWriter takes the bytes of a reader's source and writes the text in them.
type textWriter struct {
	r  *Reader
	to io.Writer
	n  int64 // written
}

func (t *textWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		piece := rest[:min(len(rest), writePiece)]
		rest = rest[len(piece):]
		if _, err := t.r.check.Write(piece); err != nil {
			return 0, err
		}
		if err := t.text(piece); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// text writes whole runes of checked bytes and holds back an open one.
func (t *textWriter) text(p []byte) error {
	r := t.r
	for r.held > 0 && len(p) > 0 && !utf8.RuneStart(p[0]) {
		r.carry[r.held] = p[0]
		r.held++
		p = p[1:]
	}
	if r.held > 0 && utf8.FullRune(r.carry[:r.held]) {
		whole := r.held
		r.held = 0
		if err := t.emit(r.carry[:whole]); err != nil {
			return err
		}
	}
	if len(p) == 0 {
		return nil
	}
	whole := len(p) - openTail(p)
	r.held = copy(r.carry[:], p[whole:])
	return t.emit(p[:whole])
}

func (t *textWriter) emit(text []byte) error {
	if len(text) > 0 && !t.r.begun {
		t.r.begun = true
		text = bytes.TrimPrefix(text, []byte(bom))
	}
	if len(text) == 0 {
		return nil
	}
	n, err := t.to.Write(text)
	t.n += int64(n)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}
