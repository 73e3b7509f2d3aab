package openai_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/internal/wiretest"
	"github.com/bridle-go/bridle/plugins/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) string { return "" }

func open(t testing.TB, cfg openai.Config) *openai.Adapter {
	t.Helper()
	if cfg.Getenv == nil {
		cfg.Getenv = noEnv
	}
	a, err := openai.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func fromJSON(t testing.TB, config []byte, transport http.RoundTripper) llm.Adapter {
	cfg := openai.Config{APIKey: wiretest.Key, Transport: transport}
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

// The streams of servers with all their habits give the chunks that are in
// testdata/streams.
func TestStreams(t *testing.T) { wiretest.Streams(t, fromJSON) }

// A stream that is cut anywhere gives a beginning of its chunks and an error
// that may be retried.
func TestCuts(t *testing.T) { wiretest.Cuts(t, fromJSON) }

func FuzzStream(f *testing.F) { wiretest.Fuzz(f, fromJSON) }

func TestFaults(t *testing.T) {
	wiretest.Faults(t, wiretest.Server{
		Make: func(t testing.TB, baseURL string, idle time.Duration, transport http.RoundTripper) llm.Adapter {
			return open(t, openai.Config{BaseURL: baseURL, APIKey: wiretest.Key, IdleTimeoutSeconds: int(idle / time.Second),
				MaxResponseBytes: 4 << 20, Transport: transport})
		},
		Begin: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"par\"}}]}\n\n",
		Rest: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"tial\"},\"finish_reason\":\"stop\"}]}\n\n" +
			"data: [DONE]\n\n",
	})
}
