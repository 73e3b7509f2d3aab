package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
)

func (a *app) pluginsCommand() *cobra.Command {
	var asJSON, example bool
	cmd := &cobra.Command{
		Use:   "plugins [NAME]",
		Short: "Explain the plugins and settings of a configuration file",
		Long: `plugins lists what a configuration file (demo run --config harness.yaml) may
say: every plugin with its settings, their types, defaults and meaning.

A file has the keys plugins, model and agent. Exactly the plugins that it names
are mounted, whether or not they have settings. Those of model endpoints can be
named several times, as in openai/deepseek; what follows the slash is the
provider id.`,
		Example: `  demo plugins
  demo plugins attachments
  demo plugins --example > harness.yaml
  demo plugins --json | jq '.plugins[].name'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("give at most one NAME")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			schema := deploy.Describe()
			if len(args) == 1 {
				p, err := schema.Plugin(args[0])
				switch {
				case err != nil && strings.Contains(err.Error(), "did you mean"):
					return usage("%v", err)
				case err != nil:
					return usage("%v; there are %s", err, strings.Join(pluginNames(schema), ", "))
				}
				schema = deploy.Schema{Settings: []deploy.Setting{}, Plugins: []deploy.PluginSchema{p}}
			}
			switch {
			case asJSON && example:
				return usage("give --json or --example, not both")
			case example:
				fmt.Fprint(a.out, deploy.Example)
			case asJSON:
				line, err := encode(schema)
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s\n", line)
			default:
				a.schema(schema)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the schema as one JSON object")
	cmd.Flags().BoolVar(&example, "example", false, "print a configuration file to start from: that of the default deployment of run")
	return cmd
}

func pluginNames(s deploy.Schema) (names []string) {
	for _, p := range s.Plugins {
		names = append(names, p.Name)
	}
	return names
}

func (a *app) schema(s deploy.Schema) {
	if len(s.Settings) > 0 {
		fmt.Fprintln(a.out, a.out.Paint(term.Bold, "settings of the agent"))
		a.settings(s.Settings)
	}
	for i, p := range s.Plugins {
		if i > 0 || len(s.Settings) > 0 {
			fmt.Fprintln(a.out)
		}
		name := p.Name
		if p.Several {
			name += ", " + p.Name + "/PROVIDER"
		}
		fmt.Fprintf(a.out, "%s  %s\n", a.out.Paint(term.Bold, name), p.Doc)
		a.settings(p.Settings)
	}
}

func (a *app) settings(all []deploy.Setting) {
	width := 0
	for _, s := range all {
		width = max(width, len(s.Key))
	}
	for _, s := range all {
		kind := s.Type
		if len(s.Values) > 0 {
			kind = strings.Join(s.Values, " | ")
			if s.Type != "text" {
				kind = strings.Replace(s.Type, "text", kind, 1)
			}
		}
		standard := ""
		if s.Default != "" {
			standard = ", default: " + s.Default
		}
		fmt.Fprintf(a.out, "  %s  %s\n", a.out.Paint(term.Cyan, fmt.Sprintf("%-*s", width, s.Key)), s.Doc)
		fmt.Fprintf(a.out, "  %*s  %s\n", width, "", a.out.Paint(term.Dim, kind+standard))
	}
}
