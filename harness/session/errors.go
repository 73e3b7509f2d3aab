package session

import "github.com/bridle-go/bridle/harness/errs"

// Session codes.
const (
	// NotFound reports a session that the store does not have.
	NotFound errs.Code = "SESSION_NOT_FOUND"
	// Exists reports an id that is taken.
	Exists errs.Code = "SESSION_EXISTS"
	// Locked reports a session that another writer holds; the message names
	// the owner, and errors.As gives an *OwnerError.
	Locked errs.Code = "SESSION_LOCKED"
	// Corrupt reports a log that is damaged; errors.As gives a *LineError.
	Corrupt errs.Code = "SESSION_CORRUPT"
	// UnsupportedVersion reports a log of another format version.
	UnsupportedVersion errs.Code = "SESSION_VERSION"
	// UnknownEvent reports an event type that is neither known nor ignorable.
	UnknownEvent errs.Code = "SESSION_UNKNOWN_EVENT"
	// InvalidEvent reports an event that cannot be appended.
	InvalidEvent errs.Code = "SESSION_INVALID_EVENT"
	// InvalidID reports an id that no store takes.
	InvalidID errs.Code = "SESSION_INVALID_ID"
	// UnstableBoundary reports a fork in the middle of a turn.
	UnstableBoundary errs.Code = "SESSION_UNSTABLE_BOUNDARY"
	// Closed reports the use of a session after its Close.
	Closed errs.Code = "SESSION_CLOSED"
	// WriteFailed reports that the log could not be written. The session takes
	// no more events; opening it again repairs what was left half written.
	WriteFailed errs.Code = "SESSION_WRITE_FAILED"
	// ReadFailed reports that the log could not be read.
	ReadFailed errs.Code = "SESSION_READ_FAILED"
)
