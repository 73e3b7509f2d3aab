package sandbox

import (
	"fmt"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/bridle-go/bridle/harness/errs"
)

// Landlock restricts this whole process, and those it starts, to changing
// files below the roots, for good. Reading and executing stay allowed
// everywhere, as do the devices /dev/null, /dev/zero, /dev/full and /dev/tty.
// Roots that do not exist allow nothing, and no device can be made. Changes of
// modes, owners, times and extended attributes are beyond Landlock.
//
// It is a second wall around the fence of [FS], which decides call by call: the
// process can never do more than this, whatever mode a session has.
func Landlock(roots []string) (Status, error) {
	for _, root := range roots {
		if !filepath.IsAbs(root) {
			return Unavailable, errs.New(errs.InvalidArgs, fmt.Sprintf("the writable root %q is not an absolute path", root))
		}
	}
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return Unavailable, nil
	}
	// ABI 2 knows moves between directories, ABI 3 truncation
	// (landlock(7)). Before 2 such moves are always refused.
	cfg, status := landlock.V3, Active
	switch {
	case abi < 2:
		cfg, status = landlock.V1, Partial
	case abi < 3:
		cfg, status = landlock.V2, Partial
	}
	rules := []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/tty").IgnoreIfMissing(),
	}
	if len(roots) > 0 {
		// A device made below a root would be a way to what is on it, and to memory.
		rights := cfg.HandledAccessFS &^ (ll.AccessFSMakeChar | ll.AccessFSMakeBlock)
		rules = append(rules, landlock.PathAccess(rights, roots...).IgnoreIfMissing())
	}
	if err := cfg.RestrictPaths(rules...); err != nil {
		return Unavailable, errs.Wrap(errs.IO, "the kernel refused the Landlock fence: "+err.Error(), err)
	}
	return status, nil
}
