// Package sandbox confines what sessions may change on the filesystem.
//
// It has two plugins. [PolicyPlugin] decides: it provides
// [sandbox.Policy], which says for each call which mode it runs under and which
// directories it may change. [Plugin] enforces: it provides
// [vfs.FileSystem], which is the local provider of package fslocal with a
// fence. Everything but the fence is the local provider's own code.
//
// # Roots
//
// In the mode workspace-write a session may change what is below its roots:
// its working directory, the configured extra roots, and the temp directories.
// A root is a directory; what its path led to when the first change was asked
// for is the root from then on.
//
//   - A path is below a root by the parts of the paths with all symlinks
//     resolved. So a symlinked root may be addressed by either spelling, a slash
//     at the end means nothing, and /w/app does not hold /w/app-x.
//   - The root "/" holds everything.
//   - A root that does not exist, or is no directory, holds nothing until it
//     does; in particular it cannot be made through itself. A symlink that is
//     put there later is no root.
//   - The recovery directory of the local provider is never below a root, even
//     where it lies in a temp directory: what is in it is trusted.
//   - Roots may lie within each other, and filesystems may be mounted below one:
//     what is below counts.
//   - The root directory itself cannot be removed, renamed or replaced, since
//     its name is not below it.
//   - A root that is moved away or replaced while it is in use holds nothing any
//     more: a path below it no longer means what was allowed. One that was
//     deleted and made again holds again.
//
// # Enforcement
//
// A change is made through an open handle of its root, walking down without
// following any symlink; so it happens below the root or not at all, whatever
// is swapped, linked or moved between check and act. A symlink that is met is
// resolved anew and judged by where it leads, and a missing leaf by where it
// would land. What is refused is refused before anything is touched: nothing is
// made, not even a directory or a temp file, and no time changes.
//
// # Hard links
//
// A file below a root may have other names outside. Writing it replaces the
// name that is below the root, and the others keep the old content. Where a
// file could only be overwritten in place, which would change it under all its
// names, one with several names is refused.
package sandbox

import (
	"context"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fslocal"
)

// FS is the confining provider. Make one with [New].
type FS struct {
	*fslocal.FS
	fence *fence
}

var (
	_ vfs.FileSystem = (*FS)(nil)
	_ vfs.Confiner   = (*FS)(nil)
)

// New returns the local provider, confined by policy.
func New(cfg fslocal.Config, policy sandbox.Policy) (*FS, error) {
	if policy == nil {
		return nil, errs.New(errs.MissingService, "a confining filesystem needs a sandbox policy")
	}
	if cfg.Fence != nil {
		return nil, errs.New(errs.InvalidArgs, "a confining filesystem brings its own fence")
	}
	f := &fence{policy: policy, pins: map[string]*pin{}}
	cfg.Fence = f
	local, err := fslocal.New(cfg)
	if err != nil {
		return nil, err
	}
	if f.recovery, err = fslocal.Physical(local.RecoveryDir()); err != nil {
		return nil, err
	}
	return &FS{FS: local, fence: f}, nil
}

// Confines implements [vfs.Confiner]: it always does.
func (f *FS) Confines() bool { return true }

// Fence implements [vfs.Confiner].
func (f *FS) Fence() string {
	return "changes go through open handles of the writable roots (" + fslocal.PathWalk() + ")"
}

// Close waits for the changes in flight and releases the roots.
func (f *FS) Close() error {
	err := f.FS.Close()
	f.fence.close()
	return err
}

// Name is the name of the enforcing plugin.
const Name = "sandbox"

// Plugin provides the service [vfs.FileSystem] for the files of this machine,
// confined by the service [sandbox.Policy], which it needs.
func Plugin(cfg fslocal.Config) plug.Plugin {
	return plug.Plugin{
		Name:     Name,
		Services: []plug.Declaration{plug.Needs[sandbox.Policy](), plug.Provides[vfs.FileSystem]()},
		Options: fx.Module(Name, fx.Provide(func(lc fx.Lifecycle, policy *plug.Service[sandbox.Policy]) (*FS, vfs.FileSystem, error) {
			f, err := New(cfg, service{policy})
			if err != nil {
				return nil, nil, err
			}
			lc.Append(fx.StopHook(func(context.Context) error { return f.Close() }))
			return f, f, nil
		})),
	}
}

// service is the policy that is mounted at the moment of a call. While there
// is none, nothing may be changed.
type service struct {
	handle *plug.Service[sandbox.Policy]
}

func (s service) Access(ctx context.Context, actor any, grant *sandbox.Grant) (sandbox.Access, error) {
	policy, release, err := s.handle.Acquire()
	if err != nil {
		return sandbox.Access{}, err
	}
	defer release()
	return policy.Access(ctx, actor, grant)
}

func (s service) ModeOf(actor any) sandbox.Mode {
	policy, release, err := s.handle.Acquire()
	if err != nil {
		return sandbox.ReadOnly
	}
	defer release()
	return policy.ModeOf(actor)
}
