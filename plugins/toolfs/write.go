package toolfs

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

type writeArgs struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
	escalation
}

// writeValue is what a write returns. Texts have line feeds for line breaks
// and no byte-order mark.
type writeValue struct {
	Path      string        `json:"path"`
	Operation vfs.Operation `json:"operation"`
	Before    *string       `json:"before"`
	After     string        `json:"after"`
}

func (t *tools) write(confined bool) tool.Definition {
	return tool.Tool[writeArgs, writeValue]{
		Name: "write",
		Description: "Create a text file, or replace one completely. Missing parent directories are made. " +
			"An existing file must have been read before.",
		Input:  changeSchema(confined, writeProperties, "file_path", "content"),
		Run:    t.runWrite,
		Render: renderWrite,
		CallCard: func(a writeArgs) tool.Card {
			return callCard(tool.DiffCard, "write", a.FilePath, textdiff.Card{NewText: a.Content})
		},
		ResultCard: func(a writeArgs, r tool.Logged) (tool.Card, error) { return diffCard("write", a.FilePath, r) },
	}.Definition()
}

func (t *tools) runWrite(ctx context.Context, call *tool.Call, a writeArgs) (writeValue, error) {
	if err := checkPath(a.FilePath); err != nil {
		return writeValue{}, err
	}
	r, err := t.apply(ctx, change{
		call: call, path: a.FilePath, ask: a.escalation, intent: vfs.WriteIntent,
		propose: func(vfs.Target, []byte, bool) ([]byte, error) { return []byte(a.Content), nil },
		commit: func(ctx context.Context, fs vfs.FileSystem, target vfs.Target, opts vfs.Options) (vfs.WriteResult, error) {
			return fs.WriteText(ctx, target, a.Content, opts)
		},
	})
	if err != nil {
		return writeValue{}, err
	}
	v := writeValue{Path: vfs.DisplayName(r.target.Path), Operation: r.Operation, After: shown(r.After)}
	if r.Before != nil {
		before := shown(*r.Before)
		v.Before = &before
	}
	return v, nil
}

func renderWrite(a writeArgs, v writeValue) (tool.Rendered, error) {
	did := "Updated file"
	if v.Operation == vfs.Create {
		did = "Created file"
	}
	text := fmt.Sprintf("<path>%s</path>\n<type>file</type>\n<content>\n%s\n</content>", v.Path, did)
	return tool.Rendered{Content: []llm.Block{llm.Text(text)}, Meta: diffs(vfs.DisplayName(a.FilePath), v.Before, v.After)}, nil
}
