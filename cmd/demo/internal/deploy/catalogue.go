package deploy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/agent"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/plugins/openai"
	confine "github.com/bridle-go/bridle/plugins/sandbox"
)

// File is a configuration file.
type File struct {
	// Model is "provider/model", or "".
	Model   string
	Agent   AgentSettings
	Plugins Options
}

// AgentSettings are those of the agent loop.
type AgentSettings struct {
	MaxParallel int
	MaxSteps    int
	Retry       agent.Retry
	Options     llm.Options
}

// entry is a plugin that a configuration file can name.
type entry struct {
	name string
	doc  string
	// several tells that the plugin can be named more than once, as
	// name/instance.
	several bool
	// settings makes the plugin part of a deployment and returns a pointer to
	// its settings there.
	settings func(o *Options) any
	// named puts the instance's name into the settings and says what
	// contradicts it.
	named func(settings any, instance string) error
}

// part returns the settings of an optional part of a deployment.
func part[C any](at func(o *Options) **C) func(*Options) any {
	return func(o *Options) any {
		c := at(o)
		if *c == nil {
			*c = new(C)
		}
		return *c
	}
}

// added returns the settings of one more endpoint.
func added[C any](at func(o *Options) *[]C) func(*Options) any {
	return func(o *Options) any {
		list := at(o)
		*list = append(*list, *new(C))
		return &(*list)[len(*list)-1]
	}
}

// catalogue are the plugins, by name.
var catalogue = []entry{
	{
		name: "anthropic", doc: "models behind the Anthropic messages API", several: true,
		settings: added(func(o *Options) *[]anthropic.Config { return &o.Anthropic }),
		named: func(settings any, instance string) error {
			c := settings.(*anthropic.Config)
			return sameProvider(&c.Provider, instance)
		},
	},
	{
		name: "approve", doc: "the approval service, which puts questions to a person",
		settings: part(func(o *Options) **approve.Config { return &o.Approval }),
	},
	{
		name: "attachments", doc: "the image store; while it is there the model can read images",
		settings: part(func(o *Options) **attachments.Config { return &o.Attachments }),
	},
	{
		name: "fileops", doc: "operations on files and directories: lists, searches, copies, patches and more",
		settings: part(func(o *Options) **fileops.Config { return &o.FileOps }),
	},
	{
		name: "fslocal", doc: "the files of this machine, changes unconfined",
		settings: func(o *Options) any { return &o.FS },
	},
	{
		name: "fspolicy", doc: "a session changes only what it has read, and only while it is still that",
		settings: part(func(o *Options) **fspolicy.Config { return &o.Policy }),
	},
	{
		name: "models", doc: "the registry of models; models gives facts by provider/model, defaults by provider",
		settings: part(func(o *Options) **models.Config { return &o.Models }),
	},
	{
		name: "openai", doc: "models behind the OpenAI chat completions protocol, of any server that speaks it", several: true,
		settings: added(func(o *Options) *[]openai.Config { return &o.OpenAI }),
		named: func(settings any, instance string) error {
			c := settings.(*openai.Config)
			if c.Flavour == "" {
				c.Flavour = openai.Compatible
				if slices.Contains(openai.Flavours(), openai.Flavour(instance)) {
					c.Flavour = openai.Flavour(instance)
				}
			}
			return sameProvider(&c.Provider, instance)
		},
	},
	{
		name: "sandbox", doc: "the files of this machine, changes confined by sandbox-policy",
		settings: func(o *Options) any {
			if o.Sandbox == nil {
				o.Sandbox = &confine.PolicyConfig{}
			}
			return &o.FS
		},
	},
	{
		name: "sandbox-policy", doc: "how far a session may change files",
		settings: part(func(o *Options) **confine.PolicyConfig { return &o.Sandbox }),
	},
	{
		name: "toolfs", doc: "the tools read, write and edit, and read_image while there is an image store",
		settings: func(o *Options) any {
			o.NoTools = false
			return &o.Tools
		},
	},
}

func sameProvider(provider *string, instance string) error {
	if *provider == "" {
		*provider = instance
	}
	if *provider != instance {
		return fmt.Errorf("the provider is %q here and %q in the plugin's name; leave one out", *provider, instance)
	}
	return nil
}

// lookup finds the plugin of a name, which may be that of an instance.
func lookup(name string) (e entry, instance string, ok bool) {
	for _, e := range catalogue {
		if e.name == name {
			return e, "", true
		}
		if rest, found := strings.CutPrefix(name, e.name+"/"); found && e.several && rest != "" {
			return e, rest, true
		}
	}
	return entry{}, "", false
}

func pluginNames() []string {
	names := make([]string, len(catalogue))
	for i, e := range catalogue {
		names[i] = e.name
	}
	return names
}

// choices are the values of the types that have a few.
var choices = map[reflect.Type][]string{
	reflect.TypeFor[approval.Mode]():        {string(approval.Ask), string(approval.Never)},
	reflect.TypeFor[sandbox.Mode]():         texts(sandbox.Modes()),
	reflect.TypeFor[fileops.Register]():     {string(fileops.Hub), string(fileops.Tools), string(fileops.Both)},
	reflect.TypeFor[openai.Flavour]():       texts(openai.Flavours()),
	reflect.TypeFor[openai.SendReasoning](): {string(openai.ReasoningNever), string(openai.ReasoningToolCalls), string(openai.ReasoningAlways)},
	reflect.TypeFor[llm.Modality]():         {string(llm.TextInput), string(llm.ImageInput)},
}

func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
