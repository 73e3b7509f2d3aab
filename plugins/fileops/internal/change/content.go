package change

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// file is what a regular file holds at one time.
type file struct {
	exists  bool
	size    int64
	mode    uint32
	sha     string
	version vfs.Version
	// data is the content where loaded is set, which it is up to the limit.
	data   []byte
	loaded bool
}

// sum is the SHA-256 of data in hex.
func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

// isText reports whether the content is text that can be edited: UTF-8 without
// any NUL.
func (f *file) isText() bool {
	if !f.loaded {
		return false
	}
	v := textedit.Validator{NULEverywhere: true}
	_, err := v.Write(f.data)
	return err == nil && v.Close() == nil
}

// read reads the file at a place, up to the limit into memory and beyond it
// for its digest alone.
func (r *run) read(ctx context.Context, p *place) (*file, error) {
	switch p.info.Type {
	case vfs.Absent:
		return &file{}, nil
	case vfs.File:
	default:
		return nil, notFile(p)
	}
	f := &file{exists: true, mode: p.info.Mode}
	b, err := r.fs.ReadBytes(ctx, p.t, r.cfg.MaxFileBytes)
	switch {
	case err == nil:
		f.data, f.loaded, f.version = b.Data, true, b.Version
		f.size, f.sha = int64(len(b.Data)), sum(b.Data)
		return f, nil
	case errors.Is(err, errs.TooLarge):
		f.sha, f.size, f.version, err = r.digest(ctx, p.t)
	}
	if err != nil {
		return nil, fault.Of(err, p.field)
	}
	return f, nil
}

// loadable refuses a file that is too large to be changed in memory.
func (r *run) loadable(p *place, f *file) error {
	if f.loaded || !f.exists {
		return nil
	}
	return fault.New(fault.TooLarge, p.field, fmt.Sprintf("\"%s\" has %d bytes; the limit is %d", p.show, f.size, r.cfg.MaxFileBytes))
}

func notFile(p *place) error {
	what := "a directory"
	if p.info.Type != vfs.Directory {
		what = "no regular file"
	}
	return fault.New(fault.NotAFile, p.field, fmt.Sprintf("\"%s\" is %s", p.show, what))
}

func notFound(p *place) error {
	return fault.New(fault.PathNotFound, p.field, fmt.Sprintf("\"%s\" does not exist", p.show))
}

const chunk = 1 << 20

// digest reads a file of any size.
func (r *run) digest(ctx context.Context, t vfs.Target) (sha string, size int64, v vfs.Version, err error) {
	in, err := vfs.Open(ctx, r.fs, t)
	if err != nil {
		return "", 0, "", err
	}
	defer in.Close()
	h := sha256.New()
	size, err = pour(ctx, h, in)
	return hex.EncodeToString(h.Sum(nil)), size, in.Version(), err
}

// pour copies all of a file.
func pour(ctx context.Context, w io.Writer, in io.ReaderAt) (int64, error) {
	buf := make([]byte, chunk)
	for at := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return at, err
		}
		n, err := in.ReadAt(buf, at)
		if _, werr := w.Write(buf[:n]); werr != nil {
			return at, werr
		}
		at += int64(n)
		switch {
		case err == io.EOF || err == nil && n < len(buf):
			return at, nil
		case err != nil:
			return at, err
		}
	}
}

// maxDiff bounds a difference, in characters; maxDiffed the texts compared, in
// bytes.
const (
	maxDiff   = 200_000
	maxDiffed = 16 << 20
)

// diff returns what turns one text into the other as a unified diff, nil where
// either is no text or too large to compare.
func diff(p *place, before *file, after []byte) *string {
	next := file{data: after, loaded: true}
	if !before.exists || len(before.data) > maxDiffed || len(after) > maxDiffed || !before.isText() || !next.isText() {
		return nil
	}
	text, _ := textdiff.Unified(p.show, p.show, string(before.data), string(after), 3, maxDiff)
	return &text
}

// stat counts the lines that a change adds and removes, where both sides are
// text.
func stat(before *file, after []byte) (added, removed *int) {
	next := file{data: after, loaded: true}
	if before.exists && !before.isText() || !next.isText() || len(before.data)+len(after) > 2*maxDiffed {
		return nil, nil
	}
	a, d := textdiff.Stat(string(before.data), string(after))
	return &a, &d
}

// lines counts the lines of a text; a last one need not end.
func lines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// breaksLike writes the line breaks of added in the style of the text that it
// follows: that of its last break. Without any, they stay.
func breaksLike(text []byte, added string) string {
	i := bytes.LastIndexByte(text, '\n')
	if i < 0 {
		return added
	}
	added = textedit.NormalizeBreaks(added)
	if i > 0 && text[i-1] == '\r' {
		added = strings.ReplaceAll(added, "\n", "\r\n")
	}
	return added
}
