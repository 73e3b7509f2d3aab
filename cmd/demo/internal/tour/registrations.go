package tour

import (
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/plug"
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
	if owner, ok := plug.ServiceOf[vfs.FileSystem](g.deployment.Context()).Mounted(); ok {
		add(owner, "service", "vfs.FileSystem")
	}
	tools, segments, listeners := map[string][]string{}, map[string][]string{}, map[string][]string{}
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
