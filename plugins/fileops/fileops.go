// Package fileops gives an agent operations on files and directories: as one
// tool, file_ops_hub, which takes the operation as an argument, as a tool
// each, or both.
//
// The operations work on any filesystem provider. What one lacks an optional
// ability for answers unsupported_by_provider. A result is one JSON object; a
// failed one says what kind of failure it is (error_kind), whether trying again
// can help, and gives a call that would do.
//
// What a deployment decides is in [Config] and not in the model's schema: the
// directory that the operations are confined to, which of them there are, and
// whether changes are approved first.
//
// # Changes
//
// A change is planned in memory, guarded by what was read, approved where that
// is demanded, made atomically by the provider, and verified by reading the
// target again. With the observation policy mounted it needs what the tools
// write and edit need: the file must have been seen, for which the right
// expected_sha256 counts, too. What a rollback puts back is told to the policies
// like any change, so that the session goes on from there. A sandbox root confines each change at the moment
// it is made (vfs.Options.Root), and backups with it.
//
// Before an existing file changes, a backup of it goes to .fileops-backups
// beside it, or to [Config.BackupRoot]. Directories that are replaced are not
// backed up. The backups themselves cannot be changed through the operations.
//
// Each change gives a [Receipt] with an id, which the session's log has as an
// ignorable event of type [TypeReceipt] together with what is needed to take
// the change back; see [Rewind].
//
// A directory that is copied, a move to another device and an atomic batch take
// several steps. They keep a journal in the backup folder of the root (the
// sandbox root, or else the session's directory). What a killed process left is
// completed or undone by the first operation in that root, dry runs excepted;
// the result's summary and an ignorable fileops/recovered event say which. A
// journal of another machine is taken over once it has rested for an hour.
//
// Whoever may write in a workspace can forge a journal. So one counts by itself
// only for what lies below its root and not in a .git directory; for anything
// else there must be a witness in a directory above, a file that the change has
// kept there while it lasted. A journal that fails this is told of and left
// alone; so is, for want of a place for a witness, one that was moving a .git
// directory itself.
//
// An artifact, which write_file can write instead of content, is an object of
// the attachment store: content_artifact is its reference as session logs have
// it, and content_artifact_uri is artifact:// and the id of one that a message
// of the session refers to. Without a store both are unsupported_by_provider.
package fileops

import (
	"fmt"
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// Name is the name of the plugin.
const Name = "fileops"

// HubName is the name of the tool that has all operations behind it.
const HubName = "file_ops_hub"

// Register says which tools there are.
type Register string

// The choices. The default is Hub, which is what an agent needs.
const (
	Hub   Register = "hub"
	Tools Register = "tools"
	Both  Register = "both"
)

// Config is what a deployment decides. The zero value is the hub with all
// operations, no sandbox root, and approval of changes.
type Config struct {
	// Register is "hub" (default), "tools" or "both".
	Register Register `json:"register,omitempty"`
	// SandboxRoot is the directory that every path must lie in, also after its
	// symlinks are resolved; relative paths start from it. "" confines nothing,
	// and relative paths start from the session's directory.
	SandboxRoot string `json:"sandboxRoot,omitempty"`
	// Allow turns the switches, such as "allow_delete", on or off; those it
	// does not name are on.
	Allow map[string]bool `json:"allow,omitempty"`
	// NoApproval lets changes happen without asking.
	NoApproval bool `json:"noApproval,omitempty"`
	// BackupRoot is where backups go; "" is a folder beside each file.
	BackupRoot string `json:"backupRoot,omitempty"`
	// BackupToolChanges also keeps a backup of each file that another tool,
	// such as write or edit, is about to change in a session, and logs a receipt
	// of the change: then [Rewind] can take those back too. Off by default: it
	// reads and copies each such file once more.
	BackupToolChanges bool `json:"backupToolChanges,omitempty"`
	// MaxScannedFiles, MaxScannedBytes and MaxScanMS bound what a tree or a
	// search may visit, read and take, whatever the call asks for; 0 leaves it
	// at the bounds that the operations have themselves.
	MaxScannedFiles int   `json:"maxScannedFiles,omitempty"`
	MaxScannedBytes int64 `json:"maxScannedBytes,omitempty"`
	MaxScanMS       int   `json:"maxScanMs,omitempty"`
	// Progress, if not nil, hears of long scans: the operation and how many
	// files or entries it has seen. It is called from the scan's goroutine.
	Progress func(operation string, seen int) `json:"-"`
}

// BackupFolder is the folder for backups beside a file. Trees and searches
// leave it out.
const BackupFolder = ".fileops-backups"

func (c Config) check() error {
	if c.Register != Hub && c.Register != Tools && c.Register != Both {
		return errs.New(errs.InvalidArgs, fmt.Sprintf("fileops: register must be %q, %q or %q, not %q", Hub, Tools, Both, c.Register))
	}
	for name, n := range map[string]int64{"maxScannedFiles": int64(c.MaxScannedFiles), "maxScannedBytes": c.MaxScannedBytes, "maxScanMs": int64(c.MaxScanMS)} {
		if n < 0 {
			return errs.New(errs.InvalidArgs, fmt.Sprintf("fileops: %s must not be negative, but is %d", name, n))
		}
	}
	for name := range c.Allow {
		if !slices.Contains(Switches, name) {
			return errs.New(errs.InvalidArgs, fmt.Sprintf("fileops: there is no switch %q; there are %s", name, strings.Join(Switches, ", ")))
		}
	}
	return nil
}

// bound is the smaller of two bounds, the first of which may be none.
func bound[N int | int64](configured, own N) N {
	if configured == 0 {
		return own
	}
	return min(configured, own)
}

// allows reports whether a switch is on.
func (c Config) allows(name string) bool {
	on, named := c.Allow[name]
	return on || !named
}

// Switches are the names in [Config.Allow].
var Switches = []string{
	"allow_read_info", "allow_read_content", "allow_list_directory", "allow_search", "allow_file_tree",
	"allow_diff", "allow_validate", "allow_write", "allow_edit", "allow_patch", "allow_copy", "allow_backup",
	"allow_move", "allow_rollback", "allow_delete", "allow_batch",
}

// params are what the operations work with.
type params struct {
	fx.In

	Scope    *plug.Scope
	Bus      *event.Bus
	Tools    *tool.Registry
	FS       *plug.Service[vfs.FileSystem]
	Approval *plug.Service[approval.Service]
	Sandbox  *plug.Service[sandbox.Policy]

	Attachments *plug.Service[attachment.Store]
}

// Plugin returns the file operations as a plugin.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name: Name,
		Services: []plug.Declaration{
			plug.Needs[vfs.FileSystem](),
			plug.Uses[approval.Service](),
			plug.Uses[sandbox.Policy](),
			plug.Uses[attachment.Store](),
		},
		Options: fx.Invoke(func(p params) error { return register(cfg, p) }),
	}
}

// ops is what the operations share.
type ops struct {
	cfg Config
	params
	engine *change.Engine
	known  *knownFiles
}

func register(cfg Config, p params) error {
	if cfg.Register == "" {
		cfg.Register = Hub
	}
	if err := cfg.check(); err != nil {
		return err
	}
	o := &ops{cfg: cfg, params: p, known: new(knownFiles)}
	o.engine = o.newEngine()
	if cfg.BackupToolChanges {
		o.engine.Listen(p.Scope, p.FS)
	}
	var defs []tool.Definition
	if cfg.Register != Tools {
		defs = append(defs, o.hub())
	}
	if cfg.Register != Hub {
		for _, op := range operations {
			if cfg.allows(op.enable) && !op.hubOnly {
				defs = append(defs, o.single(op))
			}
		}
	}
	for _, d := range defs {
		if _, err := p.Tools.Register(p.Scope, d); err != nil {
			return err
		}
	}
	return nil
}
