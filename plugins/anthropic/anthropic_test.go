package anthropic_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/internal/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) string { return "" }

func open(t testing.TB, cfg anthropic.Config) *anthropic.Adapter {
	t.Helper()
	if cfg.Getenv == nil {
		cfg.Getenv = noEnv
	}
	a, err := anthropic.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func fromJSON(t testing.TB, config []byte, transport http.RoundTripper) llm.Adapter {
	cfg := anthropic.Config{APIKey: wiretest.Key, Transport: transport}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &cfg); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, cfg)
}

// The bodies of requests are the same bytes each time, and what is in
// testdata/requests.
func TestRequests(t *testing.T) { wiretest.Requests(t, fromJSON) }

// Streams give the chunks that are in testdata/streams.
func TestStreams(t *testing.T) { wiretest.Streams(t, fromJSON) }

// A stream that is cut anywhere gives a beginning of its chunks and an error
// that may be retried.
func TestCuts(t *testing.T) { wiretest.Cuts(t, fromJSON) }

func FuzzStream(f *testing.F) { wiretest.Fuzz(f, fromJSON) }

func TestFaults(t *testing.T) {
	wiretest.Faults(t, wiretest.Server{
		Make: func(t testing.TB, baseURL string, idle time.Duration, transport http.RoundTripper) llm.Adapter {
			return open(t, anthropic.Config{BaseURL: baseURL, APIKey: wiretest.Key, IdleTimeoutSeconds: int(idle / time.Second),
				MaxResponseBytes: 4 << 20, Transport: transport})
		},
		Begin: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"par\"}}\n\n",
		Rest: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
	})
}
