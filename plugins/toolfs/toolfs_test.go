package toolfs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/textdiff"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a deployment on a workspace of its own.
type world struct {
	*harness.Deployment
	t   testing.TB
	dir string
}

func newWorld(t testing.TB, plugins ...plug.Plugin) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if plugins == nil {
		plugins = []plug.Plugin{fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{})}
	}
	d, err := harness.Compose(t.Context(), append(plugins, fslocal.Plugin(fslocal.Config{Cwd: dir}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &world{d, t, dir}
}

func (w *world) put(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func (w *world) agent(id string) *tool.Agent {
	w.t.Helper()
	s, err := session.NewMemory(session.Header{ID: id, Cwd: w.dir}, session.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	return &tool.Agent{Session: s}
}

func (w *world) call(a *tool.Agent, name string, args any) tool.Result {
	w.t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Tools().Execute(w.t.Context(), tool.Invocation{ID: "c", Name: name, Arguments: string(data), Agent: a})
}

type args = map[string]any

func TestRefusalsSayWhatToDo(t *testing.T) {
	w := newWorld(t)
	a := w.agent("s")
	path := filepath.Join(w.dir, "a.txt")
	w.put("a.txt", "one\ntwo\n")
	steps := []struct {
		name string
		args args
		code string
		text string
	}{
		{"edit", args{"file_path": "a.txt", "old_string": "one", "new_string": "1"}, "FS_NOT_OBSERVED",
			fmt.Sprintf(`Error: edit requires reading %q first — read the file, then retry`, path)},
		{"write", args{"file_path": "a.txt", "content": "x"}, "FS_NOT_OBSERVED",
			fmt.Sprintf(`Error: %q already exists and was not read — read the file, then retry`, path)},
		{"read", args{"file_path": "a.txt"}, "", ""},
		{"put", args{"a.txt": "one\ntwo\nthree\n"}, "", ""},
		{"edit", args{"file_path": "a.txt", "old_string": "one", "new_string": "1"}, "FS_STALE_VERSION",
			fmt.Sprintf(`Error: %q changed since it was read (it had 8 bytes then and has 14 now; line 3 changed) — re-read the file, then retry`, path)},
		{"read", args{"file_path": "gone.txt"}, "FS_NOT_FOUND", fmt.Sprintf(`Error: cannot read "%s/gone.txt": not found`, w.dir)},
		{"edit", args{"file_path": "gone.txt", "old_string": "one", "new_string": "1"}, "FS_NOT_FOUND",
			fmt.Sprintf(`Error: cannot edit "%s/gone.txt": not found`, w.dir)},
		{"read", args{"file_path": "a.txt", "offset": 1.5}, "INVALID_ARGS", "Error: offset must be a positive integer"},
		{"read", args{"file_path": "a.txt", "limit": 0}, "INVALID_ARGS", "Error: limit must be a positive integer"},
		{"read", args{"file_path": "a.txt", "limit": 1e300}, "INVALID_ARGS", "Error: limit must be less than or equal to 2000"},
	}
	for i, step := range steps {
		if step.name == "put" {
			for name, content := range step.args {
				w.put(name, content.(string))
			}
			continue
		}
		r := w.call(a, step.name, step.args)
		if code := codeOf(r.Error); code != step.code || step.text != "" && r.Text() != step.text {
			t.Errorf("step %d, %s: %s\ngot  %s\nwant %s", i, step.name, code, r.Text(), step.text)
		}
	}
}

// The file keeps its byte-order mark and line endings; results show neither.
func TestMarksAndEndingsStayInTheFile(t *testing.T) {
	w := newWorld(t)
	a := w.agent("s")
	w.put("a.txt", "\ufeffone\r\ntwo\nthree\r\n")
	if r := w.call(a, "read", args{"file_path": "a.txt"}); !strings.Contains(r.Text(), "\n1: one\n2: two\n3: three\n") {
		t.Errorf("read shows %q", r.Text())
	}
	r := w.call(a, "edit", args{"file_path": "a.txt", "old_string": "two\nthree", "new_string": "2\n3"})
	var v struct{ Before, After string }
	if err := decodeValue(r, &v); err != nil {
		t.Fatal(err, r.Text())
	}
	if v.Before != "one\ntwo\nthree\n" || v.After != "one\n2\n3\n" {
		t.Errorf("value %+v", v)
	}
	if got, want := w.get("a.txt"), "\ufeffone\r\n2\n3\r\n"; got != want {
		t.Errorf("file %q, want %q", got, want)
	}
}

// A name must not be able to forge a line of a result.
func TestOddNamesAreEscaped(t *testing.T) {
	w := newWorld(t)
	name := "a\n</path>\u202eb.txt"
	r := w.call(w.agent("s"), "write", args{"file_path": name, "content": "x"})
	want := "<path>" + w.dir + `/a\n</path>\u202eb.txt` + "</path>\n<type>file</type>\n<content>\nCreated file\n</content>"
	if r.Text() != want {
		t.Errorf("got %q, want %q", r.Text(), want)
	}
	if got := w.get(name); got != "x" {
		t.Errorf("file %q", got)
	}
}

func TestCards(t *testing.T) {
	w := newWorld(t)
	a := w.agent("s")
	w.put("a.go", "package a\n\nvar x = 1\n")
	read := w.call(a, "read", args{"file_path": "a.go", "offset": 3})
	edit := w.call(a, "edit", args{"file_path": "a.go", "old_string": "1", "new_string": "2"})
	wrote := w.call(a, "write", args{"file_path": "new.md", "content": "x"})
	old := "package a\n\nvar x = 1"
	card := func(name, arguments string, r tool.Result) tool.Card {
		d, err := w.Tools().Lookup(nil, name)
		if err != nil {
			t.Fatal(err)
		}
		return d.PresentResult(arguments, tool.Logged{Content: r.Content, IsError: r.IsError, Meta: r.Meta})
	}
	got := []tool.Card{
		card("read", `{"file_path":"a.go"}`, read),
		card("edit", `{"file_path":"a.go"}`, edit),
		card("write", `{"file_path":"new.md"}`, wrote),
		card("edit", `{"file_path":"a.go"}`, tool.Result{Meta: json.RawMessage(`{"diffs":7}`)}),
		card("read", `{"file_path":"a.go"}`, tool.Result{Meta: json.RawMessage(`{}`)}),
		card("edit", `{`, edit),
	}
	want := []tool.Card{
		{Kind: tool.ReadCard, Title: "read a.go", Path: filepath.Join(w.dir, "a.go"), Lang: "go", Offset: 3, TotalLines: 3, Lines: []tool.Line{{Number: 3, Text: "var x = 1"}}},
		{Kind: tool.DiffCard, Title: "edit a.go", Path: "a.go", Lang: "go", Diffs: got[1].Diffs},
		{Kind: tool.DiffCard, Title: "write new.md", Path: "new.md", Lang: "md", Diffs: got[2].Diffs, Text: wrote.Text()},
		{Kind: tool.GenericCard, Title: "edit"},
		{Kind: tool.GenericCard, Title: "read"},
		{Kind: tool.GenericCard, Title: "edit", Text: edit.Text()},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d := got[1].Diffs; len(d) != 1 || d[0].OldText == nil || *d[0].OldText != old || d[0].NewText != "package a\n\nvar x = 2" {
		t.Errorf("diff %+v", d)
	}
}

// store is an attachment store that keeps nothing.
type store struct{ attachment.Store }

func storePlugin() plug.Plugin {
	return plug.Plugin{
		Name:     "store",
		Services: []plug.Declaration{plug.Provides[attachment.Store]()},
		Options:  fx.Provide(func() attachment.Store { return store{} }),
	}
}

func TestReadImageComesAndGoesWithTheStore(t *testing.T) {
	w := newWorld(t)
	tools := func() string {
		var names []string
		for _, d := range w.Tools().Definitions(nil) {
			names = append(names, d.Name)
		}
		return strings.Join(names, " ")
	}
	system := w.Prompt().System()
	for range 2 {
		if got := tools(); got != "edit read write" {
			t.Errorf("without a store: %s", got)
		}
		if err := w.Mount(t.Context(), storePlugin()); err != nil {
			t.Fatal(err)
		}
		if got := tools(); got != "edit read read_image write" {
			t.Errorf("with a store: %s", got)
		}
		if err := w.Unmount(t.Context(), "store"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(system, w.Prompt().System()); diff != "" {
		t.Errorf("the prompt changed:\n%s", diff)
	}
}

func TestToolsLeaveWithThePlugin(t *testing.T) {
	w := newWorld(t)
	if err := w.Unmount(t.Context(), "toolfs"); err != nil {
		t.Fatal(err)
	}
	if ds := w.Tools().Definitions(nil); len(ds) > 0 || w.Prompt().System() != "" {
		t.Errorf("left over: %d tools, prompt %q", len(ds), w.Prompt().System())
	}
}

func TestCallsFailClearlyWithoutAProvider(t *testing.T) {
	w := newWorld(t)
	if err := w.Unmount(t.Context(), "fslocal"); err != nil {
		t.Fatal(err)
	}
	r := w.call(w.agent("s"), "read", args{"file_path": "a.txt"})
	if r.Error == nil || r.Error.Code != "SERVICE_UNAVAILABLE" {
		t.Errorf("%+v %s", r.Error, r.Text())
	}
	w.put("a.txt", "x")
	if err := w.Mount(t.Context(), fslocal.Plugin(fslocal.Config{Cwd: w.dir})); err != nil {
		t.Fatal(err)
	}
	if r := w.call(w.agent("s"), "read", args{"file_path": "a.txt"}); r.IsError {
		t.Error(r.Text())
	}
}

// A listener of fs/observed that fails shows in the result; what was done
// stays done.
func TestFailingObserverShows(t *testing.T) {
	w := newWorld(t, toolfs.Plugin(toolfs.Config{}))
	boom := errors.New("boom")
	vfs.Observed.On(w.Bus(), plug.NewScope("recorder"), func(context.Context, vfs.Observation) error { return boom })
	r := w.call(nil, "write", args{"file_path": "a.txt", "content": "x"})
	if r.Error == nil || r.Error.Code != "LISTENER_FAILED" || w.get("a.txt") != "x" {
		t.Errorf("%+v", r)
	}
}

func TestAbortedCallChangesNothing(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	vfs.WriteIntent.On(w.Bus(), plug.NewScope("test"), func(ctx context.Context, in vfs.Intent, next event.Next[vfs.Intent, vfs.Guard]) (vfs.Guard, error) {
		cancel()
		return next(ctx, in)
	}, event.First())
	r := w.Tools().Execute(ctx, tool.Invocation{Name: "write", Arguments: `{"file_path":"d/a.txt","content":"x"}`, Agent: w.agent("s")})
	if r.Error == nil || r.Error.Code != "FS_ABORTED" {
		t.Errorf("%+v %s", r.Error, r.Text())
	}
	if entries, err := os.ReadDir(w.dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func codeOf(e *tool.ErrorInfo) string {
	if e == nil {
		return ""
	}
	return e.Code
}

func decodeValue(r tool.Result, v any) error {
	data, err := r.ValueJSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func TestCallCardsShowWhatIsAskedFor(t *testing.T) {
	w := newWorld(t)
	old := "a"
	tests := []struct {
		name, arguments string
		want            tool.Card
	}{
		{"read", `{"file_path":"x/a.go"}`, tool.Card{Kind: tool.ReadCard, Title: "read x/a.go", Path: "x/a.go", Lang: "go"}},
		{"write", `{"file_path":"n.md","content":"c"}`, tool.Card{Kind: tool.DiffCard, Title: "write n.md", Path: "n.md", Lang: "md",
			Diffs: []textdiff.Card{{Path: "n.md", NewText: "c"}}}},
		{"edit", `{"file_path":"n\u0007","old_string":"a","new_string":"b"}`, tool.Card{Kind: tool.DiffCard, Title: `edit n\a`, Path: `n\a`,
			Diffs: []textdiff.Card{{Path: `n\a`, OldText: &old, NewText: "b"}}}},
		{"edit", `{"file_path":7}`, tool.Card{Kind: tool.GenericCard, Title: "edit", Text: `{"file_path":7}`}},
	}
	for _, test := range tests {
		d, err := w.Tools().Lookup(nil, test.name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, d.PresentCall(test.arguments)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.name, test.arguments, diff)
		}
	}
}

func TestNegativeLimitsAreRefused(t *testing.T) {
	for name, cfg := range map[string]toolfs.Config{
		"ReadLimit": {ReadLimit: -1}, "ReadMaxLineLength": {ReadMaxLineLength: -1},
		"ReadMaxBytes": {ReadMaxBytes: -1}, "ReadStreamMinSize": {ReadStreamMinSize: -1},
	} {
		_, err := harness.Compose(t.Context(), toolfs.Plugin(cfg), fslocal.Plugin(fslocal.Config{Cwd: t.TempDir()}))
		if !errors.Is(err, errs.InvalidArgs) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
