package dialog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

func TestArguments(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "{}"},
		{" \n", "{}"},
		{`{"b":1, "a":1.0}`, `{"b":1, "a":1.0}`},
		{` {"a":1} `, `{"a":1}`},
		{`{"a"`, `{"invalid_arguments":"{\"a\""}`},
		{`null`, `{"invalid_arguments":"null"}`},
		{`[{}]`, `{"invalid_arguments":"[{}]"}`},
		{`{}{}`, `{"invalid_arguments":"{}{}"}`},
		{"{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}"},
		{`<b> & "x"`, `{"invalid_arguments":"<b> & \"x\""}`},
	}
	for _, tt := range tests {
		if got := Arguments(tt.in); got != tt.want {
			t.Errorf("Arguments(%q) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestPairSurrogates(t *testing.T) {
	tests := []struct{ in, want string }{
		{`"\ud83d\ude00"`, `"\ud83d\ude00"`},
		{`"\ud83d"`, `"\ufffd"`},
		{`"\ude00"`, `"\ufffd"`},
		{`"\ud83d\ud83d\ude00"`, `"\ufffd\ud83d\ude00"`},
		{`"\uD83D\uDE00"`, `"\uD83D\uDE00"`},
		{`"\\ud83d"`, `"\\ud83d"`},
		{`"\\\ud83d"`, `"\\\ufffd"`},
		{`"\ud83d\n"`, `"\ufffd\n"`},
		{`"\u0041\ud83d"`, `"\u0041\ufffd"`},
		{`"plain"`, `"plain"`},
	}
	for _, tt := range tests {
		if got := PairSurrogates(tt.in); got != tt.want {
			t.Errorf("PairSurrogates(%s) = %s, want %s", tt.in, got, tt.want)
		}
	}
}

// Whatever a model wrote, one JSON object in UTF-8 without half pairs goes
// out, and it goes through unchanged the second time.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a":"\ud83d"}`, `{"a`, "[1]", "{\"\xff\":1}", `{"a":"\\ud83d\ude00"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := Arguments(in)
		var o map[string]json.RawMessage
		if err := json.Unmarshal([]byte(out), &o); err != nil || o == nil {
			t.Fatalf("%q became %q: %v", in, out, err)
		}
		if !utf8.ValidString(out) || PairSurrogates(out) != out {
			t.Fatalf("%q became %q", in, out)
		}
		if again := Arguments(out); again != out {
			t.Fatalf("%q became %q and then %q", in, out, again)
		}
	})
}

func TestNames(t *testing.T) {
	var n Names
	long := strings.Repeat("a", 65)
	for _, own := range []string{"read", "fs/read", "fs.read", "fs_read", "", "é", long, long + "b", n.Wire("fs/read")} {
		w := n.Wire(own)
		if !legalName(w) {
			t.Errorf("the name of %q is %q", own, w)
		}
		if n.Wire(own) != w || n.Own(w) != own {
			t.Errorf("%q is %q and back %q", own, w, n.Own(w))
		}
	}
	if n.Wire("read") != "read" || n.Own("made_up") != "made_up" {
		t.Error("a name that is legal changed")
	}
}

// describe returns entries as text, one a line.
func describe(entries []Entry) []string {
	var parts func(ps []Part) string
	parts = func(ps []Part) string {
		var out []string
		for _, p := range ps {
			switch p.Type {
			case llm.ToolCallBlock:
				out = append(out, fmt.Sprintf("call %s %s%s", p.ID, p.Name, p.Arguments))
			case llm.ToolResultBlock:
				out = append(out, fmt.Sprintf("result %s (%s)", p.ID, parts(p.Content)))
			case llm.ImageBlock:
				out = append(out, "image "+string(p.Image.Data))
			default:
				out = append(out, p.Text)
			}
		}
		return strings.Join(out, ", ")
	}
	var out []string
	for _, e := range entries {
		out = append(out, []string{"user", "answer", "results"}[e.Kind]+": "+parts(e.Parts))
	}
	return out
}

func said(content ...llm.Block) llm.Message { return llm.Message{Role: llm.User, Content: content} }

func answered(content ...llm.Block) llm.Message {
	return llm.Message{Role: llm.Assistant, Content: content}
}

const lost = "Error: there is no result of this call; it is not known whether it took effect."

func TestArrange(t *testing.T) {
	call := func(id string) llm.Block { return llm.ToolCall(id, "t", "{}") }
	result := func(id, text string) llm.Block { return llm.ToolResult(id, false, llm.Text(text)) }
	tests := []struct {
		name string
		in   []llm.Message
		want []string
	}{
		{"in order", []llm.Message{said(llm.Text("a")), answered(llm.Text("b"), call("1")), said(result("1", "r")), answered(llm.Text("c")), said(llm.Text("d"))},
			[]string{"user: a", "answer: b, call 1 t{}", "results: result 1 (r)", "answer: c", "user: d"}},
		{"results out of order and far away", []llm.Message{said(llm.Text("a")), answered(call("1"), call("2")), said(llm.Text("b")), said(result("2", "y")), said(llm.Text("c"), result("1", "x"))},
			[]string{"user: a", "answer: call 1 t{}, call 2 t{}", "results: result 1 (x), result 2 (y)", "user: b", "user: c"}},
		{"the id comes again in a later answer", []llm.Message{said(llm.Text("a")), answered(call("1")), said(result("1", "x")), answered(call("1")), said(result("1", "y"))},
			[]string{"user: a", "answer: call 1 t{}", "results: result 1 (x)", "answer: call call_ID t{}", "results: result call_ID (y)"}},
		{"the earlier one has no result", []llm.Message{said(llm.Text("a")), answered(call("1")), answered(call("1")), said(result("1", "y"))},
			[]string{"user: a", "answer: call 1 t{}", "results: result 1 (" + lost + ")", "answer: call call_ID t{}", "results: result call_ID (y)"}},
		{"a second result", []llm.Message{answered(call("1")), said(result("1", "x")), said(result("1", "again"))},
			[]string{"user: (The conversation begins with an answer.)", "answer: call 1 t{}", "results: result 1 (x)", "user: Result of a tool call that is no longer part of the conversation:, again"}},
		{"a result before its call", []llm.Message{said(llm.Text("a")), said(result("1", "x")), answered(call("1"))},
			[]string{"user: a", "user: Result of a tool call that is no longer part of the conversation:, x", "answer: call 1 t{}", "results: result 1 (" + lost + ")"}},
		{"nothing but blanks", []llm.Message{said(llm.Text(" ")), said(), said(result("x", "")), answered(llm.Text("\n")), said(llm.Text("a"))},
			[]string{"user: a"}},
		{"an answer at the end", []llm.Message{said(llm.Text("a")), answered(llm.Text("b"))},
			[]string{"user: a", "answer: b", "user: Continue."}},
		{"calls in the words of a user", []llm.Message{said(llm.Text("a"), call("1"))},
			[]string{`user: a, [Content of type "tool-call" is not included in this request.]`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, _, err := Arrange(t.Context(), llm.Request{Messages: tt.in}, Form{})
			if err != nil {
				t.Fatal(err)
			}
			var s ids
			s.next("1")
			made := s.next("1")
			var got []string
			for _, l := range describe(entries) {
				got = append(got, strings.ReplaceAll(l, made, "call_ID"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArrangeImages(t *testing.T) {
	ref := attachment.Ref{ID: "sha256:1", MediaType: attachment.PNG, Bytes: 9, Width: 1, Height: 1}
	r := llm.Request{Messages: []llm.Message{said(llm.Image(ref))}}
	bytes := func(s string, err error) func(context.Context, attachment.Ref) (llm.ImageData, error) {
		return func(context.Context, attachment.Ref) (llm.ImageData, error) {
			return llm.ImageData{Data: []byte(s)}, err
		}
	}
	about := "user: [Image (image/png, 1x1 px, 9 bytes, attachment sha256:1) is not included in this request: "
	for _, tt := range []struct {
		name string
		get  func(context.Context, attachment.Ref) (llm.ImageData, error)
		want string
	}{
		{"fits", bytes("12345", nil), "user: image 12345"},
		{"too many bytes", bytes("123456", nil), about + "this model takes images of at most 5 bytes.]"},
		{"no bytes", bytes("", nil), about + "it has no bytes.]"},
		{"no access", nil, about + "there is no access to its bytes.]"},
		{"a coded error", bytes("", errs.New(errs.AttachmentCorrupt, "by chance")), about + "it cannot be read (ATTACHMENT_CORRUPT).]"},
		{"any error", bytes("", errors.New("by chance")), about + "it cannot be read (ATTACHMENT_READ_FAILED).]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r.Image = tt.get
			entries, _, err := Arrange(t.Context(), r, Form{Limits: llm.MediaLimits{MaxBytes: 5}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tt.want}, describe(entries)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.Image = func(context.Context, attachment.Ref) (llm.ImageData, error) {
		cancel()
		return llm.ImageData{}, ctx.Err()
	}
	if _, _, err := Arrange(ctx, r, Form{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while an image is read: got %v", err)
	}
	if _, _, err := Arrange(t.Context(), llm.Request{}, Form{}); !errors.Is(err, errs.InvalidArgs) {
		t.Errorf("without messages: got %v", err)
	}
}

// Whatever the messages, the entries can be sent, and messages that are
// appended leave the entries before them alone unless they bring results.
func TestArrangeProperties(t *testing.T) {
	block := rapid.Custom(func(t *rapid.T) llm.Block {
		id := rapid.SampledFrom([]string{"", "1", "2", "a b", strings.Repeat("x", 50)}).Draw(t, "id")
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			return llm.Text(rapid.SampledFrom([]string{"", " ", "hello"}).Draw(t, "text"))
		case 1:
			return llm.Reasoning("hm")
		case 2:
			return llm.ToolCall(id, rapid.SampledFrom([]string{"read", "fs/read", ""}).Draw(t, "name"), rapid.SampledFrom([]string{"", "{}", "{", "1"}).Draw(t, "args"))
		case 3:
			return llm.ToolResult(id, false, llm.Text("r"))
		}
		return llm.Block{Type: "other"}
	})
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		return llm.Message{Role: rapid.SampledFrom([]llm.Role{llm.User, llm.Assistant}).Draw(t, "role"), Content: rapid.SliceOfN(block, 0, 4).Draw(t, "content")}
	})
	rapid.Check(t, func(t *rapid.T) {
		messages := append(rapid.SliceOfN(message, 0, 8).Draw(t, "messages"), said(llm.Text("end")))
		entries, _, err := Arrange(context.Background(), llm.Request{Messages: messages}, Form{})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, e := range entries {
			if len(e.Parts) == 0 {
				t.Fatal("an entry is empty")
			}
			var calls, results []string
			for _, p := range e.Parts {
				switch p.Type {
				case llm.ToolCallBlock:
					if seen[p.ID] || p.ID == "" || len(p.ID) > maxID {
						t.Fatalf("the call id %q cannot be sent", p.ID)
					}
					seen[p.ID] = true
					calls = append(calls, p.ID)
				case llm.TextBlock:
					if strings.TrimSpace(p.Text) == "" {
						t.Fatal("a text is blank")
					}
				}
			}
			if i+1 < len(entries) && entries[i+1].Kind == ResultsEntry {
				for _, p := range entries[i+1].Parts {
					results = append(results, p.ID)
				}
			}
			if diff := cmp.Diff(calls, results); diff != "" {
				t.Fatalf("calls and the results after them (-calls +results):\n%s", diff)
			}
		}
		more, _, err := Arrange(context.Background(), llm.Request{Messages: append(messages, said(llm.Text("more")))}, Form{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(describe(entries), describe(more)[:len(entries)]); diff != "" {
			t.Fatalf("one message more changed the earlier ones:\n%s", diff)
		}
	})
}
