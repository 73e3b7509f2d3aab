package plug_test

import (
	"context"
	"fmt"
	"log"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/plug"
)

// Salutation is a service.
type Salutation interface{ Greet(name string) string }

type greeting string

func (g greeting) Greet(name string) string { return string(g) + ", " + name }

func salute(name string, g greeting) plug.Plugin {
	return plug.Plugin{
		Name:     name,
		Services: []plug.Declaration{plug.Provides[Salutation]()},
		Options:  fx.Provide(func() Salutation { return g }),
	}
}

// A service comes, is replaced and goes while its users hold one handle. They
// take the implementation for the length of a call.
func Example() {
	ctx := context.Background()
	c, err := plug.Compose(ctx, nil, salute("english", "Hello"))
	if err != nil {
		log.Fatal(err)
	}
	defer c.Stop(ctx)
	service := plug.ServiceOf[Salutation](c)
	greet := func() {
		g, release, err := service.Acquire()
		if err != nil {
			fmt.Println(err)
			return
		}
		defer release()
		fmt.Println(g.Greet("Ada"))
	}
	greet()
	if err := c.Replace(ctx, "english", salute("french", "Bonjour")); err != nil {
		log.Fatal(err)
	}
	greet()
	if err := c.Unmount(ctx, "french"); err != nil {
		log.Fatal(err)
	}
	greet()
	// Output:
	// Hello, Ada
	// Bonjour, Ada
	// service plug_test.Salutation has no provider now; mount a plugin that provides it
}
