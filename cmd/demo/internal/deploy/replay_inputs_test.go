package deploy_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

// What results of the file operations tell of clocks and chance comes from the
// recording: times that operations took, ids of receipts and backups, and the
// times of files.
func TestTimesAndIDsAreInputsOfAReplay(t *testing.T) {
	workspace := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte("alpha\nbeta\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hub := func(operation, path, config string) script.Call {
		return script.Call{Name: "file_ops_hub", Arguments: fmt.Sprintf(`{"operation":%q,"path":%q,"config":%s}`, operation, path, config)}
	}
	edits := func(from, to string) string {
		return fmt.Sprintf(`{"replacements":[{"old_content":%q,"new_content":%q}]}`, from, to)
	}
	step := func(operation, path, config string) string {
		return fmt.Sprintf(`{"operation":%q,"path":%q,"config":%s}`, operation, path, config)
	}
	batch := func(rest string, steps ...string) script.Call {
		return script.Call{Name: "file_ops_hub", Arguments: fmt.Sprintf(`{"operation":"batch_file_ops","config":{"operations":[%s]%s}}`, strings.Join(steps, ","), rest)}
	}
	calls := []script.Call{
		read("a.txt"), read("b.txt"),
		hub("edit_file", "a.txt", edits("alpha", "ALPHA")),
		hub("edit_file", "a.txt", edits("beta", "BETA")),
		hub("backup_file", "b.txt", `{"label":"mine"}`),
		hub("create_file", "new/c.txt", `{"content":"c\n"}`),
		hub("rollback_file", "a.txt", `{"backup_id":"last"}`),
		batch("", step("file_info", "b.txt", `{}`), step("search_files", ".", `{"query":"beta"}`),
			step("create_file", "d.txt", `{"content":"d\n"}`), step("file_info", "d.txt", `{}`), step("file_tree", ".", `{}`)),
		batch(`,"atomic":true`, step("edit_file", "b.txt", edits("alpha", "ALPHA")), step("move_file", "d.txt", `{"destination_path":"e.txt"}`)),
		hub("list_backups", "a.txt", `{}`), hub("list_backups", "b.txt", `{}`),
		hub("delete_file", "e.txt", `{}`),
		hub("file_info", "a.txt", `{}`), hub("file_info", "new", `{}`),
		hub("list_directory", ".", `{"verbose":true}`), hub("file_tree", ".", `{}`), hub("search_files", ".", `{"query":"beta"}`),
	}
	steps := make([]script.Step, 0, len(calls)+1)
	for _, c := range calls {
		steps = append(steps, script.Step{Calls: []script.Call{c}})
	}
	folder := filepath.Join(t.TempDir(), "recording")
	err := replay.Record(t.Context(), folder, replay.Recorder{
		Workspace: workspace, Script: append(steps, script.Step{Text: "done"}), Whole: true, Agent: agent.Config{Provider: "p", Model: "m"},
		Plugins: func(s replay.Setup) ([]plug.Plugin, error) {
			o := deploy.Default(s.Workspace)
			o.FileOps = &fileops.Config{NoApproval: true}
			o.Place(s.Workspace, s.Home)
			return deploy.Plugins(o), nil
		},
		Prompts: []string{"change them"},
	})
	if err != nil {
		t.Fatal(err)
	}
	outdate(t, folder)
	rec, err := replay.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: func(s replay.Setup) ([]plug.Plugin, error) {
		o := deploy.Default(s.Workspace)
		o.FileOps = &fileops.Config{NoApproval: true}
		o.Place(s.Workspace, s.Home)
		return deploy.Plugins(o), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Differences {
		t.Error(d)
	}
	if len(report.Calls) != len(calls) {
		t.Errorf("%d calls, want %d", len(report.Calls), len(calls))
	}
	for _, c := range report.Calls {
		if c.Recorded.IsError {
			t.Errorf("%s: %s", c.Arguments, c.Recorded.Content)
		}
	}
}

// outdate makes a recording one of a slow machine, with files of another time
// than it has now.
func outdate(t *testing.T, folder string) {
	t.Helper()
	file := filepath.Join(folder, "session.jsonl")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	took := regexp.MustCompile(`(elapsed_ms\\*":)\d+`)
	if n := len(took.FindAll(data, -1)); n < 5 {
		t.Fatalf("the recording tells %d times how long something took", n)
	}
	if !bytes.Contains(data, []byte("receipt_id")) || !bytes.Contains(data, []byte("backup_id")) {
		t.Fatal("the recording has no receipts, or no backups")
	}
	if err := os.WriteFile(file, took.ReplaceAll(data, []byte("${1}98765")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		then := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
		if err := os.Chtimes(filepath.Join(folder, "workspace", name), then, then); err != nil {
			t.Fatal(err)
		}
	}
}
