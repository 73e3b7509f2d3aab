package deploy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/openai"
	confine "github.com/bridle-go/bridle/plugins/sandbox"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit"
)

// plain compares settings: what programs alone can set is nil in a file.
var plain = cmp.Options{
	cmpopts.IgnoreFields(openai.Config{}, "Getenv", "Transport"),
	cmpopts.IgnoreFields(anthropic.Config{}, "Getenv", "Transport"),
	cmpopts.IgnoreFields(fileops.Config{}, "Progress"),
	cmpopts.IgnoreFields(agent.Retry{}, "Sleep", "Rand"),
}

func TestTheExampleIsTheDefaultDeployment(t *testing.T) {
	got, err := deploy.Parse("example.yaml", []byte(deploy.Example))
	if err != nil {
		t.Fatal(err)
	}
	want := deploy.Agent()
	want.Approval.Policy = "ask" // the file says what is the default
	if diff := cmp.Diff(deploy.File{Plugins: want}, got, plain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheDefaultDeploymentsCompose(t *testing.T) {
	o := deploy.Agent()
	o.OpenAI = []openai.Config{{}}
	o.Anthropic = []anthropic.Config{{}}
	o.Place(t.TempDir(), t.TempDir())
	d := testkit.Compose(t, deploy.Plugins(o)...)
	known := map[string]bool{}
	for _, p := range deploy.Describe().Plugins {
		known[p.Name] = true
	}
	for _, name := range d.Plugins() {
		if !known[name] {
			t.Errorf("the schema does not describe %q", name)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := deploy.Parse("harness.yaml", []byte(`
model: deepseek/deepseek-chat
agent:
  maxSteps: 30
  retry: {attempts: 2, maxRetryAfter: 90s}
  options:
    temperature: 0
    extra: {top_k: [1, two, {three: null}]}
plugins:
  sandbox: {diffBasisMaxBytes: 1_000}
  sandbox-policy:
    mode: read-only
    roots: &roots [/srv, "/opt/x"]
    tempDirs: []
  toolfs:
    readLimit: 100
  fspolicy:
    requireFullRead: true
  fileops:
    register: both
    allow: {allow_delete: false}
  attachments:
    grace: 1h30m
    limits:
      maxImagePixels: 1000000
  models:
    models:
      local/llama:
        contextWindow: 8192
        inputModalities: [text, image]
        media: {maxImages: 3}
    closed: [local]
  openai/deepseek:
    apiKeyEnv: MY_KEY
  openai/local:
    baseURL: |-
      http://localhost:1234/v1
    headers: {x-team: "1"}
  anthropic:
    thinkingBudgets: {low: 2000}
`))
	if err != nil {
		t.Fatal(err)
	}
	zero := 0.0
	want := deploy.File{
		Model: "deepseek/deepseek-chat",
		Agent: deploy.AgentSettings{
			MaxSteps: 30, Retry: agent.Retry{Attempts: 2, MaxRetryAfter: 90 * time.Second},
			Options: llm.Options{Temperature: &zero, Extra: map[string]json.RawMessage{"top_k": json.RawMessage(`[1,"two",{"three":null}]`)}},
		},
	}
	o := &want.Plugins
	o.FS.DiffBasisMaxBytes = 1000
	o.Sandbox = &confine.PolicyConfig{Mode: sandbox.ReadOnly, Roots: []string{"/srv", "/opt/x"}, TempDirs: []string{}}
	o.Tools = toolfs.Config{ReadLimit: 100}
	o.Policy = &fspolicy.Config{RequireFullRead: true}
	o.FileOps = &fileops.Config{Register: fileops.Both, Allow: map[string]bool{"allow_delete": false}}
	o.Attachments = &attachments.Config{Grace: 90 * time.Minute}
	o.Attachments.Limits.MaxImagePixels = 1_000_000
	o.Models = &models.Config{
		Models: map[string]llm.ModelInfo{"local/llama": {
			ContextWindow: 8192, InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput}, Media: llm.MediaLimits{MaxImages: 3},
		}},
		Closed: []string{"local"},
	}
	o.OpenAI = []openai.Config{
		{Flavour: openai.DeepSeek, Provider: "deepseek", APIKeyEnv: "MY_KEY"},
		{Flavour: openai.Compatible, Provider: "local", BaseURL: "http://localhost:1234/v1", Headers: map[string]llm.Secret{"x-team": "1"}},
	}
	o.Anthropic = []anthropic.Config{{ThinkingBudgets: map[string]int64{"low": 2000}}}
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an unknown plugin", "plugins:\n  toolsfs:\n", `c.yaml:2: there is no plugin "toolsfs"; did you mean "toolfs"?`},
		{"a plugin far from any", "plugins:\n  fslocal:\n  kubernetes:\n", `c.yaml:3: there is no plugin "kubernetes"`},
		{"an instance of a plugin that has one", "plugins: {toolfs/x: }\n", `c.yaml:1: there is no plugin "toolfs/x"; did you mean "toolfs"?`},
		{"an unknown setting", "plugins:\n  fslocal:\n  toolfs:\n    readLimt: 3\n", `c.yaml:4: plugins.toolfs has no setting "readLimt"; did you mean "readLimit"?`},
		{"an unknown setting within another", "plugins:\n  attachments:\n    limits:\n      maxPixels: 3\n", `c.yaml:4: plugins.attachments.limits has no setting "maxPixels"`},
		{"a setting for programs", "plugins:\n  fileops:\n    progress: x\n", `c.yaml:3: plugins.fileops has no setting "progress"`},
		{"an unknown key", "agent: {maxstep: 3}\n", `c.yaml:1: agent has no setting "maxstep"; did you mean "maxSteps"?`},
		{"an unknown part", "plugin:\n  fslocal:\n", `c.yaml:1: there is no "plugin"; did you mean "plugins"?`},
		{"a key twice", "plugins:\n  fslocal:\n  fslocal:\n", `c.yaml:3: mapping key "fslocal" already defined at [2:3]`},
		{"a wrong type", "plugins:\n  toolfs: {readLimit: many}\n", `c.yaml:2: plugins.toolfs.readLimit must be a whole number`},
		{"a fraction", "plugins:\n  toolfs: {readLimit: 1.5}\n", `c.yaml:2: plugins.toolfs.readLimit must be a whole number`},
		{"a number too large", "plugins:\n  toolfs: {readLimit: 9223372036854775808}\n", `c.yaml:2: plugins.toolfs.readLimit is too large a number`},
		{"a number for text", "model: 3\n", `c.yaml:1: model must be a text; put it in quotes`},
		{"text for yes or no", "plugins:\n  fspolicy: {requireFullRead: 'yes'}\n", `c.yaml:2: plugins.fspolicy.requireFullRead must be true or false`},
		{"a wrong duration", "plugins:\n  attachments: {grace: 3}\n", `c.yaml:2: plugins.attachments.grace must be a duration, such as 90s or 1h30m`},
		{"a wrong choice", "plugins:\n  sandbox-policy: {mode: workspace-writ}\n", `c.yaml:2: plugins.sandbox-policy.mode is "workspace-writ", and must be one of read-only, workspace-write, danger-full-access; did you mean "workspace-write"?`},
		{"text for a list", "plugins:\n  sandbox-policy: {roots: /srv}\n", `c.yaml:2: plugins.sandbox-policy.roots must be a list of text`},
		{"text for settings", "plugins:\n  toolfs: fast\n", `c.yaml:2: plugins.toolfs must have settings, as in key: value`},
		{"a model without a provider", "model: gpt\nplugins: {fslocal: }\n", `c.yaml:1: model is "gpt", and must be provider/model`},
		{"no filesystem", "plugins:\n  toolfs:\n", `c.yaml:2: plugins has no filesystem; name sandbox or fslocal`},
		{"two filesystems", "plugins:\n  fslocal:\n  sandbox:\n", `c.yaml:3: fslocal and sandbox both provide the filesystem; name one of them`},
		{"a policy without effect", "plugins:\n  fslocal:\n  sandbox-policy:\n", `c.yaml:3: sandbox-policy has no effect without the plugin sandbox, in the place of fslocal`},
		{"two names of a provider", "plugins:\n  fslocal:\n  openai/a: {provider: b}\n", `c.yaml:3: plugins.openai/a: the provider is "b" here and "a" in the plugin's name; leave one out`},
		{"no plugins", "model: a/b\n", `c.yaml:1: the file names no plugins; demo plugins lists them`},
		{"nothing", "# only a comment\n", `c.yaml:1: the file is empty; demo plugins --example prints one to start from`},
		{"two documents", "plugins: {fslocal: }\n---\nplugins: {fslocal: }\n", `c.yaml:3: a second document begins here; a configuration is one`},
		{"a merge key", "plugins:\n  fslocal: &a {cwd: /}\n  toolfs:\n    <<: *a\n", `c.yaml:4: << has no meaning here; write the settings out`},
		{"a tag", "plugins:\n  fslocal: !!set {cwd: /}\n", `c.yaml:2: tags such as !!set have no meaning here`},
		{"an unknown alias", "plugins:\n  fslocal: {cwd: *x}\n", `c.yaml:2: there is no anchor "x" before this line`},
		{"no YAML", "plugins: [\n", `c.yaml:1: sequence end token ']' not found`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := deploy.Parse("c.yaml", []byte(tt.text))
			if !errors.Is(err, deploy.InvalidConfig) {
				t.Fatalf("got %v, want %s", err, deploy.InvalidConfig)
			}
			if got := err.Error(); !strings.HasSuffix(got, tt.want) {
				t.Errorf("\ngot  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestEverySettingIsExplained(t *testing.T) {
	var keys []string
	s := deploy.Describe()
	check := func(plugin string, settings []deploy.Setting) {
		for _, x := range settings {
			keys = append(keys, plugin+" "+x.Key)
			if x.Doc == "" {
				t.Errorf("%s: %s is not explained", plugin, x.Key)
			}
		}
	}
	check("", s.Settings)
	for _, p := range s.Plugins {
		check(p.Name, p.Settings)
		if p.Doc == "" {
			t.Errorf("%s is not explained", p.Name)
		}
	}
	if len(keys) < 60 {
		t.Errorf("%d settings cannot be all", len(keys))
	}
	if stale := deploy.StaleDocs(); len(stale) > 0 {
		t.Errorf("there are no such settings: %q", stale)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(deploy.Example)
	f.Add("plugins: {fslocal: &a {cwd: *a}}")
	f.Add("plugins:\n  openai/x: {extra: {a: [1, {b: c}]}}\n  fslocal: ~\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := deploy.Parse("f", []byte(text)); err != nil && !errors.Is(err, deploy.InvalidConfig) {
			t.Errorf("the error has no code: %v", err)
		}
	})
}
