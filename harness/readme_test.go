package harness_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	block  = regexp.MustCompile("(?s)<!-- (\\S+) -->\n```go\n(.*?)```")
	output = regexp.MustCompile(`(?m)^\t// Output:\n(?:\t// .*\n)+`)
)

// TestReadmeShowsTheExamples compares each program of the README with the file
// that it names, so that what it shows compiles and runs.
func TestReadmeShowsTheExamples(t *testing.T) {
	text := readme(t)
	blocks := block.FindAllStringSubmatch(text, -1)
	if got, want := len(blocks), strings.Count(text, "```go\n"); got != want || got == 0 {
		t.Fatalf("%d of %d blocks of Go name their file", got, want)
	}
	for _, b := range blocks {
		t.Run(b[1], func(t *testing.T) {
			// Who reads the page does not see the comment that names the file.
			if !strings.Contains(text, "]("+b[1]+")") {
				t.Errorf("the README has no link to %s", b[1])
			}
			data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(b[1])))
			if err != nil {
				t.Fatal(err)
			}
			file := output.ReplaceAllString(string(data), "")
			if strings.HasPrefix(b[2], "package main\n") {
				// An example is a function of a test package.
				file = strings.Replace(file, "package harness_test", "package main", 1)
				file = strings.Replace(file, "func Example()", "func main()", 1)
			}
			if !strings.Contains(file, b[2]) {
				t.Errorf("the README differs (-file +README):\n%s", cmp.Diff(file, b[2]))
			}
		})
	}
}

// TestReadmeShowsWhatTheFirstProgramPrints compares the output with that of
// the example.
func TestReadmeShowsWhatTheFirstProgramPrints(t *testing.T) {
	data, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	want := output.FindString(string(data))
	want = strings.ReplaceAll(strings.TrimPrefix(want, "\t// Output:\n"), "\t// ", "")
	if want == "" || !strings.Contains(readme(t), "```\n"+want+"```\n") {
		t.Errorf("the README does not show this output:\n%s", want)
	}
}

// TestReadmeNamesEveryCodeAndEvent keeps its tables whole.
func TestReadmeNamesEveryCodeAndEvent(t *testing.T) {
	text := readme(t)
	files := token.NewFileSet()
	codes, events := 0, 0
	for _, dir := range []string{".", "../plugins"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				name, isCode := declaredName(n)
				if name == "" {
					return true
				}
				if isCode {
					codes++
				} else {
					events++
				}
				if !strings.Contains(text, "`"+name+"`") {
					t.Errorf("the README does not name %s (%s)", name, path)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if codes < 50 || events < 8 {
		t.Errorf("found %d codes and %d events, which cannot be all", codes, events)
	}
}

// TestReadmeNamesEveryPackage keeps its list of packages whole.
func TestReadmeNamesEveryPackage(t *testing.T) {
	text := readme(t)
	found := 0
	for _, pattern := range []string{"*/*.go", "../plugins/*/*.go", "../testkit/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{"harness/internal": true, "plugins/internal": true}
		for _, file := range files {
			dir, err := filepath.Abs(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir)
			if named[name] || strings.HasSuffix(file, "_test.go") {
				continue
			}
			named[name] = true
			found++
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("the README does not name %s", name)
			}
		}
	}
	if found < 15 {
		t.Errorf("found %d packages, which cannot be all", found)
	}
}

// declaredName returns the code that n declares as a constant of type Code,
// or the name of the event that it declares.
func declaredName(n ast.Node) (name string, isCode bool) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		if lastName(n.Type) == "Code" && len(n.Values) == 1 {
			return literal(n.Values[0]), true
		}
	case *ast.CallExpr:
		generic, ok := n.Fun.(*ast.IndexExpr)
		if ok && lastName(generic.X) == "NewEmit" {
			return literal(n.Args[0]), false
		}
		two, ok := n.Fun.(*ast.IndexListExpr)
		if ok && lastName(two.X) == "NewWaterfall" {
			return literal(n.Args[0]), false
		}
	}
	return "", false
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func literal(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if s, err := strconv.Unquote(lit.Value); err == nil {
			return s
		}
	}
	return ""
}
