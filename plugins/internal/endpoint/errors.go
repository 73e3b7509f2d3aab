package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/llm"
)

// fail makes an error. Its text is cleaned, and so is the cause: one whose
// text would show a secret is left out.
func (c *Client) fail(class llm.Class, model string, status int, message string, cause error) *llm.Error {
	if cause != nil && c.hide(cause.Error()) != cause.Error() {
		cause = nil
	}
	return &llm.Error{Class: class, Provider: c.cfg.Provider, Model: model, Status: status, Message: c.clean(message), Err: cause}
}

// Fail makes an error of that class.
func (c *Client) Fail(class llm.Class, model, message string) error {
	return c.fail(class, model, 0, message, nil)
}

// Cancelled is the error of a request that the caller ended.
func (c *Client) Cancelled(ctx context.Context, model string) error {
	e := c.fail(llm.Cancelled, model, 0, "the request was cancelled", context.Cause(ctx))
	if e.Err == nil {
		e.Err = ctx.Err()
	}
	return e
}

// Cut is the error of an answer that ended before the server said it was
// complete.
func (c *Client) Cut(model string) error {
	return c.fail(llm.Network, model, 0, "the answer ended before it was finished", io.ErrUnexpectedEOF)
}

// Malformed is the error of data that cannot be understood.
func (c *Client) Malformed(model string, data []byte) error {
	return c.fail(llm.Server, model, 0, fmt.Sprintf("the server sent something that cannot be understood: %q", excerpt(string(data), 120)), nil)
}

// Truncated reports whether data is JSON that ends too early.
func Truncated(data []byte) bool {
	var raw json.RawMessage
	var syntax *json.SyntaxError
	return errors.As(json.Unmarshal(data, &raw), &syntax) && syntax.Offset >= int64(len(data))
}

// minSecret is the length from which a secret is looked for in texts. Local
// servers are often given a word such as "ollama" for a key, which is no
// secret and would be found everywhere.
const minSecret = 8

func (c *Client) hide(s string) string {
	for _, secret := range c.cfg.Secrets {
		if len(secret) >= minSecret {
			s = strings.ReplaceAll(s, string(secret), secret.String())
			s = strings.ReplaceAll(s, url.QueryEscape(string(secret)), secret.String())
		}
	}
	return s
}

// maxMessage bounds what is repeated of a server's words, in code points.
const maxMessage = 2000

// clean makes a server's words fit to be shown: without secrets, control
// characters and excess.
func (c *Client) clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Bidi_Control):
			return -1
		}
		return r
	}, c.hide(s))
	// A secret that was split by what went is whole now.
	return excerpt(c.hide(strings.TrimSpace(s)), maxMessage)
}

func excerpt(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit]) + "..."
}

// refused says why the server did not answer.
func (k *call) refused(resp *http.Response) error {
	k.left = maxErrorBytes
	body, err := io.ReadAll(io.LimitReader(k, maxErrorBytes-1))
	if k.parent.Err() != nil {
		return k.c.Cancelled(k.parent, k.model)
	}
	_ = err // what came of the body is enough to say
	if resp.StatusCode/100 == 3 {
		where := "another place"
		if to, err := resp.Location(); err == nil {
			where = to.Scheme + "://" + to.Host
		}
		return k.c.fail(llm.Invalid, k.model, resp.StatusCode,
			fmt.Sprintf("%s redirects to %s, which is not given the request and the key; check the base URL", k.c.base.Host, where), nil)
	}
	e := k.c.judge(k.model, resp.StatusCode, body)
	e.RetryAfter = RetryAfter(resp.Header, time.Now())
	return e
}

// Event is the error that a server reports inside an answer, as the JSON of
// an error object or of what holds one.
func (c *Client) Event(model string, body []byte) error { return c.judge(model, 0, body) }

// judge classifies what a server says. A status of 0 means that it said so
// in the middle of an answer.
func (c *Client) judge(model string, status int, body []byte) *llm.Error {
	said := parseFailure(body)
	if status == 0 {
		status = said.status
	}
	message := said.message
	if message == "" {
		message = http.StatusText(status)
	}
	class := classify(status, said)
	e := c.fail(class, model, status, message, nil)
	if e.Message == "" {
		e.Message = "the server gave no reason"
	}
	return e
}

// failure is what a server says about an error.
type failure struct {
	message string
	kinds   string // its type and code, in lower case
	status  int    // a code that is an HTTP status, or 0
}

// parseFailure understands the error objects of the servers we know: an
// object or a text below "error", the object itself, the "detail" of FastAPI,
// and the array that Google wraps around it. Anything else is its own message.
func parseFailure(body []byte) failure { return unwrap(body, 4) }

// unwrap looks that many levels deep.
func unwrap(body []byte, levels int) failure {
	var f failure
	trimmed := strings.TrimSpace(string(body))
	if strings.HasPrefix(trimmed, "[") && levels > 0 {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			return unwrap(list[0], levels-1)
		}
	}
	var o map[string]json.RawMessage
	if json.Unmarshal(body, &o) != nil {
		var s string
		switch {
		case json.Unmarshal(body, &s) == nil:
			f.message = s
		case !strings.HasPrefix(trimmed, "<"): // not a web page
			f.message = excerpt(trimmed, 500)
		}
		return f
	}
	if inner, ok := o["error"]; ok && string(inner) != "null" && levels > 0 {
		return unwrap(inner, levels-1)
	}
	for _, name := range []string{"message", "detail", "msg", "error_message"} {
		if raw, ok := o[name]; ok && f.message == "" && string(raw) != "null" {
			if json.Unmarshal(raw, &f.message) != nil {
				f.message = excerpt(string(raw), 500)
			}
		}
	}
	for _, name := range []string{"type", "code", "status"} {
		var s string
		var n int
		switch {
		case json.Unmarshal(o[name], &s) == nil:
			f.kinds += " " + strings.ToLower(s)
			n, _ = strconv.Atoi(s)
		default:
			_ = json.Unmarshal(o[name], &n)
		}
		if n >= 400 && n < 600 {
			f.status = n
		}
	}
	return f
}

// tooLong are the words by which servers say that a prompt does not fit.
// Sources: the error codes and messages of OpenAI, Anthropic, DeepSeek, vLLM,
// llama.cpp and Gemini, as of July 2025.
var tooLong = []string{
	"context_length_exceeded", "exceed_context_size", "maximum context length", "prompt is too long",
	"exceed context limit", "exceeds the context window", "exceeds the available context size",
	"exceeds context window", "context length exceeded", "maximum model length", "input is too long",
	"exceeds the maximum number of tokens", "reduce the length of the messages", "request_too_large",
	"range of input length should be",
}

func classify(status int, f failure) llm.Class {
	text := f.kinds + " " + strings.ToLower(f.message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return llm.Auth
	case status == http.StatusPaymentRequired, strings.Contains(f.kinds, "insufficient_quota"):
		// No waiting helps an account without money.
		return llm.Auth
	case status == http.StatusRequestEntityTooLarge:
		return llm.ContextTooLong
	case status == http.StatusTooManyRequests:
		return llm.RateLimited
	case has(tooLong...):
		return llm.ContextTooLong
	case status == http.StatusServiceUnavailable, status == 529:
		return llm.Overloaded
	case status >= 500 && strings.Contains(f.kinds, "overloaded"):
		return llm.Overloaded
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		return llm.Server
	case status >= 400:
		return llm.Invalid
	}
	// In the middle of an answer there is no status, only a word for it.
	kinds := strings.Fields(f.kinds)
	is := func(words ...string) bool {
		for _, k := range kinds {
			for _, w := range words {
				if strings.Contains(k, w) {
					return true
				}
			}
		}
		return false
	}
	switch {
	case is("overloaded", "unavailable"):
		return llm.Overloaded
	case is("rate_limit", "resource_exhausted"):
		return llm.RateLimited
	case is("authentication", "permission", "api_key", "unauthenticated", "billing"):
		return llm.Auth
	case is("invalid", "not_found", "bad_request", "badrequest"):
		return llm.Invalid
	}
	// The request was accepted, so what fails now fails inside the server.
	return llm.Server
}

// maxRetryAfter bounds what a server can ask for.
const maxRetryAfter = 24 * time.Hour

// RetryAfter returns how long the headers of an answer ask to wait:
// retry-after-ms in milliseconds, else Retry-After in seconds or as a date,
// which is measured against the server's own Date where there is one. At most
// 24 hours; 0 where nothing is asked, or nothing that makes sense.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return wait(ms, time.Millisecond)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(s, time.Second)
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}

func wait(n float64, unit time.Duration) time.Duration {
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	if n > float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(n * float64(unit))
}

// Unsent is the error of a request that was not sent: ctx's end, or what is
// wrong with the request.
func (c *Client) Unsent(ctx context.Context, model string, err error) error {
	if ctx.Err() != nil {
		return c.Cancelled(ctx, model)
	}
	return c.fail(llm.Invalid, model, 0, err.Error(), err)
}
