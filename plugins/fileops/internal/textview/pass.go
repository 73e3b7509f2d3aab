package textview

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"math/bits"
	"unicode/utf8"
)

// totals is what one pass over a file tells.
type totals struct {
	bytes, chars int64
	lines        int
	sha256       string
	// lastLine is where the last line begins.
	lastLine position
}

// A collector sees the file go by in blocks and keeps what belongs to a
// window. at is what lies before the block: bytes, characters, line feeds.
type collector interface {
	block(b []byte, at position)
	finish(t totals, v *View) error
}

type position struct {
	bytes, chars int64
	lines        int // line feeds so far
}

// after is the position behind b.
func (p position) after(b []byte) position {
	return position{p.bytes + int64(len(b)), p.chars + int64(chars(b)), p.lines + bytes.Count(b, []byte{'\n'})}
}

// before is the position in front of b, of which p is the end. A last line is
// mostly short, so counting back is cheaper.
func (p position) before(b []byte) position {
	return position{p.bytes - int64(len(b)), p.chars - int64(chars(b)), p.lines - bytes.Count(b, []byte{'\n'})}
}

const (
	blockSize = 1 << 20
	// blocks is the number of blocks on their way: one being read, one being
	// looked at, one being hashed, and one to spare.
	blocks = 4
)

// pass reads a file once. A file of one block is handled in place; a longer
// one goes through a pipeline, since hashing takes as long as all the rest
// together.
func pass(ctx context.Context, file io.ReaderAt, size int64, c collector) (*Facts, error) {
	p := counter{c: c, apart: blockSize * spacing(size)}
	sum := sha256.New()
	first := make([]byte, firstBlock(size))
	n, more, err := readBlock(file, first, 0, size)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(ctx.Err(), p.add(first[:n])); err != nil {
		return nil, err
	}
	sum.Write(first[:n])
	if more {
		if err := p.pipeline(ctx, file, size, sum); err != nil {
			return nil, err
		}
	}
	t, err := p.finish(sum)
	if err != nil {
		return nil, err
	}
	return &Facts{t, p.marks}, nil
}

func firstBlock(size int64) int64 {
	if size < 0 || size > blockSize {
		return blockSize
	}
	return max(size, 1)
}

// readBlock fills b from the file and reports whether there may be more.
func readBlock(file io.ReaderAt, b []byte, offset, size int64) (n int, more bool, err error) {
	if size >= 0 {
		b = b[:min(int64(len(b)), size-offset)]
	}
	if len(b) == 0 {
		return 0, false, nil
	}
	n, err = file.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		return n, false, nil
	}
	return n, err == nil && (size < 0 || offset+int64(n) < size), err
}

// pipeline reads what follows the first block in one goroutine, hashes in
// another and counts in this one. Both have ended when it returns.
func (p *counter) pipeline(ctx context.Context, file io.ReaderAt, size int64, sum hash.Hash) error {
	free := make(chan []byte, blocks)
	for range blocks {
		free <- make([]byte, blockSize)
	}
	read := make(chan []byte, blocks)
	toHash := make(chan []byte, blocks)
	hashed := make(chan struct{})
	stop := make(chan struct{})
	var readErr error
	go func() {
		defer close(read)
		for offset, more := p.at.bytes, true; more; {
			var b []byte
			select {
			case b = <-free:
			case <-stop:
				return
			}
			var n int
			if n, more, readErr = readBlock(file, b[:blockSize], offset, size); readErr != nil {
				return
			}
			offset += int64(n)
			read <- b[:n]
		}
	}()
	go func() {
		defer close(hashed)
		for b := range toHash {
			sum.Write(b)
			free <- b
		}
	}()
	var err error
	stopped := false
	for b := range read {
		if stopped {
			continue
		}
		if err = errors.Join(ctx.Err(), p.add(b)); err != nil {
			stopped = true
			close(stop)
			continue
		}
		toHash <- b
	}
	close(toHash)
	<-hashed
	return errors.Join(err, readErr)
}

// counter checks and counts the blocks of a file.
type counter struct {
	c    collector
	at   position
	tail [utf8.UTFMax]byte // the beginning of a character that a block cut
	kept int
	t    totals
	last byte
	// marks are left at least this many bytes apart.
	marks []position
	apart int64
	// begun are the places after the last two line feeds, the later first.
	begun [2]position
}

func (p *counter) add(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if p.at.bytes < Sniff {
		if bytes.IndexByte(b[:min(int64(len(b)), Sniff-p.at.bytes)], 0) >= 0 {
			return ErrNotText
		}
	}
	if err := p.check(b); err != nil {
		return err
	}
	p.c.block(b, p.at)
	p.at = p.at.after(b)
	if next := p.apart * int64(len(p.marks)+1); p.at.bytes >= next {
		p.marks = append(p.marks, p.at)
	}
	if k := bytes.LastIndexByte(b, '\n'); k >= 0 {
		p.begun[1] = p.begun[0]
		p.begun[0] = p.at.before(b[k+1:])
		if k2 := bytes.LastIndexByte(b[:k], '\n'); k2 >= 0 {
			p.begun[1] = p.begun[0].before(b[k2+1 : k+1])
		}
	}
	p.last = b[len(b)-1]
	return nil
}

// check verifies that b continues valid UTF-8, and keeps the beginning of a
// character that b ends in for the next block.
func (p *counter) check(b []byte) error {
	for p.kept > 0 && len(b) > 0 && !utf8.FullRune(p.tail[:p.kept]) {
		p.tail[p.kept] = b[0]
		p.kept++
		b = b[1:]
	}
	if p.kept > 0 {
		if !utf8.FullRune(p.tail[:p.kept]) {
			return nil
		}
		if !utf8.Valid(p.tail[:p.kept]) {
			return ErrNotText
		}
		p.kept = 0
	}
	whole := wholeChars(b)
	p.kept = copy(p.tail[:], b[len(whole):])
	if !utf8.Valid(whole) {
		return ErrNotText
	}
	return nil
}

func (p *counter) finish(sum hash.Hash) (totals, error) {
	if p.kept > 0 {
		return totals{}, ErrNotText
	}
	p.t.bytes, p.t.chars, p.t.lines = p.at.bytes, p.at.chars, p.at.lines
	if p.last == '\n' {
		p.t.lastLine = p.begun[1]
	} else if p.at.bytes > 0 {
		p.t.lastLine = p.begun[0]
		p.t.lines++
	}
	p.t.sha256 = hex.EncodeToString(sum.Sum(nil))
	return p.t, nil
}

// chars counts the characters that begin in valid UTF-8, eight bytes at a
// time: all bytes but those of the form 10xxxxxx.
func chars(b []byte) int {
	const high = 0x8080808080808080
	n, i := len(b), 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if w &= high &^ (w << 1); w != 0 {
			n -= bits.OnesCount64(w)
		}
	}
	for ; i < len(b); i++ {
		if !utf8.RuneStart(b[i]) {
			n--
		}
	}
	return n
}
