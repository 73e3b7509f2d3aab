package plug

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
)

// plan checks plugins that are to be mounted together and returns them in
// mount order. The plugin called leaving, if any, counts as gone. Nothing of
// any plugin runs here.
func (c *Context) plan(plugins []Plugin, leaving string) ([]Plugin, error) {
	plugins = slices.SortedFunc(slices.Values(plugins), func(a, b Plugin) int { return cmp.Compare(a.Name, b.Name) })
	providers := map[reflect.Type]string{}
	var problems []error
	names := map[string]bool{}
	note := func(p Plugin) {
		if p.Name == "" {
			problems = append(problems, errs.New(errs.InvalidArgs, "a plugin needs a name"))
		} else if names[p.Name] {
			problems = append(problems, &errs.Error{Code: errs.DuplicatePlugin, Op: p.Name,
				Message: fmt.Sprintf("two plugins are called %q; mount one of them, or give them different names", p.Name)})
		} else if err := p.declaredTwice(); err != nil {
			problems = append(problems, err)
		}
		names[p.Name] = true
		for _, d := range p.Services {
			if d.kind != provides {
				continue
			}
			if other, taken := providers[d.typ]; taken {
				if other != p.Name { // else told already, as one of the above
					problems = append(problems, duplicate(d.name, other, p.Name))
				}
				continue
			}
			providers[d.typ] = p.Name
		}
	}
	for _, m := range c.mounted {
		if m.plugin.Name != leaving {
			note(m.plugin)
		}
	}
	for _, p := range plugins {
		note(p)
	}
	for _, p := range plugins {
		for _, d := range p.Services {
			if _, ok := providers[d.typ]; d.kind == needs && !ok {
				problems = append(problems, missing(p.Name, d.name))
			}
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	ordered, err := order(plugins, providers)
	if err != nil {
		return nil, err
	}
	for _, p := range ordered {
		opts, _ := c.assemble(p, NewScope(p.Name))
		if err := fx.ValidateApp(opts); err != nil {
			return nil, unwired(p, err)
		}
	}
	return ordered, nil
}

// order sorts plugins, which are sorted by name, so that providers come before
// those that need them. A service that is merely used may come later, so uses
// do not count.
func order(plugins []Plugin, providers map[reflect.Type]string) ([]Plugin, error) {
	byName := map[string]Plugin{}
	for _, p := range plugins {
		byName[p.Name] = p
	}
	var ordered []Plugin
	done := map[string]bool{}
	var path []string
	var visit func(name string) error
	visit = func(name string) error {
		p, here := byName[name]
		if !here || done[name] {
			return nil // mounted already
		}
		if at := slices.Index(path, name); at >= 0 {
			return &errs.Error{Code: errs.PluginCycle, Op: name,
				Message: "plugins need each other in a circle: " + strings.Join(append(path[at:], name), " needs ")}
		}
		path = append(path, name)
		for _, d := range p.Services {
			if d.kind == needs && providers[d.typ] != name {
				if err := visit(providers[d.typ]); err != nil {
					return err
				}
			}
		}
		path = path[:len(path)-1]
		done[name] = true
		ordered = append(ordered, p)
		return nil
	}
	for _, p := range plugins {
		if err := visit(p.Name); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

func missing(plugin, service string) error {
	return &errs.Error{Code: errs.MissingService, Op: plugin,
		Message: fmt.Sprintf("plugin %q needs service %s, which no plugin provides", plugin, service)}
}
