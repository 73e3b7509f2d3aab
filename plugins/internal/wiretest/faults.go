package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
)

// Key is the key that adapters under test must be configured with. It is
// looked for in every error.
const Key = "sk-test-0123456789abcdef"

// Server is what differs between the protocols in the fault tests. Begin is a
// stream up to its first text, which is "par", and Rest what completes it.
type Server struct {
	Make  func(t testing.TB, baseURL string, idle time.Duration, transport http.RoundTripper) llm.Adapter
	Begin string
	Rest  string
}

// fault is one way in which a server fails.
type fault struct {
	name   string
	status int
	header map[string]string
	body   string

	class llm.Class
	wait  time.Duration
	says  string // part of the error's text
}

var faults = []fault{
	{"rate limit", 429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"slow down","type":"rate_limit_error"}}`, llm.RateLimited, 7 * time.Second, "slow down"},
	{"rate limit in milliseconds", 429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "2"}, `{}`, llm.RateLimited, 1500 * time.Millisecond, "Too Many Requests"},
	{"rate limit until a date", 429, map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, ``, llm.RateLimited, 30 * time.Second, ""},
	{"no quota", 429, nil, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, llm.Auth, 0, "quota"},
	{"server error", 500, nil, `{"error":{"message":"oops","type":"server_error"}}`, llm.Server, 0, "oops"},
	{"bad gateway with a page", 502, map[string]string{"Content-Type": "text/html"}, `<html><body>nginx</body></html>`, llm.Server, 0, "Bad Gateway"},
	{"unavailable", 503, map[string]string{"Retry-After": "0.5"}, `busy`, llm.Overloaded, 500 * time.Millisecond, "busy"},
	{"gateway timeout", 504, nil, ``, llm.Server, 0, "Gateway Timeout"},
	{"overloaded", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Overloaded, 0, "Overloaded"},
	{"request timeout", 408, nil, ``, llm.Server, 0, ""},
	{"wrong key, repeated", 401, nil, `{"error":{"message":"Incorrect API key provided: ` + Key + `."}}`, llm.Auth, 0, "[hidden]"},
	{"key not allowed", 403, nil, `{"error":{"message":"no access"}}`, llm.Auth, 0, "no access"},
	{"no money", 402, nil, `{"error":{"message":"Insufficient Balance"}}`, llm.Auth, 0, "Balance"},
	{"no such model", 404, nil, `{"error":{"message":"model not found"}}`, llm.Invalid, 0, "model not found"},
	{"invalid request", 400, nil, `{"error":{"message":"bad field","type":"invalid_request_error"}}`, llm.Invalid, 0, "bad field"},
	{"invalid, in a list", 422, nil, `{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted"}]}`, llm.Invalid, 0, "Extra inputs"},
	{"invalid, in Google's array", 400, nil, `[{"error":{"code":400,"message":"nope","status":"INVALID_ARGUMENT"}}]`, llm.Invalid, 0, "nope"},
	{"invalid, as a text", 400, nil, `{"error":"does not support tools"}`, llm.Invalid, 0, "does not support tools"},
	{"too long by its code", 400, nil, `{"error":{"message":"x","code":"context_length_exceeded"}}`, llm.ContextTooLong, 0, ""},
	{"too long in words", 400, nil, `{"object":"error","message":"This model's maximum context length is 4096 tokens."}`, llm.ContextTooLong, 0, "4096"},
	{"prompt too long", 400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ContextTooLong, 0, ""},
	{"too long with status 500", 500, nil, `{"error":{"code":500,"message":"the request exceeds the available context size"}}`, llm.ContextTooLong, 0, ""},
	{"request too large", 413, nil, `{"type":"error","error":{"type":"request_too_large","message":"x"}}`, llm.ContextTooLong, 0, ""},
	{"a page instead of an answer", 200, map[string]string{"Content-Type": "text/html"}, `<html>`, llm.Invalid, 0, "base URL"},
	{"an error with status 200", 200, map[string]string{"Content-Type": "application/json"}, `{"error":{"message":"late","type":"rate_limit_error"}}`, llm.RateLimited, 0, "late"},
	{"no answer at all", 200, nil, ``, llm.Network, 0, ""},
	{"an error in the stream", 200, nil, "BEGIN event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", llm.Overloaded, 0, "Overloaded"},
	{"an error in the stream with a status", 200, nil, "BEGIN data: {\"type\":\"error\",\"error\":{\"code\":502,\"message\":\"upstream\"}}\n\n", llm.Server, 0, "upstream"},
	{"a malformed chunk", 200, nil, "BEGIN data: {\"choices\":[{\"de\n\n", llm.Server, 0, "cannot be understood"},
	{"a chunk of the wrong shape", 200, nil, "BEGIN data: [1,2]\n\n", llm.Server, 0, "cannot be understood"},
	{"a chunk cut in the middle", 200, nil, "BEGIN data: {\"choices\":[{\"de", llm.Network, 0, ""},
	{"an end without a finish", 200, nil, "BEGIN ", llm.Network, 0, "before it was finished"},
	{"an endless error", 500, nil, strings.Repeat("x", 1<<20), llm.Server, 0, "xxx..."},
	{"control characters in an error", 400, nil, "{\"error\":\"a\\u001b[31mb\\u202ec\\nd\"}", llm.Invalid, 0, "a[31mbc d"},
}

// Faults runs the table of faults against a server on the loopback, and the
// faults that need a connection of their own.
func Faults(t *testing.T, s Server) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			body, begun := strings.CutPrefix(f.body, "BEGIN ")
			if begun {
				body = s.Begin + body
			}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for name, value := range f.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(f.status)
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			a := s.Make(t, server.URL, 0, nil)
			chunks, err := Collect(t.Context(), a, Hello(a))
			Check(t, chunks, err)
			wantPartial(t, chunks, begun)
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatalf("got error %v, want an *llm.Error", err)
			}
			if e.Class != f.class || e.RetryAfter != f.wait || !strings.Contains(e.Error(), f.says) {
				t.Errorf("got class %q, wait %s, text %q\nwant class %q, wait %s, text with %q", e.Class, e.RetryAfter, e, f.class, f.wait, f.says)
			}
			if f.status != 200 && e.Status != f.status {
				t.Errorf("got status %d, want %d", e.Status, f.status)
			}
			if e.Provider != a.Provider() || e.Model != "m" {
				t.Errorf("the error is about %s/%s", e.Provider, e.Model)
			}
			if len(e.Error()) > 10_000 {
				t.Errorf("the text has %d bytes", len(e.Error()))
			}
			noKey(t, err)
		})
	}
	t.Run("redirects", func(t *testing.T) { redirects(t, s) })
	t.Run("refused connection", func(t *testing.T) { refusedConnection(t, s) })
	t.Run("reset connection", func(t *testing.T) { resetConnection(t, s) })
	t.Run("slow", func(t *testing.T) { slow(t, s) })
	t.Run("leaving", func(t *testing.T) { leaving(t, s) })
	t.Run("too long", func(t *testing.T) { tooLong(t, s) })
	t.Run("reuse", func(t *testing.T) { reuse(t, s) })
}

// wantPartial checks that the beginning of an answer was handed on.
func wantPartial(t *testing.T, chunks []llm.Chunk, begun bool) {
	t.Helper()
	var acc llm.Accumulator
	for _, c := range chunks {
		_ = acc.Add(c) // Check reports it
	}
	var text string
	for _, b := range acc.Blocks() {
		text += b.Text
	}
	want := ""
	if begun {
		want = "par"
	}
	if text != want {
		t.Errorf("the text so far is %q, want %q", text, want)
	}
}

func noKey(t *testing.T, err error) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		if s := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(s, Key) {
			t.Errorf("the key is in the error: %s", s)
		}
	}
}

// redirects shows that nothing follows to another host, and that one at the
// same host is followed with the body.
func redirects(t *testing.T, s Server) {
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached = append(reached, r.URL.Path)
	}))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(other.URL+"/?key="+Key, status))
		a := s.Make(t, server.URL, 0, nil)
		_, err := Collect(t.Context(), a, Hello(a))
		if llm.ClassOf(err) != llm.Invalid || !strings.Contains(err.Error(), other.URL) {
			t.Errorf("%d: got error %v", status, err)
		}
		noKey(t, err)
		server.Close()
	}
	if reached != nil {
		t.Errorf("the other host was reached: %v", reached)
	}

	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "/moved", http.StatusTemporaryRedirect)
			return
		}
		if body, err := io.ReadAll(r.Body); err != nil || len(body) == 0 || !strings.Contains(fmt.Sprint(r.Header), Key) {
			t.Errorf("at the same host %d bytes and the headers %v arrived", len(body), r.Header)
		}
		_, _ = io.WriteString(w, s.Begin+s.Rest)
	}))
	defer here.Close()
	a := s.Make(t, here.URL, 0, nil)
	chunks, err := Collect(t.Context(), a, Hello(a))
	Check(t, chunks, err)
	if err != nil {
		t.Errorf("at the same host: %v", err)
	}
}

func refusedConnection(t *testing.T, s Server) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	a := s.Make(t, "http://"+l.Addr().String(), 0, nil)
	_, err = Collect(t.Context(), a, Hello(a))
	if llm.ClassOf(err) != llm.Network {
		t.Errorf("got %v", err)
	}
	noKey(t, err)
}

// resetConnection ends a chunked answer without its last chunk.
func resetConnection(t *testing.T, s Server) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, s.Begin)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	a := s.Make(t, server.URL, 0, nil)
	chunks, err := Collect(t.Context(), a, Hello(a))
	wantPartial(t, chunks, true)
	if llm.ClassOf(err) != llm.Network {
		t.Errorf("got %v", err)
	}
}

// slow runs in false time: a pause shorter than the idle timeout is borne,
// also where only comments arrive; a longer one is not; a slow consumer is
// nobody's fault; and the missing end of a complete answer costs seconds.
func slow(t *testing.T, s Server) {
	type step struct {
		after time.Duration
		send  string
	}
	hang := step{after: 24 * time.Hour}
	tests := []struct {
		name     string
		steps    []step
		consumer time.Duration // pause at each chunk
		class    llm.Class
		within   time.Duration
	}{
		{"slow tokens", []step{{50 * time.Second, s.Begin}, {50 * time.Second, s.Rest}, {time.Second, ""}}, 0, "", 2 * time.Minute},
		{"kept alive", []step{{50 * time.Second, ": wait\n\n"}, {50 * time.Second, ":\n\n"}, {50 * time.Second, s.Begin + s.Rest}}, 0, "", 3 * time.Minute},
		{"no head", []step{hang}, 0, llm.Network, time.Minute},
		{"a stall in the middle", []step{{0, s.Begin}, hang}, 0, llm.Network, time.Minute},
		{"no end after the finish", []step{{0, s.Begin + strings.Replace(s.Rest, "data: [DONE]\n\n", "", 1)}, hang}, 0, "", 20 * time.Second},
		{"a slow consumer", []step{{0, s.Begin}, {time.Second, s.Rest}}, 10 * time.Minute, "", 3 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := s.Make(t, "http://server.test", time.Minute, RoundTripper(func(r *http.Request) (*http.Response, error) {
					pr, pw := io.Pipe()
					stop := context.AfterFunc(r.Context(), func() { pw.CloseWithError(r.Context().Err()) })
					steps := tt.steps
					if steps[0] == hang {
						<-r.Context().Done()
						return nil, r.Context().Err()
					}
					go func() {
						defer stop()
						for _, st := range steps {
							select {
							case <-time.After(st.after):
							case <-r.Context().Done():
								return
							}
							if _, err := io.WriteString(pw, st.send); err != nil {
								return
							}
						}
						pw.Close()
					}()
					return Answer(r, 200, pr), nil
				}))
				began := time.Now()
				var chunks []llm.Chunk
				var failed error
				for c, err := range a.Stream(t.Context(), Hello(a)) {
					if err != nil {
						failed = err
						break
					}
					chunks = append(chunks, c)
					time.Sleep(tt.consumer)
				}
				Check(t, chunks, failed)
				if took := time.Since(began); llm.ClassOf(failed) != tt.class || took > tt.within {
					t.Errorf("got error %v after %s, want class %q within %s", failed, took, tt.class, tt.within)
				}
				synctest.Wait()
			})
		})
	}
}

// leaving ends requests from the caller's side: before the head, in the
// middle, and by leaving the loop. The server sees each of them go.
func leaving(t *testing.T, s Server) {
	gone := make(chan struct{}, 1)
	begun := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("X-Silent") == "" {
			_, _ = io.WriteString(w, s.Begin)
			_ = http.NewResponseController(w).Flush()
		}
		begun <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer server.Close()

	cause := errors.New("the user has had enough")
	for _, silent := range []bool{true, false} {
		transport := RoundTripper(func(r *http.Request) (*http.Response, error) {
			if silent {
				r.Header.Set("X-Silent", "1")
			}
			return http.DefaultTransport.RoundTrip(r)
		})
		a := s.Make(t, server.URL, 0, transport)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-begun; cancel(cause) }()
		chunks, err := Collect(ctx, a, Hello(a))
		Check(t, chunks, err)
		if llm.ClassOf(err) != llm.Cancelled || !errors.Is(err, cause) {
			t.Errorf("silent %v: got error %v, want the cancellation with its cause", silent, err)
		}
		<-gone
	}
	a := s.Make(t, server.URL, 0, nil)
	for range a.Stream(t.Context(), Hello(a)) {
		break
	}
	<-gone
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Collect(ctx, a, Hello(a)); llm.ClassOf(err) != llm.Cancelled {
		t.Errorf("cancelled before it began: got %v", err)
	}
}

// endless sends the same text for ever.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// tooLong shows that a server cannot fill the memory, neither with one event
// nor with many.
func tooLong(t *testing.T, s Server) {
	for name, body := range map[string]io.Reader{
		"one event":   io.MultiReader(strings.NewReader("data: "), endless("x")),
		"many events": endless(": nothing to say, but kept alive\n\n"),
	} {
		a := s.Make(t, "http://server.test", 0, RoundTripper(func(r *http.Request) (*http.Response, error) {
			return Answer(r, 200, body), nil
		}))
		_, err := Collect(t.Context(), a, Hello(a))
		var e *llm.Error
		if !errors.As(err, &e) || e.Class != "" || e.Class.Retryable() {
			t.Errorf("%s: got %v, want an error that is not retried", name, err)
		}
	}
}

// reuse shows that answers leave their connection fit for the next request.
func reuse(t *testing.T, s Server) {
	addrs := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addrs[r.RemoteAddr] = true
		_, _ = io.WriteString(w, s.Begin)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, s.Rest)
	}))
	defer server.Close()
	a := s.Make(t, server.URL, 0, nil)
	for range 5 {
		if _, err := Collect(t.Context(), a, Hello(a)); err != nil {
			t.Fatal(err)
		}
	}
	server.Close()
	if len(addrs) != 1 {
		t.Errorf("5 requests took %d connections", len(addrs))
	}
}
