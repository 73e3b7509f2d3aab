package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// workspace is a deployment on a directory, with one session.
type workspace struct {
	deployment *harness.Deployment
	agent      *tool.Agent
}

// openWorkspace starts a deployment on dir, which must exist.
func openWorkspace(ctx context.Context, dir string) (*workspace, error) {
	return openWorkspaceWith(ctx, dir, func(*deploy.Options) []plug.Plugin { return nil })
}

// openWorkspaceWith starts a deployment that change makes of the basic one;
// it may return further plugins.
func openWorkspaceWith(ctx context.Context, dir string, change func(*deploy.Options) []plug.Plugin) (*workspace, error) {
	dir, err := workdir(dir)
	if err != nil {
		return nil, err
	}
	s, err := session.NewMemory(session.Header{Cwd: dir}, session.Config{})
	if err != nil {
		return nil, err
	}
	o := deploy.Default(dir)
	extra := change(&o)
	d, err := harness.Compose(ctx, append(deploy.Plugins(o), extra...)...)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &workspace{deployment: d, agent: &tool.Agent{Session: s}}, nil
}

// close stops the deployment, also when the command was interrupted.
func (w *workspace) close(ctx context.Context) error {
	return errors.Join(w.deployment.Stop(context.WithoutCancel(ctx)), w.agent.Session.Close())
}

// outcome is a call with its result.
type outcome struct {
	definition tool.Definition
	arguments  string
	result     tool.Result
}

// call runs one tool call in the workspace's session.
func (w *workspace) call(ctx context.Context, name string, args map[string]any) (outcome, error) {
	for key, v := range args {
		if s, ok := v.(string); ok && !utf8.ValidString(s) {
			return outcome{}, failed(string(errs.InvalidArgs), "%s is not valid UTF-8, and the tools take text only", key)
		}
	}
	arguments, err := encode(args)
	if err != nil {
		return outcome{}, err
	}
	d, err := w.deployment.Tools().Lookup(w.agent, name)
	if err != nil {
		return outcome{}, err
	}
	r := w.deployment.Tools().Execute(ctx, tool.Invocation{ID: "call-1", Name: name, Arguments: string(arguments), Agent: w.agent})
	return outcome{d, string(arguments), r}, nil
}

// show prints what came of a call, for people or as one JSON object, and
// returns the failure of a call that failed.
func (a *app) show(o outcome, asJSON bool) error {
	if asJSON {
		if err := a.printJSON(o.result); err != nil {
			return err
		}
	}
	if o.result.IsError {
		return resultFailure(o.result)
	}
	if asJSON {
		return nil
	}
	r := o.result
	a.render.Card(o.definition.PresentResult(o.arguments, tool.Logged{Content: r.Content, Meta: r.Meta}), render.TextBefore(r))
	return nil
}

// jsonResult is the JSON form of a result. All keys are always there.
type jsonResult struct {
	IsError bool            `json:"isError"`
	Code    *string         `json:"code"`
	Content []llm.Block     `json:"content"`
	Value   json.RawMessage `json:"value"`
	Meta    json.RawMessage `json:"meta"`
}

func (a *app) printJSON(r tool.Result) error {
	value, err := r.ValueJSON()
	if err != nil {
		return err
	}
	out := jsonResult{IsError: r.IsError, Content: r.Content, Value: value, Meta: r.Meta}
	if r.Error != nil {
		out.Code = &r.Error.Code
	}
	line, err := encode(out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", line)
	return err
}

// encode is json.Marshal without the escaping of <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
