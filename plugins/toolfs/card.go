package toolfs

import (
	"encoding/json"
	"errors"

	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Cards are made from arguments and logged results alone, so that a replay
// shows what was shown.

func callCard(name, path string) tool.Card {
	path = vfs.DisplayName(path)
	return tool.Card{Kind: tool.GenericCard, Title: name + " " + path, Path: path}
}

func diffCard(name, path string, r tool.Logged) (tool.Card, error) {
	var meta diffMeta
	if err := json.Unmarshal(r.Meta, &meta); err != nil {
		return tool.Card{}, err
	}
	if meta.Diffs == nil {
		return tool.Card{}, errors.New("metadata without diffs")
	}
	card := callCard(name, path)
	card.Kind, card.Lang, card.Diffs = tool.DiffCard, langFromPath(path), meta.Diffs
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
	card := callCard("read", path)
	card.Kind = tool.ReadCard
	card.Path = meta.Path
	card.Lang, card.Offset, card.TotalLines, card.Lines = meta.Lang, meta.Offset, meta.TotalLines, meta.Lines
	return card, nil
}
