package live

import (
	"path/filepath"

	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/fileops"
)

// Rewound says what a rewind did, for the event of one of its receipts; it is
// "" for any other event. Paths below dir, the workspace, are told from there.
func Rewound(e session.Event, dir string) string {
	if e.Type != fileops.TypeReceipt {
		return ""
	}
	var body struct {
		Receipt struct {
			Operation string `json:"operation"`
			Effect    string `json:"effect"`
			Path      string `json:"path"`
			To        string `json:"destination_path"`
		} `json:"receipt"`
	}
	r := &body.Receipt
	if e.Decode(&body) != nil || r.Operation != "rewind" {
		return ""
	}
	text := "rewind: " + r.Effect + " " + within(dir, r.Path)
	if r.To != "" {
		text += " to " + within(dir, r.To)
	}
	return text
}

// within shortens a path below a directory.
func within(dir, path string) string {
	if dir == "" {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
