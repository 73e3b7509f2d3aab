// Package fault is the failure vocabulary that all file operations share: what
// went wrong, whether the call can be sent again, and what to do instead.
package fault

import (
	"context"
	"encoding/json"
	"errors"
	"syscall"

	"github.com/bridle-go/bridle/harness/errs"
)

// Kind is the machine-readable kind of a failure: error_kind.
type Kind string

// The kinds.
const (
	InvalidOperation         Kind = "invalid_operation"
	OperationNotEnabled      Kind = "operation_not_enabled"
	InvalidArguments         Kind = "invalid_arguments"
	PathNotFound             Kind = "path_not_found"
	PathOutsideSandbox       Kind = "path_outside_sandbox"
	NotAFile                 Kind = "not_a_file"
	NotADirectory            Kind = "not_a_directory"
	AlreadyExists            Kind = "already_exists"
	ConfirmationRequired     Kind = "confirmation_required"
	HashMismatch             Kind = "hash_mismatch"
	NoMatch                  Kind = "no_match"
	AmbiguousMatch           Kind = "ambiguous_match"
	AmbiguousWhitespaceMatch Kind = "ambiguous_whitespace_match"
	SensitivePath            Kind = "sensitive_path"
	IgnoredPath              Kind = "ignored_path"
	ApprovalDenied           Kind = "approval_denied"
	NotText                  Kind = "not_text"
	TooLarge                 Kind = "too_large"
	InvalidFormat            Kind = "invalid_format"
	BackupNotFound           Kind = "backup_not_found"
	BackupCorrupt            Kind = "backup_corrupt"
	UnsupportedByProvider    Kind = "unsupported_by_provider"
	Cancelled                Kind = "cancelled"
	IOError                  Kind = "io_error"
)

// Disposition says whether the same call can be sent again.
type Disposition string

// The dispositions.
const (
	RetrySameCall        Disposition = "retry_same_call"
	RetryAfterCorrection Disposition = "retry_after_correction"
	DoNotRetry           Disposition = "do_not_retry"
)

// Fault is a failed operation.
type Fault struct {
	Kind Kind
	// Message says what is wrong and what to do, in one sentence.
	Message string
	// Field is the field of the operation that is wrong, by its own name
	// ("content"); "" when it is none. The hub adds the caller's path to it.
	Field string
	// Action overrides the kind's own suggested action; "" keeps it.
	Action string
	// Call holds the fields of a valid call that differ from the caller's, for
	// correct_call; a nil value takes a field away.
	Call map[string]any
	// Err is the cause, or nil.
	Err error
}

// New returns a fault of a kind.
func New(kind Kind, field, message string) *Fault {
	return &Fault{Kind: kind, Field: field, Message: message}
}

// Error returns the message.
func (f *Fault) Error() string { return f.Message }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// property is what a kind means to a caller.
type property struct {
	terminal    bool
	disposition Disposition
	action      string
}

var properties = map[Kind]property{
	InvalidOperation:         {false, RetryAfterCorrection, "choose_enabled_operation"},
	OperationNotEnabled:      {true, DoNotRetry, "choose_enabled_operation"},
	InvalidArguments:         {false, RetryAfterCorrection, "correct_arguments"},
	PathNotFound:             {false, RetryAfterCorrection, "use_file_tree"},
	PathOutsideSandbox:       {true, DoNotRetry, "use_path_inside_sandbox"},
	NotAFile:                 {false, RetryAfterCorrection, "use_list_directory"},
	NotADirectory:            {false, RetryAfterCorrection, "use_view_file"},
	AlreadyExists:            {false, RetryAfterCorrection, "set_overwrite"},
	ConfirmationRequired:     {false, RetryAfterCorrection, "send_expected_sha256"},
	HashMismatch:             {false, RetryAfterCorrection, "send_expected_sha256"},
	NoMatch:                  {false, RetryAfterCorrection, "view_file"},
	AmbiguousMatch:           {false, RetryAfterCorrection, "add_surrounding_context"},
	AmbiguousWhitespaceMatch: {false, RetryAfterCorrection, "add_surrounding_context"},
	SensitivePath:            {false, RetryAfterCorrection, "set_allow_sensitive"},
	IgnoredPath:              {false, RetryAfterCorrection, "set_allow_ignored"},
	ApprovalDenied:           {true, DoNotRetry, "ask_user"},
	NotText:                  {false, RetryAfterCorrection, "use_file_info"},
	TooLarge:                 {false, RetryAfterCorrection, "narrow_range"},
	InvalidFormat:            {false, RetryAfterCorrection, "validate_file"},
	BackupNotFound:           {false, RetryAfterCorrection, "list_backups"},
	BackupCorrupt:            {true, DoNotRetry, "ask_user"},
	UnsupportedByProvider:    {true, DoNotRetry, "choose_enabled_operation"},
	Cancelled:                {false, RetrySameCall, "retry"},
	IOError:                  {false, RetrySameCall, "retry"},
}

// Report is the part of a result that every failed operation has.
type Report struct {
	Error            string      `json:"error,omitempty"`
	ErrorKind        Kind        `json:"error_kind,omitempty"`
	Terminal         *bool       `json:"terminal,omitempty"`
	RetryDisposition Disposition `json:"retry_disposition,omitempty"`
	SuggestedAction  string      `json:"suggested_action,omitempty"`
	// CorrectCall is a complete, valid call of the same operation.
	CorrectCall json.RawMessage `json:"correct_call,omitempty"`
	ErrorField  string          `json:"error_field,omitempty"`
}

// Report returns the fault as a result has it, without the correct call.
func (f *Fault) Report() Report {
	p := properties[f.Kind]
	r := Report{Error: f.Message, ErrorKind: f.Kind, Terminal: &p.terminal, RetryDisposition: p.disposition,
		SuggestedAction: p.action, ErrorField: f.Field}
	if f.Action != "" {
		r.SuggestedAction = f.Action
	}
	return r
}

// Of returns err as a fault: the one in its chain, else one of the kind that
// its code means. field names the path field that the operation was about.
func Of(err error, field string) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	f = &Fault{Kind: kindOf(err), Message: err.Error(), Err: err}
	if errors.Is(err, syscall.ENAMETOOLONG) {
		f.Kind, f.Field = InvalidArguments, field // the same call could never succeed
	}
	switch f.Kind {
	case PathNotFound, PathOutsideSandbox, NotAFile, NotADirectory, AlreadyExists, NotText, TooLarge:
		f.Field = field
	}
	return f
}

func kindOf(err error) Kind {
	switch errs.CodeOf(err) {
	case errs.NotFound:
		return PathNotFound
	case errs.NotDirectory:
		return NotADirectory
	case errs.NotText:
		return NotText
	case errs.NotRegularFile:
		return NotAFile
	case errs.TooLarge:
		return TooLarge
	case errs.SandboxDenied:
		return PathOutsideSandbox
	case errs.StaleVersion:
		return HashMismatch
	case errs.NotObserved:
		return ConfirmationRequired
	case errs.EditNotFound:
		return NoMatch
	case errs.AmbiguousEdit:
		return AmbiguousMatch
	case errs.FSAborted, errs.Aborted, errs.AbortedBeforeDispatch:
		return Cancelled
	case errs.Unsupported:
		return UnsupportedByProvider
	case errs.InvalidArgs:
		return InvalidArguments
	case errs.ApprovalRejected, errs.ApprovalCancelled, errs.ApprovalUnavailable:
		return ApprovalDenied
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Cancelled
	}
	return IOError
}
