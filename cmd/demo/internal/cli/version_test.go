package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	for _, tt := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a release", debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3, go1.26.0"},
		{"a checkout", debug.BuildInfo{GoVersion: "go1.26.0", Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123456789abcdef0123"), setting("vcs.modified", "false"),
		}}, "(devel), commit 0123456789ab, go1.26.0"},
		{"a checkout with changes", debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			setting("vcs.revision", "0123"), setting("vcs.modified", "true"),
		}}, "(devel), commit 0123 with changes, go1.26.0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := version(&tt.info, true); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
