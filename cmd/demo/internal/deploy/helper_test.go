package deploy_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
)

func compose(t *testing.T, plugins ...plug.Plugin) *harness.Deployment {
	t.Helper()
	d, err := harness.Compose(t.Context(), plugins...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// memDir is a directory that is removed after the test: in memory where there
// is such a place. What a test proves without an outage of the machine needs
// no disk, and syncing one takes most of the time.
func memDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "deploy-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// registryPlugin is a model registry and nothing else.
func registryPlugin() plug.Plugin {
	return plug.Plugin{Name: "models", Services: []plug.Declaration{plug.Provides[*llm.Registry]()},
		Options: fx.Provide(func() *llm.Registry { return new(llm.Registry) })}
}

// checkValid wants a conversation that a provider accepts: every call has one
// result, right behind the answer, and no message is empty.
func checkValid(t *testing.T, name string, messages []llm.Message) {
	t.Helper()
	if err := valid(messages); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// valid reports why a provider would not take messages.
func valid(messages []llm.Message) error {
	var open []string
	for i, m := range messages {
		if len(m.Content) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		for _, b := range m.Content {
			if b.Type != llm.ToolResultBlock {
				continue
			}
			if len(open) == 0 || open[0] != b.ToolCallID {
				return fmt.Errorf("message %d has the result of %s, want one of %v", i, b.ToolCallID, open)
			}
			open = open[1:]
		}
		if m.Source.Kind != llm.FromTool && len(open) > 0 {
			return fmt.Errorf("message %d comes before the results of %v", i, open)
		}
		for _, c := range m.ToolCalls() {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no results of %v", open)
	}
	return nil
}

// noSleep lets retries come at once.
func noSleep(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
