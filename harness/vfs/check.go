package vfs

import "context"

// WriteChecker is the optional ability to tell beforehand that a write would be
// refused, so that nobody is asked to approve what cannot happen.
type WriteChecker interface {
	// CheckWrite returns the error with which a write to t under these options
	// would be refused as things are now, and has no effect. It judges where t
	// may be changed at all, the guard, and what is there; not the content, and of
	// a grant the mode, the call and the target, but neither digest. nil is no
	// promise: the write judges everything again.
	CheckWrite(ctx context.Context, t Target, opts Options) error
}

// CheckWrite tells whether a write to t would be refused as things are now; nil
// where fs cannot tell beforehand. See [WriteChecker].
func CheckWrite(ctx context.Context, fs FileSystem, t Target, opts Options) error {
	v, ok := As[WriteChecker](fs)
	if !ok {
		return nil
	}
	return v.CheckWrite(ctx, t, opts)
}

// Resolved returns where a target leads with every symlink resolved, as a path
// to be shown; "" where that is its display path itself or cannot be told.
func Resolved(fs FileSystem, t Target) string {
	p, err := fs.ProcessPath(t)
	if err != nil || p == t.Path {
		return ""
	}
	return p
}
