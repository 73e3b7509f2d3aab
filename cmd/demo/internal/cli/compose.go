package cli

import (
	"context"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
)

// compose starts the default deployment on a directory.
func compose(ctx context.Context, dir string) (*harness.Deployment, error) {
	return harness.Compose(ctx,
		fslocal.Plugin(fslocal.Config{Cwd: dir}),
		fspolicy.Plugin(fspolicy.Config{}),
		toolfs.Plugin(toolfs.Config{}),
	)
}
