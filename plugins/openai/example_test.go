package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/openai"
)

// An adapter works without a deployment. Here the server is one of our own
// that says two words.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Hello, "}}]}

data: {"choices":[{"delta":{"content":"world."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":4}}

data: [DONE]

`)
	}))
	defer server.Close()

	a, err := openai.New(openai.Config{Flavour: openai.Compatible, Provider: "example", BaseURL: server.URL}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	request := llm.Request{Provider: "example", Model: "small", Messages: []llm.Message{
		{Role: llm.User, Content: []llm.Block{llm.Text("Say hello.")}},
	}}
	for chunk, err := range a.Stream(context.Background(), request) {
		switch {
		case err != nil:
			fmt.Println(err)
		case chunk.Type == llm.TextDelta:
			fmt.Print(chunk.Text)
		case chunk.Type == llm.UsageChunk:
			fmt.Printf(" (%d tokens)\n", chunk.Usage.OutputTokens)
		}
	}
	// Output: Hello, world. (4 tokens)
}
