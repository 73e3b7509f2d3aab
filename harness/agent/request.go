package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/session"
)

// ContextPlugin signs the runtime-context snapshots.
const ContextPlugin = "bridle/prompt"

// runtimeContext returns the snapshot to put in front of the model, and
// whether it differs from the last one: while nothing changes nothing is
// appended, so the prefix of the conversation stays what it was.
func (t *turn) runtimeContext() (_ llm.Message, changed bool, err error) {
	text, sections, err := t.deps.Prompt.Context(t.caller)
	if err != nil {
		return llm.Message{}, false, err
	}
	last := ""
	t.session.View(func(s *session.State) {
		if m, ok := s.Snapshot(); ok {
			last = m.Text()
		}
	})
	if text == "" && last != "" {
		text = prompt.NoContext // what was said before must not go on to count
	}
	if text == last {
		return llm.Message{}, false, nil
	}
	source := llm.Source{Kind: llm.FromPlugin, Plugin: ContextPlugin, Form: session.SnapshotForm}
	for _, s := range sections {
		source.Sections = append(source.Sections, llm.Section{Name: s.Name, Text: s.Text})
	}
	return llm.Message{Role: llm.User, Content: []llm.Block{llm.Text(text)}, Source: source, ID: t.session.NewID()}, true, nil
}

// prepare assembles the next request. Its fixed part is logged when it differs
// from that of the request before.
func (t *turn) prepare(ctx context.Context, models *llm.Registry) (llm.Request, error) {
	info, err := models.ResolveModelInfo(t.cfg.Provider, t.cfg.Model)
	if err != nil {
		return llm.Request{}, err
	}
	r := llm.Request{
		Provider: t.cfg.Provider, Model: t.cfg.Model, Options: t.cfg.Options,
		System: t.deps.Prompt.System(),
	}
	for _, d := range t.deps.Tools.Definitions(t.caller) {
		r.Tools = append(r.Tools, llm.ToolSchema{Name: d.Name, Description: d.Description, InputSchema: d.Input})
	}
	if err := t.logHeader(r); err != nil {
		return llm.Request{}, err
	}
	other := int64(len(r.System))
	for _, s := range r.Tools {
		other += int64(len(s.Name) + len(s.Description) + len(s.InputSchema))
	}
	variant := info.Media.Variant()
	r.Messages, _ = llm.MediaBudget{Info: info, OtherBytes: other, Sent: t.sent(ctx, variant)}.Fit(t.session.Messages())
	r.Image = t.load(variant)
	return r, nil
}

// logHeader records the fixed part of the requests where it changed.
func (t *turn) logHeader(r llm.Request) error {
	head, err := headerOf(r)
	if err != nil {
		return err
	}
	var last session.RequestHeader
	var before json.RawMessage
	var route session.RequestContext
	t.session.View(func(s *session.State) {
		last, _ = s.RequestHeader()
		before = s.RawRequestHeader()
		route, _ = s.RequestContext()
	})
	var events []session.Event
	reason := "initial"
	if before != nil {
		reason = changeOf(last.Header, head)
	}
	if reason != "" {
		events = append(events, session.RequestHeader{Header: head, Reason: reason}.Event())
	}
	if now := (session.RequestContext{Provider: r.Provider, Model: r.Model}); now != route {
		events = append(events, now.Event())
	}
	if len(events) == 0 {
		return nil
	}
	_, err = t.append(events...)
	return err
}

func headerOf(r llm.Request) (session.RequestHead, error) {
	system, err := marshal(r.System)
	if err != nil {
		return session.RequestHead{}, err
	}
	tools := r.Tools
	if tools == nil {
		tools = []llm.ToolSchema{}
	}
	schemas, err := marshal(tools)
	if err != nil {
		return session.RequestHead{}, fmt.Errorf("tool schemas: %w", err)
	}
	config := session.RequestConfig{Provider: r.Provider, Model: r.Model, Extra: map[string]json.RawMessage{}}
	maps.Copy(config.Extra, r.Options.Extra)
	for name, v := range map[string]any{
		"maxOutputTokens": r.Options.MaxOutputTokens, "reasoningEffort": r.Options.ReasoningEffort,
	} {
		if v != int64(0) && v != "" {
			if config.Extra[name], err = marshal(v); err != nil {
				return session.RequestHead{}, err
			}
		}
	}
	if t := r.Options.Temperature; t != nil {
		if config.Extra["temperature"], err = marshal(*t); err != nil {
			return session.RequestHead{}, err
		}
	}
	return session.RequestHead{Config: config, System: system, Tools: schemas}, nil
}

// changeOf names the part of a header that changed, or "".
func changeOf(before, after session.RequestHead) string {
	switch {
	case before.Config.Provider != after.Config.Provider || before.Config.Model != after.Config.Model:
		return "model"
	case !sameOptions(before.Config.Extra, after.Config.Extra):
		return "options"
	case !bytes.Equal(before.System, after.System):
		return "system"
	case !bytes.Equal(before.Tools, after.Tools):
		return "tools"
	}
	return ""
}

func sameOptions(a, b map[string]json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if !bytes.Equal(v, b[name]) {
			return false
		}
	}
	return true
}

// marshal is json.Marshal without the escaping of <, > and &.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// sent returns how to learn the facts of the copy of an image that would be
// sent.
func (t *turn) sent(ctx context.Context, v attachment.Variant) func(attachment.Ref) (attachment.Ref, error) {
	return func(ref attachment.Ref) (attachment.Ref, error) {
		copied, _, err := t.image(ctx, ref, v)
		return copied, err
	}
}

// load returns how to get the bytes of that copy.
func (t *turn) load(v attachment.Variant) func(context.Context, attachment.Ref) (llm.ImageData, error) {
	return func(ctx context.Context, ref attachment.Ref) (llm.ImageData, error) {
		copied, data, err := t.image(ctx, ref, v)
		return llm.ImageData{MediaType: copied.MediaType, Data: data}, err
	}
}

func (t *turn) image(ctx context.Context, ref attachment.Ref, v attachment.Variant) (_ attachment.Ref, _ []byte, err error) {
	store, release, err := t.deps.Attachments.Acquire()
	if err != nil {
		return attachment.Ref{}, nil, err
	}
	defer release()
	// One bad image goes as text that names it, whatever the store makes of it.
	defer event.Caught(&err, errs.AttachmentReadFailed, "the attachment store")
	return store.Variant(ctx, ref, v)
}
