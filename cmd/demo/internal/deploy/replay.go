package deploy

import (
	"path/filepath"

	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/approve"
	"github.com/bridle-go/bridle/plugins/attachments"
	"github.com/bridle-go/bridle/plugins/models"
	"github.com/bridle-go/bridle/testkit/replay"
)

// Replay composes the deployment that replays a session.
func Replay(s replay.Setup) ([]plug.Plugin, error) {
	o := Default(s.Workspace)
	o.FS.RecoveryDir = filepath.Join(s.Home, "recovery")
	o.Attachments = &attachments.Config{Dir: filepath.Join(s.Home, "attachments")}
	o.Approval = &approve.Config{}
	o.Models = &models.Config{}
	return Plugins(o), nil
}
