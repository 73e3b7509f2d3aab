package fileops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/near"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// envelope is what the hub returns of an operation that succeeded.
type envelope struct {
	Operation string `json:"operation"`
	Summary   string `json:"summary"`
	Result    any    `json:"result"`
}

// value is what the tools return: one JSON object, and whether it tells of a
// failure.
type value struct {
	body   any
	failed bool
}

// MarshalJSON encodes the object alone.
func (v value) MarshalJSON() ([]byte, error) { return []byte(encode(v.body)), nil }

// definition makes a tool of a body that never fails otherwise than in its
// value.
//
// invalid makes the value of a call whose arguments do not match the schema.
func definition(name, about string, input tool.Schema, parallel bool, run func(context.Context, *tool.Call) value,
	invalid func(given map[string]any, f *failure) value) tool.Definition {
	return tool.Definition{
		Name: name, Description: about, Input: input, Output: tool.Schema(`{"type":"object"}`), Parallel: parallel,
		Run: func(ctx context.Context, call *tool.Call) (any, error) { return run(ctx, call), nil },
		Conforms: func(v any) bool {
			_, ok := v.(value)
			return ok
		},
		Decode: func(data json.RawMessage) (any, error) {
			m, err := parseObject(data)
			if err != nil {
				return nil, err
			}
			_, failed := m["error"]
			return value{body: m, failed: failed}, nil
		},
		Render: func(_ *tool.Call, v any) (tool.Rendered, error) {
			val, ok := v.(value)
			if !ok {
				return tool.Rendered{}, fmt.Errorf("value of tool %q is a %T", name, v)
			}
			r := tool.Rendered{Content: []llm.Block{llm.Text(encode(val.body))}, IsError: val.failed}
			if body, ok := val.body.(map[string]any); ok && val.failed {
				// Programs that know codes only find the kind of failure there.
				r.Code = errs.Code(strings.ToUpper(fmt.Sprint(body["error_kind"])))
			}
			return r, nil
		},
		Invalid: func(arguments json.RawMessage, problem error) any {
			given, err := parseObject(arguments)
			if err != nil {
				given = nil
			}
			return invalid(given, badArgument("", "%v", problem))
		},
		CallCard: func(arguments json.RawMessage) (tool.Card, error) { return callCard(name, arguments) },
	}
}

// callCard presents a call by its operation and path.
func callCard(name string, arguments json.RawMessage) (tool.Card, error) {
	m, err := parseObject(arguments)
	if err != nil {
		return tool.Card{}, err
	}
	title, path := name, ""
	if op, ok := m["operation"].(string); ok && op != "" {
		title = op
	}
	for _, key := range []string{"path", "file_path", "root_path", "directory_path", "search_path", "source_path"} {
		if s, ok := m[key].(string); ok && s != "" {
			path = s
			break
		}
	}
	if path != "" {
		title += " " + path
	}
	return tool.Card{Kind: tool.GenericCard, Title: title, Path: path, Text: string(arguments)}, nil
}

// single makes an operation a tool of its own.
func (o *ops) single(op *operation) tool.Definition {
	d := definition(op.name, op.about, op.schema(), !op.changes, func(ctx context.Context, call *tool.Call) value {
		given, err := parseObject(call.Arguments)
		if err != nil {
			return o.failedSingle(op, nil, nil, badArgument("", "the arguments are no JSON object: %v", err))
		}
		res, f := o.perform(ctx, call, op, given)
		if f != nil {
			return o.failedSingle(op, given, res, f)
		}
		return value{body: res}
	}, func(given map[string]any, f *failure) value {
		// The operation's own check names the field and a value that would do.
		if _, own := checkArguments(op, given); own != nil {
			f = own
		} else if name := op.missing(given); name != "" {
			f.Field = name
		}
		return o.failedSingle(op, given, nil, f)
	})
	d.Prepare = op.prepare
	return d
}

// prepare takes null for an argument that was left out, and an array of objects
// also as a string of JSON or as its only element, as the hub does.
func (op *operation) prepare(given map[string]any) map[string]any {
	for i := range op.fields {
		f := &op.fields[i]
		v, ok := given[f.name]
		switch {
		case !ok:
		case v == nil && !f.required:
			delete(given, f.name)
		case f.loose:
			given[f.name] = loosened(v)
		}
	}
	return given
}

// missing is the first field that the schema demands and the caller left out,
// or "".
func (op *operation) missing(given map[string]any) string {
	for _, f := range op.fields {
		if f.required && given[f.name] == nil {
			return f.name
		}
	}
	return ""
}

// failedSingle joins what is known of the result, if anything, with the
// failure.
func (o *ops) failedSingle(op *operation, given map[string]any, partial result, f *failure) value {
	m := fields(partial)
	if op.path != "" {
		if p, ok := given[op.path]; ok && m[op.path] == nil {
			m[op.path] = p
		}
	}
	for k, v := range failureFields(f, f.Field, op.corrected(given, f)) {
		m[k] = v
	}
	return value{body: m, failed: true}
}

// fields is a struct's JSON object as a map.
func fields(v any) map[string]any {
	if v == nil {
		return map[string]any{}
	}
	m, err := parseObject([]byte(encode(v)))
	if err != nil || m == nil {
		return map[string]any{}
	}
	return m
}

// failureFields are the fields of the shared vocabulary. No call is proposed
// where none can work.
func failureFields(f *failure, field string, correct map[string]any) map[string]any {
	report := f.Report()
	report.ErrorField = field
	m := fields(report)
	if correct != nil && report.RetryDisposition != fault.DoNotRetry {
		m["correct_call"] = correct
	}
	return m
}

// perform checks the arguments of an operation and runs it. What is known of
// the result may come with a failure.
func (o *ops) perform(ctx context.Context, call *tool.Call, op *operation, given map[string]any) (result, *failure) {
	args, problem := checkArguments(op, given)
	if problem != nil {
		return nil, problem
	}
	fs, release, err := o.FS.Acquire()
	if err != nil {
		// Sending the call again mounts no filesystem: that is for a person to do.
		return nil, &failure{Kind: fault.UnsupportedByProvider, Action: "ask_user", Err: err,
			Message: "no filesystem is available, so no file operation can be done now; tell the user"}
	}
	defer release()
	if !op.changes {
		// A change finishes by itself what was interrupted before; who reads shall
		// not see half of it either, and can read all the same where it cannot be
		// finished.
		_, _ = o.engine.Recover(ctx, fs, call)
	}
	res, err := op.run(ctx, &request{ops: o, op: op, call: call, fs: fs, args: args})
	if err != nil {
		var known *failure
		if ctx.Err() != nil && !errors.As(err, &known) {
			err = ctx.Err()
		}
		return res, fault.Of(err, op.path)
	}
	return res, nil
}

// corrected is a complete, valid call of the operation with the caller's own
// values kept, as far as they are valid.
func (op *operation) corrected(given map[string]any, f *failure) map[string]any {
	out := map[string]any{}
	for i := range op.fields {
		fd := &op.fields[i]
		v, ok := given[fd.name]
		if other := op.standIn(fd, given); v == nil && other != "" {
			v, ok = given[other], true
		}
		if ok && v != nil {
			if value, can := fd.repaired(op, v); can {
				out[fd.name] = value
			}
		}
		if fix, fixed := f.Call[fd.name]; fixed {
			if fix == nil {
				delete(out, fd.name)
			} else {
				out[fd.name] = fix
			}
		}
		if _, ok := out[fd.name]; ok || !fd.required {
			continue
		}
		out[fd.name] = fd.example
	}
	if needed := alternatives[op.name]; needed != nil &&
		!slices.ContainsFunc(needed, func(name string) bool { _, ok := out[name]; return ok }) {
		f := op.field(needed[0])
		out[f.name] = f.example
		if one, ok := f.gathered(op, given); ok {
			out[f.name] = []any{one}
		}
	}
	return out
}

// hub makes one tool of all operations.
func (o *ops) hub() tool.Definition {
	input := tool.Schema(`{"type":"object","properties":{` +
		`"operation":{"type":"string","default":"","description":"The operation, for example view_file."},` +
		`"path":{"type":"string","description":"The file or directory it is about, of copy_file and move_file the source; a relative path starts from the sandbox root, or else the session's directory."},` +
		`"config":{"type":"object","description":"The other arguments of the operation, as a JSON object, not as a string."}` +
		`},"additionalProperties":false}`)
	d := definition(HubName, o.hubDescription(), input, false, func(ctx context.Context, call *tool.Call) value {
		given, err := parseObject(call.Arguments)
		if err != nil {
			given = map[string]any{}
		}
		return o.dispatch(given, func(op *operation, args map[string]any) (result, *failure) { return o.perform(ctx, call, op, args) })
	}, func(given map[string]any, f *failure) value {
		return o.dispatch(given, func(op *operation, args map[string]any) (result, *failure) {
			if _, own := checkArguments(op, args); own != nil {
				f = own
			}
			return nil, f
		})
	})
	d.Prepare = func(given map[string]any) map[string]any {
		for _, name := range []string{"operation", "path", "config"} {
			if v, there := given[name]; there && v == nil {
				delete(given, name)
			}
		}
		return given
	}
	return d
}

// dispatch finds the operation of a call of the hub and has it performed.
func (o *ops) dispatch(given map[string]any, perform func(*operation, map[string]any) (result, *failure)) value {
	name, _ := given["operation"].(string)
	op := operationNamed(name)
	if op == nil {
		return o.unknown(name, given)
	}
	if !o.cfg.allows(op.enable) {
		f := refuse(fault.OperationNotEnabled, "operation", "the operation %s is not enabled here", name)
		return o.failedHub(name, nil, f, f.Field, nil, true)
	}
	args, f := op.merge(given)
	var res result
	if f == nil {
		if res, f = perform(op, args); f == nil {
			return value{body: o.success(op, res)}
		}
		f = op.inHub(f)
	}
	return o.failedHub(name, res, f, op.hubField(f.Field, given), op.hubCall(op.corrected(args, f)), false)
}

func (o *ops) success(op *operation, res result) any {
	e := envelope{Operation: op.name, Summary: res.summary(), Result: res}
	more := besides(res)
	if more == nil {
		return e
	}
	m := fields(e)
	for k, v := range more {
		m[k] = v
	}
	return m
}

// besides are the fields that an operation adds to the hub's own, such as the
// receipt of a change.
func besides(res result) map[string]any {
	if x, ok := res.(interface{ hubFields() map[string]any }); ok {
		return x.hubFields()
	}
	return nil
}

// unknown answers a call of an operation that there is not.
func (o *ops) unknown(name string, given map[string]any) value {
	f, op := o.noOperation(given)
	var correct map[string]any
	if op != nil {
		args, _ := op.merge(given)
		correct = op.hubCall(op.corrected(args, f))
	}
	return o.failedHub(name, nil, f, f.Field, correct, true)
}

// noOperation is the failure of a call that names no operation there is, and
// the one that was probably meant, or nil.
func (o *ops) noOperation(given map[string]any) (*failure, *operation) {
	enabled, _ := o.enabled()
	name, isText := given["operation"].(string)
	switch {
	case !isText && given["operation"] != nil:
		return refuse(fault.InvalidOperation, "operation", "operation must be a string; name one of enabled_operations"), nil
	case name == "":
		f := refuse(fault.InvalidOperation, "operation", "operation is empty; name one of enabled_operations")
		for _, other := range sortedKeys(given) {
			if text, ok := given[other].(string); ok && meant(other, []string{"operation"}) != "" && slices.Contains(enabled, text) {
				f.Message = fmt.Sprintf("operation is missing; did you mean it by %q?", other)
				return f, operationNamed(text)
			}
		}
		return f, nil
	}
	f := refuse(fault.InvalidOperation, "operation", "there is no operation %q", name)
	best := near.Miss(name, enabled)
	if other := otherOperations[strings.ToLower(name)]; slices.Contains(enabled, other) {
		best = other
	}
	if best != "" {
		f.Message += fmt.Sprintf("; did you mean %q?", best)
		return f, operationNamed(best)
	}
	return f, nil
}

func (o *ops) enabled() (on, off []string) {
	on, off = []string{}, []string{}
	for _, op := range operations {
		if o.cfg.allows(op.enable) {
			on = append(on, op.name)
		} else {
			off = append(off, op.name)
		}
	}
	return on, off
}

func (o *ops) failedHub(name string, partial result, f *failure, field string, correct map[string]any, list bool) value {
	m := failureFields(f, field, correct)
	m["operation"] = name
	m["summary"] = fmt.Sprintf("%s failed: %s", orOperation(name), f.Message)
	if known := fields(partial); len(known) > 0 {
		m["result"] = known
	}
	for k, v := range besides(partial) {
		m[k] = v
	}
	if list {
		on, off := o.enabled()
		m["enabled_operations"], m["disabled_operations"] = on, off
	}
	return value{body: m, failed: true}
}

func orOperation(name string) string {
	if name == "" {
		return "the operation"
	}
	return name
}
