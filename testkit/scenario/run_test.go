package scenario_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toys is a composer whose tools do what their arguments say, so that each
// test decides what a deployment gives:
//
//	say   gives text, value, meta, an error code, a failed rendering
//	save  writes a file, as a tool would
//	cwd   tells where the session is
func toys(scenario.Setup) ([]plug.Plugin, error) {
	return []plug.Plugin{{Name: "toys", Options: fx.Invoke(func(tools *tool.Registry, bus *event.Bus, scope *plug.Scope) error {
		_, err := tools.Register(scope, say)
		_, err2 := tools.Register(scope, save)
		_, err3 := tools.Register(scope, where)
		_, err4 := tools.Register(scope, ask(bus))
		return errors.Join(err, err2, err3, err4)
	})}}, nil
}

type saying struct {
	Text  string          `json:"text,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Meta  json.RawMessage `json:"meta,omitempty"`
	Code  string          `json:"code,omitempty"`
	Bad   bool            `json:"bad,omitempty"`
}

var say = tool.Tool[saying, json.RawMessage]{
	Name:  "say",
	Input: tool.Schema(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"mood":{"type":"string","enum":["glad","sad"]}}}`),
	Run: func(_ context.Context, _ *tool.Call, a saying) (json.RawMessage, error) {
		if a.Code != "" {
			return nil, errs.New(errs.Code(a.Code), a.Text)
		}
		if a.Value == nil {
			return json.RawMessage("null"), nil
		}
		return a.Value, nil
	},
	Render: func(a saying, _ json.RawMessage) (tool.Rendered, error) {
		r := tool.Rendered{Content: []llm.Block{llm.Text(a.Text)}, IsError: a.Bad}
		if a.Meta != nil {
			r.Meta = a.Meta
		}
		return r, nil
	},
}.Definition()

type saving struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

var save = tool.Tool[saving, bool]{
	Name: "save", Input: tool.Schema(`{"type":"object"}`),
	Run: func(_ context.Context, call *tool.Call, a saving) (bool, error) {
		return true, os.WriteFile(filepath.Join(call.Cwd(), a.Path), []byte(a.Text), 0o600)
	},
	Render: func(saving, bool) (tool.Rendered, error) { return tool.Rendered{}, nil },
}.Definition()

var where = tool.Tool[struct{}, map[string]string]{
	Name: "where", Input: tool.Schema(`{"type":"object"}`),
	Run: func(_ context.Context, call *tool.Call, _ struct{}) (map[string]string, error) {
		v := map[string]string{"path": call.Cwd()}
		if s := call.Session(); s != nil {
			v["session"], v["mode"] = s.ID(), string(s.SandboxMode())
		}
		return v, nil
	},
	Render: func(_ struct{}, v map[string]string) (tool.Rendered, error) {
		return tool.Rendered{Content: []llm.Block{llm.Text("at " + v["path"])}}, nil
	},
}.Definition()

func ask(bus *event.Bus) tool.Definition {
	return tool.Tool[struct{}, string]{
		Name: "ask", Input: tool.Schema(`{"type":"object"}`),
		Run: func(ctx context.Context, _ *tool.Call, _ struct{}) (string, error) {
			o, err := approval.Answer.Ask(ctx, bus, approval.Question{
				Request: approval.Request{ToolName: "ask", Reason: "may I"},
			}, nil)
			if err != nil {
				return string(o) + ": " + err.Error(), nil
			}
			return string(o), nil
		},
		Render: func(_ struct{}, v string) (tool.Rendered, error) {
			return tool.Rendered{Content: []llm.Block{llm.Text(v)}}, nil
		},
	}.Definition()
}

// play runs one scenario, given without its name, in a fresh folder that must
// be empty again afterwards.
func play(t *testing.T, text string, compose scenario.Composer) scenario.Outcome {
	t.Helper()
	all, err := scenario.Load(strings.NewReader("[" + text + "]"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := scenario.Run(t.Context(), all[0], compose, scenario.Config{Dir: dir})
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("after the scenario its folder holds %v (%v), want nothing", left, err)
	}
	return out
}

func TestScenariosThatHold(t *testing.T) {
	tests := []struct{ name, scenario string }{
		{"everything a call may give", `{
			"steps": [{"call":"say","args":{"text":"hi {{cwd}}/a","value":{"path":"{{cwd}}/a","n":1.0,"deep":[{"x":1,"y":2}]},"meta":[null]}}],
			"expect": [{"isError":false,"hasCode":false,"text":"hi {{cwd}}/a","textEndsWith":"/a","textMatches":["hi","{{base}}"],
				"value":{"path":"{{base}}/ws/a","n":1,"deep":[{"x":1,"y":2}]},"valueHas":{"deep":[{"x":1}]},"meta":[null],"path":"{{cwd}}/a"}]}`},
		{"an error with its code", `{
			"steps": [{"call":"say","args":{"text":"no","code":"FS_NOT_FOUND"}},{"call":"nosuch"},{"call":"say","args":{}},
				{"call":"say","args":{"text":"x"},"aborted":true}],
			"expect": [{"isError":true,"code":"FS_NOT_FOUND","hasCode":true,"text":"Error: no"},{"isError":true,"code":"UNKNOWN_TOOL"},
				{"isError":true,"code":"INVALID_ARGS"},{"isError":true,"code":"ABORTED_BEFORE_DISPATCH"}]}`},
		{"a failure with a value", `{
			"steps": [{"call":"say","args":{"text":"no","bad":true,"value":{"error_kind":"x","more":1}}}],
			"expect": [{"isError":true,"valueHas":{"error_kind":"x"}}]}`},
		{"sessions, their folders and their logs", `{
			"files": [{"path":"sub","dir":true}],
			"sessions": {"a":{"cwd":"{{cwd}}/sub","events":[{"type":"sandbox/mode","data":{"mode":"read-only"},"seq":0}]}},
			"steps": [{"call":"where"},{"call":"where","session":"a"},{"call":"where","session":"b"},{"call":"where","session":null}],
			"expect": [{"value":{"path":"{{cwd}}","session":"s1","mode":""}},{"value":{"path":"{{cwd}}/sub","session":"a","mode":"read-only"}},
				{"value":{"path":"{{cwd}}","session":"b","mode":""}},{"value":{"path":""}}]}`},
		{"files of every kind", `{
			"files": [{"path":"d","dir":true},{"path":"d/t","text":"x\u0000y"},{"path":"b","base64":"/wA="},{"path":"r","repeat":{"text":"ab","count":3}},
				{"path":"l","symlink":"d/t"},{"path":"m","text":"","mode":"0755"}],
			"outside": [{"path":"o","text":"o {{base}}"}],
			"steps": [{"put":{"path":"d/t","text":"new"}},{"put":{"path":"r","remove":true}},{"put":{"path":"l","symlink":"b"}},{"put":{"path":"../out/p/q","text":"q"}},{"call":"save","args":{"path":"s","text":"s"}}],
			"expect": [null,null,null,null,null],
			"after": [{"path":"b","sha256":"ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f","bytes":2},{"path":"d","dir":true},{"path":"d/t","text":"new"},
				{"path":"l","symlink":"b"},{"path":"m","text":"","mode":"0755"},{"path":"s","base64":"cw=="}],
			"outsideAfter": [{"path":"o","repeat":{"text":"o {{base}}","count":1}},{"path":"p","dir":true},{"path":"p/q","text":"q"}]}`},
		{"the prompt", `{
			"steps": [{"prompt":true}],
			"expect": [{"tools":[{"name":"ask","required":[],"properties":{}},{"name":"save","required":[],"properties":{}},
				{"name":"say","required":["text"],"properties":{"text":{"type":"string"},"mood":{"type":"string","enum":["glad","sad"]}}},
				{"name":"where","required":[],"properties":{}}]}]}`},
		{"approvals", `{
			"compose": {"approval":{"answers":["allowed-once","rejected"]}},
			"steps": [{"call":"ask"},{"call":"ask"},{"call":"ask"}],
			"expect": [{"text":"allowed-once"},{"text":"rejected"},{"textMatches":["unavailable"]}],
			"asks": [{"toolName":"ask","reason":"may I"},{"toolName":"ask","reason":"may I"},{"toolName":"ask","reason":"may I"}]}`},
		{"no expectations", `{"steps":[{"call":"where"}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := play(t, tt.scenario, toys)
			if !out.Pass {
				t.Errorf("the scenario holds, got differences:\n%s", text(out))
			}
		})
	}
}

// TestEachMismatchIsReported shows that no check of the runner is blind: each
// of these scenarios is wrong in one way, and exactly that is named.
func TestEachMismatchIsReported(t *testing.T) {
	call := func(args, expect string) string {
		return `{"steps":[{"call":"say","args":` + args + `}],"expect":[` + expect + `]}`
	}
	files := func(after string) string {
		return `{"files":[{"path":"d","dir":true},{"path":"l","symlink":"d"},{"path":"t","text":"x","mode":"0644"}],"steps":[],"expect":[],"after":[` + after + `]}`
	}
	const (
		d = `{"path":"d","dir":true}`
		l = `{"path":"l","symlink":"d"}`
		x = `{"path":"t","text":"x"}`
	)
	tests := []struct {
		name, scenario string
		fields         string // of the differences, in order
	}{
		{"isError expected", call(`{"text":"a"}`, `{"isError":true}`), "steps[0].isError"},
		{"isError not expected", call(`{"text":"a","code":"X"}`, `{"isError":false}`), "steps[0].isError"},
		{"another code", call(`{"text":"a","code":"X"}`, `{"code":"Y"}`), "steps[0].code"},
		{"no code", call(`{"text":"a"}`, `{"code":"Y","hasCode":true}`), "steps[0].code steps[0].hasCode"},
		{"a code", call(`{"text":"a","code":"X"}`, `{"hasCode":false}`), "steps[0].hasCode"},
		{"text", call(`{"text":"ab"}`, `{"text":"a"}`), "steps[0].text"},
		{"end of text", call(`{"text":"ab"}`, `{"textEndsWith":"a"}`), "steps[0].textEndsWith"},
		{"substring of text", call(`{"text":"ab"}`, `{"textMatches":["a","c"]}`), "steps[0].textMatches[1]"},
		{"value: scalar", call(`{"text":"","value":{"a":[1,2]}}`, `{"value":{"a":[1,3]}}`), "steps[0].value.a[1]"},
		{"value: type", call(`{"text":"","value":{"a":"1"}}`, `{"value":{"a":1}}`), "steps[0].value.a"},
		{"value: null is not missing", call(`{"text":"","value":{}}`, `{"value":{"a":null}}`), "steps[0].value.a"},
		{"value: more members", call(`{"text":"","value":{"a":1,"b":2}}`, `{"value":{"a":1}}`), "steps[0].value.b"},
		{"value: longer array", call(`{"text":"","value":[1,2]}`, `{"value":[1]}`), "steps[0].value[1]"},
		{"value: shorter array", call(`{"text":"","value":[1]}`, `{"value":[1,2]}`), "steps[0].value[1]"},
		{"value: array for object", call(`{"text":"","value":[]}`, `{"value":{}}`), "steps[0].value"},
		{"value: object for scalar", call(`{"text":"","value":{}}`, `{"value":1}`), "steps[0].value"},
		{"value: none", call(`{"text":"","code":"X"}`, `{"value":{"a":1}}`), "steps[0].value"},
		{"valueHas: scalar", call(`{"text":"","value":{"a":{"b":1}}}`, `{"valueHas":{"a":{"b":2}}}`), "steps[0].valueHas.a.b"},
		{"valueHas: missing", call(`{"text":"","value":{"a":1}}`, `{"valueHas":{"b":1}}`), "steps[0].valueHas.b"},
		{"valueHas: element", call(`{"text":"","value":{"a":[{"b":1,"c":1}]}}`, `{"valueHas":{"a":[{"b":2}]}}`), "steps[0].valueHas.a[0].b"},
		{"valueHas: longer array", call(`{"text":"","value":{"a":[1,2]}}`, `{"valueHas":{"a":[1]}}`), "steps[0].valueHas.a[1]"},
		{"meta", call(`{"text":"","meta":{"a":1}}`, `{"meta":{"a":2}}`), "steps[0].meta.a"},
		{"meta where none is expected", call(`{"text":"","meta":{"a":1}}`, `{"meta":null}`), "steps[0].meta"},
		{"path", call(`{"text":"","value":{"path":"/x"}}`, `{"path":"{{cwd}}"}`), "steps[0].path"},
		{"no image", call(`{"text":""}`, `{"image":{"mediaType":"image/png","width":1,"height":1}}`), "steps[0].image"},
		{"a result of a put", `{"steps":[{"put":{"path":"a","text":"b"}}],"expect":[{"isError":false}]}`, "steps[0]"},
		{"file missing", files(d + "," + l + "," + x + `,{"path":"u","text":""}`), "after.u"},
		{"file left over", files(d + "," + l), "after.t"},
		{"text of a file", files(d + "," + l + `,{"path":"t","text":"y"}`), "after.t.text"},
		{"base64 of a file", files(d + "," + l + `,{"path":"t","base64":"eQ=="}`), "after.t.text"},
		{"digest of a file", files(d + "," + l + `,{"path":"t","sha256":"00","bytes":2}`), "after.t.sha256 after.t.bytes"},
		{"mode of a file", files(d + "," + l + `,{"path":"t","text":"x","mode":"0600"}`), "after.t.mode"},
		{"file for directory", files(`{"path":"d","text":""},` + l + "," + x), "after.d"},
		{"directory for file", files(d + "," + l + `,{"path":"t","dir":true}`), "after.t"},
		{"file for symlink", files(d + `,{"path":"l","text":""},` + x), "after.l"},
		{"symlink elsewhere", files(d + `,{"path":"l","symlink":"e"},` + x), "after.l.symlink"},
		{"outside left over", `{"outside":[{"path":"o","text":""}],"steps":[],"expect":[],"outsideAfter":[]}`, "outsideAfter.o"},
		{"asked too much", `{"compose":{"approval":{"answers":[]}},"steps":[{"call":"ask"}],"expect":[null],"asks":[]}`, "asks[0]"},
		{"not asked", `{"steps":[],"expect":[],"asks":[{"toolName":"a","reason":"b"}]}`, "asks[0]"},
		{"asked for another reason", `{"steps":[{"call":"ask"}],"expect":[null],"asks":[{"toolName":"ask","reason":"b"}]}`, "asks[0]"},
		{"attachments without a store", `{"steps":[],"expect":[],"distinctAttachments":1}`, "distinctAttachments"},
		{"other tools", `{"steps":[{"prompt":true}],"expect":[{"tools":[{"name":"say","required":["text"],"properties":{}}]}]}`, "steps[0].tools"},
		{"other properties", `{"steps":[{"prompt":true}],"expect":[{"tools":[{"name":"ask","required":["q"],"properties":{"q":{"type":"string"}}},{"name":"save","required":[],"properties":{}},
			{"name":"say","required":["text"],"properties":{"text":{"type":"number"}}},{"name":"where","required":[],"properties":{}}]}]}`,
			"steps[0].tools.ask.required steps[0].tools.ask.q steps[0].tools.say.text.type steps[0].tools.say.mood"},
		{"other enum", `{"steps":[{"prompt":true}],"expect":[{"tools":[{"name":"ask","required":[],"properties":{}},{"name":"save","required":[],"properties":{}},
			{"name":"say","required":["text"],"properties":{"text":{"type":"string"},"mood":{"type":"string","enum":["glad"]}}},{"name":"where","required":[],"properties":{}}]}]}`,
			"steps[0].tools.say.mood.enum[1]"},
		{"unknown key", `{"steps":[],"expect":[],"afterwards":[]}`, "scenario"},
		{"unknown key of compose", `{"compose":{"polcy":false},"steps":[],"expect":[]}`, "scenario"},
		{"unknown limit", `{"compose":{"attachments":{"maxPixel":1}},"steps":[],"expect":[]}`, "scenario"},
		{"unknown key of a step", `{"steps":[{"call":"where","agent":"x"}],"expect":[null]}`, "steps[0]"},
		{"unknown key of an expectation", `{"steps":[{"call":"where"}],"expect":[{"txt":"x"}]}`, "expect[0]"},
		{"unknown key of a file", `{"files":[{"path":"a","txt":"x"}],"steps":[],"expect":[]}`, "files[0] files"},
		{"a step of two kinds", `{"steps":[{"call":"where","prompt":true}],"expect":[null]}`, "scenario"},
		{"a step of no kind", `{"steps":[{}],"expect":[null]}`, "scenario"},
		{"too few expectations", `{"steps":[{"call":"where"}],"expect":[]}`, "expect"},
		{"a file outside of the folder", `{"files":[{"path":"../../x","text":""}],"steps":[],"expect":[]}`, "files"},
		{"events that no log takes", `{"sessions":{"s1":{"events":[{"type":"what","data":{}}]}},"steps":[{"call":"where"}],"expect":[{"isError":false}]}`, "steps[0] steps[0]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := play(t, tt.scenario, toys)
			var fields []string
			for _, d := range out.Differences {
				fields = append(fields, d.Field)
			}
			if got := strings.Join(fields, " "); got != tt.fields || out.Pass {
				t.Errorf("pass %v with differences at %q, want a failure at %q:\n%s", out.Pass, got, tt.fields, text(out))
			}
		})
	}
}

func TestMissingPluginFailsTheScenario(t *testing.T) {
	out := play(t, `{"compose":{"sandbox":{"mode":"read-only"}},"steps":[{"call":"where"}],"expect":[null]}`,
		func(s scenario.Setup) ([]plug.Plugin, error) {
			if s.Sandbox != nil {
				return nil, errors.New("no sandbox here")
			}
			return toys(s)
		})
	if out.Pass || len(out.Differences) != 1 || out.Differences[0].Got != "no sandbox here" {
		t.Errorf("got %+v, want one difference with the composer's error", out)
	}
}

func TestUncleanStopIsReported(t *testing.T) {
	out := play(t, `{"steps":[],"expect":[]}`, func(scenario.Setup) ([]plug.Plugin, error) {
		return []plug.Plugin{{Name: "clings", Options: fx.Invoke(func(lc fx.Lifecycle) {
			lc.Append(fx.StopHook(func() error { return errors.New("will not go") }))
		})}}, nil
	})
	if out.Pass || len(out.Differences) != 1 || out.Differences[0].Field != "stop" {
		t.Errorf("got %+v, want one difference at stop", out)
	}
}

// TestLine compares the whole line that a command prints.
func TestLine(t *testing.T) {
	out := play(t, `{"name":"n","area":"a","files":[{"path":"t","text":"in {{cwd}}"}],
		"steps":[{"call":"say","args":{"text":"<{{cwd}}/x> {{base}}/ws2","value":{"p":"{{base}}/out"},"meta":1}},{"put":{"path":"u","base64":"/w=="}},{"call":"say","args":{"text":"no","code":"X"}}],
		"expect":[{"text":"other"},null,{"isError":true}]}`, toys)
	want := `{"name":"n","area":"a","pass":false,"differences":[{"field":"steps[0].text","want":"other","got":"<{{cwd}}/x> {{base}}/ws2"}]`
	if got := string(out.Line(false)); got != want+"}" {
		t.Errorf("without results\n got %s\nwant %s", got, want+"}")
	}
	want += `,"results":[{"isError":false,"text":"<{{cwd}}/x> {{base}}/ws2","code":null,"content":[{"type":"text","text":"<{{cwd}}/x> {{base}}/ws2"}],"value":{"p":"{{base}}/out"},"meta":1},null,` +
		`{"isError":true,"text":"Error: no","code":"X","content":[{"type":"text","text":"Error: no"}],"value":null,"meta":null}],` +
		`"after":[{"path":"t","text":"in {{cwd}}"},{"path":"u","sha256":"a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89","bytes":1}],"outsideAfter":[],"asks":[],"distinctAttachments":0}`
	if got := string(out.Line(true)); got != want {
		t.Errorf("with results\n got %s\nwant %s", got, want)
	}
}

// TestDefaultFolder checks that scenarios are not played in a temp directory,
// which every sandboxed session may write, and that nothing stays behind.
func TestDefaultFolder(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", t.TempDir()) // a cache directory that must not be taken
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	before, _ := filepath.Glob(filepath.Join(cwd, "*"))
	all, err := scenario.Load(strings.NewReader(`[{"steps":[{"call":"where"}],"expect":[null]}]`))
	if err != nil {
		t.Fatal(err)
	}
	var workspace string
	out := scenario.Run(t.Context(), all[0], func(s scenario.Setup) ([]plug.Plugin, error) {
		workspace = s.Workspace
		return toys(s)
	}, scenario.Config{})
	if !out.Pass {
		t.Fatalf("differences:\n%s", text(out))
	}
	inTemp := func(path string) bool {
		rel, err := filepath.Rel(os.TempDir(), path)
		return err == nil && filepath.IsLocal(rel)
	}
	if inTemp(workspace) != inTemp(cwd) {
		t.Errorf("the workspace is %s, and the current directory %s", workspace, cwd)
	}
	if after, _ := filepath.Glob(filepath.Join(cwd, "*")); len(after) != len(before) {
		t.Errorf("left behind: %v, before there was %v", after, before)
	}
}

func TestLoadRefusesWhatIsNoList(t *testing.T) {
	for _, text := range []string{"", "{}", "[", "3"} {
		if _, err := scenario.Load(strings.NewReader(text)); err == nil {
			t.Errorf("Load(%q) gave no error", text)
		}
	}
}

func text(out scenario.Outcome) string {
	var b strings.Builder
	for _, d := range out.Differences {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// TestNoFolderButTemp plays where there is nothing but a temp directory: only
// what has no sandbox.
func TestNoFolderButTemp(t *testing.T) {
	home := t.TempDir()
	if rel, err := filepath.Rel(os.TempDir(), home); err != nil || !filepath.IsLocal(rel) {
		t.Skipf("%s is not in %s", home, os.TempDir())
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", home)
	t.Chdir(home)
	for composed, want := range map[string]bool{`{}`: true, `{"sandbox":{"mode":"read-only"}}`: false} {
		all, err := scenario.Load(strings.NewReader(`[{"compose":` + composed + `,"steps":[{"call":"where"}],"expect":[null]}]`))
		if err != nil {
			t.Fatal(err)
		}
		if out := scenario.Run(t.Context(), all[0], toys, scenario.Config{}); out.Pass != want {
			t.Errorf("%s: passed is %v\n%s", composed, out.Pass, text(out))
		}
	}
	if left, _ := filepath.Glob(filepath.Join(home, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
