package harness_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// KeepLocks is a policy: no tool may write a lock file. It knows neither the
// tools nor the provider.
func KeepLocks() plug.Plugin {
	refuse := func(ctx context.Context, in vfs.Intent, next event.Next[vfs.Intent, vfs.Guard]) (vfs.Guard, error) {
		if strings.HasSuffix(in.Target.Path, ".lock") {
			return vfs.Guard{}, &errs.Error{Code: errs.Permission, Path: in.Target.Path, Message: "lock files are written by their programs only"}
		}
		return next(ctx, in) // the policies after this one
	}
	return plug.Plugin{
		Name: "keeplocks",
		Options: fx.Invoke(func(bus *event.Bus, scope *plug.Scope) {
			vfs.WriteIntent.On(bus, scope, refuse, event.First())
			vfs.EditIntent.On(bus, scope, refuse, event.First())
		}),
	}
}

func Example_policy() {
	ctx := context.Background()
	d, err := harness.Compose(ctx, KeepLocks(), toolfs.Plugin(toolfs.Config{}), memfs.Plugin(memfs.Config{}))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	write := tool.Invocation{Name: "write", Arguments: `{"file_path": "go.lock", "content": "x"}`}
	r := d.Tools().Execute(ctx, write)
	fmt.Println(r.Error.Code, r.Text())

	// Without the policy, everything else stays.
	if err := d.Unmount(ctx, "keeplocks"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Tools().Execute(ctx, write).IsError)
	// Output:
	// FS_PERMISSION_DENIED Error: lock files are written by their programs only
	// false
}
