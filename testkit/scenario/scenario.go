package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/session"
)

// Scenario is one case of a scenario file.
type Scenario struct {
	Name string `json:"name"`
	// Area groups scenarios, as in "read".
	Area string `json:"area"`
	// Compose describes the deployment.
	Compose Compose `json:"compose"`
	// Files is the workspace before the first step, and Outside a folder beside
	// it, {{base}}/out.
	Files   []File `json:"files"`
	Outside []File `json:"outside"`
	// Sessions describes the sessions that steps name. One that is not
	// described starts empty, in the workspace.
	Sessions map[string]Session `json:"sessions"`
	Steps    []Step             `json:"steps"`
	// Expect has one entry a step; null where there is nothing to expect.
	Expect []*Expect `json:"expect"`
	// After is everything the workspace holds in the end, and OutsideAfter the
	// folder beside it. Nil means that it is not checked.
	After        []File `json:"after"`
	OutsideAfter []File `json:"outsideAfter"`
	// Asks are the approvals that were asked, in order; nil means that they
	// are not checked.
	Asks []Ask `json:"asks"`
	// DistinctAttachments is how many objects the store holds in the end.
	DistinctAttachments *int `json:"distinctAttachments"`

	// problems are what is wrong with the scenario itself, such as keys that
	// the runner does not know.
	problems []Difference
	// unusable tells that it cannot be played at all.
	unusable bool
}

// Compose describes the deployment of a scenario. Nil parts are absent from
// it.
type Compose struct {
	// Policy mounts the observation policy; it is there unless turned off.
	Policy bool
	// Sandbox makes the filesystem a confining one.
	Sandbox  *Sandbox
	Approval *Approval
	// Attachments are the limits of the image store, which is there, with its
	// defaults, unless it is set to false.
	Attachments *attachment.Limits
	// Model is the model of the sessions, by default one that takes images. It
	// is nil where the scenario sets null: then there is no model service.
	Model   *Model
	ToolFS  ToolFS
	FS      FS
	FileOps *FileOps
}

// Sandbox is the confinement of a deployment.
type Sandbox struct {
	Mode sandbox.Mode `json:"mode"`
}

// Approval is the approval service of a deployment.
type Approval struct {
	// Policy is that of sessions that say nothing else. Default: ask.
	Policy approval.Mode `json:"policy"`
	// Answers are used up in order; none left means unavailable.
	Answers []approval.Outcome `json:"answers"`
}

// Model is what is known of the model "m" of provider "p".
type Model struct {
	// InputModalities is nil when nothing is known.
	InputModalities []llm.Modality `json:"inputModalities"`
}

// ToolFS are the limits of the file tools; a zero field means its default.
type ToolFS struct {
	ReadLimit         int   `json:"readLimit"`
	ReadMaxLineLength int   `json:"readMaxLineLength"`
	ReadMaxBytes      int   `json:"readMaxBytes"`
	ReadStreamMinSize int64 `json:"readStreamMinSize"`
}

// FS are the settings of the filesystem provider; a zero field means its
// default.
type FS struct {
	DiffBasisMaxBytes int64 `json:"diffBasisMaxBytes"`
}

// FileOps are the settings of the file operations.
type FileOps struct {
	// Register is "hub", "tools" or "both".
	Register string `json:"register"`
	// SandboxRoot confines the operations to the workspace.
	SandboxRoot bool `json:"sandboxRoot"`
	// Allow turns the allow_ switches; those it does not name stay on.
	Allow           map[string]bool `json:"allow"`
	RequireApproval bool            `json:"requireApproval"`
}

// Session describes a session of a scenario.
type Session struct {
	// Cwd defaults to the workspace.
	Cwd string `json:"cwd"`
	// Events are in the log before the first step.
	Events []session.Event `json:"events"`
}

// File is something in a folder: a file with text, base64, or a repeated
// text, a directory, or a symlink. In an After list a file may also be
// described by its digest and size.
type File struct {
	// Path is relative to its folder, with slashes.
	Path    string  `json:"path"`
	Text    *string `json:"text,omitempty"`
	Base64  *string `json:"base64,omitempty"`
	Repeat  *Repeat `json:"repeat,omitempty"`
	Dir     bool    `json:"dir,omitempty"`
	Symlink *string `json:"symlink,omitempty"`
	// Mode is the permission bits in octal, as in "0755"; "" is not checked
	// and not set.
	Mode   string `json:"mode,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Bytes  *int64 `json:"bytes,omitempty"`
	// Remove, in a put step, removes what is there.
	Remove bool `json:"remove,omitempty"`

	data []byte // what a listed file holds
}

// Repeat is a text, some times over.
type Repeat struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// Step is a tool call, an outside change, or a look at the prompt.
type Step struct {
	// Call names the tool, and Args are its arguments.
	Call string          `json:"call"`
	Args json.RawMessage `json:"args"`
	// Session names the calling session; nil is a call without one.
	Session *string `json:"session"`
	// Aborted makes the call with a context that has ended.
	Aborted bool `json:"aborted"`
	// Put changes a file behind the deployment's back.
	Put *File `json:"put"`
	// Prompt assembles the prompt.
	Prompt bool `json:"prompt"`
}

// Expect says what a step must give. What it does not name is not checked.
type Expect struct {
	IsError *bool `json:"isError"`
	// Code is exact; HasCode only tells that there is one.
	Code    *string `json:"code"`
	HasCode *bool   `json:"hasCode"`
	// Text is the whole text block.
	Text         *string `json:"text"`
	TextEndsWith *string `json:"textEndsWith"`
	// TextMatches are substrings, all of which must occur.
	TextMatches []string `json:"textMatches"`
	// Value and Meta must be deeply equal; ValueHas is a subset: objects
	// recurse, and arrays go element by element, as many as there are.
	Value    json.RawMessage `json:"value"`
	ValueHas json.RawMessage `json:"valueHas"`
	Meta     json.RawMessage `json:"meta"`
	// Path is the path in the value.
	Path  *string `json:"path"`
	Image *Image  `json:"image"`
	// Tools are the tools of the prompt, in order.
	Tools []Tool `json:"tools"`
}

// Image is what is expected of a picture in a result. Width and height may
// differ by one pixel.
type Image struct {
	MediaType          attachment.MediaType   `json:"mediaType"`
	Width              int                    `json:"width"`
	Height             int                    `json:"height"`
	Name               string                 `json:"name,omitempty"`
	OriginalDimensions *attachment.Dimensions `json:"originalDimensions,omitempty"`
	// Passthrough tells that the stored bytes are those of the file.
	Passthrough bool `json:"passthrough,omitempty"`
}

// Tool is what a prompt tells of one tool.
type Tool struct {
	Name       string              `json:"name"`
	Required   []string            `json:"required"`
	Properties map[string]Property `json:"properties"`
}

// Property is the type of one argument.
type Property struct {
	Type json.RawMessage `json:"type,omitempty"`
	Enum json.RawMessage `json:"enum,omitempty"`
}

// Ask is one approval that was asked.
type Ask struct {
	ToolName string `json:"toolName"`
	Reason   string `json:"reason"`
}

// defaultSession is the session of a step that names none.
const defaultSession = "s1"

// ReadFile loads the scenarios of a file.
func ReadFile(name string) ([]Scenario, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// Load reads a list of scenarios. One that is not of the documented form, or
// has keys that the runner does not know, fails when it is run; what is not a
// JSON list at all is an error.
func Load(r io.Reader) ([]Scenario, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("not a list of scenarios: %w", err)
	}
	all := make([]Scenario, len(raw))
	for i, one := range raw {
		all[i].decode(one)
	}
	return all, nil
}

func (s *Scenario) decode(data []byte) {
	// The defaults, for a scenario that has no compose at all.
	s.Compose = defaultCompose()
	if err := json.Unmarshal(data, s); err != nil {
		s.unusable = true
		s.problem("scenario", "the documented form", err.Error())
		return
	}
	if s.Expect != nil && len(s.Expect) != len(s.Steps) {
		s.problem("expect", fmt.Sprintf("%d entries, one a step", len(s.Steps)), len(s.Expect))
	}
	s.unknownKeys(data)
}

func (s *Scenario) problem(field string, want, got any) {
	s.problems = append(s.problems, Difference{Field: field, Want: want, Got: got})
}

// unknownKeys records the keys that no check and no setting reads.
func (s *Scenario) unknownKeys(data []byte) {
	unknown := func(field string, data json.RawMessage, known any) {
		if len(data) == 0 || string(data) == "null" {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		dec.UseNumber() // arguments may hold any number that can be written
		if err := dec.Decode(known); err != nil {
			s.problem(field, "keys that the runner knows", err.Error())
		}
	}
	var top struct {
		Name, Area, DistinctAttachments any
		Compose                         composeKeys
		Sessions                        map[string]json.RawMessage
		Files, Outside                  []json.RawMessage
		Steps, Expect                   []json.RawMessage
		After, OutsideAfter             []json.RawMessage
		Asks                            []Ask
	}
	unknown("scenario", data, &top)
	names := make([]string, 0, len(top.Sessions))
	for name := range top.Sessions {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		unknown("sessions."+name, top.Sessions[name], new(Session))
	}
	for i, step := range top.Steps {
		unknown(fmt.Sprintf("steps[%d]", i), step, new(struct {
			Call, Args, Session, Aborted, Prompt any
			Put                                  *File
		}))
	}
	for i, e := range top.Expect {
		unknown(fmt.Sprintf("expect[%d]", i), e, new(Expect))
	}
	for _, list := range []struct {
		name  string
		files []json.RawMessage
	}{
		{"files", top.Files}, {"outside", top.Outside}, {"after", top.After}, {"outsideAfter", top.OutsideAfter},
	} {
		for i, f := range list.files {
			unknown(fmt.Sprintf("%s[%d]", list.name, i), f, new(File))
		}
	}
}

// composeKeys is the JSON form of [Compose].
type composeKeys struct {
	Policy      *bool           `json:"policy"`
	Sandbox     *Sandbox        `json:"sandbox"`
	Approval    *Approval       `json:"approval"`
	Attachments json.RawMessage `json:"attachments"`
	Model       json.RawMessage `json:"model"`
	ToolFS      ToolFS          `json:"toolFs"`
	FS          FS              `json:"fs"`
	FileOps     *FileOps        `json:"fileOps"`
}

func defaultCompose() Compose {
	return Compose{Policy: true, Attachments: new(attachment.Limits),
		Model: &Model{InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput}}}
}

// UnmarshalJSON fills in the defaults.
func (c *Compose) UnmarshalJSON(data []byte) error {
	var k composeKeys
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*c = defaultCompose()
	c.Policy = k.Policy == nil || *k.Policy
	c.Sandbox, c.Approval, c.ToolFS, c.FS, c.FileOps = k.Sandbox, k.Approval, k.ToolFS, k.FS, k.FileOps
	switch string(k.Attachments) {
	case "", "true":
	case "false", "null":
		c.Attachments = nil
	default:
		if err := strict(k.Attachments, c.Attachments); err != nil {
			return fmt.Errorf("attachments: %w", err)
		}
	}
	if k.Model != nil { // null is not absent: it asks for no model service
		c.Model = nil
		if err := strict(k.Model, &c.Model); err != nil {
			return fmt.Errorf("model: %w", err)
		}
	}
	if c.Approval != nil && c.Approval.Policy == "" {
		c.Approval.Policy = approval.Ask
	}
	return nil
}

func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// UnmarshalJSON tells a session of null, which is none, from one that is not
// named, which is "s1".
func (s *Step) UnmarshalJSON(data []byte) error {
	type plain Step
	name := defaultSession
	p := plain{Session: &name}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*s = Step(p)
	kinds := 0
	for _, is := range []bool{s.Call != "", s.Put != nil, s.Prompt} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		return errors.New("a step is a call, a put or a prompt, and only one of them")
	}
	return nil
}
