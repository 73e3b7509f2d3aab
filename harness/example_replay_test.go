package harness_test

import (
	"flag"
	"testing"

	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

var update = flag.Bool("update", false, "record the sessions of testdata anew")

// basic returns the plugins of the session: files, policy and file tools.
func basic(replay.Setup) ([]plug.Plugin, error) {
	return []plug.Plugin{fslocal.Plugin(fslocal.Config{}), fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{})}, nil
}

// TestFixTypo plays a recorded session again: the same answers of the model,
// the same loop, the real tools. It fails where a request or the result of a
// call is no longer what it was.
func TestFixTypo(t *testing.T) {
	if *update {
		recordFixTypo(t)
	}
	recording, err := replay.Load("testdata/fix-typo")
	if err != nil {
		t.Fatalf("%v; run the test with -update to make the recording", err)
	}
	report, err := replay.Run(t.Context(), recording, replay.Config{Plugins: basic})
	if err != nil {
		t.Fatal(err)
	}
	for _, difference := range report.Differences {
		t.Error(difference)
	}
}

// recordFixTypo makes the recording, with a script in the place of a model.
func recordFixTypo(t *testing.T) {
	edit := script.Call{Name: "edit", Arguments: `{"file_path": "notes.txt", "old_string": "teh", "new_string": "the"}`}
	err := replay.Record(t.Context(), "testdata/fix-typo", replay.Recorder{
		Plugins:   basic,
		Workspace: "testdata/notes",
		Prompts:   []string{"Fix the typo in notes.txt."},
		Script: []script.Step{
			{Calls: []script.Call{edit}},
			{Calls: []script.Call{{Name: "read", Arguments: `{"file_path": "notes.txt"}`}}},
			{Calls: []script.Call{edit}},
			{Text: "Done."},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplayTellsWhatChanged shows that the test above can fail: without the
// policy the blind edit succeeds.
func TestReplayTellsWhatChanged(t *testing.T) {
	recording, err := replay.Load("testdata/fix-typo")
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay.Run(t.Context(), recording, replay.Config{Plugins: func(s replay.Setup) ([]plug.Plugin, error) {
		plugins, err := basic(s)
		return append(plugins[:1], plugins[2:]...), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	if d := report.First(); d == nil || d.Where != "result of edit (call-1)" || d.Path != "content[0].text" {
		t.Errorf("the first difference is %v, want the result of the blind edit", d)
	}
}
