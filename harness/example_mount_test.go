package harness_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

func Example_mount() {
	ctx := context.Background()
	d, err := harness.Compose(ctx, fslocal.Plugin(fslocal.Config{}), toolfs.Plugin(toolfs.Config{}))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	change := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d.Plugins())
	}
	change(d.Mount(ctx, fspolicy.Plugin(fspolicy.Config{}), WordCount()))
	change(d.Replace(ctx, "fslocal", memfs.Plugin(memfs.Config{})))
	change(d.Unmount(ctx, "wordcount"))
	// Output:
	// [fslocal toolfs fspolicy wordcount]
	// [memfs toolfs fspolicy wordcount]
	// [memfs toolfs fspolicy]
}
