package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/plugins/fileops"
)

// OperationValue is what the hub returns.
type OperationValue struct {
	Operation       string
	Summary         string
	Result          json.RawMessage
	Error           string
	ErrorKind       string `json:"error_kind"`
	SuggestedAction string `json:"suggested_action"`
	CorrectCall     struct {
		Config struct {
			Expected string `json:"expected_sha256"`
		}
	} `json:"correct_call"`
	Receipt  *receipt  `json:"mutation_receipt"`
	Receipts []receipt `json:"mutation_receipts"`

	parsed opsResult
}

type receipt struct {
	Path              string
	DestinationPath   string `json:"destination_path"`
	Effect            string
	AddedLines        *int   `json:"added_lines"`
	RemovedLines      *int   `json:"removed_lines"`
	BackupID          string `json:"backup_id"`
	SelfVerified      bool   `json:"self_verified"`
	VerificationError string `json:"verification_error"`
	RolledBack        *bool  `json:"rolled_back"`
}

// ParseOperation reads the result of a call of the hub, or of the tool of one
// operation, and reports whether it is one.
func ParseOperation(name, text string) (OperationValue, bool) {
	var v OperationValue
	known := name == fileops.HubName || slices.ContainsFunc(fileops.Operations(), func(o fileops.Operation) bool { return o.Name == name })
	if !known || json.Unmarshal([]byte(text), &v) != nil {
		return v, false
	}
	if name != fileops.HubName {
		v.Operation = name
		if v.Result == nil {
			v.Result = json.RawMessage(text)
		}
	}
	var r opsResult
	if v.Operation == "" || v.Result == nil && v.Error == "" || v.Result != nil && json.Unmarshal(v.Result, &r) != nil {
		return v, false
	}
	v.parsed = r
	return v, true
}

// Title returns the title of the operation's card: tool, operation and path.
// call is the title of the card of the call.
func (v OperationValue) Title(name, call string) string {
	if name != fileops.HubName || strings.HasPrefix(call, name) {
		return call
	}
	return name + " " + call
}

// Changes counts the lines that came and went; known is false where nothing
// tells.
func (v OperationValue) Changes() (added, removed int, known bool) {
	for _, r := range v.receipts() {
		if r.AddedLines != nil && r.RemovedLines != nil {
			added, removed, known = added+*r.AddedLines, removed+*r.RemovedLines, true
		}
	}
	if known || v.parsed.Diff == "" {
		return added, removed, known
	}
	for _, h := range v.Diff() {
		for _, l := range h {
			switch l.Sign {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed, true
}

// Diff returns the hunks of the change.
func (v OperationValue) Diff() [][]DiffLine { return DiffText(v.parsed.Diff) }

// Refusal says in one or two lines why the operation failed, and what to do.
func (v OperationValue) Refusal() string {
	text := v.Error
	if v.SuggestedAction != "" {
		text += "\nto do: " + strings.ReplaceAll(v.SuggestedAction, "_", " ")
	}
	return text
}

func (v OperationValue) receipts() []receipt {
	receipts := v.Receipts
	if v.Receipt != nil {
		receipts = append(slices.Clone(receipts), *v.Receipt)
	}
	return receipts
}

// Printer draws the results of file operations.
type Printer struct {
	out *term.Output
	dir string // relative paths start here
	// card tells that a title says which file it is, and how much changed.
	card bool
	put  func(line string)
}

// NewPrinter returns a printer that draws lines on an output, and paths
// relative to dir.
func NewPrinter(out *term.Output, dir string) *Printer {
	return &Printer{out: out, dir: dir, put: func(line string) { fmt.Fprintln(out, line) }}
}

func (p *Printer) line(line string) { p.put(line) }

func (p *Printer) linef(format string, args ...any) { p.put(fmt.Sprintf(format, args...)) }

// OperationLines returns the body of a card of an operation as plain lines,
// without its diff.
func OperationLines(v OperationValue, dir string) []string {
	var lines []string
	p := &Printer{out: term.New(io.Discard, func(string) string { return "" }), dir: dir, card: true,
		put: func(line string) { lines = append(lines, line) }}
	v.parsed.Diff = ""
	p.draw(v, v.parsed)
	return lines
}

// Operation draws the card of an operation that succeeded.
func (r *Renderer) Operation(v OperationValue, title, dir string) {
	r.lines, r.more = 0, 0
	remark := ""
	if added, removed, ok := v.Changes(); ok {
		remark = r.out.Paint(term.Green, fmt.Sprintf("+%d", added)) + " " + r.out.Paint(term.Red, fmt.Sprintf("-%d", removed))
	}
	r.title(title, remark)
	p := &Printer{out: r.out, dir: dir, card: true, put: func(line string) {
		if r.lines >= maxLines {
			r.more++
			return
		}
		r.lines++
		fmt.Fprintln(r.out, strings.TrimRight("  "+line, " "))
	}}
	for i, h := range v.Diff() {
		if i > 0 {
			r.line(r.out.Paint(term.Dim, "   ⋯"), "")
		}
		r.diffLines(h)
	}
	v.parsed.Diff = ""
	p.draw(v, v.parsed)
	r.end()
}

// Operation shows a result, whole or of an operation that failed on its way.
func (p *Printer) Operation(v OperationValue) {
	var r opsResult
	if json.Unmarshal(v.Result, &r) == nil {
		p.draw(v, r)
	}
}

func (p *Printer) draw(v OperationValue, r opsResult) {
	switch v.Operation {
	case "view_file":
		p.viewed(r)
	case "file_info":
		p.described(r)
	case "list_directory":
		p.listed(r)
	case "file_tree":
		p.drawn(r)
	case "search_files":
		p.searched(r)
	case "validate_file":
		p.validated(r)
	case "list_backups":
		p.backups(r)
	default:
		p.changed(v, r)
		return
	}
	if v.Error == "" && v.Operation != "file_info" && v.Operation != "validate_file" {
		p.remark(v.Summary)
	}
}

func (p *Printer) remark(text string) {
	if text != "" {
		p.line(p.out.Paint(term.Dim, term.Line(text)))
	}
}

// paint is Paint for a style that may be none.
func (p *Printer) paint(s term.Style, text string) string {
	if s == "" {
		return text
	}
	return p.out.Paint(s, text)
}

// table prints rows whose columns line up; the last is not padded. Cells are
// safe to show and have no colour; styles gives that of each column.
func (p *Printer) table(rows [][]string, right []bool, styles func(row, column int) term.Style) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], term.Cells(cell))
		}
	}
	for i, row := range rows {
		var b strings.Builder
		for k, cell := range row {
			if k > 0 {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[k]-term.Cells(cell))
			if k == len(row)-1 {
				pad = ""
			}
			painted := p.paint(styles(i, k), cell)
			if k < len(right) && right[k] {
				b.WriteString(pad + painted)
			} else {
				b.WriteString(painted + pad)
			}
		}
		p.line(strings.TrimRight(b.String(), " "))
	}
}

// diffText prints a unified diff. Its header ends with the first hunk: after
// that "--- x" is a line that began with "-- x".
func (p *Printer) diffText(diff string) {
	header := true
	for line := range strings.Lines(diff) {
		line = term.Visible(strings.TrimRight(line, "\r\n"))
		style := term.Style("")
		switch {
		case strings.HasPrefix(line, "@@"):
			style, header = term.Cyan, false
		case header:
			style = term.Bold
		case strings.HasPrefix(line, "+"):
			style = term.Green
		case strings.HasPrefix(line, "-"):
			style = term.Red
		}
		p.line(p.paint(style, line))
	}
}

// changed shows what a changing operation did or would do.
func (p *Printer) changed(v OperationValue, r opsResult) {
	p.diffText(r.Diff)
	for _, d := range r.Diagnostics {
		for _, c := range d.Candidates {
			p.linef("%s %s", p.out.Paint(term.Cyan, fmt.Sprintf("line %d", c.StartLine)),
				p.out.Paint(term.Dim, fmt.Sprintf("%.0f%% alike", 100*c.Similarity)))
			for line := range strings.Lines(c.Text) {
				p.line("  " + term.Visible(strings.TrimRight(line, "\r\n")))
			}
		}
	}
	for _, d := range r.ErrorDetails {
		p.linef("patch %d: %s %s: %s", d.PatchIndex, term.Line(d.Op), term.Line(d.Path), term.Line(d.Message))
	}
	receipts := v.receipts()
	for _, r := range receipts {
		if p.card && len(receipts) == 1 && r.told() {
			continue
		}
		p.receipt(r)
	}
	if p.card && (v.Operation == "diff_file" || v.Summary == "") {
		return // the title and the diff say it
	}
	if len(receipts) == 0 && v.Error == "" {
		p.line(term.Line(v.Summary))
	}
}

// told reports whether the title and the diff of a card say what the receipt
// does.
func (r receipt) told() bool {
	return r.AddedLines != nil && r.DestinationPath == "" && r.SelfVerified && (r.RolledBack == nil || !*r.RolledBack)
}

func (p *Printer) receipt(r receipt) {
	line := p.out.Paint(term.Green, r.Effect) + " " + term.Line(r.Path)
	if r.DestinationPath != "" {
		line += " -> " + term.Line(r.DestinationPath)
	}
	if r.AddedLines != nil && r.RemovedLines != nil {
		line += p.out.Paint(term.Dim, fmt.Sprintf("  +%d -%d", *r.AddedLines, *r.RemovedLines))
	}
	if r.BackupID != "" {
		line += p.out.Paint(term.Dim, "  backup "+term.Line(r.BackupID))
	}
	if !r.SelfVerified {
		line += p.out.Paint(term.Red, "  not verified: "+term.Line(r.VerificationError))
	}
	if r.RolledBack != nil && *r.RolledBack {
		line += p.out.Paint(term.Yellow, "  taken back")
	}
	p.line(line)
}
