package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/internal/answer"
	"github.com/bridle-go/bridle/plugins/internal/dialog"
	"github.com/bridle-go/bridle/plugins/internal/endpoint"
)

// settle is how long the end of the stream is waited for once the model has
// said why it stopped.
const settle = 5 * time.Second

// Stream sends the request; see [llm.Adapter].
//
// A call that the token limit cut in the middle of its arguments gets no
// block-end: nobody must run it.
func (a *Adapter) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		w := answer.New(yield)
		if err := a.stream(ctx, r, w); err != nil {
			w.Fail(err)
		}
	}
}

func (a *Adapter) stream(ctx context.Context, r llm.Request, w *answer.Writer) error {
	body, names, err := a.encode(ctx, r)
	switch {
	case err != nil:
		return a.client.Unsent(ctx, r.Model, err)
	case a.keyHint != "":
		return a.client.Fail(llm.Auth, r.Model, a.keyHint)
	}
	s, err := a.client.Post(ctx, r.Model, "v1/messages", body)
	if err != nil {
		return err
	}
	defer s.Close()
	d := &decoder{client: a.client, model: r.Model, w: w, stream: s, names: names, calls: map[int]*openCall{}}
	return d.events()
}

// decoder turns one answer into chunks.
type decoder struct {
	client *endpoint.Client
	model  string
	w      *answer.Writer
	stream *endpoint.Stream
	names  *dialog.Names

	calls    map[int]*openCall // by the server's index
	begun    int               // calls so far
	usage    usage
	finished bool
	kind     llm.FinishKind
	message  string
}

type openCall struct {
	call  *answer.Call
	input string // what came with the start
}

type event struct {
	Type    string                 `json:"type"`
	Index   int                    `json:"index"`
	Message *struct{ Usage usage } `json:"message"`
	Block   *struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      json.RawMessage `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type       string  `json:"type"`
		Text       string  `json:"text"`
		Thinking   string  `json:"thinking"`
		Signature  string  `json:"signature"`
		Partial    string  `json:"partial_json"`
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// events reads the stream. After the stop reason nothing that goes wrong
// matters any more: the answer is complete.
func (d *decoder) events() error {
	for !d.w.Left() {
		raw, err := d.stream.Next()
		switch {
		case d.finished && (err != nil || raw.Cut):
			return d.finish()
		case err == io.EOF:
			return d.client.Cut(d.model)
		case err != nil:
			return err
		case len(raw.Data) == 0:
			continue
		}
		var e event
		if json.Unmarshal(raw.Data, &e) != nil {
			switch {
			case d.finished:
				return d.finish()
			case raw.Cut:
				return d.client.Cut(d.model)
			case raw.Name == "error":
				return d.client.Event(d.model, raw.Data)
			}
			return d.client.Malformed(d.model, raw.Data)
		}
		if e.Type == "" {
			e.Type = raw.Name
		}
		switch e.Type {
		case "error":
			if d.finished {
				return d.finish()
			}
			return d.client.Event(d.model, raw.Data)
		case "message_stop":
			if !d.finished {
				return d.client.Cut(d.model)
			}
			return d.finish()
		}
		if err := d.event(e); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) event(e event) error {
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			d.usage.update(e.Message.Usage)
		}
	case "content_block_start":
		return d.start(e)
	case "content_block_delta":
		// The type of the delta is not looked at: each has a field of its own.
		d.w.Text(e.Delta.Text)
		d.w.Reasoning(e.Delta.Thinking)
		d.w.Sign(e.Delta.Signature)
		if c := d.calls[e.Index]; c != nil {
			c.call.Add(e.Delta.Partial)
		}
	case "content_block_stop":
		c := d.calls[e.Index]
		if c == nil {
			d.w.EndProse()
			break
		}
		if c.call.Empty() {
			c.call.Add(c.input)
		}
		// A call that the token limit cuts is stopped like any other. Only the
		// stop reason tells whether one that looks unfinished is.
		if c.call.Whole() {
			c.call.End()
		}
	case "message_delta":
		d.usage.update(e.Usage)
		if e.Delta.StopReason != nil && !d.finished {
			return d.reason(*e.Delta.StopReason)
		}
	}
	return nil // ping, and what later versions add
}

func (d *decoder) start(e event) error {
	b := e.Block
	if b == nil {
		return nil
	}
	d.w.EndProse()
	switch b.Type {
	case "text":
		d.w.Text(b.Text)
	case "thinking":
		d.w.Reasoning(b.Thinking)
		d.w.Sign(b.Signature)
	case "redacted_thinking":
		d.w.Whole(llm.Block{Type: llm.ReasoningBlock, Extra: map[string]json.RawMessage{RedactedField: b.Data}})
	case "tool_use":
		if d.begun++; d.begun > answer.MaxCalls {
			return d.client.Fail("", d.model, fmt.Sprintf("the answer has more than %d tool calls", answer.MaxCalls))
		}
		if b.ID == "" || b.Name == "" {
			return d.client.Fail(llm.Server, d.model, "the answer has a tool call without an id or a name")
		}
		c := &openCall{call: d.w.Call(b.ID, d.names.Own(b.Name))}
		if len(b.Input) > 0 && string(b.Input) != "{}" && string(b.Input) != "null" {
			c.input = string(b.Input)
		}
		d.calls[e.Index] = c
	}
	return nil
}

func (d *decoder) reason(s string) error {
	switch s {
	case "max_tokens", "model_context_window_exceeded":
		d.kind = llm.FinishMaxTokens
	case "refusal":
		d.kind, d.message = llm.FinishError, "the model refused to go on"
	default: // end_turn, tool_use, stop_sequence, pause_turn
		d.kind = llm.FinishStop
	}
	d.finished = true
	d.stream.Settle(settle)
	return nil
}

func (d *decoder) finish() error {
	d.w.Finish(d.kind, d.message, d.usage.report())
	return nil
}

// usage holds the counts as they stand: later events repeat or complete them.
type usage struct {
	Input      *json.Number `json:"input_tokens"`
	Output     *json.Number `json:"output_tokens"`
	CacheRead  *json.Number `json:"cache_read_input_tokens"`
	CacheWrite *json.Number `json:"cache_creation_input_tokens"`
}

func (u *usage) update(v usage) {
	for _, f := range []struct{ to, from **json.Number }{
		{&u.Input, &v.Input}, {&u.Output, &v.Output}, {&u.CacheRead, &v.CacheRead}, {&u.CacheWrite, &v.CacheWrite},
	} {
		if count(*f.from) != nil {
			*f.to = *f.from
		}
	}
}

// report returns the usage, or nil when none was reported. Input tokens are
// counted without the cache here already.
func (u *usage) report() *llm.Usage {
	in, out := count(u.Input), count(u.Output)
	if in == nil && out == nil {
		return nil
	}
	r := &llm.Usage{CacheReadTokens: count(u.CacheRead), CacheWriteTokens: count(u.CacheWrite)}
	if in != nil {
		r.InputTokens = *in
	}
	if out != nil {
		r.OutputTokens = *out
	}
	return r
}

// count returns a count that a server may get wrong, or nil.
func count(n *json.Number) *int64 {
	if n == nil {
		return nil
	}
	i, err := n.Int64()
	if err != nil || i < 0 {
		return nil
	}
	return &i
}
