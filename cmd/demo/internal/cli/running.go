package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/live"
	style "github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/openai"
	confine "github.com/bridle-go/bridle/plugins/sandbox"
)

// running is a deployment with an agent at work.
type running struct {
	app        *app
	flags      runFlags
	home       home
	deployment *harness.Deployment
	session    *session.Session
	agent      *agent.Agent
	view       *live.View
	scope      *plug.Scope
	undo       func()
	old        int64 // events that were in the log before
	model      string
	keyboard   *keyboard // nil where nobody types
	store      *session.FileStore
	discard    bool // the session is deleted when it closes
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func dim(out *style.Output, text string) string { return out.Paint(style.Dim, text) }

// openRun composes the deployment and opens the session.
func (a *app) openRun(ctx context.Context, f runFlags) (_ *running, err error) {
	r := &running{app: a, flags: f, scope: plug.NewScope("run"), undo: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close(ctx))
		}
	}()
	if r.home, err = a.home(f.store); err != nil {
		return nil, err
	}
	file := deploy.File{Plugins: deploy.Agent()}
	if f.config != "" {
		if file, err = deploy.ReadFile(f.config); err != nil {
			return nil, configFailure(err)
		}
	}
	r.store = r.home.sessions(session.Config{MayRetry: func(name, arguments string) bool {
		return r.deployment.Tools().MayRetry(name, arguments)
	}})
	cwd, route := f.cwd, llm.Request{}
	if f.resume != "" {
		if cwd, route, err = r.find(ctx); err != nil {
			return nil, err
		}
	}
	if cwd, err = workdir(cwd); err != nil {
		return nil, err
	}
	if route, err = f.route(route, file.Model); err != nil {
		return nil, err
	}
	file.Plugins.Place(cwd, r.home.dir)
	r.settle(&file.Plugins)
	if err := r.compose(ctx, &file.Plugins, route.Provider); err != nil {
		return nil, err
	}
	if err := r.openSession(ctx, cwd, file.Plugins); err != nil {
		return nil, err
	}
	r.model = route.Provider + "/" + route.Model
	s := file.Agent
	r.agent, err = r.deployment.Agent(r.session, agent.Config{
		Provider: route.Provider, Model: route.Model,
		Options: s.Options, MaxParallel: s.MaxParallel, MaxSteps: s.MaxSteps, Retry: s.Retry,
	})
	if err != nil {
		return nil, err
	}
	r.watch()
	return r, nil
}

// find looks for the session that is to go on, and returns its workspace and
// the route that it had.
func (r *running) find(ctx context.Context) (cwd string, route llm.Request, err error) {
	info, err := find(ctx, r.store, r.flags.resume)
	if err != nil {
		return "", route, err
	}
	log, err := r.store.Read(ctx, info.ID)
	if err != nil {
		return "", route, err
	}
	cwd = log.Header.Cwd
	if r.flags.cwdGiven && !sameDirectory(r.flags.cwd, cwd) {
		return "", route, usage("session %s has the workspace %s and keeps it; leave out --cwd", info.ID, cwd)
	}
	r.flags.resume, r.old = info.ID, log.State.Len()
	if c, ok := log.State.RequestContext(); ok {
		route.Provider, route.Model = c.Provider, c.Model
	}
	return cwd, route, nil
}

// settle adds the plugins that the command line and the agent need to those of
// the configuration.
func (r *running) settle(o *deploy.Options) {
	if r.flags.sandbox != "" && o.Sandbox == nil {
		o.Sandbox = &confine.PolicyConfig{}
	}
	if o.Sandbox == nil && (!o.NoTools || o.FileOps != nil) {
		fmt.Fprintln(r.app.errors, "this deployment does not confine changes; --sandbox MODE does")
	}
	if r.flags.approve != "" && o.Approval == nil {
		o.Approval = &approve.Config{}
	}
	if o.Models == nil {
		o.Models = &models.Config{}
	}
}

// compose starts the deployment, with the model and the person who answers its
// questions.
func (r *running) compose(ctx context.Context, o *deploy.Options, provider string) error {
	extra := []plug.Plugin{approve.Answerer("terminal", r.answer)}
	if r.flags.script != "" {
		model, err := readScript(r.flags.script)
		if err != nil {
			return err
		}
		extra = append(extra, model.Plugin())
	} else if err := endpoint(o, provider, r.flags); err != nil {
		return err
	}
	if err := r.home.make(); err != nil {
		return err
	}
	r.keyboard = r.app.openKeyboard()
	d, err := harness.Compose(ctx, append(deploy.Plugins(*o), extra...)...)
	if err != nil {
		return err
	}
	r.deployment = d
	return nil
}

// openSession makes or resumes the session, and puts what the command line
// decides into its log.
func (r *running) openSession(ctx context.Context, cwd string, o deploy.Options) (err error) {
	if r.flags.resume != "" {
		r.session, err = r.store.Open(ctx, r.flags.resume)
	} else {
		r.session, err = r.store.Create(ctx, session.Header{Cwd: cwd})
	}
	if err != nil {
		return err
	}
	var events []session.Event
	if o.Sandbox != nil {
		mode := cmp.Or(sandbox.Mode(r.flags.sandbox), r.session.SandboxMode(), o.Sandbox.Mode, sandbox.DefaultMode)
		if mode != r.session.SandboxMode() {
			events = append(events, session.SandboxMode{Mode: mode}.Event())
		}
	}
	if o.Approval != nil {
		policy := cmp.Or(approval.Mode(r.flags.approve), r.session.ApprovalPolicy(), o.Approval.Policy, approval.Ask)
		if policy != r.session.ApprovalPolicy() {
			events = append(events, session.ApprovalPolicy{Policy: policy}.Event())
		}
	}
	_, err = r.session.Append(events...)
	return err
}

// watch shows the session.
func (r *running) watch() {
	out := r.app.out
	if r.flags.json {
		// The lines of the log, the header first, so that the output of a new
		// session is a log.
		fmt.Fprintf(out, "%s\n", r.session.Header().AppendJSON(nil))
		for e, err := range r.session.Events() {
			if err == nil && e.Seq >= r.old {
				fmt.Fprintf(out, "%s\n", e.AppendJSON(nil))
			}
		}
		r.undo = r.session.Subscribe(func(e session.Event) { fmt.Fprintf(out, "%s\n", e.AppendJSON(nil)) })
		r.view = live.New(style.New(discard{}, r.app.getenv), r.lookup)
		return
	}
	r.view = live.New(out, r.lookup).In(r.session.Cwd())
	r.undo = r.session.Subscribe(r.view.Event)
	tool.Done.On(r.deployment.Bus(), r.scope, func(_ context.Context, e tool.Executed) error {
		r.view.Executed(e)
		return nil
	})
	if repaired := r.session.Repaired(); repaired.Needed() {
		fmt.Fprintln(r.app.errors, dim(r.app.errors, "the session was cut off the last time; what was open is closed as interrupted"))
	}
}

func (r *running) lookup(name string) (tool.Definition, error) {
	return r.deployment.Tools().Lookup(r.agent.Caller(), name)
}

// discard takes everything.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// close stops everything, also after only a part of it has started.
func (r *running) close(ctx context.Context) error {
	r.undo()
	if r.keyboard != nil {
		r.keyboard.close()
	}
	if r.view != nil {
		r.view.Close()
	}
	err := r.scope.Close()
	if r.session != nil {
		discard := r.discard || r.unused()
		err = errors.Join(err, r.session.Close())
		if discard {
			err = errors.Join(err, r.store.Delete(context.WithoutCancel(ctx), r.session.ID()))
		}
	}
	if r.deployment != nil {
		err = errors.Join(err, r.deployment.Stop(context.WithoutCancel(ctx)))
	}
	r.undo, r.view, r.session, r.deployment, r.keyboard = func() {}, nil, nil, nil, nil
	return err
}

// turn gives the agent a task and waits until everything is answered.
func (r *running) turn(ctx context.Context, task string) error {
	r.view.Begin()
	started := time.Now()
	outcome, err := r.agent.Ask(ctx, task)
	// What was typed at the very end waits for a step that does not come.
	for err == nil && outcome.Reason.Kind == session.EndCompleted && len(r.session.Inbox(session.NextStep)) > 0 {
		outcome, err = r.agent.Run(ctx)
	}
	r.view.Pause()
	defer r.view.Resume()
	if n := len(r.session.Inbox(session.NextStep)); n > 0 && !r.flags.json {
		fmt.Fprintf(r.app.out, "\n%s\n", dim(r.app.out, plural(n, "message")+" that you typed came too late for this turn, and will go with the next"))
	}
	switch {
	case wantsKey(err) && r.flags.script == "":
		// Nothing was sent. A new session has nothing in it, then.
		r.discard = r.flags.resume == ""
		return failed(string(errs.CodeOf(err)), "%v; --api-key-env names another variable", err)
	case err != nil:
		return coded(err)
	case outcome.Reason.Kind != session.EndCompleted:
		return failed(codeIncomplete, "the turn ended before the model was done (%s); resume the session to go on", outcome.Reason.Kind)
	}
	if !r.flags.json {
		took := time.Since(started).Round(100 * time.Millisecond)
		fmt.Fprintf(r.app.out, "\n%s\n", dim(r.app.out, fmt.Sprintf("%s in %v", plural(outcome.Steps, "step"), took)))
	}
	return nil
}

// unused tells that a new session was never given a task.
func (r *running) unused() bool {
	return r.flags.resume == "" && r.session.LastTurn() == 0 &&
		len(r.session.Inbox(session.NextTurn))+len(r.session.Inbox(session.NextStep)) == 0
}

// wantsKey tells that no request was made, for want of a key.
func wantsKey(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Class == llm.Auth && e.Status == 0
}

// answer puts a question to whoever sits at the terminal, or to the lines of
// standard input.
func (r *running) answer(ctx context.Context, q approval.Question, next event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	if r.view != nil {
		r.view.Pause()
		defer r.view.Resume()
	}
	if r.keyboard != nil {
		in, done := r.keyboard.question()
		defer done()
		asks := approve.NewTerminal(in, r.app.errors)
		asks.Echoes = true
		return asks.Answer(ctx, q, next)
	}
	return r.app.ask(ctx, q, next)
}

// route says which model is asked: that of the command line, of the script, of
// the session, or of the configuration.
func (f runFlags) route(resumed llm.Request, configured string) (llm.Request, error) {
	switch name := cmp.Or(f.model, configured); {
	case f.script != "":
		return llm.Request{Provider: "script", Model: "script"}, nil
	case f.model == "" && resumed.Provider == "script":
		return llm.Request{}, usage("this session was played from a script; give --script or --model")
	case f.model == "" && resumed.Provider != "":
		return resumed, nil
	case name != "":
		provider, model, _ := strings.Cut(name, "/")
		return llm.Request{Provider: provider, Model: model}, nil
	}
	return llm.Request{}, usage("give a model, --model provider/model, or --script FILE to play one")
}

// endpoint makes sure that the provider of a route is part of a deployment.
func endpoint(o *deploy.Options, provider string, f runFlags) error {
	for i := range o.OpenAI {
		c := &o.OpenAI[i]
		if cmp.Or(c.Provider, string(cmp.Or(c.Flavour, openai.OpenAI))) == provider {
			c.BaseURL, c.APIKeyEnv = cmp.Or(f.baseURL, c.BaseURL), cmp.Or(f.apiKeyEnv, c.APIKeyEnv)
			return nil
		}
	}
	for i := range o.Anthropic {
		c := &o.Anthropic[i]
		if cmp.Or(c.Provider, "anthropic") == provider {
			c.BaseURL, c.APIKeyEnv = cmp.Or(f.baseURL, c.BaseURL), cmp.Or(f.apiKeyEnv, c.APIKeyEnv)
			return nil
		}
	}
	if provider == "anthropic" {
		o.Anthropic = append(o.Anthropic, anthropic.Config{BaseURL: f.baseURL, APIKeyEnv: f.apiKeyEnv})
		return nil
	}
	c := openai.Config{Flavour: openai.Flavour(provider), BaseURL: f.baseURL, APIKeyEnv: f.apiKeyEnv}
	known := []string{"anthropic"}
	for _, flavour := range openai.Flavours() {
		if flavour == openai.Compatible {
			continue
		}
		known = append(known, string(flavour))
		if string(flavour) == provider {
			o.OpenAI = append(o.OpenAI, c)
			return nil
		}
	}
	if f.baseURL == "" {
		return usage("there is no provider %q; there are %s, and any other with its --base-url", provider, strings.Join(known, ", "))
	}
	c.Flavour, c.Provider = openai.Compatible, provider
	o.OpenAI = append(o.OpenAI, c)
	return nil
}

// sameDirectory reports whether two paths name one directory.
func sameDirectory(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// configFailure is the failure of a configuration file.
func configFailure(err error) error {
	if errors.Is(err, deploy.InvalidConfig) {
		return err
	}
	return fileFailure(err)
}
