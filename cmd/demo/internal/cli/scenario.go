package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/testkit/scenario"
)

// maxNamed is how many failed scenarios an error names.
const maxNamed = 5

func (a *app) scenarioCommand() *cobra.Command {
	var results bool
	cmd := &cobra.Command{
		Use:   "scenario FILE...",
		Short: "Play conformance scenarios, one JSON line each",
		Long: `scenario plays the scenarios of JSON files, each on a deployment of its own and
a workspace that is removed afterwards, and prints one JSON line a scenario:
name, area, pass, and the differences between what was expected and what
happened. With --results the line also has the actual result of every step and
what the workspace held in the end.

The exit status is 1 when a scenario did not pass.`,
		Example: `  demo scenario testkit/testdata/*.json
  demo scenario --results read.json | jq .results`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("give at least one FILE of scenarios")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []scenario.Scenario
			for _, name := range args {
				some, err := scenario.ReadFile(name)
				if err != nil {
					return scenarioFile(err)
				}
				for i, s := range some {
					if s.Name == "" {
						return failed(codeInvalidScenario, "%s: item %d has no name, so it is no scenario; testkit/scenario documents the format", name, i+1)
					}
				}
				all = append(all, some...)
			}
			var names []string
			for _, s := range all {
				out := scenario.Run(cmd.Context(), s, deploy.Scenario, scenario.Config{})
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				if _, err := fmt.Fprintf(a.out, "%s\n", out.Line(results)); err != nil {
					return fileFailure(err)
				}
				if !out.Pass {
					names = append(names, out.Name)
				}
			}
			if len(names) == 0 {
				return nil
			}
			shown := strings.Join(names[:min(len(names), maxNamed)], ", ")
			if len(names) > maxNamed {
				shown += ", ..."
			}
			return failed(codeScenario, "%d of %d scenarios failed: %s; the lines above say what was different", len(names), len(all), shown)
		},
	}
	cmd.Flags().BoolVar(&results, "results", false, "print the actual results of every step, too")
	return cmd
}

// scenarioFile is the failure of a scenario file.
func scenarioFile(err error) error {
	var unreadable *fs.PathError
	if errors.As(err, &unreadable) {
		return fileFailure(err)
	}
	return failed(codeInvalidScenario, "%v; testkit/scenario documents the format", err)
}
