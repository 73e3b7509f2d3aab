package sandbox

// Status tells how far a kernel fence holds.
type Status string

const (
	// Active means that the kernel refuses every change of content and of
	// directory entries outside the roots.
	Active Status = "active"
	// Partial means that the kernel refuses most of them, but is too old for
	// all: files outside may still be truncated, or, on the oldest, nothing
	// can be moved between directories within the roots.
	Partial Status = "partial"
	// Unavailable means that there is no such fence here.
	Unavailable Status = "unavailable"
)
