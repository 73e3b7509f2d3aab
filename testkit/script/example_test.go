package script_test

import (
	"context"
	"fmt"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/testkit/script"
)

func Example() {
	model := script.New(script.Config{PieceRunes: 8},
		script.Step{Text: "Let me look.", Calls: []script.Call{{Name: "read", Arguments: `{"file_path":"a.txt"}`}}},
		script.Step{Text: "It is overloaded.", Fault: &script.Fault{After: 2, Class: llm.Overloaded, Message: "try later"}},
	)
	for range 2 {
		for chunk, err := range model.Stream(context.Background(), llm.Request{Model: "any"}) {
			if err != nil {
				fmt.Println(err)
				break
			}
			fmt.Println(string(chunk.AppendJSON(nil)))
		}
	}
	// Output:
	// {"type":"block-start","index":0,"blockType":"text"}
	// {"type":"text-delta","index":0,"text":"Let me l"}
	// {"type":"text-delta","index":0,"text":"ook."}
	// {"type":"block-end","index":0,"block":{"type":"text","text":"Let me look."}}
	// {"type":"block-start","index":1,"blockType":"tool-call"}
	// {"type":"tool-call-delta","index":1,"id":"call-1","name":"read","argumentsDelta":"{\"file_p"}
	// {"type":"tool-call-delta","index":1,"id":"call-1","name":"read","argumentsDelta":"ath\":\"a."}
	// {"type":"tool-call-delta","index":1,"id":"call-1","name":"read","argumentsDelta":"txt\"}"}
	// {"type":"block-end","index":1,"block":{"type":"tool-call","id":"call-1","name":"read","arguments":"{\"file_path\":\"a.txt\"}"}}
	// {"type":"finish","reason":{"kind":"tool-calls"}}
	// {"type":"block-start","index":0,"blockType":"text"}
	// {"type":"text-delta","index":0,"text":"It is ov"}
	// model request to "script": try later (overloaded)
}
