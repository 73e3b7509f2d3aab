package attachments_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/attachments"
)

// The store comes and goes with its plugin.
func TestPlugin(t *testing.T) {
	ctx := context.Background()
	c, err := plug.Compose(ctx, nil, attachments.Plugin(attachments.Config{Dir: filepath.Join(t.TempDir(), "store")}))
	if err != nil {
		t.Fatal(err)
	}
	store, release, err := plug.ServiceOf[attachment.Store](c).Acquire()
	if err != nil {
		t.Fatal(err)
	}
	if got := store.Limits().MaxImageBytes; got != 20<<20 {
		t.Errorf("limits: %d bytes", got)
	}
	release()
	if err := c.Unmount(ctx, attachments.Name); err != nil {
		t.Fatal(err)
	}
	if _, _, err := plug.ServiceOf[attachment.Store](c).Acquire(); err == nil {
		t.Error("the store is still there")
	}
	if err := c.Stop(ctx); err != nil {
		t.Fatal(err)
	}
}
