package deploy

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/models"
	confine "github.com/bridle-go/bridle/plugins/sandbox"
	"github.com/bridle-go/bridle/testkit/replay"
)

// Replay composes the deployment that replays a session: the one that its log
// tells of.
func Replay(s replay.Setup) ([]plug.Plugin, error) {
	told := tellsOf(s.Log)
	o := Default(s.Workspace)
	o.Models = &models.Config{}
	if told.tool("read_image") {
		o.Attachments = &attachments.Config{}
	}
	if told.called(fileops.HubName) {
		o.FileOps = &fileops.Config{NoApproval: told.unasked()}
	}
	if told.sandbox != "" {
		o.Sandbox = &confine.PolicyConfig{Mode: told.sandbox}
	}
	if told.approval != "" {
		o.Approval = &approve.Config{Policy: told.approval}
	}
	o.Place(s.Workspace, s.Home)
	return Plugins(o), nil
}

// told is what a log tells of the deployment it comes from.
type told struct {
	// sandbox and approval are what its sessions begin with; "" where the
	// deployment has none.
	sandbox  sandbox.Mode
	approval approval.Mode
	tools    []string // nil where it does not say
	calls    []string
	// changed are the ids of calls that have receipts, asked those of calls that
	// a person was asked about.
	changed, asked []string
}

// unasked reports whether file operations changed files and nobody was asked
// about any of these calls.
func (t told) unasked() bool {
	return len(t.changed) > 0 && !slices.ContainsFunc(t.changed, func(id string) bool { return slices.Contains(t.asked, id) })
}

// tool reports whether the deployment has a tool. A log that does not list its
// tools may have any.
func (t told) tool(name string) bool { return t.tools == nil || slices.Contains(t.tools, name) }

// called reports whether the log lists a tool, or has calls of it.
func (t told) called(name string) bool {
	return slices.Contains(t.tools, name) || t.tools == nil && slices.Contains(t.calls, name)
}

func tellsOf(log *session.Log) told {
	var t told
	first := func(mode sandbox.Mode, policy approval.Mode) {
		if t.sandbox == "" {
			t.sandbox = mode
		}
		if t.approval == "" {
			t.approval = policy
		}
	}
	for _, e := range log.Events {
		switch e.Type {
		case session.TypeSandboxMode:
			first(sandbox.DefaultMode, "")
		case session.TypeApprovalPolicy:
			first("", approval.Ask)
		case session.TypeApprovalAsked:
			first("", approval.Ask)
			t.asked = append(t.asked, callOf(e))
		case fileops.TypeReceipt:
			t.changed = append(t.changed, callOf(e))
		case session.TypeUserMessage:
			var m llm.Message
			if e.Decode(&m) != nil {
				continue // the log was checked when it was read
			}
			for _, section := range m.Source.Sections {
				first(sectionModes(section))
			}
		case session.TypeRequestHeader:
			var h session.RequestHeader
			var schemas []llm.ToolSchema
			if e.Decode(&h) != nil || json.Unmarshal(h.Header.Tools, &schemas) != nil {
				continue // the tools were left out
			}
			for _, s := range schemas {
				t.tools = append(t.tools, s.Name)
			}
		case session.TypeToolCall:
			var c session.ToolCall
			if e.Decode(&c) == nil {
				t.calls = append(t.calls, c.Name)
			}
		}
	}
	return t
}

// callOf is the call that an event is about, or "".
func callOf(e session.Event) string {
	var b struct {
		CallID string `json:"callId"`
	}
	if e.Decode(&b) != nil {
		return "" // it tells nothing then
	}
	return b.CallID
}

// sectionModes reads the mode or policy that a section of the runtime context
// tells a model.
func sectionModes(s llm.Section) (sandbox.Mode, approval.Mode) {
	switch s.Name {
	case "sandbox:policy":
		// The text may name other modes behind the one that holds.
		found, at := sandbox.DefaultMode, len(s.Text)
		for _, mode := range sandbox.Modes() {
			if i := strings.Index(s.Text, string(mode)); i >= 0 && i < at {
				found, at = mode, i
			}
		}
		return found, ""
	case "approval:policy":
		if strings.Contains(s.Text, "disabled") || strings.Contains(s.Text, "nobody is asked") {
			return "", approval.Never
		}
		return "", approval.Ask
	}
	return "", ""
}
