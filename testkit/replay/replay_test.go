package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/replay"
	"github.com/bridle-go/bridle/testkit/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// greeting is a recording of two turns with three calls.
func greeting(t *testing.T, change func(*replay.Recorder)) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "greeting")
	greet := func(name string) script.Call {
		return script.Call{Name: "greet", Arguments: fmt.Sprintf(`{"name":%q}`, name)}
	}
	rec := replay.Recorder{
		Plugins: greeter("Hello"), Prompts: []string{"Greet them.", "And her."},
		Script: []script.Step{
			{Reasoning: "two of them", Calls: []script.Call{greet("Ada"), greet("Charles & <Co>")}}, {Text: "Done with these two people."},
			{Calls: []script.Call{greet("Grace")}}, {Text: "Done."},
		},
	}
	if change != nil {
		change(&rec)
	}
	if err := replay.Record(t.Context(), folder, rec); err != nil {
		t.Fatal(err)
	}
	return folder
}

func mustRun(t *testing.T, rec *replay.Recording, cfg replay.Config) *replay.Report {
	t.Helper()
	report, err := replay.Run(t.Context(), rec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func mustLoad(t *testing.T, path string) *replay.Recording {
	t.Helper()
	rec, err := replay.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestRecordThenReplay(t *testing.T) {
	folder := greeting(t, nil)
	report := mustRun(t, mustLoad(t, folder), replay.Config{Plugins: greeter("Hello")})
	for _, d := range report.Differences {
		t.Error(d)
	}
	if report.Requests != 4 || len(report.Calls) != 3 {
		t.Errorf("compared %d requests and %d calls, want 4 and 3", report.Requests, len(report.Calls))
	}
	log, err := os.ReadFile(filepath.Join(folder, "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"cwd":"{{cwd}}"`, `"id":"{{sessionId}}"`, `"system":"{{system}}","tools":"{{tools}}"`} {
		if !bytes.Contains(log, []byte(want)) {
			t.Errorf("the recording has no %s", want)
		}
	}
	for _, not := range []string{`"seq":`, `"time":`, os.TempDir()} {
		if bytes.Contains(log, []byte(not)) {
			t.Errorf("the recording has %s", not)
		}
	}
	input, err := os.ReadFile(filepath.Join(folder, "input.json"))
	if err != nil {
		t.Fatal(err)
	}
	var steps struct{ Steps []map[string]string }
	if err := json.Unmarshal(input, &steps); err != nil {
		t.Fatal(err)
	}
	want := []map[string]string{{"op": "initialize"}, {"op": "newSession"}, {"op": "prompt", "text": "Greet them."}, {"op": "prompt", "text": "And her."}}
	if diff := cmp.Diff(want, steps.Steps); diff != "" {
		t.Errorf("input.json (-want +got):\n%s", diff)
	}
}

func TestRecordingTwiceGivesTheSameBytes(t *testing.T) {
	for _, whole := range []bool{false, true} {
		one := greeting(t, func(r *replay.Recorder) { r.Whole, r.Cwd = whole, "/w" })
		two := greeting(t, func(r *replay.Recorder) { r.Whole, r.Cwd = whole, "/w" })
		for _, name := range []string{"session.jsonl", "input.json"} {
			a, errA := os.ReadFile(filepath.Join(one, name))
			b, errB := os.ReadFile(filepath.Join(two, name))
			if err := errors.Join(errA, errB); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(a), string(b)); diff != "" {
				t.Errorf("%s, whole %v (-one +two):\n%s", name, whole, diff)
			}
		}
	}
}

// Whatever is changed in a recording, the replay tells the place.
func TestDifferencesAreFound(t *testing.T) {
	whole := func(r *replay.Recorder) { r.Whole, r.Cwd = true, "/w" }
	folder := greeting(t, whole)
	log, err := os.ReadFile(filepath.Join(folder, "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name     string
		old, new string
		exact    bool
		want     string // the difference begins so
	}{
		{"result", `"text":"Hello, Ada"`, `"text":"Hello, Eve"`, false, "event 21, result of greet (call-1), content[0].text\n  recorded: Hello, Eve\n  replayed: Hello, Ada"},
		{"error flag", `"isError":false`, `"isError":true`, false, "event 21, result of greet (call-1), isError\n  recorded: true\n  replayed: false"},
		{"metadata", `"isError":false}],"role":"user","id":"00000000-0000-4000-8000-000000000003"}`, `"isError":false}],"role":"user","id":"00000000-0000-4000-8000-000000000003"},"meta":{"x":1}`, false,
			"event 21, result of greet (call-1), meta\n  recorded: {\"x\":1}\n  replayed: (absent)"},
		{"error", `"role":"user","id":"00000000-0000-4000-8000-000000000003"}`, `"role":"user","id":"00000000-0000-4000-8000-000000000003"},"error":{"name":"ToolError","code":"X"}`, false,
			"event 21, result of greet (call-1), error\n  recorded: {\"code\":\"X\",\"name\":\"ToolError\"}\n  replayed: (absent)"},
		{"answer", `"content":[{"type":"text","text":"Done with these two people."}],"source"`, `"content":[{"type":"text","text":"Done."}],"source"`, false,
			"event 39, request of turn 2, step 1, messages[4].content[0].text\n  recorded: Done.\n  replayed: Done with these two people."},
		{"system prompt", `"system":""`, `"system":"Be brief."`, false, "event 8, request of turn 1, step 1, system\n  recorded: Be brief.\n  replayed: "},
		{"tools", `"name":"greet","description":""`, `"name":"greet","description":"Greets."`, false,
			"event 8, request of turn 1, step 1, tools[0].description\n  recorded: Greets.\n  replayed: "},
		{"end", `"reason":{"kind":"completed"}`, `"reason":{"kind":"error","message":"m","code":"C"}`, false, "event 33, end of turn 1, reason\n  recorded: error C: m\n  replayed: completed"},
		{"title, which only an exact replay compares", `"title":"Greet them."`, `"title":"Something"`, true, "event 5, session/title, data.title\n  recorded: Something\n  replayed: Greet them."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changed := bytes.Replace(log, []byte(test.old), []byte(test.new), 1)
			if bytes.Equal(changed, log) {
				t.Fatalf("the log has no %s:\n%s", test.old, log)
			}
			path := filepath.Join(t.TempDir(), "log.jsonl")
			if err := os.WriteFile(path, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			report := mustRun(t, mustLoad(t, path), replay.Config{Plugins: greeter("Hello"), Cwd: "/w", Exact: test.exact})
			if report.Equal() {
				t.Fatal("no difference was found")
			}
			if got := report.First().String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCallsAsData(t *testing.T) {
	report := mustRun(t, mustLoad(t, greeting(t, nil)), replay.Config{Plugins: greeter("Bye")})
	line, err := json.Marshal(report.Calls[1])
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	result := func(text string) map[string]any {
		return map[string]any{"isError": false, "content": []any{map[string]any{"type": "text", "text": text}}}
	}
	want := map[string]any{"event": 23.0, "turn": 1.0, "step": 1.0, "callId": "call-2", "name": "greet", "arguments": `{"name":"Charles & <Co>"}`,
		"recorded": result("Hello, Charles & <Co>"), "replayed": result("Bye, Charles & <Co>"), "equal": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A tool that is not there is a difference, and the replay goes on.
func TestMissingTool(t *testing.T) {
	none := func(replay.Setup) ([]plug.Plugin, error) { return nil, nil }
	report := mustRun(t, mustLoad(t, greeting(t, nil)), replay.Config{Plugins: none})
	for _, c := range report.Calls {
		if c.Equal || c.Replayed == nil || c.Replayed.Error == nil || c.Replayed.Error.Code != string(errs.UnknownTool) {
			t.Errorf("%+v", c)
		}
	}
	if len(report.Calls) != 3 {
		t.Errorf("%d calls, want 3", len(report.Calls))
	}
}

// The workspace is copied with its modes and its inner symlinks; what leads
// out of it is left out and named, and the original stays as it is.
func TestWorkspaceIsCopied(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks and modes need a Unix")
	}
	workspace, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside.txt")
	err := errors.Join(
		os.WriteFile(outside, []byte("outside"), 0o600),
		os.MkdirAll(filepath.Join(workspace, "sub", "deep"), 0o755),
		os.WriteFile(filepath.Join(workspace, "sub", "run.sh"), []byte("#!"), 0o755),
		os.Symlink("run.sh", filepath.Join(workspace, "sub", "link")),
		os.Symlink(filepath.Join(workspace, "sub", "run.sh"), filepath.Join(workspace, "absolute")),
		os.Symlink(outside, filepath.Join(workspace, "out")),
		os.Symlink("../../..", filepath.Join(workspace, "sub", "up")))
	if err != nil {
		t.Fatal(err)
	}
	rec := mustLoad(t, greeting(t, nil))
	rec.Workspace = workspace
	var copied string
	plugins := func(s replay.Setup) ([]plug.Plugin, error) {
		copied = s.Workspace
		for _, name := range []string{"sub/run.sh", "sub/link", "absolute"} {
			path := filepath.Join(s.Workspace, name)
			if err := os.WriteFile(path, []byte("changed"), 0o755); err != nil {
				t.Error(err)
			}
		}
		if info, err := os.Stat(filepath.Join(s.Workspace, "sub/run.sh")); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		for _, name := range []string{"out", "sub/up"} {
			if _, err := os.Lstat(filepath.Join(s.Workspace, name)); err == nil {
				t.Errorf("%s was copied", name)
			}
		}
		return greeter("Hello")(s)
	}
	report := mustRun(t, rec, replay.Config{Plugins: plugins})
	if !report.Equal() || len(report.Notes) != 2 {
		t.Errorf("%v, notes %q", report.First(), report.Notes)
	}
	if data, err := os.ReadFile(filepath.Join(workspace, "sub", "run.sh")); err != nil || string(data) != "#!" {
		t.Errorf("the original is %q, %v", data, err)
	}
	if _, err := os.Stat(copied); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch directory is still there: %v", err)
	}
}

// A log that names a real directory is moved to the scratch directory, and
// told in its own spelling.
func TestRealDirectory(t *testing.T) {
	log, err := os.ReadFile(filepath.Join(greeting(t, nil), "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(log), `"cwd":"{{cwd}}"`, `"cwd":"/home/me/desk"`)
	text = strings.ReplaceAll(text, "Ada", "/home/me/desk/a and /home/me/desker")
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var cwd string
	report := mustRun(t, mustLoad(t, path), replay.Config{Plugins: func(s replay.Setup) ([]plug.Plugin, error) {
		cwd = s.Workspace
		return greeter("Hello")(s)
	}})
	if !report.Equal() {
		t.Error(report.First())
	}
	if got, want := report.Calls[0].Arguments, `{"name":"/home/me/desk/a and /home/me/desker"}`; got != want {
		t.Errorf("arguments %s, want %s", got, want)
	}
	replayed := string(encode(t, report.Log))
	if !strings.Contains(replayed, cwd+"/a and /home/me/desker") {
		t.Errorf("the session did not run in %s:\n%s", cwd, replayed)
	}
}

func encode(t *testing.T, log *session.Log) []byte {
	t.Helper()
	var b []byte
	for _, e := range log.Events {
		b = append(e.AppendJSON(b), '\n')
	}
	return b
}

func TestRefusals(t *testing.T) {
	if _, err := replay.Load(t.TempDir()); !errors.Is(err, session.NotFound) {
		t.Errorf("an empty folder: %v", err)
	}
	rec := mustLoad(t, greeting(t, nil))
	if _, err := replay.Run(t.Context(), rec, replay.Config{}); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("no plugins: %v", err)
	}
	failing := errors.New("no such plugin")
	if _, err := replay.Run(t.Context(), rec, replay.Config{Plugins: func(replay.Setup) ([]plug.Plugin, error) { return nil, failing }}); !errors.Is(err, failing) {
		t.Errorf("failing plugins: %v", err)
	}
	short := replay.Recorder{Plugins: greeter("x"), Prompts: []string{"a"}, Script: []script.Step{{Text: "1"}, {Text: "2"}}}
	if err := replay.Record(t.Context(), t.TempDir(), short); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("a script that is too long: %v", err)
	}
}

// BenchmarkReplay replays a log of about 100 000 events.
func BenchmarkReplay(b *testing.B) {
	rec := replay.Recorder{Plugins: greeter("Hello"), Whole: true, Cwd: "/w", Drive: func(ctx context.Context, a *agent.Agent) error {
		for range 500 {
			if _, err := a.Ask(ctx, "Greet them."); err != nil {
				return err
			}
		}
		return nil
	}}
	text := strings.Repeat("some words, ", 120)
	for range 500 {
		rec.Script = append(rec.Script, script.Step{Text: text, Calls: []script.Call{{Name: "greet", Arguments: `{"name":"Ada"}`}}}, script.Step{Text: text})
	}
	folder := filepath.Join(b.TempDir(), "long")
	if err := replay.Record(b.Context(), folder, rec); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, "session.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	events := 0
	for b.Loop() {
		loaded, err := replay.Load(folder)
		if err != nil {
			b.Fatal(err)
		}
		report, err := replay.Run(b.Context(), loaded, replay.Config{Plugins: greeter("Hello"), Cwd: "/w", Exact: true})
		if err != nil || !report.Equal() {
			b.Fatal(err, report.First())
		}
		events += len(report.Log.Events)
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(events)/float64(b.N), "events")
}
