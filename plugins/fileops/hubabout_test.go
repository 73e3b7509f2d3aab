package fileops_test

import (
	"strings"
	"testing"

	"github.com/bridle-go/bridle/plugins/fileops"
)

// TestHubTellsEverything proves that the hub's description names every
// operation that is enabled with every argument, their choices and the members
// of their objects, and nothing of what is not enabled.
func TestHubTellsEverything(t *testing.T) {
	describe := func(cfg fileops.Config) string {
		def, err := inMemory(t, cfg, nil).Tools().Lookup(nil, fileops.HubName)
		if err != nil {
			t.Fatal(err)
		}
		return def.Description
	}
	all := describe(fileops.Config{})
	_, legend, _ := strings.Cut(all, "\n\n+ stands for ")
	for _, op := range fileops.Operations() {
		_, line, ok := strings.Cut(all, "\n- "+op.Name+": ")
		line, _, _ = strings.Cut(line, "\n")
		if !ok || !strings.HasPrefix(line, op.About) {
			t.Errorf("%s is described by %q", op.Name, line)
			continue
		}
		_, config, _ := strings.Cut(line, " config: ")
		words := strings.FieldsFunc(config, func(r rune) bool { return strings.ContainsRune(" ,*", r) })
		if strings.HasSuffix(config, "+") {
			words = append(words, strings.FieldsFunc(legend, func(r rune) bool { return strings.ContainsRune(" ,", r) })...)
		}
		has := map[string]bool{}
		for _, w := range words {
			has[w] = true
		}
		for _, a := range op.Arguments {
			if a.Name != op.Path && !has[a.Name] {
				t.Errorf("%s lacks %s: %s", op.Name, a.Name, config)
			}
			if a.Enum != nil && !strings.Contains(config, strings.Join(a.Enum, "|")) {
				t.Errorf("%s lacks the choices of %s: %s", op.Name, a.Name, config)
			}
			if a.Required && a.Name != op.Path && !strings.Contains(config, a.Name+"*") {
				t.Errorf("%s does not say that %s must be given: %s", op.Name, a.Name, config)
			}
		}
	}
	for _, shape := range []string{"replacements [{old_content*, new_content*}]", "patches [{op* (set, replace, insert, append or remove), path* (a JSON pointer), value", "file_types [] of c|cpp|go|"} {
		if !strings.Contains(all, shape) {
			t.Errorf("the description lacks %q", shape)
		}
	}
	off := map[string]bool{}
	for _, op := range fileops.Operations() {
		off[op.Switch] = !op.Changes && op.Name != "list_backups"
	}
	reading := describe(fileops.Config{Allow: off})
	for _, word := range []string{"write_file", "backup", "+ stands", "allow_ignored"} {
		if strings.Contains(reading, word) {
			t.Errorf("with reading alone the description has %q", word)
		}
	}
}
