package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/plugins/fileops"
)

// hubValue is what the hub returns.
type hubValue struct {
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

// showOperation prints what the hub returned, and returns the failure of an
// operation that failed.
func (a *app) showOperation(o outcome, op fileops.Operation, flags *opsFlags) error {
	value, err := o.result.ValueJSON()
	if err != nil {
		return err
	}
	if value == nil {
		return resultFailure(o.result) // it failed before the hub had a say
	}
	var v hubValue
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if flags.json {
		fmt.Fprintf(a.out, "%s\n", value)
	} else if len(v.Result) > 0 {
		a.operationResult(op, v)
	}
	if v.Error != "" {
		return a.operationFailure(v, op, flags)
	}
	if op.Name == "validate_file" {
		return invalidFile(v)
	}
	return nil
}

// invalidFile is the failure of a content that is not valid.
func invalidFile(v hubValue) error {
	var r opsResult
	if err := json.Unmarshal(v.Result, &r); err != nil || r.Valid == nil || *r.Valid {
		return err
	}
	return failed(codeNotValid, "what was validated is not valid")
}

// codeNotValid is the code of operations that meet a file of a wrong format.
const codeNotValid = "INVALID_FORMAT"

// advised says what a person can do where the hub tells a model to.
var advised = map[string]string{
	"send_expected_sha256":     "--force-overwrite replaces it whatever it is",
	"set_overwrite":            "--force-overwrite replaces it whatever it is",
	"set_allow_sensitive":      "--allow-sensitive allows it",
	"set_allow_ignored":        "--allow-ignored allows it",
	"set_replace_all":          "--replace-all replaces every match",
	"add_surrounding_context":  "--replace-all replaces every match",
	"ask_user":                 "--yes allows it without a question",
	"list_backups":             "demo ops list_backups tells what there is",
	"view_file":                "demo ops view_file shows what is there",
	"use_file_tree":            "demo ops file_tree shows what there is",
	"use_list_directory":       "demo ops list_directory shows what it holds",
	"use_path_inside_sandbox":  "--sandbox-root says where it may lie",
	"retry":                    "try again",
	"choose_enabled_operation": "demo ops --help lists the operations",
	"use_view_file":            "demo ops view_file shows it",
	"use_file_info":            "demo ops file_info tells what it is",
	"correct_source_path":      "check the path; a relative one starts at --cwd",
	"narrow_range":             "ask for a part of it",
	"validate_file":            "demo ops validate_file tells where",
}

// operationFailure is the failure of an operation, in the words of a command
// line.
func (a *app) operationFailure(v hubValue, op fileops.Operation, flags *opsFlags) error {
	message, hint := v.Error, advised[v.SuggestedAction]
	if hash := v.CorrectCall.Config.Expected; hash != "" {
		hint = "--expected-sha256 " + hash + " replaces what is there now, " + hint
		if at := strings.LastIndex(message, "; "); at >= 0 {
			message = message[:at] // what a model would do
		}
	}
	switch {
	case v.ErrorKind == "approval_denied" && a.refused:
		hint = "" // somebody has been asked
	case v.ErrorKind == "invalid_arguments":
		hint = "see demo ops " + op.Name + " --help"
	}
	if flags.config == "" {
		message = withFlags(message, op)
	}
	if hint != "" {
		message += "; " + hint
	}
	return failed(strings.ToUpper(v.ErrorKind), "%s", message)
}

// withFlags puts flags in the place of the arguments that a message names.
func withFlags(message string, op fileops.Operation) string {
	for _, arg := range op.Arguments {
		if arg.Name == op.Path {
			continue
		}
		if !strings.Contains(arg.Name, "_") {
			// A plain word may be just that elsewhere.
			message = strings.Replace(message, op.Name+" needs "+arg.Name+" ", op.Name+" needs --"+arg.Name+" ", 1)
			if strings.HasPrefix(message, arg.Name+" must ") {
				message = "--" + message
			}
			continue
		}
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(arg.Name) + `\b`)
		message = name.ReplaceAllLiteralString(message, "--"+strings.ReplaceAll(arg.Name, "_", "-"))
	}
	return message
}

// operationResult shows a result for people, whole or of an operation that
// failed on its way.
func (a *app) operationResult(op fileops.Operation, v hubValue) {
	var r opsResult
	if json.Unmarshal(v.Result, &r) != nil {
		return
	}
	switch op.Name {
	case "view_file":
		a.viewed(r)
	case "file_info":
		a.described(r)
	case "list_directory":
		a.listed(r)
	case "file_tree":
		a.drawn(r)
	case "search_files":
		a.searched(r)
	case "validate_file":
		a.validated(r)
	case "list_backups":
		a.backups(r)
	default:
		a.changed(v, r)
		return
	}
	if v.Error == "" && op.Name != "file_info" && op.Name != "validate_file" {
		a.remark(v.Summary)
	}
}

func (a *app) remark(text string) {
	if text != "" {
		fmt.Fprintln(a.out, a.out.Paint(term.Dim, term.Line(text)))
	}
}

// paint is Paint for a style that may be none.
func (a *app) paint(s term.Style, text string) string {
	if s == "" {
		return text
	}
	return a.out.Paint(s, text)
}

// table prints rows whose columns line up; the last is not padded. Cells are
// safe to show and have no colour; styles gives that of each column.
func (a *app) table(rows [][]string, right []bool, styles func(row, column int) term.Style) {
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
			painted := a.paint(styles(i, k), cell)
			if k < len(right) && right[k] {
				b.WriteString(pad + painted)
			} else {
				b.WriteString(painted + pad)
			}
		}
		fmt.Fprintln(a.out, strings.TrimRight(b.String(), " "))
	}
}

// diffText prints a unified diff. Its header ends with the first hunk: after
// that "--- x" is a line that began with "-- x".
func (a *app) diffText(diff string) {
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
		fmt.Fprintln(a.out, a.paint(style, line))
	}
}

// changed shows what a changing operation did or would do.
func (a *app) changed(v hubValue, r opsResult) {
	a.diffText(r.Diff)
	for _, d := range r.Diagnostics {
		for _, c := range d.Candidates {
			fmt.Fprintf(a.out, "%s %s\n", a.out.Paint(term.Cyan, fmt.Sprintf("line %d", c.StartLine)),
				a.out.Paint(term.Dim, fmt.Sprintf("%.0f%% alike", 100*c.Similarity)))
			for line := range strings.Lines(c.Text) {
				fmt.Fprintln(a.out, "  "+term.Visible(strings.TrimRight(line, "\r\n")))
			}
		}
	}
	for _, d := range r.ErrorDetails {
		fmt.Fprintf(a.out, "patch %d: %s %s: %s\n", d.PatchIndex, term.Line(d.Op), term.Line(d.Path), term.Line(d.Message))
	}
	receipts := v.Receipts
	if v.Receipt != nil {
		receipts = append(slices.Clone(receipts), *v.Receipt)
	}
	for _, r := range receipts {
		a.receipt(r)
	}
	if len(receipts) == 0 && v.Error == "" {
		fmt.Fprintln(a.out, term.Line(v.Summary))
	}
}

func (a *app) receipt(r receipt) {
	line := a.out.Paint(term.Green, r.Effect) + " " + term.Line(r.Path)
	if r.DestinationPath != "" {
		line += " -> " + term.Line(r.DestinationPath)
	}
	if r.AddedLines != nil && r.RemovedLines != nil {
		line += a.out.Paint(term.Dim, fmt.Sprintf("  +%d -%d", *r.AddedLines, *r.RemovedLines))
	}
	if r.BackupID != "" {
		line += a.out.Paint(term.Dim, "  backup "+term.Line(r.BackupID))
	}
	if !r.SelfVerified {
		line += a.out.Paint(term.Red, "  not verified: "+term.Line(r.VerificationError))
	}
	if r.RolledBack != nil && *r.RolledBack {
		line += a.out.Paint(term.Yellow, "  taken back")
	}
	fmt.Fprintln(a.out, line)
}
