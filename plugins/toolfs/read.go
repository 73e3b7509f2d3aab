package toolfs

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/textwindow"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// readArgs are numbers as JSON has them: models send 10 and 10.0 alike.
type readArgs struct {
	FilePath string   `json:"file_path"`
	Offset   *float64 `json:"offset"`
	Limit    *float64 `json:"limit"`
}

// readValue is what a read returns.
type readValue struct {
	Path string `json:"path"`
	textwindow.Window
}

// readMeta is the log's metadata of a read.
type readMeta struct {
	readValue
	Lang string `json:"lang,omitempty"`
}

func (t *tools) read() tool.Definition {
	return tool.Tool[readArgs, readValue]{
		Name: "read",
		Description: "Read a window of lines of a UTF-8 text file, with line numbers. " +
			"The last line says whether more follows and at which offset to go on.",
		Input:      readInput(t.cfg.ReadLimit),
		Parallel:   true,
		Run:        t.runRead,
		Render:     renderRead,
		CallCard:   func(a readArgs) tool.Card { return callCard(tool.ReadCard, "read", a.FilePath) },
		ResultCard: func(a readArgs, r tool.Logged) (tool.Card, error) { return readCard(a.FilePath, r) },
	}.Definition()
}

func (t *tools) runRead(ctx context.Context, call *tool.Call, a readArgs) (readValue, error) {
	var none readValue
	if err := checkPath(a.FilePath); err != nil {
		return none, err
	}
	opts, err := t.window(a)
	if err != nil {
		return none, err
	}
	return on(ctx, t, call, a.FilePath, func(fs vfs.FileSystem, target vfs.Target) (readValue, error) {
		info, err := fs.Stat(ctx, target)
		switch {
		case err != nil:
			return none, err
		case !info.Exists():
			return none, t.missing(ctx, call, target)
		case info.Type != vfs.File:
			return none, cannotRead(errs.NotRegularFile, target.Path, "not a regular file")
		}
		load := loadWhole
		if info.Size < 0 || info.Size >= t.cfg.ReadStreamMinSize {
			load = loadStream
		}
		l, err := load(ctx, fs, target, opts)
		var behind *textwindow.OffsetError
		switch {
		case errors.As(err, &behind):
			return none, &errs.Error{Code: errs.NotFound, Op: "read", Path: target.Path, Err: err,
				Message: behind.Message(vfs.DisplayName(target.Path))}
		case errors.Is(err, errs.NotFound):
			return none, t.missing(ctx, call, target) // it vanished after the stat
		case err != nil:
			return none, err
		}
		if err := vfs.Observed.Send(ctx, t.Bus, l.observation(target, info.Size, call)); err != nil {
			return none, err
		}
		return readValue{Path: vfs.DisplayName(target.Path), Window: l.window}, nil
	})
}

func (t *tools) window(a readArgs) (textwindow.Options, error) {
	opts := textwindow.Options{Offset: 1, Limit: t.cfg.ReadLimit, MaxLineLength: t.cfg.ReadMaxLineLength, MaxBytes: t.cfg.ReadMaxBytes}
	var err error
	if a.Offset != nil {
		if opts.Offset, err = whole("offset", *a.Offset); err != nil {
			return opts, err
		}
	}
	if a.Limit != nil {
		if opts.Limit, err = whole("limit", *a.Limit); err != nil {
			return opts, err
		}
		if opts.Limit > t.cfg.ReadLimit {
			return opts, invalid("limit must be less than or equal to %d", t.cfg.ReadLimit)
		}
	}
	return opts, nil
}

// maxNumber is the greatest whole number that every JSON reader takes for what
// it is, 2^53-1, or what an int holds.
const maxNumber = min(1<<53-1, math.MaxInt)

// whole returns a positive whole number. One beyond what any file has lines
// for is as good as the greatest.
func whole(name string, v float64) (int, error) {
	if v < 1 || v != math.Trunc(v) {
		return 0, invalid("%s must be a positive integer", name)
	}
	return int(min(v, maxNumber)), nil
}

// loaded is a window with the text it was cut from.
type loaded struct {
	window  textwindow.Window
	version vfs.Version
	text    *string // nil when the text was streamed
	length  int64   // of the text in bytes
}

func loadWhole(ctx context.Context, fs vfs.FileSystem, target vfs.Target, opts textwindow.Options) (loaded, error) {
	text, err := fs.ReadText(ctx, target)
	if err != nil {
		return loaded{}, err
	}
	w, err := textwindow.Build(text.Content, opts)
	return loaded{w, text.Version, &text.Content, int64(len(text.Content))}, err
}

// streamBuffer is the size of the pieces that a large file is streamed in:
// big enough that the calls do not count, small enough to stay in the cache.
const streamBuffer = 256 << 10

func loadStream(ctx context.Context, fs vfs.FileSystem, target vfs.Target, opts textwindow.Options) (_ loaded, err error) {
	stream, err := fs.StreamText(ctx, target)
	if err != nil {
		return loaded{}, err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	b := textwindow.NewBuilder(opts)
	n, err := copyText(b, stream)
	if err != nil {
		return loaded{}, err
	}
	w, err := b.Window()
	return loaded{w, stream.Version(), nil, n}, err
}

// copyText lets a stream that can do so write its text where it is wanted, and
// reads that of another one.
func copyText(to io.Writer, stream vfs.TextStream) (int64, error) {
	if w, ok := stream.(io.WriterTo); ok {
		return w.WriteTo(to)
	}
	return io.CopyBuffer(to, stream, make([]byte, streamBuffer))
}

// markLength is the length of a byte-order mark, which is in a file's size and
// not in its text.
const markLength = 3

// observation tells what was shown. A window of all lines is the whole file.
// size is what the file had before it was read.
func (l loaded) observation(target vfs.Target, size int64, call *tool.Call) vfs.Observation {
	o := vfs.Observation{Target: target, Version: l.version, Actor: call, Size: l.length, Text: l.text}
	if size == l.length+markLength {
		o.Size = size
	}
	if w := l.window; w.Offset > 1 || w.End() < w.TotalLines {
		o.First, o.Last, o.TotalLines = w.Offset, w.End(), w.TotalLines
	}
	return o
}

func renderRead(a readArgs, v readValue) (tool.Rendered, error) {
	return tool.Rendered{
		Content: []llm.Block{llm.Text(v.Format(v.Path))},
		Meta:    readMeta{readValue: v, Lang: langFromPath(a.FilePath)},
	}, nil
}
