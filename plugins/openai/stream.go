package openai

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/internal/answer"
	"github.com/bridle-go/bridle/plugins/internal/endpoint"
	"github.com/bridle-go/bridle/plugins/internal/route"
)

// settle is how long the usage and the end of the stream are waited for once
// the model has finished.
const settle = 5 * time.Second

// Stream sends the request; see [llm.Adapter].
//
// A call that the token limit or a filter cut in the middle of its arguments
// gets no block-end: nobody must run it. Calls that come without an id get
// one that is made from the request and the answer.
func (a *Adapter) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return answer.Stream(func(w *answer.Writer) error { return a.stream(ctx, r, w) })
}

func (a *Adapter) stream(ctx context.Context, r llm.Request, w *answer.Writer) error {
	body, names, err := a.encode(ctx, r)
	switch {
	case err != nil:
		return a.client.Unsent(ctx, r.Model, err)
	case a.keyHint != "":
		return a.client.Fail(llm.Auth, r.Model, a.keyHint)
	}
	s, err := a.client.Post(ctx, r.Model, "chat/completions", body)
	if err != nil {
		return err
	}
	defer s.Close()
	d := &decoder{client: a.client, model: r.Model, w: w, stream: s}
	d.calls = calls{w: w, names: names, seed: fmt.Sprintf("%x", sha256.Sum256(body))}
	switch plain, err := s.JSON(); {
	case err != nil:
		return err
	case plain:
		return d.whole()
	}
	return d.events()
}

// decoder turns one answer into chunks.
type decoder struct {
	client *endpoint.Client
	model  string
	w      *answer.Writer
	stream *endpoint.Stream
	calls  calls

	id       string
	usage    *llm.Usage
	finished bool
	kind     llm.FinishKind
	message  string
}

// events reads a stream. After the finish reason nothing that goes wrong
// matters any more: the answer is complete.
func (d *decoder) events() error {
	for !d.w.Left() {
		e, err := d.stream.Next()
		switch {
		case d.finished && (err != nil || e.Cut):
			return d.finish()
		case err == io.EOF:
			return d.client.Cut(d.model)
		case err != nil:
			return err
		case string(e.Data) == "[DONE]":
			if !d.finished {
				return d.client.Cut(d.model)
			}
			return d.finish()
		case len(e.Data) == 0:
			continue
		case e.Name == "error" && !d.finished:
			return d.client.Event(d.model, e.Data)
		}
		err = d.chunk(e.Data)
		switch {
		case d.finished && err != nil:
			return d.finish()
		case errors.Is(err, errSyntax) && e.Cut:
			return d.client.Cut(d.model)
		case errors.Is(err, errSyntax):
			return d.client.Malformed(d.model, e.Data)
		case err != nil:
			return err
		}
	}
	return nil
}

// whole reads an answer in one piece.
func (d *decoder) whole() error {
	data, err := d.stream.All()
	if err != nil {
		return err
	}
	switch err := d.chunk(data); {
	case errors.Is(err, errSyntax) && endpoint.Truncated(data):
		return d.client.Cut(d.model)
	case errors.Is(err, errSyntax):
		return d.client.Malformed(d.model, data)
	case err != nil:
		return err
	case !d.finished:
		return d.client.Cut(d.model)
	}
	return d.finish()
}

var errSyntax = errors.New("the chunk is malformed")

func (d *decoder) chunk(data []byte) error {
	var c chunk
	if json.Unmarshal(data, &c) != nil {
		return errSyntax
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || text(c.Object) == "error" {
		return d.client.Event(d.model, data)
	}
	if d.id == "" {
		d.id = text(c.ID)
		d.calls.seed += d.id
	}
	if u := usage(c.Usage); u != nil {
		d.usage = u
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // only one was asked for
		}
		if u := usage(ch.Usage); u != nil {
			d.usage = u
		}
		for _, piece := range []*delta{ch.Delta, ch.Message} {
			if piece != nil {
				if err := d.delta(piece); err != nil {
					return err
				}
			}
		}
		if ch.FinishReason != nil && *ch.FinishReason != "" && !d.finished {
			if err := d.reason(*ch.FinishReason); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *decoder) delta(p *delta) error {
	thought := text(p.ReasoningContent)
	if thought == "" {
		thought = text(p.Reasoning)
	}
	d.w.Reasoning(thought)
	pieces(p.Content, d.w.Text, d.w.Reasoning)
	d.w.Text(text(p.Refusal))
	list := p.ToolCalls
	if f := p.FunctionCall; f != nil && len(list) == 0 {
		first := 0
		list = []callDelta{{Index: &first, Function: *f}}
	}
	for _, c := range list {
		if !d.calls.add(c) {
			return d.client.Fail("", d.model, fmt.Sprintf("the answer has more than %d tool calls", answer.MaxCalls))
		}
	}
	return nil
}

// reason takes the finish reason.
func (d *decoder) reason(s string) error {
	switch s {
	case "stop", "tool_calls", "function_call", "eos", "end_turn":
		d.kind = llm.FinishStop
	case "length", "max_tokens", "model_length":
		d.kind = llm.FinishMaxTokens
	case "content_filter":
		d.kind, d.message = llm.FinishError, "the provider's content filter stopped the answer"
	case "insufficient_system_resource":
		return d.client.Fail(llm.Overloaded, d.model, "the server ran out of resources in the middle of the answer")
	case "abort", "error":
		return d.client.Fail(llm.Server, d.model, fmt.Sprintf("the server ended the answer with the reason %q", s))
	default:
		// The answer is there; a reason that nobody knows must not lose it.
		d.kind = llm.FinishStop
	}
	d.finished = true
	d.stream.Settle(settle)
	return nil
}

func (d *decoder) finish() error {
	if !d.calls.finish() {
		return d.client.Fail(llm.Server, d.model, "the answer has a tool call without a name")
	}
	d.w.Finish(d.kind, d.message, d.usage)
	d.stream.Drain()
	return nil
}

// Models lists what the server has, with what the catalogue knows of it. Of a
// server that has no list, the result is what the catalogue knows.
func (a *Adapter) Models(ctx context.Context) ([]llm.ModelInfo, error) {
	if a.keyHint != "" {
		return nil, a.client.Fail(llm.Auth, "", a.keyHint)
	}
	var list struct {
		Data []struct {
			ID          string `json:"id"`
			MaxModelLen number `json:"max_model_len"` // vLLM
		} `json:"data"`
	}
	err := a.client.Get(ctx, "models", nil, &list)
	if route.NoList(err) {
		return route.Known(a.catalogue, a.provider, a.traits.vendor), nil
	}
	if err != nil {
		return nil, err
	}
	var served []llm.ModelInfo
	for _, m := range list.Data {
		if m.ID != "" {
			served = append(served, llm.ModelInfo{Provider: a.provider, Model: m.ID, ContextWindow: m.MaxModelLen.or(0)})
		}
	}
	return route.List(a.catalogue, a.provider, a.traits.vendor, served), nil
}
