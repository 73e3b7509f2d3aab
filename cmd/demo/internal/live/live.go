// Package live shows what happens in a session, while it happens or afterwards
// from its log: what is said as it streams, the cards of tool calls, retries
// and approvals.
//
// Everything comes from the events of the session, so a running session and
// its log look the same.
package live

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/fileops"
)

// Lookup finds the tool that presents a call.
type Lookup func(name string) (tool.Definition, error)

// View shows the events of one session. Its methods may be called
// concurrently.
type View struct {
	out    *term.Output
	render *render.Renderer
	lookup Lookup
	// log tells that the events come from a log: nobody waits, and what a
	// person was asked is shown here.
	log bool
	dir string // the workspace

	mu      sync.Mutex
	spinner *term.Spinner
	calls   map[string]session.ToolCall
	before  map[string]*string
	paused  bool

	section section
	open    bool // the last line has no line feed yet
	spoken  bool // the running step's answer was shown as it streamed
	first   bool // the task itself need not be shown
	usage   Usage
}

// section is a part of the output; sections are parted by blank lines.
type section int

const (
	nothing section = iota
	said
	thought
	card
	remark
	user
	elsewhere // somebody else wrote last
)

// New returns a view of a running session. Close ends it.
func New(out *term.Output, lookup Lookup) *View {
	v := newView(out, lookup)
	v.spinner = term.NewSpinner(out, &v.mu)
	return v
}

// NewLog returns a view of a log.
func NewLog(out *term.Output, lookup Lookup) *View {
	v := newView(out, lookup)
	v.log = true
	return v
}

func newView(out *term.Output, lookup Lookup) *View {
	return &View{out: out, render: render.New(out), lookup: lookup,
		calls: map[string]session.ToolCall{}, before: map[string]*string{}}
}

// In makes paths relative to a directory where they are below it.
func (v *View) In(dir string) *View {
	v.dir = dir
	return v
}

// Begin tells that a task is on its way, which its author has seen.
func (v *View) Begin() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.first = true
	v.wait("waiting")
}

// Close ends the view and completes its last line.
func (v *View) Close() {
	if v.spinner != nil {
		v.spinner.Stop()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.finishLine()
}

// Pause keeps the view from waiting visibly while something else, such as a
// question, has the terminal.
func (v *View) Pause() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hide()
	v.finishLine()
	v.paused = true
}

// Resume ends a pause.
func (v *View) Resume() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.paused = false
	v.section = elsewhere
}

// Usage returns the tokens of the answers so far.
func (v *View) Usage() Usage {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.usage
}

// Executed remembers what a result has beside what the log keeps: the text
// before a change, for the line numbers of its card.
func (v *View) Executed(e tool.Executed) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.before[e.Call.ID] = render.TextBefore(e.Result)
}

// Event shows one event. Events that it cannot read are passed over: a log may
// have those of other versions.
func (v *View) Event(e session.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e.Type {
	case session.TypeUserMessage:
		with(e, v.userMessage)
	case session.TypeStepStart:
		v.spoken = false
		v.wait("waiting for the model")
	case session.TypeAssistantChunk:
		with(e, v.chunk)
	case session.TypeAssistantMessage:
		with(e, v.message)
	case session.TypeToolCall:
		with(e, v.call)
	case session.TypeToolResult:
		with(e, v.result)
	case session.TypeApprovalAsked:
		with(e, v.asked)
	case session.TypeApprovalDecided:
		with(e, v.decided)
	case agent.TypeRetry:
		with(e, v.retry)
	case session.TypeTurnEnd:
		with(e, v.turnEnd)
	case fileops.TypeReceipt:
		if text := Rewound(e, v.dir); text != "" {
			v.remark(term.Dim, text)
		}
	}
}

func with[T any](e session.Event, show func(T)) {
	var body T
	if e.Decode(&body) == nil {
		show(body)
	}
}

func (v *View) userMessage(m llm.Message) {
	if m.Source.Kind != llm.FromUser {
		if v.log {
			v.remark(term.Dim, fmt.Sprintf("(%d characters of context from %s)", utf8.RuneCountInString(m.Text()), m.Source.Plugin))
		}
		return
	}
	if v.first && !v.log {
		v.first = false
		return
	}
	v.begin(user)
	v.print(term.Cyan, "› "+describe(m.Content))
	v.finishLine()
	v.wait("waiting for the model")
}

// describe writes a message with the names of its images.
func describe(content []llm.Block) string {
	var parts []string
	for _, b := range content {
		switch {
		case b.Type == llm.TextBlock:
			parts = append(parts, b.Text)
		case b.Type == llm.ImageBlock && b.Attachment != nil:
			parts = append(parts, "["+llm.Placeholder(*b.Attachment, "image")+"]")
		}
	}
	return strings.Join(parts, "\n")
}

func (v *View) chunk(c session.AssistantChunk) {
	switch c.Chunk.Type {
	case llm.TextDelta:
		v.say(c.Chunk.Text)
	case llm.ReasoningDelta:
		v.begin(thought)
		v.print(term.Dim, c.Chunk.Text)
	case llm.ToolCallDelta:
		v.wait("preparing " + c.Chunk.Name)
	}
}

func (v *View) say(text string) {
	v.begin(said)
	v.print("", text)
	v.spoken = true
}

// message shows an answer of which no chunks came.
func (v *View) message(m session.AssistantMessage) {
	if m.Usage != nil {
		v.usage.Add(*m.Usage)
	}
	if text := m.Message.Text(); !v.spoken && text != "" {
		v.say(text)
	}
	v.finishLine()
}

func (v *View) call(c session.ToolCall) {
	v.calls[c.CallID] = c
	v.finishLine()
	v.wait("running " + c.Name)
}

func (v *View) result(r session.ToolResult) {
	id := r.Message.Source.CallID
	content, failed := r.Message.Content, false
	if len(content) == 1 && content[0].Type == llm.ToolResultBlock {
		id, failed, content = content[0].ToolCallID, content[0].IsError, content[0].Content
	}
	c := v.calls[id]
	before := v.before[id]
	delete(v.calls, id)
	delete(v.before, id)
	v.begin(card)
	d, err := v.lookup(c.Name)
	if err != nil {
		d = tool.Definition{Name: c.Name}
	}
	if v.operation(d, c, llm.Message{Content: content}.Text(), failed) {
		v.wait("waiting")
		return
	}
	if !failed {
		v.render.Card(d.PresentResult(c.Arguments, tool.Logged{Content: content, Meta: r.Meta}), before)
	} else {
		code := "failed"
		if r.Error != nil {
			code = r.Error.Code
		}
		shown := d.PresentCall(c.Arguments)
		shown.Text = render.Readable(llm.Message{Content: content}.Text())
		v.render.Failure(shown, code)
	}
	v.wait("waiting")
}

// operation shows the result of a file operation as the command for them does,
// and reports whether it is one.
func (v *View) operation(d tool.Definition, c session.ToolCall, text string, failed bool) bool {
	value, ok := render.ParseOperation(c.Name, text)
	if !ok {
		return false
	}
	card := d.PresentCall(c.Arguments)
	card.Title = value.Title(c.Name, card.Title)
	if value.Error != "" {
		card.Text = value.Refusal()
		v.render.Failure(card, strings.ToUpper(value.ErrorKind))
	} else if failed {
		return false
	} else {
		v.render.Operation(value, card.Title, v.dir)
	}
	return true
}

func (v *View) asked(a session.ApprovalAsked) {
	if v.log {
		v.remark(term.Yellow, fmt.Sprintf("approval asked for %s: %s", a.ToolName, a.Reason))
	}
}

func (v *View) decided(d session.ApprovalDecided) {
	text := "approval " + string(d.Outcome)
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	v.remark(term.Yellow, text)
}

func (v *View) retry(r agent.RetryEvent) {
	wait := time.Duration(r.DelayMS) * time.Millisecond
	v.remark(term.Yellow, fmt.Sprintf("%s; attempt %d follows in %v", r.Message, r.Attempt+1, wait))
	v.spoken = false
	v.wait("waiting to try again")
}

func (v *View) turnEnd(t session.TurnEnd) {
	v.hide()
	v.finishLine()
	if t.Reason.Kind == session.EndCompleted || !v.log && t.Reason.Kind == session.EndError {
		return // the command itself tells of the error
	}
	text := "the turn ended: " + t.Reason.Kind
	if t.Reason.Message != "" {
		text += ": " + t.Reason.Message
	}
	v.remark(term.Red, text)
}

func (v *View) remark(s term.Style, text string) {
	v.begin(remark)
	fmt.Fprintln(v.out, v.out.Paint(s, term.Line(text)))
}

// begin makes room for a part of the output.
func (v *View) begin(s section) {
	v.hide()
	if s == v.section && s != card {
		return
	}
	v.finishLine()
	if v.section != nothing {
		fmt.Fprintln(v.out)
	}
	v.section = s
}

// print writes text that may begin or end within a line.
func (v *View) print(s term.Style, text string) {
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		body = term.Visible(strings.TrimSuffix(body, "\r"))
		if s != "" {
			body = v.out.Paint(s, body)
		}
		fmt.Fprint(v.out, body)
		v.open = !ended
		if ended {
			fmt.Fprintln(v.out)
		}
	}
}

func (v *View) finishLine() {
	if v.open {
		fmt.Fprintln(v.out)
		v.open = false
	}
}

// wait shows that something is going on, where there is a line for it.
func (v *View) wait(what string) {
	if v.spinner != nil && !v.open && !v.paused {
		v.spinner.Show(what)
	}
}

func (v *View) hide() {
	if v.spinner != nil {
		v.spinner.Hide()
	}
}
