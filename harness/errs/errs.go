// Package errs gives every error that reaches a caller or a model a stable
// code.
//
// A [Code] is an upper-case word such as FS_NOT_FOUND; it never changes once
// released, so callers and logs may depend on it. The message is for people
// and models and may improve. Compare with errors.Is against the code itself,
// or take the whole error with errors.As:
//
//	if errors.Is(err, errs.NotFound) { ... }
//
//	var e *errs.Error
//	if errors.As(err, &e) { log(e.Code, e.Path) }
package errs

import (
	"context"
	"errors"
	"strings"
)

// Code names one kind of failure. It is an error itself, so that it can be
// the target of errors.Is.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Filesystem codes.
const (
	NotFound       Code = "FS_NOT_FOUND"
	NotDirectory   Code = "FS_NOT_DIRECTORY"
	NotText        Code = "FS_NOT_TEXT"
	NotRegularFile Code = "FS_NOT_REGULAR_FILE"
	TooLarge       Code = "FS_TOO_LARGE"
	Permission     Code = "FS_PERMISSION_DENIED"
	SandboxDenied  Code = "FS_SANDBOX_DENIED"
	IO             Code = "FS_IO_ERROR"
	StaleVersion   Code = "FS_STALE_VERSION"
	NotObserved    Code = "FS_NOT_OBSERVED"
	AmbiguousEdit  Code = "FS_AMBIGUOUS_EDIT"
	EditNotFound   Code = "FS_EDIT_NOT_FOUND"
	FSAborted      Code = "FS_ABORTED"
	// Unsupported reports an optional ability that a provider lacks.
	Unsupported Code = "FS_UNSUPPORTED"
)

// Tool pipeline codes.
const (
	// InvalidArgs reports arguments that cannot mean anything: a wrong type, a
	// missing property, a path with a NUL byte.
	InvalidArgs           Code = "INVALID_ARGS"
	UnknownTool           Code = "UNKNOWN_TOOL"
	AbortedBeforeDispatch Code = "ABORTED_BEFORE_DISPATCH"
	Aborted               Code = "ABORTED"
	// ToolDenied reports a call that a listener or an answerer refused.
	ToolDenied Code = "TOOL_DENIED"
	// ToolFailed reports a tool body that panicked or returned an error
	// without a code.
	ToolFailed Code = "TOOL_FAILED"
	// InvalidOutput reports a tool value that does not match the tool's own
	// output schema.
	InvalidOutput Code = "INVALID_OUTPUT"
)

// Escalation and approval codes.
const (
	ApprovalRejected    Code = "APPROVAL_REJECTED"
	ApprovalCancelled   Code = "APPROVAL_CANCELLED"
	ApprovalUnavailable Code = "APPROVAL_UNAVAILABLE"
)

// Image and attachment store codes.
const (
	InvalidImage          Code = "INVALID_IMAGE"
	ImageTypeMismatch     Code = "IMAGE_TYPE_MISMATCH"
	ImageTooLarge         Code = "IMAGE_TOO_LARGE"
	ImageTooManyPixels    Code = "IMAGE_TOO_MANY_PIXELS"
	ImageDimension        Code = "IMAGE_DIMENSION_TOO_LARGE"
	UnsupportedImage      Code = "UNSUPPORTED_IMAGE_TYPE"
	TooManyImages         Code = "TOO_MANY_IMAGES"
	ImagesTooLarge        Code = "IMAGES_TOO_LARGE"
	InvalidImageBase64    Code = "INVALID_IMAGE_BASE64"
	InvalidAttachmentRef  Code = "INVALID_ATTACHMENT_REF"
	AttachmentCorrupt     Code = "ATTACHMENT_CORRUPT"
	AttachmentWriteFailed Code = "ATTACHMENT_WRITE_FAILED"
	AttachmentNotFound    Code = "ATTACHMENT_NOT_FOUND"
	AttachmentReadFailed  Code = "ATTACHMENT_READ_FAILED"
	// ModelNoImages reports a model whose route does not declare image input.
	ModelNoImages Code = "MODEL_NO_IMAGE_INPUT"
)

// Composition codes.
const (
	MissingService   Code = "SERVICE_MISSING"
	DuplicateService Code = "SERVICE_DUPLICATE"
	// ServiceUnavailable reports a call on a service whose provider has left.
	ServiceUnavailable Code = "SERVICE_UNAVAILABLE"
	DuplicatePlugin    Code = "PLUGIN_DUPLICATE"
	UnknownPlugin      Code = "PLUGIN_UNKNOWN"
	PluginFailed       Code = "PLUGIN_FAILED"
	PluginCycle        Code = "PLUGIN_CYCLE"
	// DuplicateName reports a second registration under one name.
	DuplicateName  Code = "NAME_DUPLICATE"
	ListenerFailed Code = "LISTENER_FAILED"
	// Stopped reports work that was asked of a context after its stop.
	Stopped Code = "CONTEXT_STOPPED"
)

// Error is a coded failure. The zero value of each field other than Code may
// be used.
type Error struct {
	Code Code
	// Op is the operation that failed, for people who debug: "write text".
	Op string
	// Path is the display path the operation was about, or "".
	Path string
	// Message says what is wrong and what to do, in one sentence without a
	// final stop. When it is empty the cause speaks.
	Message string
	// Err is the cause, or nil.
	Err error
}

// New returns a coded error with a message.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Wrap returns a coded error with a message and a cause.
func Wrap(code Code, message string, cause error) *Error {
	return &Error{Code: code, Message: message, Err: cause}
}

// Error returns the message, else what the cause says, else the code.
func (e *Error) Error() string {
	if e.Message != "" {
		return e.Message
	}
	var parts []string
	if e.Op != "" {
		parts = append(parts, e.Op)
	}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	} else {
		parts = append(parts, string(e.Code))
	}
	return strings.Join(parts, ": ")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is this error's code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.Code
}

// CodeOf returns the code of the outermost coded error in err's chain. A bare
// context cancellation counts as [Aborted]. The result is "" for nil and for
// an error without a code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	var c Code
	if errors.As(err, &c) {
		return c
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Aborted
	}
	return ""
}
