package deploy_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness"
)

// Every plugin can be replaced by another of its kind while the rest runs, and
// a model sees no difference afterwards.
func TestEveryPluginCanBeReplaced(t *testing.T) {
	options := deploy.Agent()
	options.Place(t.TempDir(), t.TempDir())
	plugins := deploy.Plugins(options)
	d, err := harness.Compose(t.Context(), plugins...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	seen := func() (tools []string, system string) {
		for _, def := range d.Tools().Definitions(nil) {
			tools = append(tools, def.Name+" "+string(def.Input))
		}
		return tools, d.Prompt().System()
	}
	tools, system := seen()
	for _, p := range plugins {
		if err := d.Replace(t.Context(), p.Name, p); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	after, systemAfter := seen()
	if diff := cmp.Diff(tools, after); diff != "" {
		t.Errorf("tools (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(system, systemAfter); diff != "" {
		t.Errorf("system prompt (-before +after):\n%s", diff)
	}
}
