package session_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

func TestReferencesFindsEveryAttachment(t *testing.T) {
	id := func(c string) string { return "sha256:" + strings.Repeat(c, 64) }
	message := llm.Message{Role: llm.User, ID: "m", Source: llm.Source{Kind: llm.FromUser},
		Content: []llm.Block{llm.Text("two pictures"), llm.Image(attachment.Ref{ID: id("a")}), llm.Image(attachment.Ref{ID: id("b")})}}
	s, err := session.NewMemory(session.Header{ID: "s", Cwd: "/w"}, session.Config{},
		session.UserMessage(message),
		session.Event{Type: "other/plugin", Ignorable: true, Data: []byte(`{"deep":[{"picture":"` + id("c") + `"}],"short":"sha256:abc"}`)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := session.References(s.Events())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{id("a"): true, id("b"): true, id("c"): true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
