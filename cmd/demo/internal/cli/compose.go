package cli

import (
	"context"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/models"
)

// composeWithModel starts the basic deployment on a directory with the plugin of a model.
func composeWithModel(ctx context.Context, dir string, model plug.Plugin) (*harness.Deployment, error) {
	o := deploy.Default(dir)
	o.Models = &models.Config{}
	return harness.Compose(ctx, append(deploy.Plugins(o), model)...)
}
