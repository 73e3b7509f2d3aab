package fslocal

import "errors"

// world is the sort of filesystem a file lives on.
type world uint8

const (
	// worldDisk keeps bytes and takes its times from this machine's clock.
	worldDisk world = iota
	// worldRemote takes its times from another clock, so that metadata alone
	// never proves that content is unchanged.
	worldRemote
	// worldPseudo shows state of the kernel as regular files.
	worldPseudo
	// worldProc is a worldPseudo with files that block, never end, or show the
	// memory of a process.
	worldProc
)

var (
	// errUnsupported is an operation that the filesystem cannot do.
	errUnsupported = errors.New("not supported by this filesystem")
	// errMoved tells that what the target's path leads to has changed since it
	// was resolved: the change has to begin again.
	errMoved = errors.New("the path leads elsewhere now")
)
