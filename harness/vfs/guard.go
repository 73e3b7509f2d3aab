package vfs

import "github.com/bridle-go/bridle/harness/errs"

// Guard says what must hold about the file at the moment it is changed. The
// zero value demands nothing.
type Guard struct {
	kind    guardKind
	version Version
}

type guardKind uint8

const (
	noGuard guardKind = iota
	ifAbsent
	ifVersion
)

// CreateIfAbsent demands that nothing exists at the target, also against a
// creator that races. What exists makes the change FS_NOT_OBSERVED.
func CreateIfAbsent() Guard { return Guard{kind: ifAbsent} }

// ReplaceIfVersion demands that the content is the one v stands for. A
// missing or different one makes the change FS_STALE_VERSION.
func ReplaceIfVersion(v Version) Guard { return Guard{kind: ifVersion, version: v} }

// None reports whether the guard demands nothing.
func (g Guard) None() bool { return g.kind == noGuard }

// Absent reports whether the guard demands that nothing exists.
func (g Guard) Absent() bool { return g.kind == ifAbsent }

// Version returns the version that the guard demands, if it demands one.
func (g Guard) Version() (v Version, ok bool) { return g.version, g.kind == ifVersion }

// NotObserved returns the error of a CreateIfAbsent guard that met something.
func NotObserved(t Target) error {
	return &errs.Error{Code: errs.NotObserved, Op: "write", Path: t.Path,
		Message: quote(t.Path) + " already exists and was not read"}
}

// Stale returns the error of a ReplaceIfVersion guard that does not hold.
func Stale(t Target, exists bool) error {
	what := " changed since it was read"
	if !exists {
		what = " no longer exists"
	}
	return &errs.Error{Code: errs.StaleVersion, Op: "write", Path: t.Path, Message: quote(t.Path) + what}
}
