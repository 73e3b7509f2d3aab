package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
)

// Codes of this package.
const (
	UnknownProvider errs.Code = "PROVIDER_UNKNOWN"
	UnknownModel    errs.Code = "MODEL_UNKNOWN"
)

// Class says what kind of failure a provider had, and so whether to try
// again.
type Class string

// The classes. A failure that fits none has the class "".
const (
	// RateLimited is too many requests or tokens in too short a time.
	RateLimited Class = "rate-limited"
	// Overloaded is a provider that has no capacity left.
	Overloaded Class = "overloaded"
	// Server is a failure inside the provider.
	Server Class = "server"
	// Network is a connection that failed or a stream that was cut.
	Network Class = "network"
	// ContextTooLong is a request longer than the model's context window.
	ContextTooLong Class = "context-too-long"
	// Auth is a key that is missing, wrong, or not allowed to do this.
	Auth Class = "auth"
	// Invalid is a request the provider does not understand or accept.
	Invalid Class = "invalid"
	// Cancelled is the caller's own cancellation.
	Cancelled Class = "cancelled"
)

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool {
	switch c {
	case RateLimited, Overloaded, Server, Network:
		return true
	}
	return false
}

// Code returns the error code of the class, as in MODEL_RATE_LIMITED.
func (c Class) Code() errs.Code {
	switch c {
	case "":
		return "MODEL_FAILED"
	case Cancelled:
		return errs.Aborted
	}
	return errs.Code("MODEL_" + strings.ToUpper(strings.ReplaceAll(string(c), "-", "_")))
}

// Error is a failure of a model request. It has the code of its class.
type Error struct {
	Class    Class
	Provider string
	Model    string
	// Status is the HTTP status, or 0 where there was none.
	Status int
	// RetryAfter is how long the provider asks to wait; 0 where it says
	// nothing.
	RetryAfter time.Duration
	// Message says what is wrong, in the provider's words where it has some.
	Message string
	// Err is the cause, or nil.
	Err error
}

// Error names the provider, the class and what was said.
func (e *Error) Error() string {
	text := e.Message
	if text == "" && e.Err != nil {
		text = e.Err.Error()
	}
	class := string(e.Class)
	if class == "" {
		class = "failed"
	}
	if e.Status != 0 {
		class = fmt.Sprintf("%s, status %d", class, e.Status)
	}
	if text == "" {
		return fmt.Sprintf("model request to %q: %s", e.Provider, class)
	}
	return fmt.Sprintf("model request to %q: %s (%s)", e.Provider, text, class)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the code of this error's class.
func (e *Error) Is(target error) bool {
	c, ok := target.(errs.Code)
	return ok && c == e.Class.Code()
}

// As lets callers that know only coded errors take this one as such.
func (e *Error) As(target any) bool {
	t, ok := target.(**errs.Error)
	if ok {
		*t = &errs.Error{Code: e.Class.Code(), Op: "model request", Message: e.Error(), Err: e.Err}
	}
	return ok
}

// ClassOf returns the class of the first [*Error] in err's chain. Without
// one, a cancelled context is Cancelled and a network failure or a cut stream
// is Network.
func ClassOf(err error) Class {
	var e *Error
	var n net.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	case errors.As(err, &n), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Network
	}
	return ""
}

// RetryAfterOf returns how long the provider asked to wait, or 0.
func RetryAfterOf(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
