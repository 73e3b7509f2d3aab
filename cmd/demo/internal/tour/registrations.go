package tour

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/sandbox"
	"github.com/bridle-go/bridle/harness/vfs"
)

// registrations shows what each plugin brought.
func (g *guide) registrations() {
	brought := map[string][]string{}
	add := func(plugin, kind string, names ...string) {
		if plugin != "" && len(names) > 0 {
			brought[plugin] = append(brought[plugin], fmt.Sprintf("%-9s %s", kind, strings.Join(names, ", ")))
		}
	}
	services := map[string][]string{}
	c := g.deployment.Context()
	for name, service := range map[string]interface{ Mounted() (string, bool) }{
		"vfs.FileSystem":   plug.ServiceOf[vfs.FileSystem](c),
		"llm.Registry":     plug.ServiceOf[*llm.Registry](c),
		"attachment.Store": plug.ServiceOf[attachment.Store](c),
		"approval.Service": plug.ServiceOf[approval.Service](c),
		"sandbox.Policy":   plug.ServiceOf[sandbox.Policy](c),
	} {
		if owner, ok := service.Mounted(); ok {
			services[owner] = append(services[owner], name)
		}
	}
	tools, segments, listeners := map[string][]string{}, map[string][]string{}, map[string][]string{}
	models := map[string][]string{g.model.Plugin().Name: {provider + "/" + model}}
	for _, d := range g.deployment.Tools().Definitions(nil) {
		owner := g.deployment.Tools().Owner(d.Name)
		tools[owner] = append(tools[owner], d.Name)
	}
	owners := g.deployment.Prompt().Owners()
	for _, s := range g.deployment.Prompt().Segments() {
		segments[owners[s.Name]] = append(segments[owners[s.Name]], fmt.Sprintf("%s (order %d)", s.Name, s.Order))
	}
	for _, l := range g.deployment.Bus().Listeners() {
		for _, owner := range l.Owners {
			listeners[owner] = append(listeners[owner], l.Event)
		}
	}
	for _, plugin := range g.deployment.Plugins() {
		slices.Sort(services[plugin])
		add(plugin, "service", services[plugin]...)
		add(plugin, "model", models[plugin]...)
		add(plugin, "tools", tools[plugin]...)
		add(plugin, "segments", segments[plugin]...)
		add(plugin, "listeners", listeners[plugin]...)
		name := g.out.Paint(term.Bold, fmt.Sprintf("%-10s", plugin))
		for i, line := range brought[plugin] {
			if i > 0 {
				name = strings.Repeat(" ", 10)
			}
			fmt.Fprintf(g.out, "%s %s\n", name, line)
		}
	}
}
