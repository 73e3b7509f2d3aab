// Package toolfs gives an agent the file tools read, write and edit, and
// read_image while an attachment store is mounted.
//
// The tools are executors: they check arguments, resolve the path against the
// session's directory, call the filesystem provider, and shape what comes back
// for the model, the log and the person who watches. They hold no state and
// know no policy. Before a change they ask for a guard, and after every
// success they tell what was seen, through the events of package vfs; without
// a policy plugin they work on the bare provider.
package toolfs

import (
	"errors"
	"fmt"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Config holds the limits of the read tool. A zero field means its default; a
// negative one keeps the plugin from starting, with INVALID_ARGS.
type Config struct {
	// ReadLimit is the default and the maximum number of lines of one read.
	// Default 2000.
	ReadLimit int `json:"readLimit,omitempty"`
	// ReadMaxLineLength is the number of characters (code points) of a line
	// that are shown. Default 2000.
	ReadMaxLineLength int `json:"readMaxLineLength,omitempty"`
	// ReadMaxBytes bounds the bytes of the lines of one read. Default 51200.
	ReadMaxBytes int `json:"readMaxBytes,omitempty"`
	// ReadStreamMinSize is the size in bytes from which a file is streamed
	// instead of loaded as a whole. Default 10 MiB.
	ReadStreamMinSize int64 `json:"readStreamMinSize,omitempty"`
}

func (c Config) withDefaults() Config {
	if c.ReadLimit == 0 {
		c.ReadLimit = 2000
	}
	if c.ReadMaxLineLength == 0 {
		c.ReadMaxLineLength = 2000
	}
	if c.ReadMaxBytes == 0 {
		c.ReadMaxBytes = 51200
	}
	if c.ReadStreamMinSize == 0 {
		c.ReadStreamMinSize = 10 << 20
	}
	return c
}

func (c Config) check() error {
	for name, v := range map[string]int64{
		"ReadLimit": int64(c.ReadLimit), "ReadMaxLineLength": int64(c.ReadMaxLineLength),
		"ReadMaxBytes": int64(c.ReadMaxBytes), "ReadStreamMinSize": c.ReadStreamMinSize,
	} {
		if v < 0 {
			return errs.New(errs.InvalidArgs, fmt.Sprintf("toolfs: %s is %d and must not be negative", name, v))
		}
	}
	return nil
}

// params are what the tools work with.
type params struct {
	fx.In

	Scope       *plug.Scope
	Bus         *event.Bus
	Tools       *tool.Registry
	Prompt      *prompt.Registry
	FS          *plug.Service[vfs.FileSystem]
	Attachments *plug.Service[attachment.Store]
	Models      *plug.Service[*llm.Registry]
	Approval    *plug.Service[approval.Service]
	Sandbox     *plug.Service[sandbox.Policy]
}

// Name is the name of the plugin.
const Name = "toolfs"

// Plugin returns the file tools as a plugin.
func Plugin(cfg Config) plug.Plugin {
	return plug.Plugin{
		Name: Name,
		Services: []plug.Declaration{
			plug.Needs[vfs.FileSystem](),
			plug.Uses[attachment.Store](),
			plug.Uses[*llm.Registry](),
			plug.Uses[approval.Service](),
			plug.Uses[sandbox.Policy](),
		},
		Options: fx.Invoke(func(p params) error { return register(cfg.withDefaults(), p) }),
	}
}

// tools is what the executors share.
type tools struct {
	cfg Config
	params
	images chan struct{} // has room for imagesAtOnce
}

func register(cfg Config, p params) error {
	if err := cfg.check(); err != nil {
		return err
	}
	t := &tools{cfg: cfg, params: p, images: make(chan struct{}, imagesAtOnce)}
	for _, s := range segments {
		if _, err := p.Prompt.Add(p.Scope, s); err != nil {
			return err
		}
	}
	add := func(scope *plug.Scope, ds ...tool.Definition) error {
		for _, d := range ds {
			if _, err := p.Tools.Register(scope, d); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		add(p.Scope, t.read(), t.write(false), t.edit(false)),
		// While the provider confines, write and edit offer to ask for more.
		p.FS.While(p.Scope, func(scope *plug.Scope, fs vfs.FileSystem) error {
			if !vfs.Confines(fs) {
				return nil
			}
			return add(scope, t.write(true), t.edit(true))
		}),
		p.Attachments.While(p.Scope, func(scope *plug.Scope, _ attachment.Store) error {
			return add(scope, t.readImage())
		}),
	)
}

// segments are the tools' parts of the system prompt. They stay while the
// plugin is mounted, also where an agent may not use a tool.
var segments = []prompt.Segment{
	{Name: "read", Order: 100, Text: "Use the read tool — not shell commands like cat — to inspect text files. Results include line numbers. Use offset and limit to continue reading large files."},
	{Name: "write", Order: 101, Text: "Use the write tool to create files or completely replace file contents. Existing files are overwritten, so read an existing file first (the default fs-observation-policy requires it) and prefer edit for targeted changes."},
	{Name: "edit", Order: 102, Text: "Use the edit tool for targeted changes to existing UTF-8 text files. It replaces literal old_string with new_string; by default old_string must appear exactly once. If old_string appears multiple times, provide a more specific old_string or set replace_all to true. Read the file first (the default fs-observation-policy requires it), unless you just created or edited it in this session."},
}
