package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
)

// TestReadmeNamesEveryCommand keeps its list of commands whole.
func TestReadmeNamesEveryCommand(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := subcommands(help(t))
	for _, name := range names {
		if !strings.Contains(string(text), "\ndemo "+name+" ") {
			t.Errorf("the README does not list demo %s", name)
		}
	}
	if len(names) < 8 {
		t.Errorf("found %v, which cannot be all", names)
	}
}

// help returns what a command says of itself.
func help(t *testing.T, command ...string) string {
	t.Helper()
	var out strings.Builder
	env := cli.Env{Args: append(command, "--help"), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	if status := cli.Run(t.Context(), env); status != 0 {
		t.Fatalf("%v: status %d: %s", command, status, out.String())
	}
	return out.String()
}

// subcommands returns the commands that a help lists.
func subcommands(help string) (names []string) {
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "   ") {
			continue // a description goes on
		}
		if name := strings.Fields(line)[0]; name != "help" {
			names = append(names, name)
		}
	}
	return names
}

func TestEveryCommandExplainsItself(t *testing.T) {
	var check func(command ...string)
	check = func(command ...string) {
		text := help(t, command...)
		if len(text) < 200 || !strings.Contains(text, "\nExamples:\n  ") {
			t.Errorf("%v has no examples:\n%s", command, text)
		}
		for _, name := range subcommands(text) {
			check(append(slices.Clone(command), name)...)
		}
	}
	check()
}

// TestReadmeShowsTheConfiguration compares each YAML file of the README with
// the file that it names.
func TestReadmeShowsTheConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- (\\S+) -->\n```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != strings.Count(string(text), "```yaml\n") || len(blocks) == 0 {
		t.Fatalf("%d blocks of YAML name their file", len(blocks))
	}
	for _, b := range blocks {
		file, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(b[1])))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(file), b[2]); diff != "" {
			t.Errorf("the README differs (-file +README):\n%s", diff)
		}
	}
}

// TestReadmeNamesTheCodesOfTheDemo keeps its table of codes whole: those of the
// commands, and those of the file operations, which are kinds of failure in
// upper case.
func TestReadmeNamesTheCodesOfTheDemo(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, declaration := range map[string]string{
		"internal/cli/*.go":                         `\bcode[A-Z]\w* += "(\w+)"`,
		"internal/deploy/*.go":                      `errs\.Code += "(\w+)"`,
		"../../plugins/fileops/internal/fault/*.go": `\bKind += "(\w+)"`,
	} {
		files, err := filepath.Glob(filepath.FromSlash(pattern))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range files {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(declaration).FindAllStringSubmatch(string(source), -1) {
				found++
				if code := strings.ToUpper(m[1]); !strings.Contains(string(text), "`"+code+"`") {
					t.Errorf("the README does not name %s (%s)", code, name)
				}
			}
		}
		if found == 0 {
			t.Errorf("there is no code in %s", pattern)
		}
	}
}
