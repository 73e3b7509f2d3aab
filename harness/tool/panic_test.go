package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
)

// unreadable and unwritable panic where JSON is made of them.
type unreadable struct{}

func (*unreadable) UnmarshalJSON([]byte) error { panic("ouch") }

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("ouch") }

// panicking is an approval service that panics.
type panicking struct{}

func (panicking) Request(context.Context, any, approval.Request) (approval.Outcome, error) {
	panic("ouch")
}

// Whatever code of a plugin panics on the way of a call, the call fails with a
// code that says where, and the process goes on.
func TestPanicsEndTheCallAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*tool.Definition)
		code   errs.Code
		text   string
	}{
		{"prepare", func(d *tool.Definition) {
			d.Prepare = func(map[string]any) map[string]any { panic("ouch") }
		}, errs.ToolFailed, "Error: preparing the arguments of tool t panicked: ouch"},
		{"body", func(d *tool.Definition) {
			d.Run = func(context.Context, *tool.Call) (any, error) { panic("ouch") }
		}, errs.ToolFailed, "Error: tool t panicked: ouch"},
		{"conforms", func(d *tool.Definition) {
			d.Conforms = func(any) bool { panic("ouch") }
		}, errs.ToolFailed, "Error: rendering of tool t panicked: ouch"},
		{"decode", func(d *tool.Definition) {
			d.Conforms = nil
			d.Decode = func(json.RawMessage) (any, error) { panic("ouch") }
		}, errs.ToolFailed, "Error: rendering of tool t panicked: ouch"},
		{"render", func(d *tool.Definition) {
			d.Render = func(*tool.Call, any) (tool.Rendered, error) { panic("ouch") }
		}, errs.ToolFailed, "Error: rendering of tool t panicked: ouch"},
		{"value", func(d *tool.Definition) {
			d.Conforms = nil
			d.Run = func(context.Context, *tool.Call) (any, error) { return unwritable{}, nil }
		}, errs.ToolFailed, "Error: rendering of tool t panicked: ouch"},
		{"metadata", func(d *tool.Definition) {
			d.Render = func(*tool.Call, any) (tool.Rendered, error) { return tool.Rendered{Meta: unwritable{}}, nil }
		}, errs.ToolFailed, "Error: rendering of tool t panicked: ouch"},
		{"own words for bad arguments", func(d *tool.Definition) {
			d.Input = tool.Schema(`{"type":"object","required":["x"]}`)
			d.Invalid = func(json.RawMessage, error) any { panic("ouch") }
		}, errs.InvalidArgs, "Error: invalid arguments for t: x is required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			d := echo("t")
			d.Input = nil
			c.change(&d)
			if _, err := f.Register(f.scope, d); err != nil {
				t.Fatal(err)
			}
			r := f.Execute(t.Context(), tool.Invocation{ID: "c", Name: "t", Arguments: `{}`})
			if !r.IsError || r.Error == nil || r.Error.Code != string(c.code) || r.Text() != c.text {
				t.Errorf("got %+v %q, want %s %q", r.Error, r.Text(), c.code, c.text)
			}
		})
	}
}

func TestPanicWhileArgumentsAreDecoded(t *testing.T) {
	type args struct {
		X *unreadable `json:"x"`
	}
	f := newFixture(t)
	_, err := f.Register(f.scope, tool.Tool[args, string]{Name: "t",
		Run:    func(context.Context, *tool.Call, args) (string, error) { return "", nil },
		Render: func(args, string) (tool.Rendered, error) { return tool.Rendered{}, nil },
	}.Definition())
	if err != nil {
		t.Fatal(err)
	}
	r := f.Execute(t.Context(), tool.Invocation{ID: "c", Name: "t", Arguments: `{"x":1}`})
	if want := "Error: preparing the arguments of tool t panicked: ouch"; r.Text() != want || r.Error == nil || r.Error.Code != string(errs.ToolFailed) {
		t.Errorf("got %+v %q, want %q", r.Error, r.Text(), want)
	}
}

// An approval service that panics has not allowed anything.
func TestApprovalServiceThatPanics(t *testing.T) {
	f := newFixture(t)
	if _, err := f.approval.Provide("p", panicking{}); err != nil {
		t.Fatal(err)
	}
	tool.PreExecute.On(&f.bus, plug.NewScope("p"), func(context.Context, *tool.Call, event.Next[*tool.Call, tool.Decision]) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Ask, Reason: "to be sure"}, nil
	})
	r := f.call(t, `{"text":"x"}`)
	if r.Error == nil || r.Error.Code != string(errs.ApprovalUnavailable) {
		t.Errorf("got %+v %q", r.Error, r.Text())
	}
}

func TestCaughtKeepsThePanic(t *testing.T) {
	cause := errors.New("ouch")
	err := func() (err error) {
		defer event.Caught(&err, errs.ToolFailed, "it")
		panic(cause)
	}()
	var p *event.PanicError
	if !errors.Is(err, cause) || !errors.Is(err, errs.ToolFailed) || !errors.As(err, &p) || len(p.Stack) == 0 || err.Error() != "it panicked: ouch" {
		t.Errorf("%v", err)
	}
}
