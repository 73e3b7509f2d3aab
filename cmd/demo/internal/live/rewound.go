package live

import (
	"github.com/bridle-go/bridle/cmd/demo/internal/render"
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
	text := "rewind: " + r.Effect + " " + render.Near(dir, r.Path)
	if r.To != "" {
		text += " to " + render.Near(dir, r.To)
	}
	return text
}
