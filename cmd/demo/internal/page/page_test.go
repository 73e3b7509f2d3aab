package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/page"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tools presents calls as the default deployment does.
func tools(t testing.TB) func(string) (tool.Definition, error) {
	o := deploy.Agent()
	o.Place(t.TempDir(), t.TempDir())
	d := testkit.Compose(t, deploy.Plugins(o)...)
	return func(name string) (tool.Definition, error) { return d.Tools().Lookup(nil, name) }
}

// write makes the page of a log.
func write(t testing.TB, src page.Source) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(context.Background(), &b, src); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// logOf reads events back as a log, a second between them.
func logOf(t testing.TB, events ...session.Event) *session.Log {
	t.Helper()
	var b bytes.Buffer
	enc := session.NewEncoder(&b, session.Header{ID: "s-1", CreatedAt: 1_700_000_000_000, Cwd: "/w"}, false)
	for i, e := range events {
		e.Seq, e.Time = int64(i), 1_700_000_000_000+int64(i)*1000
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := session.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func retryEvent(message string) session.Event {
	data, err := json.Marshal(agent.RetryEvent{Turn: 1, Step: 1, Attempt: 1, Class: "overloaded", Message: message, DelayMS: 500})
	if err != nil {
		panic(err)
	}
	return session.Event{Type: agent.TypeRetry, Data: data, Ignorable: true}
}

var picture = attachment.Ref{ID: "sha256:" + strings.Repeat("ab", 32), MediaType: attachment.PNG, Bytes: 4, Width: 3, Height: 2, Name: "p.png"}

// conversation has something of every kind, with the given text in each place
// that a stranger's text can have.
func conversation(text string) []session.Event {
	quoted, _ := json.Marshal(text)
	user := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: "m1", Content: []llm.Block{llm.Text(text), llm.Image(picture)}}
	plugin := llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromPlugin, Plugin: text, Form: "snapshot"}, ID: "m2", Content: []llm.Block{llm.Text(text)}}
	say := func(c llm.Chunk) session.Event { return session.AssistantChunk{Turn: 1, Step: 1, Chunk: c}.Event() }
	edit, _ := json.Marshal(map[string]string{"file_path": text, "old_string": text, "new_string": "x"})
	meta, _ := json.Marshal(map[string]any{"diffs": []any{map[string]any{"path": text, "oldText": "one\n" + text, "newText": "one\nzwei"}}})
	answer := llm.Message{Role: llm.Assistant, Source: llm.Source{Kind: llm.FromModel, Provider: "p", Model: text}, ID: "m3",
		Content: []llm.Block{llm.Reasoning(text), llm.Text(text), llm.ToolCall("c1", "edit", string(edit)), llm.ToolCall("c2", text, text), llm.ToolCall("c3", "read", "{}")}}
	return []session.Event{
		session.SandboxMode{Mode: "workspace-write"}.Event(),
		session.TurnStart{Turn: 1}.Event(),
		session.StepStart{Turn: 1, Step: 1}.Event(),
		session.UserMessage(user), session.UserMessage(plugin),
		session.Title{Title: text, Source: session.TitleSource{Kind: "user"}}.Event(),
		session.RequestHeader{Reason: "initial", Header: session.RequestHead{
			Config: session.RequestConfig{Provider: "p", Model: "m"}, System: quoted, Tools: json.RawMessage(`[{"name":"read","inputSchema":{}}]`),
		}}.Event(),
		say(llm.Chunk{Type: llm.BlockStart, BlockType: llm.TextBlock}), say(llm.Chunk{Type: llm.TextDelta, Text: "cut " + text}),
		retryEvent(text),
		session.AssistantMessage{Turn: 1, Step: 1, Message: answer, Usage: &llm.Usage{InputTokens: 1234, OutputTokens: 5}}.Event(nil),
		session.ToolCall{Turn: 1, Step: 1, CallID: "c1", Name: "edit", Arguments: string(edit)}.Event(),
		session.ApprovalAsked{ID: "q1", CallID: "c1", ToolName: text, Reason: text, Path: text}.Event(),
		session.ApprovalDecided{ID: "q1", CallID: "c1", Outcome: approval.AllowedOnce, Reason: text}.Event(),
		session.ToolResult{Turn: 1, Step: 1, Message: session.ResultMessage("m4", "c1", false, llm.Text("ok "+text)), Meta: meta}.Event(-1),
		session.ToolResult{Turn: 1, Step: 1, Message: session.ResultMessage("m5", "c2", true, llm.Text("Error: "+text), llm.Image(picture)),
			Error: &session.ResultError{Name: text, Code: text}}.Event(-1),
		session.StepEnd{Turn: 1, Step: 1}.Event(),
		session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.EndError, Code: "X", Message: text}}.Event(),
		{Type: "somebody/else", Data: json.RawMessage(`{}`), Ignorable: true},
	}
}

func TestThePageTellsEverything(t *testing.T) {
	got := write(t, page.Source{Log: logOf(t, conversation("Größe & <b>")...), Lookup: tools(t)})
	rest := got
	for _, want := range []string{
		"<title>Größe &amp; &lt;b&gt;</title>",
		"<dt>session</dt><dd>s-1</dd>", "<dd>14 November 2023, 22:13:20 UTC</dd>", "<dd>/w</dd>",
		"1 turn, 1 step, 1 tool call, 1 of them failed", "1,234 tokens in, 5 out",
		"system prompt and 1 tools (initial)",
		"sandbox mode: workspace-write",
		`<section id="turn-1">`, "22:13:21 UTC · 16.0 s",
		`<div class="said">Größe &amp; &lt;b&gt;</div>`, "image not available: p.png, image/png, 3 × 2 pixels, 4 bytes",
		"context from Größe &amp; &lt;b&gt;",
		"model (broken off)", "cut Größe",
		"↻ Größe &amp; &lt;b&gt; <span class=\"note\">attempt 1 failed; the next one after 500ms</span>",
		`<div class="item reasoning">`, "1,234 tokens in, 5 out",
		`<div class="item text">`,
		"&#43;1 −1", "call 3.0 s",
		"Approval: Größe &amp; &lt;b&gt; (Größe &amp; &lt;b&gt;) → <b>allowed-once</b>: Größe",
		`<tr class="gone"><td class="s">−</td><td>Größe &amp; &lt;b&gt;`, `<tr class="come"><td class="s">&#43;</td><td>zwei`,
		"what the model was given",
		`<div class="card failed">`, `<span class="code-bad">Größe &amp; &lt;b&gt;</span>`, "Error: Größe",
		"no result",
		"The turn ended: error: X: Größe",
		"other events: somebody/else (1)",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the page does not have %q, or not in this place; from here on it has\n%.1500s", want, rest)
		}
		rest = after
	}
}

// elements calls see with each element of a page.
func elements(t testing.TB, text string, see func(xml.StartElement)) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			see(e)
		}
	}
}

func TestNothingInALogActsOnAReader(t *testing.T) {
	lookup := tools(t)
	hostile := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"a", " ", "\n", "\t", "</div>", "<script>", "</script>", "<img src=x onerror=y>", "'", `"`, "&", "&lt;", "<!--", "]]>", "{{.}}", "javascript:x",
			"\x1b[2J", "\x00", "\u202e", "\u2066", "\u200b", "\u2028", "\u009b", "漢", "</style>", "</title>",
		})).Draw(t, "parts"), "")
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := hostile.Draw(rt, "text")
		got := write(t, page.Source{Log: logOf(t, conversation(text)...), Lookup: lookup, Images: &gallery{data: []byte(text)}})
		for _, r := range got {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				rt.Fatalf("the page has %U", r)
			}
		}
		known := map[string]bool{}
		for _, name := range strings.Fields("html head meta title style body main header h1 h2 dl dt dd details summary p pre nav a section div span small b table tr td mark figure figcaption img") {
			known[name] = true
		}
		elements(t, got, func(e xml.StartElement) {
			if !known[e.Name.Local] {
				rt.Errorf("the page has an element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				name := a.Name.Local
				if strings.HasPrefix(name, "on") || name == "style" ||
					name == "src" && !strings.HasPrefix(a.Value, "data:image/png;base64,") || name == "href" && a.Value != "#turn-1" {
					rt.Errorf("%s has %s=%q", e.Name.Local, name, a.Value)
				}
			}
		})
	})
}

// gallery has one image for every reference.
type gallery struct {
	data []byte
	err  error
}

func (g *gallery) Read(context.Context, attachment.Ref) ([]byte, error) { return g.data, g.err }

func TestBlocksOfCode(t *testing.T) {
	m := llm.Message{Role: llm.Assistant, Source: llm.Source{Kind: llm.FromModel}, ID: "m", Content: []llm.Block{llm.Text("Look:\n\n```go\na < b\n\n  c\n```\nThat is all, but for\n```\nan open one")}}
	got := write(t, page.Source{Log: logOf(t, session.AssistantMessage{Turn: 1, Step: 1, Message: m}.Event(nil)), Lookup: tools(t)})
	want := `<div class="said">Look:</div><pre class="block">a &lt; b

  c</pre><div class="said">That is all, but for</div><pre class="block">an open one</pre>`
	if !strings.Contains(got, want) {
		t.Errorf("the page does not have\n%s\nbut\n%s", want, got[strings.Index(got, "<main>"):])
	}
}

func TestImagesArePartOfThePage(t *testing.T) {
	message := func(ref attachment.Ref) *session.Log {
		return logOf(t, session.UserMessage(llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: "m", Content: []llm.Block{llm.Image(ref)}}))
	}
	odd := picture
	odd.MediaType = "text/html"
	for _, tt := range []struct {
		name   string
		ref    attachment.Ref
		images page.Images
		want   string
	}{
		{"there", picture, &gallery{data: []byte("data")}, `<img src="data:image/png;base64,ZGF0YQ==" alt="p.png, image/png, 3 × 2 pixels, 4 bytes" width="3" height="2">`},
		{"not there", picture, &gallery{err: errs.New(errs.AttachmentNotFound, "it is gone")}, "image not available: p.png, image/png, 3 × 2 pixels, 4 bytes (it is gone)"},
		{"without a store", picture, nil, "image not available: p.png"},
		{"a type that no store has", odd, &gallery{data: []byte("<script>")}, "image not available: p.png, text/html"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := write(t, page.Source{Log: message(tt.ref), Lookup: tools(t), Images: tt.images})
			if !strings.Contains(got, tt.want) {
				t.Errorf("the page does not have %s", tt.want)
			}
		})
	}
}

func TestRecordedSessions(t *testing.T) {
	const dir = "../../../../../shared/sessions"
	logs, err := filepath.Glob(dir + "/*/session.jsonl")
	if err != nil || len(logs) == 0 {
		t.Skipf("there are no recorded sessions in %s", dir)
	}
	lookup := tools(t)
	for _, name := range logs {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			log, err := session.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, page.Source{Log: log, Lookup: lookup})
			for _, e := range log.Events {
				if e.Type == session.TypeToolCall {
					if !strings.Contains(got, `<div class="card`) {
						t.Error("the page has no card")
					}
				}
			}
			if strings.Contains(got, "cannot be read") {
				t.Error("an event cannot be read")
			}
		})
	}
}

func TestAnAbortedPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := page.Write(ctx, io.Discard, page.Source{Log: logOf(t, conversation("x")...), Lookup: tools(t)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkPage writes the page of a log with 10 000 events: 200 turns, each
// with an answer in 40 chunks and an edit.
func BenchmarkPage(b *testing.B) {
	var events []session.Event
	meta := json.RawMessage(`{"diffs":[{"path":"/w/a.go","oldText":"one\ntwo\nthree\nfour","newText":"one\nzwei\nthree\nfour"}]}`)
	const arguments = `{"file_path":"/w/a.go","old_string":"two","new_string":"zwei"}`
	for n := 1; len(events) < 10_000; n++ {
		id := fmt.Sprintf("c%d", n)
		text := strings.Repeat("some words of an answer ", 40)
		m := llm.Message{Role: llm.Assistant, Source: llm.Source{Kind: llm.FromModel, Provider: "p", Model: "m"}, ID: id,
			Content: []llm.Block{llm.Text(text), llm.ToolCall(id, "edit", arguments)}}
		events = append(events, session.TurnStart{Turn: n}.Event(), session.StepStart{Turn: n, Step: 1}.Event(),
			session.UserMessage(llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: "u" + id, Content: []llm.Block{llm.Text("Please go on")}}))
		for range 40 {
			events = append(events, session.AssistantChunk{Turn: n, Step: 1, Chunk: llm.Chunk{Type: llm.TextDelta, Text: "some words of an answer "}}.Event())
		}
		events = append(events, session.AssistantMessage{Turn: n, Step: 1, Message: m}.Event(nil),
			session.ToolCall{Turn: n, Step: 1, CallID: id, Name: "edit", Arguments: arguments}.Event(),
			session.ToolResult{Turn: n, Step: 1, Message: session.ResultMessage("r"+id, id, false, llm.Text("done")), Meta: meta}.Event(-1),
			session.StepEnd{Turn: n, Step: 1}.Event(), session.TurnEnd{Turn: n, Reason: session.EndReason{Kind: session.EndCompleted}}.Event())
	}
	log := &session.Log{Header: session.Header{ID: "s", Cwd: "/w"}, State: new(session.State)}
	for i, e := range events {
		e.Seq, e.Time = int64(i), time.Now().UnixMilli()
		log.Events = append(log.Events, e)
	}
	src := page.Source{Log: log, Lookup: tools(b)}
	b.ReportMetric(float64(len(events)), "events")
	for b.Loop() {
		if err := page.Write(b.Context(), io.Discard, src); err != nil {
			b.Fatal(err)
		}
	}
}
