package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// landlockHelper restricts its process and tries to write files.
func landlockHelper(roots, paths []string) int {
	status, err := Landlock(roots)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(status)
	for _, path := range paths {
		err := os.WriteFile(path, []byte("x"), 0o644)
		fmt.Println(err == nil)
	}
	fmt.Println(os.Rename(paths[0], filepath.Join(filepath.Dir(paths[0]), "sub", "moved")) == nil)
	return 0
}

// TestLandlock restricts another process, since there is no way back.
func TestLandlock(t *testing.T) {
	base := tempDir(t)
	world(t, base, "in/sub/", "out/")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, filepath.Join(base, "in/x"), filepath.Join(base, "out/x"), "/dev/null")
	cmd.Env = append(os.Environ(), "SANDBOX_LANDLOCK="+filepath.Join(base, "in")+":"+filepath.Join(base, "none"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Fields(string(out))
	if got[0] == string(Unavailable) {
		t.Skip("this kernel has no Landlock")
	}
	if diff := cmp.Diff([]string{"active", "true", "false", "true", "true"}, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
	if entries, _ := os.ReadDir(filepath.Join(base, "out")); len(entries) > 0 {
		t.Errorf("%v outside", entries)
	}
	if _, err := Landlock([]string{"relative"}); err == nil {
		t.Error("a relative root was taken")
	}
}
