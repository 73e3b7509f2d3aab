// Package sandbox holds the words that a confining filesystem provider, the
// policy service and the escalation path of the tools share: modes, grants
// and the policy contract. It confines nothing itself.
package sandbox

import "context"

// Mode says what a session may change on the filesystem. Reads always pass.
type Mode string

const (
	// ReadOnly allows no change at all.
	ReadOnly Mode = "read-only"
	// WorkspaceWrite allows changes below the session's workspace root, the
	// extra writable roots and the temp directories.
	WorkspaceWrite Mode = "workspace-write"
	// FullAccess allows every change the process itself may make.
	FullAccess Mode = "danger-full-access"
)

// DefaultMode is the mode of a session that says nothing else.
const DefaultMode = ReadOnly

// Modes lists every mode, narrowest first.
func Modes() []Mode { return []Mode{ReadOnly, WorkspaceWrite, FullAccess} }

// Valid reports whether m is one of the three modes.
func (m Mode) Valid() bool { return m.rank() >= 0 }

// Wider reports whether m allows more than other. An unknown mode is never
// wider.
func (m Mode) Wider(other Mode) bool { return m.rank() > other.rank() && other.rank() >= 0 }

func (m Mode) rank() int {
	for i, known := range Modes() {
		if m == known {
			return i
		}
	}
	return -1
}

// Grant is one approved widening. It serves exactly one call on one target,
// and only while the file and the proposed content are what the person saw.
type Grant struct {
	// Mode is the mode the call runs under.
	Mode Mode
	// CallID names the tool call the grant was given to.
	CallID string
	// Target is the opaque key of the file the grant is for.
	Target string
	// Before is the SHA-256 in hex of the file's bytes when the question was
	// asked; "" where the file did not exist.
	Before string
	// After is the SHA-256 in hex of the bytes that were proposed.
	After string
}

// Access is what one call may change.
type Access struct {
	Mode Mode
	// Roots are absolute directory paths under which changes are allowed in
	// WorkspaceWrite. It is empty in the other modes.
	Roots []string
}

// Policy resolves what a call may change: an approved grant first, else the
// session's last sandbox/mode event, else the default.
//
// actor is the caller, opaque here; a call without one gets the default mode
// and no workspace root of its own. Implementations may be called
// concurrently.
type Policy interface {
	// Access returns what a call by actor may change. grant is nil for a call
	// without an approved widening.
	Access(ctx context.Context, actor any, grant *Grant) (Access, error)
	// ModeOf returns the mode of actor's session, without any grant.
	ModeOf(actor any) Mode
}
