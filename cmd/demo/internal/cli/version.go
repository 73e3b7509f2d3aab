package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Tell which build this is",
		Long: `version tells which build this is, as --version does: the version of the
module, the commit it was built from and whether there were other changes, as
far as the build recorded them, and the version of Go.`,
		Example: "  demo version\n  demo --version",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("version takes no arguments")
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "demo %s\n", version(debug.ReadBuildInfo()))
			return err
		},
	}
}

// version describes a build by what it recorded of itself.
func version(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "of an unknown version, " + runtime.Version()
	}
	text := info.Main.Version
	if text == "" {
		text = "(devel)"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		text += ", commit " + commit[:min(len(commit), 12)]
	}
	if settings["vcs.modified"] == "true" {
		text += " with changes"
	}
	return text + ", " + info.GoVersion
}
