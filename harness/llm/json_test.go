package llm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/llm"
)

// appender is a type with a form in session logs.
type appender interface{ AppendJSON([]byte) []byte }

// read decodes text into a new value of the kind and returns it.
func read(t *testing.T, kind, text string) (appender, error) {
	t.Helper()
	var v interface {
		json.Unmarshaler
		appender
	}
	switch kind {
	case "message":
		v = new(llm.Message)
	case "block":
		v = new(llm.Block)
	case "chunk":
		v = new(llm.Chunk)
	case "usage":
		v = new(llm.Usage)
	case "reason":
		v = new(llm.FinishReason)
	case "source":
		v = new(llm.Source)
	}
	return v, json.Unmarshal([]byte(text), v)
}

// Every form that session logs have is written back byte for byte: the order
// of the fields, what is absent, what is empty, and what is unknown.
func TestJSONRoundTrip(t *testing.T) {
	tests := []struct{ kind, text string }{
		{"message", `{"content":[{"type":"text","text":"<a> & \u0000"}],"source":{"kind":"user"},"role":"user","id":"1"}`},
		{"message", `{"role":"assistant","content":[],"source":{"kind":"model","provider":"p","model":"m"},"id":"1"}`},
		{"message", `{"source":{"kind":"tool","callId":"c"},"content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":""}],"isError":false}],"role":"user","id":"1","later":[1.50]}`},
		{"source", `{"kind":"plugin","plugin":"x","form":"snapshot","sections":[{"name":"a","text":"b"}],"more":{"z":0,"a":1}}`},
		{"block", `{"type":"text","text":""}`},
		{"block", `{"type":"reasoning","text":"r","signature":"s","zeta":null}`},
		{"block", `{"type":"tool-call","id":"","name":"read","arguments":""}`},
		{"block", `{"type":"tool-result","toolCallId":"c","content":[],"isError":true}`},
		{"block", `{"type":"image","attachment":{"attachmentId":"sha256:0","mediaType":"image/png","bytes":69,"width":1,"height":1,"name":"red.png","originalDimensions":{"width":2,"height":3}}}`},
		{"block", `{"type":"image","attachment":{"attachmentId":"sha256:0","mediaType":"image/png","bytes":69,"width":1,"height":1}}`},
		{"block", `{"type":"audio","id":1,"text":"","toolCallId":[]}`},
		{"chunk", `{"type":"block-start","index":0,"blockType":"reasoning"}`},
		{"chunk", `{"type":"text-delta","index":1,"text":""}`},
		{"chunk", `{"type":"reasoning-delta","index":1,"text":"x","at":3}`},
		{"chunk", `{"type":"tool-call-delta","index":0,"id":"c","name":"read","argumentsDelta":"{"}`},
		{"chunk", `{"type":"tool-call-delta","index":0,"argumentsDelta":"{"}`},
		{"chunk", `{"type":"block-end","index":1,"block":{"type":"text","text":"DONE"}}`},
		{"chunk", `{"type":"usage","usage":{"inputTokens":3,"outputTokens":3}}`},
		{"chunk", `{"type":"finish","reason":{"kind":"error","message":"m","status":500}}`},
		{"chunk", `{"type":"later","index":"x","text":0}`},
		{"usage", `{"inputTokens":3,"outputTokens":3,"cacheReadTokens":0,"cacheWriteTokens":1,"reasoningTokens":2,"audioTokens":4}`},
		{"reason", `{"kind":"stop"}`},
	}
	for _, tt := range tests {
		v, err := read(t, tt.kind, tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.text, string(v.AppendJSON(nil))); diff != "" {
			t.Errorf("%s changed (-read +written):\n%s", tt.kind, diff)
		}
		// encoding/json escapes differently and means the same.
		std, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		again, err := read(t, tt.kind, string(std))
		if err != nil {
			t.Errorf("%s: %v", std, err)
			continue
		}
		if got := string(again.AppendJSON(nil)); got != tt.text {
			t.Errorf("by encoding/json %s became %s", tt.text, got)
		}
	}
}

func TestJSONRefusals(t *testing.T) {
	tests := []struct{ kind, text, want string }{
		{"message", `[]`, "message: it is not a JSON object"},
		{"message", `{"content":[],"source":{"kind":"user"},"id":"1"}`, `message: the field "role" is missing`},
		{"message", `{"content":[],"source":{"kind":"user"},"role":"system","id":"1"}`, `message: the role "system" is unknown`},
		{"message", `{"content":"hi","source":{"kind":"user"},"role":"user","id":"1"}`, `message: the field "content"`},
		{"message", `{"content":[{"text":"a"}],"source":{"kind":"user"},"role":"user","id":"1"}`, `content block: the field "type" is missing`},
		{"message", `{"content":[],"source":{},"role":"user","id":"1"}`, `message source: the field "kind" is missing`},
		{"block", `{"type":"text"}`, `text block: the field "text" is missing`},
		{"block", `{"type":"text","text":null}`, `text block: the field "text" is missing`},
		{"block", `{"type":"text","text":1}`, `text block: the field "text"`},
		{"block", `{"type":"tool-call","id":"c","name":"read"}`, `tool-call block: the field "arguments" is missing`},
		{"block", `{"type":"image"}`, `image block: the field "attachment" is missing`},
		{"chunk", `{"type":"text-delta","text":"x"}`, `text-delta chunk: the field "index" is missing`},
		{"chunk", `{"type":"block-end","index":0}`, `block-end chunk: the field "block" is missing`},
		{"chunk", `{"index":0}`, `chunk: the field "type" is missing`},
		{"usage", `{"inputTokens":"3"}`, `usage: the field "inputTokens"`},
		{"reason", `{}`, `finish reason: the field "kind" is missing`},
	}
	for _, tt := range tests {
		_, err := read(t, tt.kind, tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.text, err, tt.want)
		}
	}
}
