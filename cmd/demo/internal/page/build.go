package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bridle-go/bridle/cmd/demo/internal/live"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
)

// builder turns the events of a log into a page.
type builder struct {
	ctx  context.Context
	src  Source
	page *view
	turn *turn

	turnBegan int64
	answer    answer
	calls     map[string]*item
	begun     map[string]session.ToolCall
	beganAt   map[string]int64
	asked     map[string]*item // by the id of the question

	turns, steps, made, failed int
	usage                      live.Usage
	first, last                int64
}

// answer is the answer that is being streamed.
type answer struct {
	asked int64 // when the request was made
	first int64 // when the first chunk came, or 0
	text  strings.Builder
	mind  strings.Builder
}

func build(ctx context.Context, src Source) (*view, error) {
	b := &builder{ctx: ctx, src: src, page: &view{},
		calls: map[string]*item{}, begun: map[string]session.ToolCall{}, beganAt: map[string]int64{}, asked: map[string]*item{}}
	for i, e := range src.Log.Events {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		b.event(e)
	}
	b.finish()
	return b.page, ctx.Err()
}

// shown makes a text of any number of lines visible.
func shown(text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = term.Visible(strings.TrimSuffix(l, "\r"))
	}
	return strings.Join(lines, "\n")
}

func (b *builder) event(e session.Event) {
	if b.first == 0 {
		b.first = e.Time
	}
	b.last = e.Time
	switch e.Type {
	case session.TypeTurnStart:
		with(b, e, func(t session.TurnStart) { b.beginTurn(t.Turn, e.Time) })
	case session.TypeTurnEnd:
		with(b, e, func(t session.TurnEnd) { b.endTurn(t, e.Time) })
	case session.TypeStepStart:
		b.steps++
		b.dropAnswer()
		b.answer.asked = e.Time
	case session.TypeStepEnd:
		b.dropAnswer()
	case session.TypeUserMessage:
		with(b, e, b.userMessage)
	case session.TypeAssistantChunk:
		with(b, e, func(c session.AssistantChunk) { b.chunk(c.Chunk, e.Time) })
	case session.TypeAssistantMessage:
		with(b, e, func(m session.AssistantMessage) { b.message(m, e.Time) })
	case session.TypeToolCall:
		with(b, e, func(c session.ToolCall) { b.call(c, e.Time) })
	case session.TypeToolResult:
		with(b, e, func(r session.ToolResult) { b.result(r, e.Time) })
	case session.TypeApprovalAsked:
		with(b, e, b.approvalAsked)
	case session.TypeApprovalDecided:
		with(b, e, b.approvalDecided)
	case agent.TypeRetry:
		with(b, e, func(r agent.RetryEvent) { b.retry(r, e.Time) })
	case session.TypeRequestHeader:
		with(b, e, b.header)
	case session.TypeSandboxMode:
		with(b, e, func(m session.SandboxMode) { b.note("sandbox mode: " + string(m.Mode)) })
	case session.TypeApprovalPolicy:
		with(b, e, func(p session.ApprovalPolicy) { b.note("approval policy: " + string(p.Policy)) })
	case session.TypeEndSeed:
		with(b, e, func(s session.EndSeed) { b.note("forked here from session " + s.From) })
	case session.TypeRequestContext, session.TypeTitle, session.TypeInboxSpliced, session.TypeObserved:
		// The page's head, the messages and the cards show what these say.
	default:
		if text := live.Rewound(e, b.src.Log.Header.Cwd); text != "" {
			b.note(text)
			return
		}
		t := b.current()
		if t.others == nil {
			t.others = map[string]int{}
		}
		t.others[term.Line(e.Type)]++
	}
}

// with decodes an event. One that cannot be read leaves a note: the page does
// not pass over anything.
func with[T any](b *builder, e session.Event, use func(T)) {
	var body T
	if err := e.Decode(&body); err != nil {
		b.note(fmt.Sprintf("event %d, %s, cannot be read", e.Seq, e.Type))
		return
	}
	use(body)
}

// current returns the turn that runs, or what stands for none.
func (b *builder) current() *turn {
	if b.turn == nil {
		b.turn = &turn{}
		b.page.Turns = append(b.page.Turns, b.turn)
	}
	return b.turn
}

func (b *builder) add(i *item) *item {
	t := b.current()
	t.Items = append(t.Items, i)
	return i
}

func (b *builder) note(text string) { b.add(&item{Kind: kindNote, Text: plain(term.Line(text))}) }

func plain(text string) []part {
	if text == "" {
		return nil
	}
	return []part{{Text: text}}
}

// parts tells the blocks of code in what a model says from the prose: they
// stand between lines of three backticks.
func parts(text string) []part {
	var out []part
	var lines []string
	code := false
	flush := func() {
		if t := strings.Trim(strings.Join(lines, "\n"), "\n"); t != "" {
			out = append(out, part{code, t})
		}
		lines = nil
	}
	for l := range strings.SplitSeq(shown(text), "\n") {
		if strings.HasPrefix(strings.TrimLeft(l, " "), "```") {
			flush()
			code = !code
			continue
		}
		lines = append(lines, l)
	}
	flush()
	return out
}

func (b *builder) beginTurn(n int, at int64) {
	b.turns++
	b.turnBegan = at
	b.turn = &turn{N: n, Began: clock(at)}
	b.page.Turns = append(b.page.Turns, b.turn)
}

func (b *builder) endTurn(t session.TurnEnd, at int64) {
	b.dropAnswer()
	if b.turn == nil {
		return
	}
	b.turn.Took = took(b.turnBegan, at)
	if t.Reason.Kind != session.EndCompleted {
		b.turn.End = t.Reason.Kind
		for _, more := range []string{t.Reason.Code, t.Reason.Message} {
			if more != "" {
				b.turn.End += ": " + more
			}
		}
		b.turn.End = term.Line(b.turn.End)
	}
	b.turn = nil // what follows belongs to no turn
}

func (b *builder) userMessage(m llm.Message) {
	i := &item{Kind: kindUser, Who: "user"}
	if m.Source.Kind != llm.FromUser {
		i.Kind, i.Who = kindContext, "context"
		if m.Source.Plugin != "" {
			i.Who += " from " + term.Line(m.Source.Plugin)
		}
	}
	text, images := b.content(m.Content)
	i.Text, i.Images = plain(text), images
	b.add(i)
}

// content returns the texts and images of a message.
func (b *builder) content(blocks []llm.Block) (string, []image) {
	var texts []string
	var images []image
	for _, block := range blocks {
		switch block.Type {
		case llm.TextBlock:
			texts = append(texts, shown(block.Text))
		case llm.ImageBlock:
			images = append(images, b.image(block.Attachment))
		case llm.ToolResultBlock:
			text, more := b.content(block.Content)
			texts, images = append(texts, text), append(images, more...)
		default:
			texts = append(texts, "["+term.Line(string(block.Type))+"]")
		}
	}
	return strings.Join(texts, "\n"), images
}

func (b *builder) chunk(c llm.Chunk, at int64) {
	if b.answer.first == 0 {
		b.answer.first = at
	}
	switch c.Type {
	case llm.TextDelta:
		b.answer.text.WriteString(c.Text)
	case llm.ReasoningDelta:
		b.answer.mind.WriteString(c.Text)
	}
}

// dropAnswer keeps what was streamed of an answer that never became a message.
func (b *builder) dropAnswer() {
	if b.answer.mind.Len() > 0 {
		b.add(&item{Kind: kindReasoning, Who: "reasoning", Text: plain(shown(b.answer.mind.String())), Broken: true})
	}
	if b.answer.text.Len() > 0 {
		b.add(&item{Kind: kindText, Who: "model", Text: parts(b.answer.text.String()), Broken: true})
	}
	b.answer = answer{}
}

func (b *builder) message(m session.AssistantMessage, at int64) {
	var note []string
	if b.answer.asked > 0 {
		if wait := took(b.answer.asked, b.answer.first); wait != "" {
			note = append(note, "first word after "+wait)
		}
		if whole := took(b.answer.asked, at); whole != "" {
			note = append(note, "whole after "+whole)
		}
	}
	if m.Usage != nil {
		var one live.Usage
		one.Add(*m.Usage)
		b.usage.Add(*m.Usage)
		note = append(note, one.String())
	}
	b.answer = answer{}
	var first *item
	add := func(i *item) {
		if b.add(i); first == nil {
			first = i
		}
	}
	for _, block := range m.Message.Content {
		switch block.Type {
		case llm.ReasoningBlock:
			if block.Text != "" {
				add(&item{Kind: kindReasoning, Who: "reasoning", Text: plain(shown(block.Text))})
			}
		case llm.TextBlock:
			add(&item{Kind: kindText, Who: "model", Text: parts(block.Text)})
		case llm.ToolCallBlock:
			add(b.newCall(block))
		case llm.ImageBlock:
			add(&item{Kind: kindText, Who: "model", Images: []image{b.image(block.Attachment)}})
		}
	}
	if first != nil {
		first.Note = strings.Join(note, " · ")
	}
	if s := m.Message.Source; s.Model != "" {
		b.page.Model = term.Line(s.Provider + "/" + s.Model)
	}
}

func (b *builder) retry(r agent.RetryEvent, at int64) {
	b.dropAnswer()
	wait := time.Duration(r.DelayMS) * time.Millisecond
	b.add(&item{Kind: kindRetry, Who: "retry", Text: plain(term.Line(r.Message)),
		Note: fmt.Sprintf("attempt %d failed; the next one after %v", r.Attempt, wait)})
	b.answer.asked = at + r.DelayMS
}

func (b *builder) header(h session.RequestHeader) {
	out := head{Reason: term.Line(h.Reason)}
	var system string
	if json.Unmarshal(h.Header.System, &system) == nil {
		out.System = shown(system)
	}
	var tools []llm.ToolSchema
	if json.Unmarshal(h.Header.Tools, &tools) == nil {
		for _, t := range tools {
			out.Tools = append(out.Tools, term.Line(t.Name))
		}
	}
	b.page.Header = append(b.page.Header, out)
	b.page.Model = term.Line(h.Header.Config.Provider + "/" + h.Header.Config.Model)
}

func (b *builder) finish() {
	b.dropAnswer()
	for _, t := range b.page.Turns {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(t.others)) {
			names = append(names, fmt.Sprintf("%s (%d)", name, t.others[name]))
		}
		t.Others = strings.Join(names, ", ")
	}
	log, p := b.src.Log, b.page
	p.ID, p.Cwd = term.Line(log.Header.ID), term.Line(log.Header.Cwd)
	p.Title = term.Line(log.State.Title())
	if p.Title == "" {
		p.Title = "Session " + p.ID
	}
	p.Began = date(log.Header.CreatedAt)
	if t := log.Torn; t != nil {
		p.Torn = fmt.Sprintf("The log is damaged from line %d on (%d bytes): %s", t.Line, t.Bytes, term.Line(t.Reason))
	}
	add := func(name, value string) {
		if value != "" {
			p.Facts = append(p.Facts, fact{name, value})
		}
	}
	add("session", p.ID)
	add("began", p.Began)
	add("workspace", p.Cwd)
	add("model", p.Model)
	work := plural(b.turns, "turn") + ", " + plural(b.steps, "step") + ", " + plural(b.made, "tool call")
	if b.failed > 0 {
		work += fmt.Sprintf(", %d of them failed", b.failed)
	}
	add("work", work)
	add("time", took(b.first, b.last))
	add("tokens", b.usage.String())
	add("events", live.Count(int64(len(log.Events))))
}

// pretty writes JSON over several lines where it is JSON.
func pretty(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") == nil {
		text = b.String()
	}
	return shown(text)
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return live.Count(int64(n)) + " " + what
}

func date(ms int64) string { return time.UnixMilli(ms).UTC().Format("2 January 2006, 15:04:05 UTC") }

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("15:04:05 UTC") }

// took writes the time between two moments, or "" where the log's times say
// nothing about it.
func took(from, to int64) string {
	d := time.Duration(to-from) * time.Millisecond
	switch {
	case d < 5*time.Millisecond:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
