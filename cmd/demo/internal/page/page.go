// Package page makes an HTML page of a session's log: one file that holds
// everything, loads nothing and runs nothing.
//
// A log is not trusted. Every text is escaped, characters that do not show
// themselves are written as escapes, and the page's own policy forbids scripts
// and connections.
package page

import (
	"bufio"
	"context"
	_ "embed"
	"html/template"
	"io"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// Source is what a page is made from.
type Source struct {
	Log *session.Log
	// Lookup finds the tool that presents a call. A tool that is not there gives
	// plain cards.
	Lookup func(name string) (tool.Definition, error)
	// Images has the images of the log. It may be nil: then their places tell
	// what they were.
	Images Images
}

// Images reads stored images; an attachment.Store does.
type Images interface {
	Read(ctx context.Context, ref attachment.Ref) ([]byte, error)
}

//go:embed page.html
var text string

var layout = template.Must(template.New("page").Parse(text))

// Write writes the page of a log.
func Write(ctx context.Context, w io.Writer, src Source) error {
	p, err := build(ctx, src)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if err := layout.Execute(b, p); err != nil {
		return err
	}
	return b.Flush()
}
