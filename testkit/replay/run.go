package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
)

// Setup is what a deployment is composed for.
type Setup struct {
	// Workspace is the absolute directory that the session runs in.
	Workspace string
	// Home is a directory for what the deployment stores; it is removed in the
	// end.
	Home string
	// Log is the log that is replayed, with the paths of Workspace.
	Log *session.Log
}

// Config configures a replay. Plugins is required.
type Config struct {
	// Plugins composes the deployment.
	Plugins func(Setup) ([]plug.Plugin, error)
	// Cwd is the directory that the session runs in, where the plugins bring
	// the files themselves. Default: a scratch directory with a copy of the
	// recording's workspace.
	Cwd string
	// Exact demands that the logs are equal byte for byte. It holds for logs
	// that this loop wrote, on deterministic plugins.
	Exact bool
	// StandIns lets the recorded results of tools that the deployment does not
	// have stand for them, so that what follows is compared: such calls are
	// told of as skipped. Without it they are differences. It has no effect
	// where Exact is set.
	StandIns bool
	// Agent gives the bounds of the loop. Its route, options and retries come
	// from the recording. Where Exact is not set, calls run one at a time.
	Agent agent.Config
	// Models are facts of recorded models. One that is not in it takes text and
	// images.
	Models []llm.ModelInfo
}

// stopTimeout is how long a deployment may take to stop.
const stopTimeout = 10 * time.Second

// Run replays a recording. A difference is no error: the error tells that the
// replay could not be made.
func Run(ctx context.Context, rec *Recording, cfg Config) (report *Report, err error) {
	if cfg.Plugins == nil {
		return nil, errs.New(errs.InvalidArgs, "a replay needs plugins")
	}
	dirs, err := newScratch(rec.Workspace, rec.directory())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeTree(dirs.root)) }()
	cwd := cfg.Cwd
	if cwd == "" {
		cwd = dirs.workspace
	}
	if recorded := rec.Log.Header.Cwd; recorded == "" || recorded == "/" || recorded != cwdMark && !filepath.IsAbs(recorded) && cfg.Cwd == "" {
		return nil, errs.New(errs.InvalidArgs, fmt.Sprintf("the recording names %q as its directory, which cannot be told apart in its texts", recorded))
	}
	log, err := rec.in(cwd)
	if err != nil {
		return nil, err
	}
	if cfg.Exact && cfg.Agent.MaxParallel == 0 {
		cfg.Agent.MaxParallel = agent.DefaultMaxParallel
	} else if !cfg.Exact {
		cfg.Agent.MaxParallel = 1
	}
	r := &run{
		cfg: cfg, log: log, types: rec.types, plan: newPlan(log, cfg.Exact),
		report: &Report{}, spell: rec.spelling(cwd), recorded: &session.State{}, absent: map[string]bool{}, stopped: map[string]bool{},
	}
	for _, m := range calls(r.plan.events) {
		if !cfg.Exact && wasStopped(m.outcome) {
			r.stopped[m.call.CallID] = true
		}
	}
	for _, name := range dirs.leftOut {
		r.note("%s leads out of the workspace, or is no file, and was not copied", name)
	}
	if torn := rec.Log.Torn; torn != nil {
		r.note("line %d is torn (%s); the replay ends before it", torn.Line, torn.Reason)
	}
	r.player = newPlayer(r.plan, cfg.Models)
	r.player.compare = r.compareRequest
	if err := r.deploy(ctx, Setup{Workspace: cwd, Home: dirs.home, Log: log}); err != nil {
		return nil, err
	}
	return r.report, nil
}

// run is one replay.
type run struct {
	cfg    Config
	log    *session.Log // the recording
	types  []string
	plan   *plan
	player *player
	report *Report
	spell  func([]byte) []byte

	d       *harness.Deployment
	session *session.Session

	opened int    // events of the session when it was opened
	from   int    // index in the recording where it was opened
	made   []made // the calls of the replay
	// same are the ids of the messages that the last request had in common with
	// the recorded one, by index.
	same [][2]string

	absent  map[string]bool // tools that the deployment does not have
	stopped map[string]bool // ids of calls that were stopped

	recorded *session.State // of the recording, up to event number at
	at       int
}

func (r *run) note(format string, args ...any) {
	r.report.Notes = append(r.report.Notes, fmt.Sprintf(format, args...))
}

func (r *run) deploy(ctx context.Context, setup Setup) (err error) {
	plugins, err := r.cfg.Plugins(setup)
	if err != nil {
		return err
	}
	if r.d, err = harness.Compose(ctx, plugins...); err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, r.d.Stop(stop))
	}()
	if _, ok := plug.ServiceOf[*llm.Registry](r.d.Context()).Mounted(); !ok {
		if err := r.d.Mount(ctx, registry()); err != nil {
			return err
		}
	}
	if err := r.d.Mount(ctx, r.player.plugin()); err != nil {
		return err
	}
	if r.cfg.StandIns && !r.plan.exact {
		r.standIns()
	}
	if err := r.turns(ctx); err != nil {
		return err
	}
	return r.compareAll()
}

// open makes the session that goes on where the first events of the recording
// end.
func (r *run) open(events []session.Event, i int) error {
	s, err := session.NewMemory(r.log.Header, r.player.config(r.types), events...)
	if err != nil {
		return err
	}
	r.session, r.opened, r.from = s, len(events), i
	r.player.use(s, i)
	return nil
}

// turns replays one recorded turn after the other.
func (r *run) turns(ctx context.Context) error {
	if err := r.open(r.plan.events[:r.plan.seed], r.plan.seed); err != nil {
		return err
	}
	for _, t := range r.plan.turns {
		if err := r.player.reach(t.start); err != nil {
			return err
		}
		if err := r.turn(ctx, t); err != nil {
			return err
		}
		if t.cut {
			if err := r.takeOver(t); err != nil {
				return err
			}
		}
	}
	return r.player.reach(len(r.plan.events))
}

func (r *run) turn(ctx context.Context, t *turnPlan) error {
	config := r.cfg.Agent
	recorded := route(t)
	config.Provider, config.Model, config.Options = recorded.Provider, recorded.Model, optionsOf(recorded)
	config.Retry = agent.Retry{Attempts: 1 << 30, Base: 1, Max: 1, MaxRetryAfter: 1 << 62, Sleep: sleep, Rand: func() float64 { return 0 }}
	if t.maxSteps > 0 {
		config.MaxSteps = t.maxSteps
	}
	if t.cancelIn != "" {
		config.MaxParallel = 1 // the calls before it have ended when it is stopped
	}
	a, err := r.d.Agent(r.session, config)
	if err != nil {
		return err
	}
	turn, cancel := context.WithCancel(ctx)
	defer cancel()
	r.player.begin(t, cancel)
	// How the turn ended is in the log, where it is compared.
	out, _ := a.Run(turn)
	r.player.begin(nil, nil)
	if err := context.Cause(ctx); err != nil {
		return errs.Wrap(errs.Aborted, "the replay was aborted", err)
	}
	if out.Turn == 0 && !t.cut {
		r.differ(&Difference{Event: int64(t.start), Where: fmt.Sprintf("turn %d", t.n),
			Recorded: "a turn", Replayed: "nothing waits for an answer"})
	}
	return nil
}

// optionsOf are the options of a recorded request. Those that the loop has no
// field for go along as they are.
func optionsOf(c session.RequestConfig) llm.Options {
	o := llm.Options{Extra: map[string]json.RawMessage{}}
	fields := map[string]any{"maxOutputTokens": &o.MaxOutputTokens, "reasoningEffort": &o.ReasoningEffort, "temperature": &o.Temperature}
	for name, raw := range c.Extra {
		if to := fields[name]; to == nil || json.Unmarshal(raw, to) != nil {
			o.Extra[name] = raw
		}
	}
	return o
}

// takeOver puts the recording in the place of what the replay wrote of a turn
// that was cut, and keeps what was observed.
func (r *run) takeOver(t *turnPlan) error {
	if err := r.finish(t.cutAt); err != nil {
		return err
	}
	end := r.plan.resume(t)
	events := r.plan.events[:end:end]
	if !r.plan.exact {
		for _, o := range r.session.Observations() {
			e := o.Event()
			e.Time = events[end-1].Time
			events = append(events, e)
		}
	}
	return r.open(events, end)
}
