// Package endpoint speaks HTTP with model servers: it sends a request, hands
// out the events of the answer, and says what went wrong as an [llm.Error].
//
// It keeps the key to the server it is for: a redirect to another origin is
// not followed, and no error, whoever worded it, repeats the key.
package endpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/internal/sse"
)

// Defaults of [Config].
const (
	DefaultIdleTimeout      = 5 * time.Minute
	DefaultMaxResponseBytes = 64 << 20
)

// Bounds on what a server can make us hold.
const (
	maxEventBytes = 16 << 20
	maxErrorBytes = 64 << 10
	maxListBytes  = 8 << 20
	maxRedirects  = 5
)

// Config describes a server.
type Config struct {
	// Provider is named in errors.
	Provider string
	// BaseURL is what the paths of requests are added to. Its query, if it has
	// one, goes with every request.
	BaseURL string
	// Header goes with every request. Values are kept out of errors when they
	// are in Secrets.
	Header  http.Header
	Secrets []llm.Secret
	// IdleTimeout is how long nothing at all may arrive: before the answer
	// begins, and between two pieces of it. Comments that keep the connection
	// alive count. 0 is [DefaultIdleTimeout], a negative one sets no bound.
	IdleTimeout time.Duration
	// MaxResponseBytes bounds an answer. 0 is [DefaultMaxResponseBytes].
	MaxResponseBytes int64
	// Transport makes the requests; nil for one of the client's own.
	Transport http.RoundTripper
}

// Client reaches one server. It may be used concurrently.
type Client struct {
	cfg  Config
	base *url.URL
	http *http.Client
}

// New checks cfg: INVALID_ARGS names what is wrong with it.
func New(cfg Config) (*Client, error) {
	invalid := func(format string, args ...any) error {
		return errs.New(errs.InvalidArgs, fmt.Sprintf("provider %q: ", cfg.Provider)+fmt.Sprintf(format, args...))
	}
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		// The URL is not repeated: what is wrong may be a key in it.
		return nil, invalid("the base URL must be an absolute http or https URL")
	case base.User != nil:
		return nil, invalid("the base URL must not hold a user or password; set the key or a header instead")
	}
	for name, values := range cfg.Header {
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }) {
				return nil, invalid("the value of the header %s has characters that a header cannot hold", name)
			}
		}
	}
	if cfg.IdleTimeout == 0 {
		cfg.IdleTimeout = DefaultIdleTimeout
	}
	if cfg.MaxResponseBytes == 0 {
		cfg.MaxResponseBytes = DefaultMaxResponseBytes
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return &Client{cfg: cfg, base: base, http: &http.Client{Transport: cfg.Transport, CheckRedirect: sameOrigin}}, nil
}

// sameOrigin follows a redirect that stays at the server and repeats the
// request as it was. Any other would give the conversation, and headers that
// net/http does not know for secret, to somebody else, or turn it into a GET.
func sameOrigin(to *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) >= maxRedirects || to.Method != first.Method || to.URL.Scheme != first.URL.Scheme || to.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// Close closes connections that are kept for reuse.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Host returns the host of the server, with its port where one is given.
func (c *Client) Host() string { return c.base.Host }

var errIdle = errors.New("idle")

// call is one request and its answer as it arrives.
type call struct {
	c      *Client
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil without an idle timeout
	idle   time.Duration
	model  string
	body   io.ReadCloser
	left   int64
}

// send makes a request and returns once the head of a good answer is there.
func (c *Client) send(ctx context.Context, model, method, path string, query url.Values, body []byte, accept string, limit int64) (*call, *http.Response, error) {
	u := c.base.JoinPath(path)
	q := u.Query()
	for name, values := range query {
		q[name] = values
	}
	u.RawQuery = q.Encode()

	k := &call{c: c, parent: ctx, model: model, idle: c.cfg.IdleTimeout, left: limit}
	k.ctx, k.cancel = context.WithCancelCause(ctx)
	if k.idle > 0 {
		k.timer = time.AfterFunc(k.idle, func() { k.cancel(errIdle) })
	}
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(k.ctx, method, u.String(), in)
	if err != nil {
		k.Close()
		return nil, nil, c.fail(llm.Invalid, model, 0, "the request could not be made", nil)
	}
	for name, values := range c.cfg.Header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "bridle")
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = k.broken(err)
		k.Close()
		return nil, nil, err
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.body = resp.Body
	if resp.StatusCode/100 != 2 {
		err := k.refused(resp)
		k.Close()
		return nil, nil, err
	}
	return k, resp, nil
}

// Read reads the body of the answer. Time counts only while it waits for the
// server, not while whoever reads is busy.
func (k *call) Read(p []byte) (int, error) {
	if k.left <= 0 {
		return 0, k.c.fail("", k.model, 0, "the answer is longer than the limit allows", nil)
	}
	if int64(len(p)) > k.left {
		p = p[:k.left]
	}
	if k.timer != nil {
		k.timer.Reset(k.idle)
	}
	n, err := k.body.Read(p)
	if k.timer != nil {
		k.timer.Stop()
	}
	k.left -= int64(n)
	if err != nil && err != io.EOF {
		err = k.broken(err)
	}
	return n, err
}

// Close ends the request, whether the answer is complete or not.
func (k *call) Close() {
	if k.timer != nil {
		k.timer.Stop()
	}
	k.cancel(nil)
	if k.body != nil {
		_ = k.body.Close() // nothing is lost: what was read counts
	}
}

// broken says why the connection failed.
func (k *call) broken(err error) error {
	var known *llm.Error
	switch {
	case errors.As(err, &known):
		return err
	case k.parent.Err() != nil:
		return k.c.Cancelled(k.parent, k.model)
	case errors.Is(context.Cause(k.ctx), errIdle):
		return k.c.fail(llm.Network, k.model, 0, fmt.Sprintf("nothing arrived for %s", k.idle), nil)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return k.c.fail(llm.Network, k.model, 0, "the answer was cut", err)
	}
	// A url.Error repeats the URL with its query, where some servers want the
	// key.
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return k.c.fail(llm.Network, k.model, 0, err.Error(), err)
}

// Stream is an answer that arrives in events.
type Stream struct {
	call   *call
	in     *bufio.Reader
	events *sse.Reader
}

// Post sends a JSON body and returns the answer once its head is there. The
// caller must close it.
func (c *Client) Post(ctx context.Context, model, path string, body []byte) (*Stream, error) {
	k, resp, err := c.send(ctx, model, http.MethodPost, path, nil, body, "text/event-stream", c.cfg.MaxResponseBytes)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/html" {
		k.Close()
		return nil, c.fail(llm.Invalid, model, 0, fmt.Sprintf("%s answered with a web page; check the base URL", c.base.Host), nil)
	}
	in := bufio.NewReaderSize(k, 16<<10)
	return &Stream{call: k, in: in, events: sse.NewReader(in, maxEventBytes)}, nil
}

// JSON reports whether the answer is one JSON object rather than events. The
// media type does not tell: servers send either under the name of the other.
func (s *Stream) JSON() (bool, error) {
	for {
		c, err := s.in.ReadByte()
		switch {
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		case c == ' ', c == '\t', c == '\r', c == '\n':
			continue // nothing in either
		}
		return c == '{', s.in.UnreadByte()
	}
}

// Next returns the next event, or io.EOF at a proper end of the answer.
func (s *Stream) Next() (sse.Event, error) {
	e, err := s.events.Next()
	if errors.Is(err, sse.ErrTooLong) {
		err = s.call.c.fail("", s.call.model, 0, err.Error(), nil)
	}
	return e, err
}

// Settle bounds the wait for what may still come after the answer is complete
// in substance.
func (s *Stream) Settle(idle time.Duration) {
	if s.call.timer == nil {
		s.call.timer = time.AfterFunc(idle, func() { s.call.cancel(errIdle) })
		s.call.idle = idle
	}
	s.call.idle = min(s.call.idle, idle)
}

// All returns the whole answer of a server that does not stream.
func (s *Stream) All() ([]byte, error) { return io.ReadAll(s.in) }

// drainTime and drainBytes bound what is spent on the rest of an answer.
const (
	drainTime  = 50 * time.Millisecond
	drainBytes = 16 << 10
)

// Drain reads the end of an answer that is complete, so that its connection
// can serve the next request.
func (s *Stream) Drain() {
	s.Settle(drainTime)
	_, _ = io.CopyN(io.Discard, s.in, drainBytes) // it fails where there is no end to be had
}

// Close ends the request, whether the answer is complete or not.
func (s *Stream) Close() { s.call.Close() }

// Get decodes the JSON that the server has at a path.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	k, _, err := c.send(ctx, "", http.MethodGet, path, query, nil, "application/json", maxListBytes)
	if err != nil {
		return err
	}
	defer k.Close()
	data, err := io.ReadAll(k)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return c.Malformed("", data)
	}
	return nil
}
