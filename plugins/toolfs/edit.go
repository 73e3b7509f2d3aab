package toolfs

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

type editArgs struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
	escalation
}

// editValue is what an edit returns. Texts have line feeds for line breaks and
// no byte-order mark; Before is null where the text is too large to show a
// difference.
type editValue struct {
	Path   string  `json:"path"`
	Before *string `json:"before"`
	After  string  `json:"after"`
}

func (t *tools) edit(confined bool) tool.Definition {
	return tool.Tool[editArgs, editValue]{
		Name: "edit",
		Description: "Replace literal text in a text file. old_string must occur exactly once, " +
			"unless replace_all is true. The file must have been read before.",
		Input:  changeSchema(confined, editProperties, "file_path", "old_string", "new_string"),
		Run:    t.runEdit,
		Render: renderEdit,
		CallCard: func(a editArgs) tool.Card {
			return callCard(tool.DiffCard, "edit", a.FilePath, textdiff.Card{OldText: &a.OldString, NewText: a.NewString})
		},
		ResultCard: func(a editArgs, r tool.Logged) (tool.Card, error) { return diffCard("edit", a.FilePath, r) },
	}.Definition()
}

func (t *tools) runEdit(ctx context.Context, call *tool.Call, a editArgs) (editValue, error) {
	if err := checkPath(a.FilePath); err != nil {
		return editValue{}, err
	}
	switch {
	case a.OldString == "":
		return editValue{}, invalid("old_string must be a non-empty string")
	case a.OldString == a.NewString:
		return editValue{}, invalid("old_string and new_string must differ")
	}
	e := vfs.Edit{Old: a.OldString, New: a.NewString, All: a.ReplaceAll}
	r, err := t.apply(ctx, change{
		call: call, path: a.FilePath, ask: a.escalation, intent: vfs.EditIntent,
		propose: func(target vfs.Target, before []byte, exists bool) ([]byte, error) {
			if !exists {
				return nil, &errs.Error{Code: errs.NotFound, Op: "edit", Path: target.Path,
					Message: fmt.Sprintf(`cannot edit "%s": not found`, vfs.DisplayName(target.Path))}
			}
			return vfs.ApplyEdit(target, before, e)
		},
		commit: func(ctx context.Context, fs vfs.FileSystem, target vfs.Target, opts vfs.Options) (vfs.WriteResult, error) {
			return fs.EditText(ctx, target, e, opts)
		},
	})
	if err != nil {
		return editValue{}, err
	}
	v := editValue{Path: vfs.DisplayName(r.target.Path), After: shown(r.After)}
	if r.Before != nil {
		before := shown(*r.Before)
		v.Before = &before
	}
	return v, nil
}

func renderEdit(a editArgs, v editValue) (tool.Rendered, error) {
	text := fmt.Sprintf("The file %s has been updated successfully.", v.Path)
	if a.ReplaceAll {
		text = fmt.Sprintf("The file %s has been updated. All occurrences were successfully replaced.", v.Path)
	}
	return tool.Rendered{Content: []llm.Block{llm.Text(text)}, Meta: diffs(vfs.DisplayName(a.FilePath), v.Before, v.After)}, nil
}
