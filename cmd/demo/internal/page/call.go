package page

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
)

// longCard is how many lines a card has that is folded at first.
const longCard = 60

// newCall is the entry of a call that a model made. Its result fills it in.
func (b *builder) newCall(block llm.Block) *item {
	i := &item{Kind: kindCall, Who: "tool", Call: &call{
		Name: term.Line(block.Name), Title: term.Line(block.Name), Arguments: pretty(block.Arguments), Pending: true,
	}}
	if d, err := b.src.Lookup(block.Name); err == nil {
		i.Call.Title = term.Line(d.PresentCall(block.Arguments).Title)
	}
	b.calls[block.ID] = i
	b.begun[block.ID] = session.ToolCall{CallID: block.ID, Name: block.Name, Arguments: block.Arguments}
	return i
}

func (b *builder) call(c session.ToolCall, at int64) {
	b.made++
	if b.calls[c.CallID] == nil {
		b.add(b.newCall(llm.ToolCall(c.CallID, c.Name, c.Arguments)))
	}
	b.begun[c.CallID] = c
	b.beganAt[c.CallID] = at
}

func (b *builder) result(r session.ToolResult, at int64) {
	id, failed, content := r.Message.Source.CallID, false, r.Message.Content
	if len(content) == 1 && content[0].Type == llm.ToolResultBlock {
		id, failed, content = content[0].ToolCallID, content[0].IsError, content[0].Content
	}
	i := b.calls[id]
	if i == nil {
		i = b.add(b.newCall(llm.ToolCall(id, "unknown tool", "")))
	}
	c := b.begun[id]
	delete(b.calls, id)
	i.Call.Pending, i.Call.Failed = false, failed
	i.Call.Seen, i.Images = b.content(content)
	if began, ok := b.beganAt[id]; ok {
		if t := took(began, at); t != "" {
			i.Note = strings.TrimPrefix(i.Note+" · call "+t, " · ")
		}
	}
	d, err := b.src.Lookup(c.Name)
	if err != nil {
		d = tool.Definition{Name: c.Name}
	}
	card := d.PresentResult(c.Arguments, tool.Logged{Content: content, IsError: failed, Meta: r.Meta})
	if failed {
		b.failed++
		i.Call.Code = "failed"
		if r.Error != nil && r.Error.Code != "" {
			i.Call.Code = term.Line(r.Error.Code)
		}
	}
	if v, ok := render.ParseOperation(c.Name, llm.Message{Content: content}.Text()); ok && failed == (v.Error != "") {
		i.Call.Title = term.Line(v.Title(c.Name, d.PresentCall(c.Arguments).Title))
		i.Call.operation(v, b.src.Log.Header.Cwd)
		return
	}
	i.Call.show(card)
}

// operation takes over what a file operation did; the JSON stays in what the
// model was given.
func (c *call) operation(v render.OperationValue, dir string) {
	c.Seen = pretty(c.Seen)
	if v.Error != "" {
		for l := range strings.Lines(v.Refusal()) {
			c.Lines = append(c.Lines, line{Before: term.Line(strings.TrimSuffix(l, "\n"))})
		}
		return
	}
	for _, l := range render.OperationLines(v, dir) {
		c.Lines = append(c.Lines, line{Before: l})
	}
	for _, h := range v.Diff() {
		c.hunk(h)
	}
	if added, removed, ok := v.Changes(); ok {
		c.Remark = fmt.Sprintf("+%d −%d", added, removed)
	}
	c.fold()
}

// show takes over what a card shows.
func (c *call) show(card tool.Card) {
	if card.Title != "" && !c.Failed {
		c.Title = term.Line(card.Title)
	}
	switch {
	case card.Kind == tool.ReadCard && !c.Failed:
		for _, l := range card.Lines {
			c.Lines = append(c.Lines, line{Number: l.Number, Before: term.Visible(l.Text)})
		}
		c.Remark = "no lines"
		if n := len(card.Lines); n > 0 {
			c.Remark = fmt.Sprintf("lines %d–%d of %d", card.Lines[0].Number, card.Lines[n-1].Number, card.TotalLines)
		}
	case card.Kind == tool.DiffCard && !c.Failed && len(card.Diffs) > 0:
		c.diff(card)
	default:
		text := shown(render.Readable(card.Text))
		if c.Failed || text == c.Seen {
			c.Seen = "" // the card shows it
		}
		for l := range strings.Lines(text) {
			c.Lines = append(c.Lines, line{Before: strings.TrimSuffix(l, "\n")})
		}
	}
	c.fold()
}

// fold folds a long card.
func (c *call) fold() {
	lines := len(c.Lines)
	for _, h := range c.Hunks {
		lines += len(h)
	}
	c.Long = lines > longCard
}

func (c *call) diff(card tool.Card) {
	added, removed := 0, 0
	for _, d := range card.Diffs {
		a, r := c.hunk(render.DiffLines(d))
		added, removed = added+a, removed+r
	}
	c.Remark = fmt.Sprintf("+%d −%d", added, removed)
}

// hunk adds a hunk and counts its lines that came and went.
func (c *call) hunk(lines []render.DiffLine) (added, removed int) {
	var hunk []line
	for _, l := range lines {
		out := line{Sign: " ", Before: l.Text[:l.From], Mark: l.Text[l.From:l.To], After: l.Text[l.To:], Unended: l.Unended}
		switch l.Sign {
		case '+':
			added++
			out.Class, out.Sign = "come", "+"
		case '-':
			removed++
			out.Class, out.Sign = "gone", "−"
		}
		hunk = append(hunk, out)
	}
	c.Hunks = append(c.Hunks, hunk)
	return added, removed
}

func (b *builder) approvalAsked(a session.ApprovalAsked) {
	i := b.calls[a.CallID]
	if i == nil {
		b.note("approval asked for " + a.ToolName + ": " + a.Reason)
		return
	}
	i.Call.Approvals = append(i.Call.Approvals, approvalNote{Reason: term.Line(a.Reason), Path: term.Line(a.Path), Outcome: "no answer"})
	b.asked[a.ID] = i
}

func (b *builder) approvalDecided(d session.ApprovalDecided) {
	i := b.asked[d.ID]
	if i == nil {
		b.note("approval " + string(d.Outcome))
		return
	}
	last := &i.Call.Approvals[len(i.Call.Approvals)-1]
	last.Outcome, last.Note = term.Line(string(d.Outcome)), term.Line(d.Reason)
}

// image is an image of the log, as a data URL where the store has it.
func (b *builder) image(ref *attachment.Ref) image {
	if ref == nil {
		return image{Alt: "an image that the log does not name"}
	}
	out := image{W: ref.Width, H: ref.Height}
	out.Alt = term.Line(fmt.Sprintf("%s, %s, %d × %d pixels, %d bytes", nameOf(ref), ref.MediaType, ref.Width, ref.Height, ref.Bytes))
	switch ref.MediaType {
	case attachment.PNG, attachment.JPEG, attachment.WebP:
	default:
		return out // a store has no others, and the type goes into the page
	}
	if b.src.Images == nil {
		return out
	}
	data, err := b.src.Images.Read(b.ctx, *ref)
	if err != nil {
		out.Alt += " " + term.Line("("+err.Error()+")")
		return out
	}
	out.Src = template.URL("data:" + string(ref.MediaType) + ";base64," + base64.StdEncoding.EncodeToString(data))
	return out
}

func nameOf(ref *attachment.Ref) string {
	if ref.Name != "" {
		return ref.Name
	}
	return "image"
}
