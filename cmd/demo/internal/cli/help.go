package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how many columns the lines of help texts take at most, flags
// and lists included, on any terminal.
const helpWidth = 80

// usageText prints the part of a command's help that follows its description.
func usageText(cmd *cobra.Command) error {
	out := cmd.OutOrStderr()
	path := cmd.CommandPath()
	fmt.Fprintln(out, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintf(out, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "  %s [command]\n", path)
	}
	if cmd.HasExample() {
		fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		var rows [][2]string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				rows = append(rows, [2]string{c.Name(), c.Short})
			}
		}
		fmt.Fprintln(out, "\nAvailable Commands:")
		twoColumns(out, rows, " ")
	}
	if cmd.HasAvailableLocalFlags() {
		fmt.Fprintln(out, "\nFlags:")
		twoColumns(out, flagRows(cmd.LocalFlags()), "   ")
	}
	if cmd.HasAvailableInheritedFlags() {
		fmt.Fprintln(out, "\nGlobal Flags:")
		twoColumns(out, flagRows(cmd.InheritedFlags()), "   ")
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(out, "\nUse \"%s [command] --help\" for more information about a command.\n", path)
	}
	return nil
}

// placeholders stand for the values of flags whose description names none.
var placeholders = map[string]string{"string": "TEXT", "stringArray": "TEXT", "int": "N", "int64": "N", "bool": ""}

// flagRows returns each flag as it is typed, and what it is for.
func flagRows(flags *pflag.FlagSet) (rows [][2]string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		if !strings.Contains(f.Usage, "`") {
			value = placeholders[f.Value.Type()]
		}
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		switch f.DefValue {
		case "", "0", "-1", "false", "[]":
		default:
			about += " (default " + f.DefValue + ")"
		}
		rows = append(rows, [2]string{strings.TrimRight(name+" "+value, " "), about})
	})
	return rows
}

// twoColumns prints rows of a name and a text, which is wrapped.
func twoColumns(out io.Writer, rows [][2]string, gap string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		name := r[0]
		for _, line := range wrapped(r[1], helpWidth-2-width-len(gap)) {
			fmt.Fprintf(out, "  %-*s%s%s\n", width, name, gap, line)
			name = ""
		}
	}
}

// wrapped breaks a text into lines of at most width characters, between words.
func wrapped(text string, width int) []string {
	var lines []string
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if line != "" && length+1+n > width {
			lines, line, length = append(lines, line), "", 0
		}
		if line != "" {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	return append(lines, line)
}
