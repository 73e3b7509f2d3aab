package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		ms, after, date string
		want            time.Duration
	}{
		{"", "", "", 0},
		{"", "3", "", 3 * time.Second},
		{"", " 1.5 ", "", 1500 * time.Millisecond},
		{"250", "3", "", 250 * time.Millisecond},
		{"x", "3", "", 3 * time.Second},
		{"", "-3", "", 0},
		{"", "NaN", "", 0},
		{"", "Inf", "", 24 * time.Hour},
		{"", "1e300", "", 24 * time.Hour},
		{"1e30", "", "", 24 * time.Hour},
		{"", "soon", "", 0},
		{"", "Thu, 02 Jan 2025 03:04:35 GMT", "", 30 * time.Second},
		{"", "Thu, 02 Jan 2025 03:04:35 GMT", "Thu, 02 Jan 2025 03:04:15 GMT", 20 * time.Second},
		{"", "Thu, 02 Jan 2025 03:00:00 GMT", "", 0},
		{"", "Thu, 02 Jan 2099 03:00:00 GMT", "", 24 * time.Hour},
	}
	for _, tt := range tests {
		h := http.Header{}
		h.Set("Retry-After-Ms", tt.ms)
		h.Set("Retry-After", tt.after)
		h.Set("Date", tt.date)
		if got := RetryAfter(h, now); got != tt.want {
			t.Errorf("ms %q, after %q, date %q: got %s, want %s", tt.ms, tt.after, tt.date, got, tt.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []Config{
		{BaseURL: ""},
		{BaseURL: "api.example.com/v1"},
		{BaseURL: "ftp://example.com"},
		{BaseURL: "http://"},
		{BaseURL: "http://user:sk-secret-1@example.com"},
		{BaseURL: "http://sk-secret-1:%zz@example.com"},
		{BaseURL: "http://example.com", Header: http.Header{"X": {"sk-secret-1\nEvil: 1"}}},
		{BaseURL: "http://example.com", Header: http.Header{"X": {"sk-secret-1é"}}},
	} {
		_, err := New(cfg)
		if !errors.Is(err, errs.InvalidArgs) {
			t.Errorf("%q: got error %v, want %s", cfg.BaseURL, err, errs.InvalidArgs)
		} else if strings.Contains(err.Error(), "sk-secret-1") {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

// The query of the base URL goes with each request, before and after the path
// is added, as Azure wants it.
func TestPath(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Method + " " + r.URL.String()
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	for base, want := range map[string]string{
		"/v1":                "GET /v1/models?limit=2",
		"/v1/":               "GET /v1/models?limit=2",
		"":                   "GET /models?limit=2",
		"/d/x?api-version=1": "GET /d/x/models?api-version=1&limit=2",
	} {
		c, err := New(Config{BaseURL: server.URL + base})
		if err != nil {
			t.Fatal(err)
		}
		var into struct{}
		if err := c.Get(t.Context(), "models", map[string][]string{"limit": {"2"}}, &into); err != nil || got != want {
			t.Errorf("base %q: got %q, want %q (%v)", base, got, want, err)
		}
		c.Close()
	}
}

// A key is found in whatever form a server or the transport repeats it, and a
// word that is no secret is left alone.
func TestKeyIsHidden(t *testing.T) {
	const key = "sk-/secret+123"
	c, err := New(Config{Provider: "p", BaseURL: "http://example.com/?key=x", Secrets: []llm.Secret{key, "ollama"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, e := range []error{
		c.fail(llm.Auth, "m", 401, "wrong key "+key, errors.New("cause: "+key)),
		c.Fail(llm.Auth, "m", "wrong key sk-%2Fsecret%2B123"),
		c.Fail(llm.Auth, "m", "wrong key sk-/secret\x00+123"),
		c.Malformed("m", []byte(`{"key":"`+key+`"`)),
		c.Event("m", []byte(`{"error":{"message":"`+key+`","code":"`+key+`"}}`)),
	} {
		for err := e; err != nil; err = errors.Unwrap(err) {
			if s := fmt.Sprintf("%v %#v", err, err); strings.Contains(s, "secret") {
				t.Errorf("the key is shown: %s", s)
			}
		}
	}
	if e := c.Fail(llm.Invalid, "m", "ollama has no such model"); !strings.Contains(e.Error(), "ollama has") {
		t.Errorf("a short word was hidden: %v", e)
	}
	type config struct{ Key llm.Secret }
	shown := fmt.Sprintf("%v %+v %#v %s %q %x", config{key}, config{key}, config{key}, llm.Secret(key), llm.Secret(key), llm.Secret(key))
	data, err := json.Marshal(config{key})
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", llm.Secret(key), "config", config{key})
	if all := shown + string(data) + log.String(); err != nil || strings.Contains(all, "secret") || strings.Contains(all, "736563") {
		t.Errorf("a configuration shows the key: %s (%v)", all, err)
	}
}

func TestBody(t *testing.T) {
	var b Body
	b.Set("model", "<m>")
	b.Set("stream", true)
	b.Set("options", map[string]bool{"usage": true})
	b.Merge(map[string]json.RawMessage{"z": json.RawMessage(`[1, 2]`), "options": json.RawMessage("null"), "a": json.RawMessage(`"x"`), "no": json.RawMessage("null")})
	b.Merge(map[string]json.RawMessage{"stream": json.RawMessage("false")})
	got, err := b.Encode()
	if want := `{"model":"<m>","stream":false,"a":"x","z":[1,2]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	b.Set("bad", json.RawMessage("{"))
	if _, err := b.Encode(); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("a field that is no JSON: got %v", err)
	}
}

// Any bytes that a server says about an error give an error that can be shown.
func FuzzFailure(f *testing.F) {
	for _, s := range []string{"", "{}", `{"error":"x"}`, `{"error":{"message":"x","code":500}}`, `[{"error":{}}]`, "[[[[", `{"error":{"error":{"error":1}}}`, "<html>"} {
		f.Add(400, []byte(s))
	}
	c, err := New(Config{Provider: "p", BaseURL: "http://example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := c.judge("m", status, body)
		if e.Message == "" || len([]rune(e.Message)) > maxMessage+3 || strings.ContainsFunc(e.Message, func(r rune) bool { return r < ' ' }) {
			t.Errorf("the message is %q", e.Message)
		}
	})
}
