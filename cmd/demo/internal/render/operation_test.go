package render_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
)

// A line that looks like the header of a diff belongs to the hunk while that
// has lines left.
func TestDiffTextKnowsHeadersFromLines(t *testing.T) {
	got := render.DiffText("--- f\n+++ f\n@@ -3,2 +3 @@\n--- x\n-@@ -1 +1 @@\n+++ y\n\\ No newline at end of file\n@@ -9,0 +9,2 @@\n+a\n+b\n")
	want := [][]render.DiffLine{
		{{Sign: '-', Number: 3, Text: "-- x"}, {Sign: '-', Number: 4, Text: "@@ -1 +1 @@"}, {Sign: '+', Number: 3, Text: "++ y", Unended: true}},
		{{Sign: '+', Number: 9, Text: "a"}, {Sign: '+', Number: 10, Text: "b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOperations(t *testing.T) {
	for _, tt := range []struct{ name, tool, text, want string }{
		{
			"a change whose receipt the title tells", "file_ops_hub",
			`{"operation":"edit_file","summary":"edited","result":{"diff":"--- f\n+++ f\n@@ -7 +7 @@\n-a\n+b\n"},` +
				`"mutation_receipt":{"path":"/w/f","effect":"updated","added_lines":1,"removed_lines":1,"self_verified":true}}`,
			"file_ops_hub x f  +1 -1\n   7-│ a\n   7+│ b\n",
		},
		{
			"one that could not be verified", "file_ops_hub",
			`{"operation":"delete_file","summary":"deleted","result":{},"mutation_receipt":{"path":"/w/f","effect":"deleted","backup_id":"b","verification_error":"why"}}`,
			"file_ops_hub x f\n  deleted /w/f  backup b  not verified: why\n",
		},
		{"a tool of one operation", "list_directory", `{"entries":[{"relative_path":"a\u001b","entry_type":"dir"}]}`, "x f\n  dir    a\\x1b/\n"},
		{"another tool", "list", `{"entries":[]}`, ""},
		{"no operation", "file_ops_hub", `{"result":{}}`, ""},
		{"a result of another shape", "file_ops_hub", `{"operation":"view_file","result":[1]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if v, ok := render.ParseOperation(tt.tool, tt.text); ok {
				render.New(term.New(&b, func(string) string { return "" })).Operation(v, v.Title(tt.tool, "x f"), "/w")
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
