package deploy_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/fileops"
)

var update = flag.Bool("update", false, "rewrite what tests compare with")

// everything is a deployment of all plugins that say something to a model.
func everything(t *testing.T) []plug.Plugin {
	o := deploy.Agent()
	o.FileOps = &fileops.Config{Register: fileops.Both}
	o.Place(t.TempDir(), t.TempDir())
	return deploy.Plugins(o)
}

// said is what a deployment says to a model in each request, for a reader: the
// system prompt, and of each tool the description and the schemas.
func said(t *testing.T, d *harness.Deployment) string {
	t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "System prompt\n=============\n\n%s\n", d.Prompt().System())
	for _, def := range d.Tools().Definitions(nil) {
		fmt.Fprintf(&b, "\n\nTool %s\n=====%s\n\n%s\n\nInput: ", def.Name, bytes.Repeat([]byte("="), len(def.Name)), def.Description)
		if err := json.Indent(&b, def.Input, "", "  "); err != nil {
			t.Fatal(err)
		}
	}
	return b.String() + "\n"
}

// exact is the same as it goes into requests, byte for byte.
func exact(d *harness.Deployment) string {
	var b bytes.Buffer
	b.WriteString(d.Prompt().System())
	for _, def := range d.Tools().Definitions(nil) {
		fmt.Fprintf(&b, "\n%s\x00%s\x00%s\x00%s", def.Name, def.Description, def.Input, def.Output)
	}
	return b.String()
}

// What a model is told depends on which plugins there are, and neither on the
// order in which they were mounted nor on the run or the machine.
func TestPromptIsStable(t *testing.T) {
	golden := filepath.Join("testdata", "prompt.golden")
	first := compose(t, everything(t)...)
	text, bytes := said(t, first), exact(first)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("a change of this text makes every provider's cache cold; -update rewrites it (-want +got):\n%s", diff)
	}

	orders := 60
	if testing.Short() {
		orders = 10
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range orders {
		plugins := everything(t)
		random.Shuffle(len(plugins), func(i, j int) { plugins[i], plugins[j] = plugins[j], plugins[i] })
		var d *harness.Deployment
		if n%2 == 0 {
			d = compose(t, plugins...)
		} else {
			d = compose(t)
			mountOneByOne(t, d, plugins)
		}
		if got := exact(d); got != bytes {
			t.Errorf("mounted as %v (-want +got):\n%s", d.Plugins(), cmp.Diff(bytes, got))
		}
		if err := d.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
}

// mountOneByOne mounts plugins while the deployment runs, each as soon as what
// it needs is there.
func mountOneByOne(t *testing.T, d *harness.Deployment, plugins []plug.Plugin) {
	t.Helper()
	for len(plugins) > 0 {
		var later []plug.Plugin
		var failure error
		for _, p := range plugins {
			if err := d.Mount(t.Context(), p); err != nil {
				later, failure = append(later, p), err
			}
		}
		if len(later) == len(plugins) {
			t.Fatal(failure)
		}
		plugins = later
	}
}
