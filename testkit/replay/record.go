package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/testkit/script"
)

// Recorder says what to record. Plugins is required, and Prompts or Drive.
type Recorder struct {
	// Plugins composes the deployment, without the model.
	Plugins func(Setup) ([]plug.Plugin, error)
	// Workspace is a directory with the files as the session begins; it becomes
	// a part of the recording. "" begins with none.
	Workspace string
	// Cwd is the directory that the session runs in, where the plugins bring
	// the files themselves. Default: a scratch directory with a copy of
	// Workspace.
	Cwd string
	// Script is what the model says, on the route "script", "script" unless
	// Agent names another one.
	Script []script.Step
	// Prompts are sent one after the other, each a turn of its own.
	Prompts []string
	// Drive runs the session in the place of Prompts.
	Drive func(ctx context.Context, a *agent.Agent) error
	// Before are events that the log begins with, such as a sandbox mode.
	Before []session.Event
	// Agent configures the loop.
	Agent agent.Config
	// Models are facts of the model.
	Models []llm.ModelInfo
	// Whole keeps what differs from run to run: numbers, times, the session's
	// id, system prompt and tool schemas. Without it a recording changes only
	// when what the session does changes.
	Whole bool
}

// route is the default provider and model of a recording.
const scripted = "script"

// Record runs a session and writes it to a folder, which is made. What the
// folder held of an earlier recording is replaced, when the session has run.
//
// Time is counted, a millisecond an event, and ids are numbered, so that a
// recording comes out the same each time.
func Record(ctx context.Context, folder string, rec Recorder) (err error) {
	if rec.Plugins == nil || rec.Drive == nil && len(rec.Prompts) == 0 {
		return errs.New(errs.InvalidArgs, "a recording needs plugins, and prompts or a drive")
	}
	dirs, err := newScratch(rec.Workspace, workspaceName)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeTree(dirs.root)) }()
	cwd := rec.Cwd
	if cwd == "" {
		cwd = dirs.workspace
	}
	log, err := rec.run(ctx, Setup{Workspace: cwd, Home: dirs.home})
	if err != nil {
		return err
	}
	return rec.write(folder, log)
}

func (rec Recorder) run(ctx context.Context, setup Setup) (log *session.Log, err error) {
	var ids, now atomic.Int64
	s, err := session.NewMemory(session.Header{ID: replayedID, Cwd: setup.Workspace, CreatedAt: 1}, session.Config{
		NewID: func() string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", ids.Add(1)) },
		Clock: func() time.Time { return time.UnixMilli(now.Add(1)) },
	}, rec.Before...)
	if err != nil {
		return nil, err
	}
	setup.Log = &session.Log{Header: s.Header(), State: &session.State{}}
	plugins, err := rec.Plugins(setup)
	if err != nil {
		return nil, err
	}
	d, err := harness.Compose(ctx, plugins...)
	if err != nil {
		return nil, err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, d.Stop(stop))
	}()
	if _, ok := plug.ServiceOf[*llm.Registry](d.Context()).Mounted(); !ok {
		if err := d.Mount(ctx, registry()); err != nil {
			return nil, err
		}
	}
	cfg := rec.Agent
	if cfg.Provider == "" {
		cfg.Provider = scripted
	}
	if cfg.Model == "" {
		cfg.Model = scripted
	}
	model := script.New(script.Config{Provider: cfg.Provider, Models: rec.Models}, rec.Script...)
	if err := d.Mount(ctx, model.Plugin()); err != nil {
		return nil, err
	}
	a, err := d.Agent(s, cfg)
	if err != nil {
		return nil, err
	}
	if rec.Drive != nil {
		err = rec.Drive(ctx, a)
	}
	for i := 0; err == nil && i < len(rec.Prompts); i++ {
		_, err = a.Ask(ctx, rec.Prompts[i])
	}
	if err != nil {
		return nil, err
	}
	if left := model.Left(); left > 0 {
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("%d steps of the script were not played", left))
	}
	log = &session.Log{Header: s.Header()}
	for e, err := range s.Events() {
		if err != nil {
			return nil, err
		}
		log.Events = append(log.Events, e)
	}
	return log, s.Close()
}

func (rec Recorder) write(folder string, log *session.Log) error {
	var b bytes.Buffer
	header := log.Header
	if !rec.Whole {
		header.ID, header.CreatedAt = sessionMark, 0
	}
	enc := session.NewEncoder(&b, header, !rec.Whole)
	var input []map[string]any
	for _, op := range []string{"initialize", "newSession"} {
		input = append(input, map[string]any{"op": op})
	}
	for _, e := range log.Events {
		switch e.Type {
		case session.TypeRequestHeader:
			var h session.RequestHeader
			if err := e.Decode(&h); err != nil {
				return err
			}
			if !rec.Whole {
				h.Header.System, h.Header.Tools = []byte(systemMark), []byte(toolsMark)
				e.Data = h.Event().Data
			}
		case session.TypeUserMessage:
			var m llm.Message
			if err := e.Decode(&m); err != nil {
				return err
			}
			if m.Source.Kind == llm.FromUser {
				input = append(input, map[string]any{"op": "prompt", "text": m.Text()})
			}
		}
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if err := enc.Close(); err != nil {
		return err
	}
	data := b.Bytes()
	if rec.Cwd == "" {
		data = rename(data, log.Header.Cwd, cwdMark)
	}
	var indented bytes.Buffer
	if err := jsonIndent(&indented, encode(map[string]any{"steps": input})); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := rec.writeWorkspace(folder); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, inputName), indented.Bytes(), 0o644),
		os.WriteFile(filepath.Join(folder, logName), data, 0o644))
}

// writeWorkspace puts a copy of the workspace into the folder.
func (rec Recorder) writeWorkspace(folder string) error {
	to := filepath.Join(folder, workspaceName)
	if rec.Workspace == "" || sameFile(rec.Workspace, to) {
		return nil
	}
	if err := removeTree(to); err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	leftOut, err := copyTree(rec.Workspace, to)
	if err == nil && len(leftOut) > 0 {
		err = errs.New(errs.InvalidArgs, fmt.Sprintf("a recording cannot hold %v: it leads out of the workspace, or is no file", leftOut))
	}
	return err
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
