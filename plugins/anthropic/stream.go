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
	s, err := a.client.Post(ctx, r.Model, "v1/messages", body)
	if err != nil {
		return err
	}
	defer s.Close()
	d := &decoder{client: a.client, model: r.Model, w: w, stream: s, names: names, calls: map[int]*openCall{}}
	switch plain, err := s.JSON(); {
	case err != nil:
		return err
	case plain:
		return d.whole()
	}
	return d.events()
}

func isError(data []byte) bool {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	return json.Unmarshal(data, &e) == nil && len(e.Error) > 0 && string(e.Error) != "null"
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
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage json.RawMessage `json:"usage"`
	} `json:"message"`
	Block *struct {
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
	Usage json.RawMessage `json:"usage"`
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

// whole reads what comes in one piece: the answer of a proxy that does not
// stream, or an error that it reports with status 200.
func (d *decoder) whole() error {
	data, err := d.stream.All()
	if err != nil {
		return err
	}
	var m struct {
		Content    []json.RawMessage `json:"content"`
		StopReason *string           `json:"stop_reason"`
		Usage      json.RawMessage   `json:"usage"`
	}
	switch err := json.Unmarshal(data, &m); {
	case isError(data):
		return d.client.Event(d.model, data)
	case endpoint.Truncated(data):
		return d.client.Cut(d.model)
	case err != nil, m.StopReason == nil:
		return d.client.Malformed(d.model, data)
	}
	d.usage.update(m.Usage)
	for i, raw := range m.Content {
		e := event{Type: "content_block_start", Index: i}
		if json.Unmarshal(raw, &e.Block) != nil {
			return d.client.Malformed(d.model, raw)
		}
		if err := d.event(e); err != nil {
			return err
		}
		if err := d.event(event{Type: "content_block_stop", Index: i}); err != nil {
			return err
		}
	}
	if err := d.reason(*m.StopReason); err != nil {
		return err
	}
	return d.finish()
}

func (d *decoder) event(e event) error {
	switch e.Type {
	case "message_start":
		d.usage.update(e.Message.Usage)
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
		if len(b.Data) == 0 || b.Data[0] != '"' {
			break
		}
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
	d.stream.Drain()
	return nil
}

// usage holds the counts as they stand: later events repeat or complete them.
type usage struct {
	input, output, cacheRead, cacheWrite *int64
}

// update takes what a usage object says. A count that a server gets wrong is
// passed over: it costs nobody an answer.
func (u *usage) update(raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return
	}
	for name, to := range map[string]**int64{
		"input_tokens": &u.input, "output_tokens": &u.output,
		"cache_read_input_tokens": &u.cacheRead, "cache_creation_input_tokens": &u.cacheWrite,
	} {
		var n *int64
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, &n) == nil && n != nil && *n >= 0 {
			*to = n
		}
	}
}

// report returns the usage, or nil when none was reported. Input tokens are
// counted without the cache here already.
func (u *usage) report() *llm.Usage {
	if u.input == nil && u.output == nil {
		return nil
	}
	r := &llm.Usage{CacheReadTokens: u.cacheRead, CacheWriteTokens: u.cacheWrite}
	if u.input != nil {
		r.InputTokens = *u.input
	}
	if u.output != nil {
		r.OutputTokens = *u.output
	}
	return r
}
