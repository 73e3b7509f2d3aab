package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// The route of every session of a scenario.
const (
	Provider  = "p"
	ModelName = "m"
)

// Setup is what a composer makes a deployment from.
type Setup struct {
	Compose
	// Workspace is the folder of the sessions, and the one that the filesystem
	// provider resolves relative paths against when a call has no session.
	Workspace string
	// Home is an empty folder for what the deployment stores, such as images.
	Home string
}

// Composer returns the plugins of the deployment that a scenario asks for. It
// returns an error when the scenario asks for something it cannot provide. The
// answers to approval requests come from the runner, which listens to
// [approval.Answer]; the composer mounts the service alone.
type Composer func(Setup) ([]plug.Plugin, error)

// Config says how scenarios are run. The zero value works.
type Config struct {
	// Dir is where the scenarios' folders are made and removed again. Default:
	// the user's cache directory, else the current one. Sandboxed sessions may
	// write temp directories, so those are taken only where there is no other
	// place, and for scenarios without a sandbox.
	Dir string
}

// Run plays a scenario on a deployment of its own. The outcome has the actual
// results of all steps; nothing is left behind.
func Run(ctx context.Context, s Scenario, compose Composer, config Config) Outcome {
	out := Outcome{Name: s.Name, Area: s.Area, Differences: append([]Difference{}, s.problems...)}
	if s.unusable {
		return out
	}
	w, err := newWorld(config.Dir, s.Compose.Sandbox != nil)
	if err != nil {
		out.fail("workspace", "a folder to play in", err.Error())
		return out
	}
	r := &run{Scenario: s, world: w, out: &out, sessions: map[string]*session.Session{}}
	r.play(ctx, compose)
	if err := w.remove(); err != nil {
		out.fail("workspace", "everything removed", err.Error())
	}
	out.contract(w)
	out.Pass = len(out.Differences) == 0
	return out
}

// run is one scenario on its way.
type run struct {
	Scenario
	world      *world
	out        *Outcome
	deployment *harness.Deployment
	sessions   map[string]*session.Session

	mu      sync.Mutex
	answers []approval.Outcome
	asks    []Ask
}

func (r *run) play(ctx context.Context, compose Composer) {
	for _, f := range r.Files {
		if err := r.world.put(r.world.workspace, f); err != nil {
			r.out.fail("files", f.Path, err.Error())
		}
	}
	for _, f := range r.Outside {
		if err := r.world.put(r.world.outside, f); err != nil {
			r.out.fail("outside", f.Path, err.Error())
		}
	}
	if r.Compose.Approval != nil {
		r.answers = r.Compose.Approval.Answers
	}
	plugins, err := compose(Setup{Compose: r.Compose, Workspace: r.world.workspace, Home: r.world.home})
	if err == nil {
		r.deployment, err = harness.Compose(ctx, plugins...)
	}
	if err != nil {
		r.out.fail("compose", "the deployment that is asked for", err.Error())
		return
	}
	scope := plug.NewScope("scenario")
	approval.Answer.On(r.deployment.Bus(), scope, r.answer)
	for i, step := range r.Steps {
		result, err := r.step(ctx, i, step)
		if err != nil {
			r.out.fail(fmt.Sprintf("steps[%d]", i), "the step to be played", err.Error())
		}
		r.out.Results = append(r.out.Results, result)
		if i < len(r.Expect) {
			r.check(i, result)
		}
	}
	if err := scope.Close(); err != nil {
		r.out.fail("stop", "the answerer to leave", err.Error())
	}
	r.finish(ctx)
}

// answer is the scripted answerer.
func (r *run) answer(_ context.Context, q approval.Question, _ event.Next[approval.Question, approval.Outcome]) (approval.Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asks = append(r.asks, Ask{ToolName: q.ToolName, Reason: q.Reason})
	if len(r.answers) == 0 {
		return approval.Unavailable, errors.New("the script has no answer left")
	}
	outcome := r.answers[0]
	r.answers = r.answers[1:]
	return outcome, nil
}

// step plays one step; the result is nil for a put.
func (r *run) step(ctx context.Context, i int, s Step) (*Result, error) {
	if s.Put != nil {
		return nil, r.world.put(r.world.workspace, *s.Put)
	}
	agent, err := r.agent(s.Session)
	if err != nil {
		return nil, err
	}
	if s.Prompt {
		return r.prompt(agent)
	}
	if s.Aborted {
		aborted, cancel := context.WithCancel(ctx)
		cancel()
		ctx = aborted
	}
	args := r.expandJSON(s.Args)
	result := r.deployment.Tools().Execute(ctx, tool.Invocation{
		ID: fmt.Sprintf("call-%d", i+1), Name: s.Call, Arguments: args, Agent: agent,
	})
	return r.result(ctx, result, agent, args)
}

// agent returns the agent of a session, which it opens at its first use.
func (r *run) agent(name *string) (*tool.Agent, error) {
	if name == nil {
		return nil, nil
	}
	agent := &tool.Agent{Provider: Provider, Model: ModelName}
	if s, open := r.sessions[*name]; open {
		agent.Session = s
		return agent, nil
	}
	spec := r.Sessions[*name]
	cwd := r.world.workspace
	if spec.Cwd != "" {
		cwd = filepath.FromSlash(r.world.expand(spec.Cwd))
		if !filepath.IsAbs(cwd) {
			cwd = filepath.Join(r.world.workspace, cwd)
		}
	}
	s, err := session.NewMemory(session.Header{ID: *name, Cwd: cwd}, session.Config{}, spec.Events...)
	if err != nil {
		return nil, fmt.Errorf("session %q: %w", *name, err)
	}
	if s.OpenTurn() == 0 {
		turn := 1
		s.View(func(state *session.State) { turn = state.LastTurn() + 1 })
		if _, err := s.Append(session.TurnStart{Turn: turn}.Event()); err != nil {
			return nil, fmt.Errorf("session %q: %w", *name, err)
		}
	}
	r.sessions[*name] = s
	agent.Session = s
	return agent, nil
}

// expandJSON puts the real folders into a JSON text.
func (r *run) expandJSON(text json.RawMessage) string {
	escape := func(s string) string {
		quoted, _ := json.Marshal(s) // a string cannot fail
		return string(quoted[1 : len(quoted)-1])
	}
	return strings.NewReplacer("{{cwd}}", escape(r.world.workspace), "{{base}}", escape(r.world.base)).Replace(string(text))
}

func (r *run) result(ctx context.Context, from tool.Result, agent *tool.Agent, args string) (*Result, error) {
	text := from.Text()
	out := &Result{IsError: &from.IsError, Text: &text, Content: from.Content}
	if from.Error != nil {
		out.Code = from.Error.Code
	}
	value, err := from.ValueJSON()
	if err != nil {
		return out, fmt.Errorf("value: %w", err)
	}
	if out.Value, err = parse(value); err != nil {
		return out, fmt.Errorf("value: %w", err)
	}
	if out.Meta, err = parse(from.Meta); err != nil {
		return out, fmt.Errorf("meta: %w", err)
	}
	object, _ := out.Value.(map[string]any)
	out.Path, _ = object["path"].(string)
	for _, b := range from.Content {
		if b.Type == llm.ImageBlock && b.Attachment != nil {
			err = r.image(ctx, out, *b.Attachment, agent, args)
		}
	}
	return out, err
}

// image describes the picture of a result, and checks what the store has.
func (r *run) image(ctx context.Context, out *Result, ref attachment.Ref, agent *tool.Agent, args string) error {
	out.ref = &ref
	out.Image = &Image{MediaType: ref.MediaType, Width: ref.Width, Height: ref.Height,
		Name: ref.Name, OriginalDimensions: ref.OriginalDimensions}
	var named struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal([]byte(args), &named); err != nil {
		return err
	}
	path := filepath.FromSlash(named.Path)
	if !filepath.IsAbs(path) {
		dir := r.world.workspace
		if agent != nil {
			dir = agent.Session.Cwd()
		}
		path = filepath.Join(dir, path)
	}
	if source, err := os.ReadFile(path); err == nil {
		out.Image.Passthrough = ref.ID == "sha256:"+digest(source)
	}
	store, release, err := plug.ServiceOf[attachment.Store](r.deployment.Context()).Acquire()
	if err != nil {
		return err
	}
	defer release()
	stored, err := store.Read(ctx, ref)
	if err != nil {
		return fmt.Errorf("stored image: %w", err)
	}
	out.stored = int64(len(stored))
	return nil
}

func (r *run) prompt(agent *tool.Agent) (*Result, error) {
	system := r.deployment.Prompt().System()
	out := &Result{System: &system, Tools: []Tool{}}
	for _, d := range r.deployment.Tools().Definitions(agent) {
		var schema struct {
			Required   []string            `json:"required"`
			Properties map[string]Property `json:"properties"`
		}
		if err := json.Unmarshal(d.Input, &schema); err != nil {
			return out, fmt.Errorf("schema of %s: %w", d.Name, err)
		}
		out.Tools = append(out.Tools, Tool{Name: d.Name, Required: sorted(schema.Required), Properties: schema.Properties})
	}
	return out, nil
}

// finish stops the deployment and looks at what it left.
func (r *run) finish(ctx context.Context) {
	out := r.out
	n, err := r.attachments(ctx)
	if err != nil {
		out.fail("distinctAttachments", "a readable store", err.Error())
	}
	out.DistinctAttachments = n
	// A caller that has lost patience still gets everything stopped.
	if err := r.deployment.Stop(context.WithoutCancel(ctx)); err != nil {
		out.fail("stop", "a clean stop", err.Error())
	}
	for _, s := range r.sessions {
		if err := s.Close(); err != nil {
			out.fail("stop", "a closed session", err.Error())
		}
	}
	if out.After, err = r.world.list(r.world.workspace, r.After); err != nil {
		out.fail("after", "a readable workspace", err.Error())
	}
	if out.OutsideAfter, err = r.world.list(r.world.outside, r.OutsideAfter); err != nil {
		out.fail("outsideAfter", "a readable folder", err.Error())
	}
	r.mu.Lock()
	out.Asks = append([]Ask{}, r.asks...)
	r.mu.Unlock()
	r.checkEnd()
}

// attachments counts the objects in the store, if there is one.
func (r *run) attachments(ctx context.Context) (int, error) {
	store, release, err := plug.ServiceOf[attachment.Store](r.deployment.Context()).Acquire()
	if err != nil {
		return 0, nil
	}
	defer release()
	n := 0
	for _, err := range store.List(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
