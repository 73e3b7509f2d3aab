package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/plugins/fileops"
)

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
	var v render.OperationValue
	if err := json.Unmarshal(value, &v); err != nil {
		return err
	}
	if flags.json {
		fmt.Fprintf(a.out, "%s\n", value)
	} else if len(v.Result) > 0 {
		here, err := filepath.Abs(".")
		if err != nil {
			here = "" // paths are shown whole
		}
		v.Operation = op.Name
		render.NewPrinter(a.out, here).Operation(v)
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
func invalidFile(v render.OperationValue) error {
	var r struct{ Valid *bool }
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
func (a *app) operationFailure(v render.OperationValue, op fileops.Operation, flags *opsFlags) error {
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
