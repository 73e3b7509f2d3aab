package testkit_test

import (
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/bridle-go/bridle"

// rules are the arrows between the parts of the module:
//
//	cmd -> plugins -> harness      testkit -> harness
//
// Each forbids imports from one part to another, for a reason.
var rules = []struct{ from, to, reason string }{
	{"harness", "plugins", "the harness is the ground: a contract that a plugin needs from another belongs there, not the plugin"},
	{"harness", "testkit", "what runs in production must not carry test code"},
	{"harness", "cmd", "commands compose; nothing builds on them"},
	{"plugins", "plugins", "plugins meet through services and events, so that each can be left out or replaced"},
	{"plugins", "testkit", "what runs in production must not carry test code"},
	{"plugins", "cmd", "commands compose; nothing builds on them"},
	{"testkit", "plugins", "tests of plugins import the testkit, and it must not know one of them better"},
	{"testkit", "cmd", "commands compose; nothing builds on them"},
}

// exceptions are the imports that are allowed all the same.
var exceptions = map[string]string{
	"plugins/sandbox -> plugins/fslocal": "the fence goes around the local provider, whose code is not copied for it",
}

// where tells what part of a package imports something.
type where int

const (
	inCode where = iota
	inTest
	inExternalTest
)

var places = [...]string{inCode: "code", inTest: "test", inExternalTest: "external test"}

// forbidden returns why a package must not import another, or "". Tests are
// bound as their package is, but may use the testkit. The external tests of a
// plugin, and those of the facade, may also compose a deployment of several
// plugins, as a command does: nothing can come to depend on that.
func forbidden(from, to string, at where) string {
	a, b := part(from), part(to)
	switch {
	case a == b, exceptions[a+" -> "+b] != "", at != inCode && b == "testkit":
		return ""
	case under(from, "plugins") && b == "plugins/internal":
		return "" // code that plugins share; it is no plugin, so nobody mounts or replaces it
	case at == inExternalTest && under(to, "plugins") && (under(from, "plugins") || from == module+"/harness"):
		return ""
	}
	for _, r := range rules {
		if under(from, r.from) && under(to, r.to) {
			return r.reason
		}
	}
	return ""
}

// TestImports keeps the picture true.
func TestImports(t *testing.T) {
	for _, p := range packages(t) {
		for at, imports := range [][]string{inCode: p.Imports, inTest: p.TestImports, inExternalTest: p.XTestImports} {
			for _, to := range imports {
				if why := forbidden(p.ImportPath, to, where(at)); why != "" {
					t.Errorf("%s imports %s (%s): %s", p.ImportPath, to, places[at], why)
				}
			}
		}
	}
}

// TestForbidden shows that the rules bite.
func TestForbidden(t *testing.T) {
	tests := []struct{ from, to, allowed string }{ // in code, test, external test
		{"harness", "plugins/fslocal", "external test"},
		{"harness/vfs", "plugins/fslocal", ""},
		{"harness/vfs", "harness/errs", "code, test, external test"},
		{"harness/vfs", "testkit", "test, external test"},
		{"harness/vfs", "cmd/demo", ""},
		{"plugins/toolfs", "harness/vfs", "code, test, external test"},
		{"plugins/toolfs", "plugins/fslocal", "external test"},
		{"plugins/toolfs", "plugins/toolfsx", "external test"},
		{"plugins/toolfs", "plugins/toolfs/internal/x", "code, test, external test"},
		{"plugins/toolfs", "testkit/memfs", "test, external test"},
		{"plugins/toolfs", "cmd/demo/internal/deploy", ""},
		{"plugins/sandbox", "plugins/fslocal", "code, test, external test"},
		{"plugins/fslocal", "plugins/sandbox", "external test"},
		{"plugins/openai", "plugins/internal/dialog", "code, test, external test"},
		{"plugins/internal/dialog", "plugins/openai", "external test"},
		{"testkit/scenario", "plugins/toolfs", ""},
		{"testkit/scenario", "testkit/memfs", "code, test, external test"},
		{"testkit", "cmd/demo", ""},
		{"cmd/demo", "plugins/toolfs", "code, test, external test"},
	}
	for _, tt := range tests {
		var allowed []string
		for at, name := range places {
			if forbidden(module+"/"+tt.from, module+"/"+tt.to, where(at)) == "" {
				allowed = append(allowed, name)
			}
		}
		if got := strings.Join(allowed, ", "); got != tt.allowed {
			t.Errorf("%s -> %s is allowed in %q, want %q", tt.from, tt.to, got, tt.allowed)
		}
	}
}

// part is what the rules see of a package: one plugin, or one of the other
// trees as a whole.
func part(path string) string {
	parts := strings.Split(strings.TrimPrefix(path, module+"/"), "/")
	if parts[0] == "plugins" && len(parts) > 1 {
		return "plugins/" + parts[1]
	}
	return parts[0]
}

func under(path, dir string) bool {
	return path == module+"/"+dir || strings.HasPrefix(path, module+"/"+dir+"/")
}

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

// packages lists the packages of the module. Those that do not compile are
// listed all the same, because their imports can be read.
func packages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages, which cannot be all", len(all))
	}
	return all
}
