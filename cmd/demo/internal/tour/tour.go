// Package tour shows the harness at work: a scripted model reads and changes
// the files of a scratch workspace through a deployment.
package tour

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/cmd/demo/internal/render"
	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/testkit/script"
)

//go:embed workspace
var files embed.FS

// Deploy starts the deployment to show, on a workspace and with the plugin of
// a model.
type Deploy func(ctx context.Context, dir string, model plug.Plugin) (*harness.Deployment, error)

// Run gives the tour. It fails when something else happens than it tells.
// Nothing is left behind, also when ctx ends in the middle.
func Run(ctx context.Context, out *term.Output, deploy Deploy) (err error) {
	dir, err := os.MkdirTemp("", "bridle-tour-*")
	if err != nil {
		return fmt.Errorf("make a scratch workspace: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	source, err := fs.Sub(files, "workspace")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, source); err != nil {
		return fmt.Errorf("fill the scratch workspace: %w", err)
	}
	m := script.New(script.Config{Provider: provider, Models: []llm.ModelInfo{{Model: model}}})
	d, err := deploy(ctx, dir, m.Plugin())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop(context.WithoutCancel(ctx))) }()

	g := &guide{out: out, render: render.New(out), deployment: d, model: m, dir: dir}
	return g.tour(ctx, source)
}

// guide shows what happens.
type guide struct {
	out        *term.Output
	render     *render.Renderer
	deployment *harness.Deployment
	model      *script.Model
	dir        string

	calls, refused int
	atCard         bool // a card is the last thing shown
}

func (g *guide) tour(ctx context.Context, source fs.FS) (err error) {
	var unreadable error
	scenes := scenes(func(name string) string {
		data, err := fs.ReadFile(source, name)
		unreadable = errors.Join(unreadable, err)
		return string(data)
	})
	if unreadable != nil {
		return unreadable
	}
	p, err := newPlayer(g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	g.opening(source)
	for i, s := range scenes {
		g.heading(fmt.Sprintf("%d  %s", i+1, s.title))
		if err := g.scene(ctx, p, s); err != nil {
			return err
		}
	}
	g.heading(fmt.Sprintf("%d  What each plugin registered", len(scenes)+1))
	g.registrations()
	fmt.Fprintf(g.out, "\n%s\n", g.out.Paint(term.Dim,
		fmt.Sprintf("%d turns, %d requests to the model, %d calls, %d of them refused, nothing lost.\nThe workspace is removed. Next: go run ./cmd/demo --help",
			len(scenes), len(g.model.Requests()), g.calls, g.refused)))
	return nil
}

func (g *guide) opening(source fs.FS) {
	fmt.Fprintln(g.out, g.out.Paint(term.Bold, "A tour of the harness"))
	fmt.Fprintln(g.out, "A scripted model works in a scratch workspace, through the basic deployment: files, policy, file tools.")
	fmt.Fprintf(g.out, "\nworkspace  %s\n", term.Line(g.dir))
	// The embedded files can be walked without failing.
	_ = fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Fprintf(g.out, "           %s\n", g.out.Paint(term.Dim, path))
		}
		return nil
	})
	fmt.Fprintf(g.out, "plugins    %s\n", strings.Join(g.deployment.Plugins(), ", "))
}

func (g *guide) heading(title string) {
	g.atCard = false
	fmt.Fprintf(g.out, "\n%s\n\n", g.out.Rule(title))
}

func (g *guide) scene(ctx context.Context, p *player, s scene) error {
	if o := s.outside; o != nil {
		if err := g.outside(o); err != nil {
			return err
		}
	}
	g.speak("user", term.Cyan, s.user)
	if err := p.turn(ctx, s.user, s.steps); err != nil {
		return err
	}
	if s.show != "" {
		return g.onDisk(s.show, s.lines)
	}
	return nil
}

// outside changes a file as another program would.
func (g *guide) outside(o *replacement) error {
	name := filepath.Join(g.dir, filepath.FromSlash(o.file))
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(data), o.old, o.new, 1)), 0o644); err != nil {
		return err
	}
	g.speak("outside", term.Yellow, fmt.Sprintf("%s in %s: %s", o.what, o.file, o.new))
	return nil
}

// said shows what the model says.
func (g *guide) said(text string) { g.speak("model", term.Blue, text) }

// called shows what came of a call, and checks that it is what the script
// says.
func (g *guide) called(s step, d tool.Definition, arguments string, r tool.Result) error {
	var code string
	if r.Error != nil {
		code = r.Error.Code
	}
	if r.IsError != (s.code != "") || code != string(s.code) {
		return fmt.Errorf("the call of %s gave %q %q instead of %q: %s", s.tool, code, r.Text(), s.code, arguments)
	}
	g.calls++
	g.pause()
	if r.IsError {
		g.refused++
		card := d.PresentCall(arguments)
		card.Text = r.Text()
		g.render.Failure(card, code)
	} else {
		g.render.Card(d.PresentResult(arguments, tool.Logged{Content: r.Content, Meta: r.Meta}), render.TextBefore(r))
	}
	g.atCard = true
	return nil
}

func (g *guide) speak(who string, s term.Style, text string) {
	if g.atCard {
		g.pause()
	}
	fmt.Fprintf(g.out, "%s %s\n", g.out.Paint(s, fmt.Sprintf("%-8s", who)), term.Line(text))
}

// pause parts a card from what is around it.
func (g *guide) pause() {
	g.atCard = false
	fmt.Fprintln(g.out)
}

// onDisk shows that a file on the disk has the given lines, whatever the tools
// reported.
func (g *guide) onDisk(name string, lines []string) error {
	data, err := os.ReadFile(filepath.Join(g.dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	fmt.Fprintf(g.out, "\n%s %s has both changes:\n", g.out.Paint(term.Yellow, "on disk "), name)
	for _, line := range lines {
		if !slices.Contains(strings.Split(string(data), "\n"), line) {
			return fmt.Errorf("%s does not have the line %q", name, line)
		}
		fmt.Fprintf(g.out, "     %s %s\n", g.out.Paint(term.Dim, "│"), term.Visible(line))
	}
	return nil
}
