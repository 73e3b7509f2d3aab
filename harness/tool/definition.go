// Package tool holds what an agent can do: definitions, their registry, and
// the pipeline that every call goes through.
//
// A [Definition] has a name, a JSON Schema for its arguments and one for its
// value, a body and a renderer. The body gets arguments that have been
// validated and returns one value; the renderer turns the value into what the
// model sees. [Tool] is the typed way to write one.
//
// A call goes through these stages, each open to plugins as an event:
//
//	validate -> PreExecute -> guards -> Execute(body) -> PostExecute -> Done
//
// A failure at any stage becomes a result with the text "Error: <message>" and
// the error's code beside it; Execute of the registry never fails otherwise, and
// Done tells of every result.
// What is wrong with arguments a tool may say itself, see [Definition].Invalid.
package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

// Schema is a JSON Schema (draft 2020-12) document.
type Schema = json.RawMessage

// Definition is a tool as the registry knows it.
type Definition struct {
	// Name is what the model calls it by: letters, digits, "_" and "-", at most
	// 64 of them, as common providers demand.
	Name string
	// Description tells the model what it is for.
	Description string
	// Input describes the arguments, an object.
	Input Schema
	// Output describes the value that the body returns.
	Output Schema
	// Parallel tells that calls may run beside other parallel calls. A call of
	// any other tool runs alone, after those before it and before those after.
	Parallel bool
	// Prepare turns arguments that callers also send, such as null for one that
	// they leave out, into what Input describes, before they are checked. It may
	// change the map. Nil leaves them.
	Prepare func(arguments map[string]any) map[string]any
	// Run is the body.
	Run func(ctx context.Context, call *Call) (any, error)
	// Render turns the value into what is shown and logged.
	Render func(call *Call, value any) (Rendered, error)
	// Conforms reports whether a value matches Output by its Go type alone.
	// Any other value is checked as JSON. Nil means that none does.
	Conforms func(value any) bool
	// Decode turns a JSON value that was checked into the type that Render
	// takes; nil leaves the value as it is.
	Decode func(value json.RawMessage) (any, error)
	// Invalid makes the value of a call whose arguments do not match Input, for
	// a tool that says more about its failures than a line of text; it is
	// rendered like the body's, and the result keeps the code INVALID_ARGS.
	// arguments is what the caller sent, which need not even be JSON. Nil, or a
	// nil value, leaves the text.
	Invalid func(arguments json.RawMessage, problem error) any
	// CallCard and ResultCard present a call and its result to a person, from
	// what is in a log alone. Nil means a generic card.
	CallCard   func(arguments json.RawMessage) (Card, error)
	ResultCard func(arguments json.RawMessage, r Logged) (Card, error)

	// decodeArgs turns the arguments, canonical and as they were parsed, into the
	// type that Run and Render want, once for both; nil where they decode them
	// themselves.
	decodeArgs func(canonical json.RawMessage, parsed any) (any, error)
}

// Rendered is a value as the model sees it and as the log keeps it.
type Rendered struct {
	Content []llm.Block
	// Meta is kept in the log beside the content for presentation; nil for
	// none.
	Meta any
	// IsError marks content that tells of a failure, and Code names it where the
	// failure has a code.
	IsError bool
	Code    errs.Code
}

// Tool is a definition with Go types for its arguments and value. A and V must
// round-trip through encoding/json. The output schema is inferred from V, so
// that what the body returns conforms to it by construction.
type Tool[A, V any] struct {
	Name        string
	Description string
	Input       Schema
	Parallel    bool
	Run         func(ctx context.Context, call *Call, args A) (V, error)
	Render      func(args A, value V) (Rendered, error)
	CallCard    func(args A) Card
	ResultCard  func(args A, r Logged) (Card, error)
}

// Definition returns the tool for a registry.
func (t Tool[A, V]) Definition() Definition {
	fields := textsOf[A]()
	d := Definition{
		Name: t.Name, Description: t.Description, Input: t.Input, Output: infer[V](), Parallel: t.Parallel,
		decodeArgs: func(canonical json.RawMessage, parsed any) (any, error) {
			return decodeParsed[A](fields, canonical, parsed)
		},
		Run: func(ctx context.Context, call *Call) (any, error) {
			args, err := argsOf[A](call)
			if err != nil {
				return nil, err
			}
			return t.Run(ctx, call, args)
		},
		Render: func(call *Call, value any) (Rendered, error) {
			args, err := argsOf[A](call)
			if err != nil {
				return Rendered{}, err
			}
			v, ok := value.(V)
			if !ok {
				return Rendered{}, fmt.Errorf("value of tool %q is a %T", t.Name, value)
			}
			return t.Render(args, v)
		},
		Conforms: func(value any) bool {
			_, ok := value.(V)
			return ok
		},
		Decode: func(value json.RawMessage) (any, error) {
			var v V
			err := json.Unmarshal(value, &v)
			return v, err
		},
	}
	if t.CallCard != nil {
		d.CallCard = func(arguments json.RawMessage) (Card, error) {
			args, err := decodeArgs[A](arguments)
			if err != nil {
				return Card{}, err
			}
			return t.CallCard(args), nil
		}
	}
	if t.ResultCard != nil {
		d.ResultCard = func(arguments json.RawMessage, r Logged) (Card, error) {
			args, err := decodeArgs[A](arguments)
			if err != nil {
				return Card{}, err
			}
			return t.ResultCard(args, r)
		}
	}
	return d
}

// check reports what is wrong with a definition, or nil.
func (d Definition) check() error {
	if d.Name == "" || len(d.Name) > 64 {
		return errs.New(errs.InvalidArgs, fmt.Sprintf("tool name %q must have 1 to 64 characters", d.Name))
	}
	for _, r := range d.Name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return errs.New(errs.InvalidArgs, fmt.Sprintf("tool name %q may hold letters, digits, _ and - only", d.Name))
		}
	}
	if d.Run == nil || d.Render == nil {
		return errs.New(errs.InvalidArgs, fmt.Sprintf("tool %q needs a body and a renderer", d.Name))
	}
	return nil
}
