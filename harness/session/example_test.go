package session_test

import (
	"fmt"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
)

func ExampleNewMemory() {
	at := time.UnixMilli(1000)
	config := session.Config{Clock: func() time.Time { at = at.Add(time.Second); return at }}
	s, err := session.NewMemory(session.Header{ID: "s1", Cwd: "/w"}, config,
		session.SandboxMode{Mode: sandbox.WorkspaceWrite}.Event())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()

	_, err = s.Append(
		session.TurnStart{Turn: 1}.Event(),
		session.UserMessage(llm.Message{
			Role: llm.User, Source: llm.Source{Kind: llm.FromUser}, ID: "m1",
			Content: []llm.Block{llm.Text("say <b>")},
		}))
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(s.SandboxMode(), s.OpenTurn(), len(s.Messages()))
	for e, err := range s.Events() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(e.AppendJSON(nil)))
	}
	// Output:
	// workspace-write 1 1
	// {"type":"sandbox/mode","seq":0,"time":3000,"data":{"mode":"workspace-write"}}
	// {"type":"turn/start","seq":1,"time":4000,"data":{"turn":1}}
	// {"type":"user/message","seq":2,"time":4000,"data":{"content":[{"type":"text","text":"say <b>"}],"source":{"kind":"user"},"role":"user","id":"m1"},"surfaceOp":"append"}
}
