package deploy

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/bridle-go/bridle/harness/errs"
)

// InvalidConfig reports a configuration file that cannot be used. The message
// names the line.
const InvalidConfig errs.Code = "CONFIG_INVALID"

// maxFileBytes bounds a configuration file.
const maxFileBytes = 1 << 20

// ReadFile reads a configuration file. The deployment has the plugins that the
// file names, and no others, except that sandbox brings its policy.
func ReadFile(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return File{}, err
	}
	if len(data) > maxFileBytes {
		return File{}, errs.New(InvalidConfig, fmt.Sprintf("%s is larger than %d bytes", name, maxFileBytes))
	}
	return Parse(filepath.Base(name), data)
}

// Parse reads the text of a configuration file. name stands in errors.
func Parse(name string, data []byte) (_ File, err error) {
	defer func() {
		// The parser is not ours; what it cannot take must not end the program.
		if r := recover(); r != nil {
			err = errs.New(InvalidConfig, fmt.Sprintf("%s is not YAML", name))
		}
	}()
	f, err := parse(data)
	var at *lineError
	var syntax yaml.Error
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &at):
		return File{}, errs.New(InvalidConfig, fmt.Sprintf("%s:%d: %s", name, at.line, at.message))
	case errors.As(err, &syntax):
		line := 1
		if t := syntax.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
		return File{}, errs.New(InvalidConfig, fmt.Sprintf("%s:%d: %s", name, line, syntax.GetMessage()))
	}
	return File{}, errs.New(InvalidConfig, fmt.Sprintf("%s: %v", name, err))
}

func parse(data []byte) (File, error) {
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		return File{}, err
	}
	var body ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return File{}, wrong(doc.Body, "a second document begins here; a configuration is one")
		}
		body = doc.Body
	}
	if body == nil {
		return File{}, &lineError{1, "the file is empty; demo plugins --example prints one to start from"}
	}
	d := &decoder{anchors: map[string]ast.Node{}}
	ast.Walk(anchors(d.anchors), body)
	f := File{Plugins: Options{NoTools: true}}
	top, err := d.pairs(body, "the file")
	if err != nil {
		return File{}, err
	}
	for _, p := range top {
		switch p.key {
		case "model":
			err = d.decode(p.value, reflect.ValueOf(&f.Model).Elem(), "model")
			if err == nil && f.Model != "" && !validModel(f.Model) {
				err = wrong(p.value, "model is %q, and must be provider/model", f.Model)
			}
		case "agent":
			err = d.decode(p.value, reflect.ValueOf(&f.Agent).Elem(), "agent")
		case "plugins":
			err = d.plugins(p.value, &f.Plugins)
		default:
			err = wrong(p.node, "there is no %q%s", p.key, suggestion(p.key, []string{"model", "agent", "plugins"}))
		}
		if err != nil {
			return File{}, err
		}
	}
	if !slices.ContainsFunc(top, func(p pair) bool { return p.key == "plugins" }) {
		return File{}, wrong(body, "the file names no plugins; demo plugins lists them")
	}
	return f, nil
}

func validModel(name string) bool {
	provider, model, ok := strings.Cut(name, "/")
	return ok && provider != "" && model != ""
}

// anchors collects the anchors of a document.
type anchors map[string]ast.Node

// Visit implements [ast.Visitor].
func (a anchors) Visit(n ast.Node) ast.Visitor {
	if anchor, ok := n.(*ast.AnchorNode); ok {
		a[anchor.Name.String()] = anchor.Value
	}
	return a
}

// plugins reads the plugins and their settings.
func (d *decoder) plugins(n ast.Node, o *Options) error {
	pairs, err := d.pairs(n, "plugins")
	if err != nil {
		return err
	}
	named := map[string]ast.Node{}
	for _, p := range pairs {
		e, instance, ok := lookup(p.key)
		if !ok {
			return wrong(p.node, "there is no plugin %q%s", p.key, suggestion(p.key, pluginNames()))
		}
		named[p.key] = p.node
		settings := e.settings(o)
		what := "plugins." + p.key
		if err := d.decode(p.value, reflect.ValueOf(settings).Elem(), what); err != nil {
			return err
		}
		if instance != "" {
			if err := e.named(settings, instance); err != nil {
				return wrong(p.node, "%s: %v", what, err)
			}
		}
	}
	local, confined, policy := named["fslocal"], named["sandbox"], named["sandbox-policy"]
	switch {
	case local != nil && confined != nil:
		return wrong(confined, "fslocal and sandbox both provide the filesystem; name one of them")
	case local == nil && confined == nil:
		return wrong(n, "plugins has no filesystem; name sandbox or fslocal")
	case policy != nil && confined == nil:
		return wrong(policy, "sandbox-policy has no effect without the plugin sandbox, in the place of fslocal")
	}
	return nil
}
