package toolfs

import (
	"encoding/json"
	"errors"

	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Cards are made from arguments and logged results alone, so that a replay
// shows what was shown.

// callCard presents a call before its result is known. What an edit or a write
// is about to change is in its arguments.
func callCard(kind tool.CardKind, name, path string, diffs ...textdiff.Card) tool.Card {
	shown := vfs.DisplayName(path)
	for i := range diffs {
		diffs[i].Path = shown
	}
	return tool.Card{Kind: kind, Title: name + " " + shown, Path: shown, Lang: langFromPath(path), Diffs: diffs}
}

func diffCard(name, path string, r tool.Logged) (tool.Card, error) {
	var meta diffMeta
	if err := json.Unmarshal(r.Meta, &meta); err != nil {
		return tool.Card{}, err
	}
	if meta.Diffs == nil {
		return tool.Card{}, errors.New("metadata without diffs")
	}
	card := callCard(tool.DiffCard, name, path, meta.Diffs...)
	if len(meta.Diffs) == 0 {
		card.Text = tool.Result{Content: r.Content}.Text()
	}
	return card, nil
}

func readCard(path string, r tool.Logged) (tool.Card, error) {
	var meta readMeta
	if err := json.Unmarshal(r.Meta, &meta); err != nil {
		return tool.Card{}, err
	}
	if meta.Path == "" || meta.Offset < 1 || meta.Lines == nil {
		return tool.Card{}, errors.New("metadata without a window")
	}
	card := callCard(tool.ReadCard, "read", path)
	card.Path = meta.Path
	card.Lang, card.Offset, card.TotalLines, card.Lines = meta.Lang, meta.Offset, meta.TotalLines, meta.Lines
	return card, nil
}
