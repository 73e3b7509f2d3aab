package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
)

// server answers every request with a stream of server-sent events, and keeps
// what it was asked.
type server struct {
	mu     sync.Mutex
	path   string
	key    string
	body   string
	answer string
	status int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	s.path, s.body = r.URL.Path, string(body)
	s.key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key")
	if s.status != 0 {
		http.Error(w, s.answer, s.status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, s.answer)
}

const chatAnswer = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello from "}}]}

data: {"choices":[{"index":0,"delta":{"content":"the server."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1200,"completion_tokens":7}}

data: [DONE]

`

const messagesAnswer = `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":12,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello from the server."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`

func TestRunReachesRealEndpoints(t *testing.T) {
	env := map[string]string{
		"OPENAI_API_KEY": "sk-openai", "DEEPSEEK_API_KEY": "sk-deepseek", "ANTHROPIC_API_KEY": "sk-anthropic", "MY_KEY": "sk-mine",
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	for _, tt := range []struct {
		name         string
		model        string
		args         []string
		config       string
		answer       string
		path, key    string
		wantBody     string
		wantTokenOut string
	}{
		{
			name: "a server of one's own", model: "local/any-model", answer: chatAnswer,
			path: "/v1/chat/completions", wantBody: `"model":"any-model"`, wantTokenOut: "1,200 tokens in, 7 out",
		},
		{
			name: "a known flavour elsewhere gets no key by itself", model: "deepseek/deepseek-chat", answer: chatAnswer,
			path: "/v1/chat/completions", wantBody: `"model":"deepseek-chat"`, wantTokenOut: "7 out",
		},
		{
			name: "a key that was named", model: "openai/gpt-4o", args: []string{"--api-key-env", "MY_KEY"}, answer: chatAnswer,
			path: "/v1/chat/completions", key: "sk-mine", wantBody: `"model":"gpt-4o"`, wantTokenOut: "7 out",
		},
		{
			name: "the messages protocol", model: "anthropic/claude-sonnet-4-5", args: []string{"--api-key-env", "ANTHROPIC_API_KEY"}, answer: messagesAnswer,
			path: "/v1/messages", key: "sk-anthropic", wantBody: `"model":"claude-sonnet-4-5"`, wantTokenOut: "12 tokens in, 7 out",
		},
		{
			name: "an endpoint of the configuration", config: "model: mine/some\nplugins:\n  fslocal:\n  toolfs:\n  openai/mine: {baseURL: 'SERVER', apiKeyEnv: MY_KEY}\n", answer: chatAnswer,
			path: "/v1/chat/completions", key: "sk-mine", wantBody: `"model":"some"`, wantTokenOut: "7 out",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &server{answer: tt.answer}
			endpoint := httptest.NewServer(s)
			defer endpoint.Close()
			url := endpoint.URL
			if tt.path != "/v1/messages" {
				url += "/v1"
			}
			args := append([]string{"run", "Say hello", "--store", t.TempDir(), "--cwd", t.TempDir()}, tt.args...)
			if tt.config != "" {
				args = append(args, "--config", textFile(t, strings.ReplaceAll(tt.config, "SERVER", url)))
			} else {
				args = append(args, "--model", tt.model, "--base-url", url)
			}
			var stdout, stderr bytes.Buffer
			status := cli.Run(t.Context(), cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: noEnv})
			if status != 0 || !strings.HasPrefix(stdout.String(), "Hello from the server.\n") || !strings.Contains(stdout.String(), tt.wantTokenOut) {
				t.Errorf("status %d\n%s%s", status, stdout.String(), stderr.String())
			}
			if s.path != tt.path || s.key != tt.key || !strings.Contains(s.body, tt.wantBody) || !strings.Contains(s.body, "Say hello") {
				t.Errorf("the request was %s with key %q:\n%s", s.path, s.key, s.body)
			}
			if strings.Contains(stdout.String()+stderr.String(), "sk-") {
				t.Error("the output has a key")
			}
		})
	}
}

func TestRunTellsWhatAnEndpointRefuses(t *testing.T) {
	s := &server{status: http.StatusUnauthorized, answer: `{"error":{"message":"no such key"}}`}
	endpoint := httptest.NewServer(s)
	defer endpoint.Close()
	var stdout, stderr bytes.Buffer
	status := cli.Run(t.Context(), cli.Env{
		Args:  []string{"run", "x", "--store", t.TempDir(), "--cwd", t.TempDir(), "--model", "local/m", "--base-url", endpoint.URL},
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Getenv: noEnv,
	})
	if status != 1 || !strings.HasPrefix(stderr.String(), "demo: MODEL_AUTH: ") || !strings.Contains(stderr.String(), "no such key") {
		t.Errorf("status %d: %s", status, stderr.String())
	}
	if !strings.Contains(stdout.String(), "resume: demo run --resume ") || !strings.Contains(stdout.String(), fmt.Sprintf("--base-url %s", endpoint.URL)) {
		t.Errorf("it does not tell how to go on:\n%s", stdout.String())
	}
}
