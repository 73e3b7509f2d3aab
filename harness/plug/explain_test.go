package plug_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
)

// box is a service with a type argument.
type box[T any] interface{ Open() T }

// TestDeclarationsThatDisagreeWithConstructors says what is wrong in words of
// the declaration, and what to do.
func TestDeclarationsThatDisagreeWithConstructors(t *testing.T) {
	const (
		unprovided = ", but none of its constructors returns one; add one with fx.Provide to its Options (fx.Annotate with fx.As where it returns another type)"
		undeclared = "] that it did not declare; add plug.Needs["
	)
	greets := []plug.Declaration{plug.Provides[greeter]()}
	tests := []struct {
		name     string
		services []plug.Declaration
		options  fx.Option
		want     string // after the plugin's name; "" where the error is fx's
	}{
		{"no constructor", greets, nil, "declares plug.Provides[plug_test.greeter]" + unprovided},
		{"a constructor of the concrete type", greets, fx.Provide(func() fixed { return "x" }),
			"declares plug.Provides[plug_test.greeter]" + unprovided},
		{"an undeclared service", nil, fx.Invoke(func(*plug.Service[greeter]) {}),
			"takes a *plug.Service[plug_test.greeter" + undeclared + "plug_test.greeter]() or plug.Uses[plug_test.greeter]() to its Services"},
		{"an undeclared service of a constructor", nil,
			fx.Options(fx.Provide(func(*plug.Service[*event.Bus]) clock { return ticker{} }), fx.Invoke(func(clock) {})),
			"takes a *plug.Service[*event.Bus" + undeclared + "*event.Bus]() or plug.Uses[*event.Bus]() to its Services"},
		{"an undeclared service with a type argument", nil, fx.Invoke(func(*plug.Service[box[greeter]]) {}),
			"takes a *plug.Service[plug_test.box[plug_test.greeter]" + undeclared + "plug_test.box[plug_test.greeter]]() or plug.Uses[plug_test.box[plug_test.greeter]]() to its Services"},
		{"two undeclared services", nil, fx.Invoke(func(*plug.Service[greeter], *plug.Service[clock]) {}),
			"takes a *plug.Service[plug_test.greeter" + undeclared + "plug_test.greeter]() or plug.Uses[plug_test.greeter]() to its Services; it " +
				"takes a *plug.Service[plug_test.clock" + undeclared + "plug_test.clock]() or plug.Uses[plug_test.clock]() to its Services"},
		{"a service that it provides, but did not declare to use", greets, fx.Provide(func(*plug.Service[greeter]) greeter { return fixed("x") }),
			"takes a *plug.Service[plug_test.greeter" + undeclared + "plug_test.greeter]() or plug.Uses[plug_test.greeter]() to its Services"},
		{"a constructor that lacks something else", greets, fx.Provide(func(clock) greeter { return fixed("x") }), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := plug.Compose(context.Background(), nil, plug.Plugin{Name: "p", Services: test.services, Options: test.options})
			var e *errs.Error
			if !errors.As(err, &e) || e.Code != errs.PluginFailed || e.Err == nil {
				t.Fatalf("error %#v, want %s with fx's error as its cause", err, errs.PluginFailed)
			}
			want := `plugin "p" ` + test.want
			if test.want == "" {
				want = `plugin "p" could not start: ` + e.Err.Error()
				if !strings.Contains(want, "missing type: ") {
					t.Errorf("fx's error %q does not say what is missing", e.Err)
				}
			}
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneNameTwiceIsOneProblem does not go on about what the second plugin of
// that name provides.
func TestOneNameTwiceIsOneProblem(t *testing.T) {
	p := greeterPlugin("p", "x")
	_, err := plug.Compose(t.Context(), []any{new(journal)}, p, p)
	const want = `two plugins are called "p"; mount one of them, or give them different names`
	if !errors.Is(err, errs.DuplicatePlugin) || errors.Is(err, errs.DuplicateService) || err.Error() != want {
		t.Errorf("error %q, want %q alone", err, want)
	}
	// The same where the first is mounted already, and of a service that one
	// plugin declares twice.
	c := compose(t, new(journal), p)
	if err := c.Mount(t.Context(), p); err == nil || err.Error() != want {
		t.Errorf("mounting it again gave %q, want %q", err, want)
	}
	p.Services = append(p.Services, p.Services...)
	_, err = plug.Compose(t.Context(), []any{new(journal)}, p)
	if want := `plugin "p" declares service plug_test.greeter twice; keep one of the declarations`; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}
