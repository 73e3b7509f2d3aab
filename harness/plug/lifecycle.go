package plug

import (
	"context"
	"fmt"

	"go.uber.org/fx"
)

// lifecycle turns the panics of hooks into errors. fx recovers those of
// constructors and invocations only, and runs hooks in goroutines of its own,
// where a panic would end the process.
type lifecycle struct{ fx.Lifecycle }

func guarded(lc fx.Lifecycle) fx.Lifecycle { return lifecycle{lc} }

func (l lifecycle) Append(h fx.Hook) {
	h.OnStart, h.OnStop = guardHook(h.OnStart), guardHook(h.OnStop)
	l.Lifecycle.Append(h)
}

func guardHook(hook func(context.Context) error) func(context.Context) error {
	if hook == nil {
		return nil
	}
	return func(ctx context.Context) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = panicked(v)
			}
		}()
		return hook(ctx)
	}
}

// panicked is the error of a recovered panic.
func panicked(v any) error {
	if err, ok := v.(error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic: %v", v)
}
