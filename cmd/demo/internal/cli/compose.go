package cli

import (
	"context"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness"
)

// compose starts the default deployment on a directory.
func compose(ctx context.Context, dir string) (*harness.Deployment, error) {
	return harness.Compose(ctx, deploy.Plugins(deploy.Default(dir))...)
}
