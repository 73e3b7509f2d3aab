package tour

import (
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
)

// scene is one turn of the conversation, after what happens outside of it.
type scene struct {
	title string
	// outside is what another program does to the workspace before the turn:
	// it replaces text in a file behind the deployment's back.
	outside *replacement
	// user is what the person asks.
	user string
	// steps are the model's, in order.
	steps []step
	// show is a file to look at after the turn, as it is on the disk, and lines
	// are what it must have.
	show  string
	lines []string
}

type replacement struct {
	what, file, old, new string
}

// step is what the scripted model says, and the call it makes then; the last
// step of a turn has none.
type step struct {
	say  string
	tool string
	args map[string]any
	// code is what the call is to fail with; "" for a call that succeeds. The
	// tour checks it, so that it cannot show something else than it says.
	code errs.Code
}

const (
	manual  = "docs/operations.md"
	setting = "config/server.yaml"
)

// scenes are the tour. workspace gives the content of a file of the workspace.
func scenes(workspace func(string) string) []scene {
	// The model's rewrite of the settings is made from what it saw last, so it
	// would undo what another program has changed since.
	rewritten := strings.NewReplacer("upstream: 10s", "upstream: 30s", "level: info", "level: debug").Replace(workspace(setting))
	return []scene{
		{
			title: "A window of a file",
			user:  "What does the manual say about timeouts?",
			steps: []step{
				{tool: "read", args: map[string]any{"file_path": manual, "offset": 7, "limit": 9}},
				{say: "The upstream timeout must be longer than the slowest report, which takes 20 seconds."},
			},
		},
		{
			title: "A blind edit is refused, and the read that unlocks it",
			user:  "Then set the upstream timeout to 30 seconds.",
			steps: []step{
				{
					say:  "I know what the line looks like.",
					tool: "edit", args: map[string]any{"file_path": setting, "old_string": "upstream: 10s", "new_string": "upstream: 30s"},
					code: errs.NotObserved,
				},
				{
					say:  "I have to read the file before I change it.",
					tool: "read", args: map[string]any{"file_path": setting},
				},
				{
					tool: "edit", args: map[string]any{"file_path": setting, "old_string": "upstream: 10s", "new_string": "upstream: 30s"},
				},
				{say: "The upstream timeout is 30 seconds now."},
			},
		},
		{
			title:   "A stale write is refused, and the recovery",
			outside: &replacement{what: "another program raises the number of workers", file: setting, old: "workers: 4", new: "workers: 16"},
			user:    "Turn on debug logging.",
			steps: []step{
				{
					say:  "I write the file anew, from what I remember of it.",
					tool: "write", args: map[string]any{"file_path": setting, "content": rewritten},
					code: errs.StaleVersion,
				},
				{
					say:  "Somebody else was here. I look again.",
					tool: "read", args: map[string]any{"file_path": setting},
				},
				{
					say:  "I change my line only.",
					tool: "edit", args: map[string]any{"file_path": setting, "old_string": "level: info", "new_string": "level: debug"},
				},
				{say: "Debug logging is on, and the new number of workers is kept."},
			},
			show:  setting,
			lines: []string{"workers: 16", "  upstream: 30s", "  level: debug"},
		},
	}
}
