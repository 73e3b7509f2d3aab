package main

import (
	"os"
	"path/filepath"
	"regexp"
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
	var help strings.Builder
	status := cli.Run(t.Context(), cli.Env{Args: []string{"--help"}, Stdout: &help, Stderr: &help, Getenv: func(string) string { return "" }})
	if status != 0 {
		t.Fatalf("status %d: %s", status, help.String())
	}
	_, list, _ := strings.Cut(help.String(), "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	found := 0
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name == "help" {
			continue
		}
		found++
		if !strings.Contains(string(text), "\ndemo "+name+" ") {
			t.Errorf("the README does not list demo %s", name)
		}
	}
	if found < 8 {
		t.Errorf("found %d commands, which cannot be all:\n%s", found, list)
	}
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
