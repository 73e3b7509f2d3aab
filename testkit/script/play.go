package script

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bridle-go/bridle/harness/llm"
)

// take records the request and hands out its step, with the ids of its calls.
func (m *Model) take(r llm.Request) (Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, r)
	if m.played == len(m.steps) {
		answers := "1 answer"
		if n := len(m.steps); n != 1 {
			answers = fmt.Sprintf("%d answers", n)
		}
		return Step{}, fmt.Errorf("the script has %s, and this is request %d; give it one more", answers, len(m.requests))
	}
	step := m.steps[m.played]
	m.played++
	step.Calls = slices.Clone(step.Calls)
	for i := range step.Calls {
		m.calls++
		if step.Calls[i].ID == "" {
			step.Calls[i].ID = fmt.Sprintf("call-%d", m.calls)
		}
	}
	return step, nil
}

// play streams one answer.
func (m *Model) play(ctx context.Context, r llm.Request, step Step, yield func(llm.Chunk, error) bool) {
	if step.Hold != nil {
		select {
		case <-step.Hold:
		case <-ctx.Done():
		}
	}
	chunks := m.chunks(step)
	for i, c := range chunks {
		wait := step.Pace
		if i == 0 {
			wait = step.Delay
		}
		if err := m.wait(ctx, wait); err != nil {
			yield(llm.Chunk{}, m.fail(r, llm.Cancelled, err))
			return
		}
		if step.Fault != nil && i == step.Fault.After {
			m.breakOff(r, *step.Fault, yield)
			return
		}
		if !yield(c, nil) {
			return
		}
	}
	if step.Fault != nil {
		m.breakOff(r, *step.Fault, yield)
	}
}

// breakOff ends a stream the way the fault says.
func (m *Model) breakOff(r llm.Request, f Fault, yield func(llm.Chunk, error) bool) {
	switch {
	case f.Silent:
	case f.Err != nil:
		yield(llm.Chunk{}, f.Err)
	case f.Cut:
		yield(llm.Chunk{}, m.fail(r, llm.Network, io.ErrUnexpectedEOF))
	default:
		yield(llm.Chunk{}, &llm.Error{Class: f.Class, Provider: m.cfg.Provider, Model: r.Model,
			Status: f.Status, RetryAfter: f.RetryAfter, Message: f.Message})
	}
}

func (m *Model) fail(r llm.Request, class llm.Class, err error) error {
	return &llm.Error{Class: class, Provider: m.cfg.Provider, Model: r.Model, Err: err}
}

// wait is also where a request that has ended is noticed.
func (m *Model) wait(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	return m.cfg.Sleep(ctx, d)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// chunks returns the whole answer as a provider streams it.
func (m *Model) chunks(s Step) []llm.Chunk {
	var out []llm.Chunk
	index := 0
	block := func(whole llm.Block, deltas []llm.Chunk) {
		out = append(out, llm.Chunk{Type: llm.BlockStart, Index: index, BlockType: whole.Type})
		for _, d := range deltas {
			d.Index = index
			out = append(out, d)
		}
		out = append(out, llm.Chunk{Type: llm.BlockEnd, Index: index, Block: &whole})
		index++
	}
	if s.Reasoning != "" {
		block(llm.Reasoning(s.Reasoning), m.deltas(s.Reasoning, llm.Chunk{Type: llm.ReasoningDelta}))
	}
	if s.Text != "" {
		block(llm.Text(s.Text), m.deltas(s.Text, llm.Chunk{Type: llm.TextDelta}))
	}
	for _, c := range s.Calls {
		args := c.Arguments
		if args == "" && c.Args != nil {
			args = string(c.Args)
		}
		block(llm.ToolCall(c.ID, c.Name, args), m.deltas(args, llm.Chunk{Type: llm.ToolCallDelta, ID: c.ID, Name: c.Name}))
	}
	if s.Usage != nil {
		usage := *s.Usage
		out = append(out, llm.Chunk{Type: llm.UsageChunk, Usage: &usage})
	}
	finish := s.Finish
	switch {
	case finish != "":
	case len(s.Calls) > 0:
		finish = llm.FinishToolCalls
	default:
		finish = llm.FinishStop
	}
	return append(out, llm.Chunk{Type: llm.FinishChunk, Reason: &llm.FinishReason{Kind: finish}})
}

// deltas cuts a text into pieces, each a copy of like.
func (m *Model) deltas(text string, like llm.Chunk) []llm.Chunk {
	var out []llm.Chunk
	for piece := range slices.Chunk([]rune(text), m.cfg.PieceRunes) {
		d := like
		if like.Type == llm.ToolCallDelta {
			d.ArgumentsDelta = string(piece)
		} else {
			d.Text = string(piece)
		}
		out = append(out, d)
	}
	return out
}
