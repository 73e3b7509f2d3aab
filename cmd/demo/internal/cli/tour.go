package cli

import (
	"context"

	"github.com/bridle-go/bridle/cmd/demo/internal/tour"
)

func (a *app) tour(ctx context.Context) error { return tour.Run(ctx, a.out, compose) }
