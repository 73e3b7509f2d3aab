package harness_test

import (
	"context"
	"fmt"
	"log"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// An fx application has a deployment by adding its module. It starts and stops
// with the application.
func ExampleModule() {
	ctx := context.Background()
	var d *harness.Deployment
	app := fx.New(
		fx.NopLogger,
		harness.Module(memfs.Plugin(memfs.Config{}), toolfs.Plugin(toolfs.Config{})),
		fx.Populate(&d),
	)
	if err := app.Start(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Plugins())
	if err := app.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Plugins())
	// Output:
	// [memfs toolfs]
	// []
}

// What cannot work is said before anything runs.
func ExampleCompose() {
	_, err := harness.Compose(context.Background(), toolfs.Plugin(toolfs.Config{}))
	fmt.Println(err)
	_, err = harness.Compose(context.Background(), memfs.Plugin(memfs.Config{}), AtRoot{}.Plugin())
	fmt.Println(err)
	// Output:
	// plugin "toolfs" needs service vfs.FileSystem, which no plugin provides
	// service vfs.FileSystem is provided by both "atroot" and "memfs"; mount one of them
}
