package fileops

import (
	"context"
	"errors"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
)

// Kind is the machine-readable kind of a failure, the field error_kind.
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

// The values of retry_disposition: whether this very call can be sent again.
const (
	retrySame       = "retry_same_call"
	retryCorrected  = "retry_after_correction"
	retryNot        = "do_not_retry"
	actionFileTree  = "use_file_tree"
	actionInside    = "use_path_inside_sandbox"
	actionChoose    = "choose_enabled_operation"
	actionAskUser   = "ask_user"
	actionRetry     = "retry"
	actionView      = "view_file"
	actionCorrect   = "correct_arguments"
	actionSendHash  = "send_expected_sha256"
	actionContext   = "add_surrounding_context"
	actionNarrow    = "narrow_the_request"
	actionInfo      = "file_info"
	actionOverwrite = "set_overwrite"
)

// advice is what follows from a kind: whether the plan or the configuration
// has to change (terminal), whether the same call can be sent again, and the
// next step unless the failure knows a better one.
type advice struct {
	terminal bool
	retry    string
	action   string
}

var adviceFor = map[Kind]advice{
	InvalidOperation:         {false, retryCorrected, "use_known_operation"},
	OperationNotEnabled:      {true, retryNot, actionChoose},
	InvalidArguments:         {false, retryCorrected, actionCorrect},
	PathNotFound:             {false, retryCorrected, actionFileTree},
	PathOutsideSandbox:       {true, retryNot, actionInside},
	NotAFile:                 {false, retryCorrected, "list_directory"},
	NotADirectory:            {false, retryCorrected, "use_directory_path"},
	AlreadyExists:            {false, retryCorrected, actionOverwrite},
	ConfirmationRequired:     {false, retryCorrected, actionSendHash},
	HashMismatch:             {false, retryCorrected, actionSendHash},
	NoMatch:                  {false, retryCorrected, actionView},
	AmbiguousMatch:           {false, retryCorrected, actionContext},
	AmbiguousWhitespaceMatch: {false, retryCorrected, actionContext},
	SensitivePath:            {false, retryCorrected, "set_allow_sensitive"},
	IgnoredPath:              {false, retryCorrected, "set_allow_ignored"},
	ApprovalDenied:           {true, retryNot, actionAskUser},
	NotText:                  {false, retryCorrected, actionInfo},
	TooLarge:                 {false, retryCorrected, actionNarrow},
	InvalidFormat:            {false, retryCorrected, "correct_content"},
	BackupNotFound:           {false, retryCorrected, "list_backups"},
	BackupCorrupt:            {true, retryNot, actionAskUser},
	UnsupportedByProvider:    {true, retryNot, actionChoose},
	Cancelled:                {false, retrySame, actionRetry},
	IOError:                  {false, retrySame, actionRetry},
}

// failure is the error of an operation.
type failure struct {
	kind    Kind
	message string
	// field is the operation's argument that is wrong, "" for none.
	field string
	// action replaces the kind's next step, such as correct_source_path for a
	// path that is not there.
	action string
	// fix are arguments that would make the call valid; nil removes one.
	fix map[string]any
	// partial is a result that goes with the failure, such as the current
	// hash; nil for none.
	partial any
	cause   error
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.cause }

// refuse makes a failure.
func refuse(kind Kind, format string, args ...any) *failure {
	return &failure{kind: kind, message: fmt.Sprintf(format, args...)}
}

// badArgument makes a failure about one argument.
func badArgument(field, format string, args ...any) *failure {
	f := refuse(InvalidArguments, format, args...)
	f.field = field
	return f
}

func (f *failure) on(field string) *failure { f.field = field; return f }

// with notes the value of an argument that would do.
func (f *failure) with(field string, value any) *failure {
	if f.fix == nil {
		f.fix = map[string]any{}
	}
	f.fix[field] = value
	return f
}

var kindFor = map[errs.Code]Kind{
	errs.NotFound:            PathNotFound,
	errs.NotDirectory:        NotADirectory,
	errs.NotRegularFile:      NotAFile,
	errs.NotText:             NotText,
	errs.TooLarge:            TooLarge,
	errs.SandboxDenied:       PathOutsideSandbox,
	errs.NotObserved:         ConfirmationRequired,
	errs.StaleVersion:        HashMismatch,
	errs.EditNotFound:        NoMatch,
	errs.AmbiguousEdit:       AmbiguousMatch,
	errs.InvalidArgs:         InvalidArguments,
	errs.Unsupported:         UnsupportedByProvider,
	errs.ServiceUnavailable:  UnsupportedByProvider,
	errs.FSAborted:           Cancelled,
	errs.Aborted:             Cancelled,
	errs.ApprovalRejected:    ApprovalDenied,
	errs.ApprovalCancelled:   ApprovalDenied,
	errs.ApprovalUnavailable: ApprovalDenied,
}

// asFailure gives any error its kind. field is the argument with the path that
// the error is about.
func asFailure(err error, field string) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	kind, ok := kindFor[errs.CodeOf(err)]
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		kind = Cancelled
	case !ok:
		kind = IOError
	}
	f = &failure{kind: kind, message: err.Error(), cause: err}
	switch kind {
	case PathNotFound, NotAFile, NotADirectory, NotText, TooLarge, InvalidArguments, PathOutsideSandbox:
		f.field = field
	}
	return f
}
