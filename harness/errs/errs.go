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
	// NotFound reports a file or directory that is not there.
	NotFound Code = "FS_NOT_FOUND"
	// NotDirectory reports something else in the place of a directory.
	NotDirectory Code = "FS_NOT_DIRECTORY"
	// NotText reports content that is not UTF-8 text.
	NotText Code = "FS_NOT_TEXT"
	// NotRegularFile reports a directory, FIFO, socket or device in the place of
	// a file.
	NotRegularFile Code = "FS_NOT_REGULAR_FILE"
	// TooLarge reports content beyond a limit.
	TooLarge Code = "FS_TOO_LARGE"
	// Permission reports what the system, or a policy, does not allow.
	Permission Code = "FS_PERMISSION_DENIED"
	// SandboxDenied reports a change outside of what the sandbox allows.
	SandboxDenied Code = "FS_SANDBOX_DENIED"
	// IO reports a failure of the world that the files live in.
	IO Code = "FS_IO_ERROR"
	// StaleVersion reports a file that is no longer what was read.
	StaleVersion Code = "FS_STALE_VERSION"
	// NotObserved reports a file that was not read before it was to be changed.
	NotObserved Code = "FS_NOT_OBSERVED"
	// AmbiguousEdit reports a text to replace that occurs more than once.
	AmbiguousEdit Code = "FS_AMBIGUOUS_EDIT"
	// EditNotFound reports a text to replace that does not occur.
	EditNotFound Code = "FS_EDIT_NOT_FOUND"
	// FSAborted reports an operation on files whose context ended; [Aborted] is
	// the code of a tool call that ended so.
	FSAborted Code = "FS_ABORTED"
	// Unsupported reports an optional ability that a provider lacks.
	Unsupported Code = "FS_UNSUPPORTED"
)

// Tool pipeline codes.
const (
	// InvalidArgs reports arguments that cannot mean anything: a wrong type, a
	// missing property, a path with a NUL byte.
	InvalidArgs Code = "INVALID_ARGS"
	// UnknownTool reports a call of a tool that the agent does not have.
	UnknownTool Code = "UNKNOWN_TOOL"
	// AbortedBeforeDispatch reports a call that was cancelled before its tool
	// began, so that it had no effect.
	AbortedBeforeDispatch Code = "ABORTED_BEFORE_DISPATCH"
	// Aborted reports a call that was cancelled on its way.
	Aborted Code = "ABORTED"
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
	// ApprovalRejected reports that somebody said no.
	ApprovalRejected Code = "APPROVAL_REJECTED"
	// ApprovalCancelled reports a question that was withdrawn before an answer.
	ApprovalCancelled Code = "APPROVAL_CANCELLED"
	// ApprovalUnavailable reports that nobody could answer.
	ApprovalUnavailable Code = "APPROVAL_UNAVAILABLE"
)

// Image and attachment store codes.
const (
	// InvalidImage reports bytes that are no image, or a damaged one.
	InvalidImage Code = "INVALID_IMAGE"
	// ImageTypeMismatch reports an image of another type than it was declared.
	ImageTypeMismatch Code = "IMAGE_TYPE_MISMATCH"
	// ImageTooLarge, ImageTooManyPixels and ImageDimension report an image beyond
	// the limits of its bytes, its pixels, or one of its sides.
	ImageTooLarge      Code = "IMAGE_TOO_LARGE"
	ImageTooManyPixels Code = "IMAGE_TOO_MANY_PIXELS"
	ImageDimension     Code = "IMAGE_DIMENSION_TOO_LARGE"
	// UnsupportedImage reports an image of a type that the store does not admit.
	UnsupportedImage Code = "UNSUPPORTED_IMAGE_TYPE"
	// TooManyImages and ImagesTooLarge report the images of one message together.
	TooManyImages  Code = "TOO_MANY_IMAGES"
	ImagesTooLarge Code = "IMAGES_TOO_LARGE"
	// InvalidImageBase64 reports an image whose base64 cannot be decoded.
	InvalidImageBase64 Code = "INVALID_IMAGE_BASE64"
	// InvalidAttachmentRef reports a reference that no store can have given.
	InvalidAttachmentRef Code = "INVALID_ATTACHMENT_REF"
	// AttachmentCorrupt reports stored bytes that are not what was referred to.
	AttachmentCorrupt Code = "ATTACHMENT_CORRUPT"
	// AttachmentWriteFailed and AttachmentReadFailed report failures of the disk.
	AttachmentWriteFailed Code = "ATTACHMENT_WRITE_FAILED"
	AttachmentReadFailed  Code = "ATTACHMENT_READ_FAILED"
	// AttachmentNotFound reports a reference to what the store does not hold.
	AttachmentNotFound Code = "ATTACHMENT_NOT_FOUND"
	// ModelNoImages reports a model whose route does not declare image input.
	ModelNoImages Code = "MODEL_NO_IMAGE_INPUT"
)

// Composition codes.
const (
	// MissingService reports a plugin that needs a service nobody provides.
	MissingService Code = "SERVICE_MISSING"
	// DuplicateService reports a service that two plugins provide, or that one
	// declares twice.
	DuplicateService Code = "SERVICE_DUPLICATE"
	// ServiceUnavailable reports a call on a service whose provider has left.
	ServiceUnavailable Code = "SERVICE_UNAVAILABLE"
	// DuplicatePlugin reports a name under which a plugin is mounted already.
	DuplicatePlugin Code = "PLUGIN_DUPLICATE"
	// UnknownPlugin reports a name under which no plugin is mounted.
	UnknownPlugin Code = "PLUGIN_UNKNOWN"
	// PluginFailed reports a plugin that could not start.
	PluginFailed Code = "PLUGIN_FAILED"
	// PluginCycle reports plugins that need each other's services.
	PluginCycle Code = "PLUGIN_CYCLE"
	// DuplicateName reports a second registration under one name.
	DuplicateName Code = "NAME_DUPLICATE"
	// ListenerFailed reports a listener of an event that panicked, or that
	// returned an error where it could only observe.
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
