package cli

import (
	"context"

	"github.com/bridle-go/bridle/cmd/demo/internal/tour"
	"github.com/bridle-go/bridle/harness/errs"
)

func (a *app) tour(ctx context.Context) error {
	err := tour.Run(ctx, a.out, composeWithModel)
	if err != nil && errs.CodeOf(err) == "" {
		return failed(codeFailed, "the tour did not go as planned: %v", err)
	}
	return err
}
