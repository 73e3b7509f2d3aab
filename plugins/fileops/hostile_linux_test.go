package fileops_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/plugins/fileops"
	"github.com/bridle-go/bridle/plugins/fslocal"
	"github.com/bridle-go/bridle/testkit"
)

func onDisk(t testing.TB, cfg fileops.Config, dir string) *harness.Deployment {
	t.Helper()
	return testkit.Compose(t, fslocal.Plugin(fslocal.Config{Cwd: dir}), fileops.Plugin(cfg))
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
}

// TestHostileTree proves that what an untrusted tree can hold is an entry of
// the result at worst: loops, FIFOs, sockets' kin, odd names, depth.
func TestHostileTree(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "hit\n")
	write(t, filepath.Join(dir, `back\slash.txt`), "hat\n")
	write(t, filepath.Join(dir, "odd\xff\n\u202e.txt"), "hit\n")
	deep := filepath.Join(dir, strings.Repeat("d/", 200))
	write(t, filepath.Join(deep, "end.txt"), "hit\n")
	must(t,
		os.Symlink(".", filepath.Join(dir, "loop")), os.Symlink("self", filepath.Join(dir, "self")),
		os.Symlink("/", filepath.Join(dir, "root")), os.Symlink("gone", filepath.Join(dir, "dangling")),
		syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644),
		syscall.Mkfifo(filepath.Join(dir, ".gitignore"), 0o644), // an ignore file that must not be opened
		os.Symlink("/dev/zero", filepath.Join(dir, ".ignore")),
	)
	d := onDisk(t, fileops.Config{SandboxRoot: dir}, dir)

	got := result(t, d, "search_files", ".", object{"query": "hit", "output_mode": "files_with_matches"})
	if got["matched_files"] != 3.0 || !strings.Contains(fmt.Sprint(got["files_with_matches"]), `odd\xff\n\u202e.txt`) {
		t.Errorf("search: %v", got)
	}
	if got := result(t, d, "search_files", `back\slash.txt`, object{"query": "hat"}); got["total_matches"] != 1.0 {
		t.Errorf("search of one file: %v", got)
	}
	if got := result(t, d, "view_file", `back\slash.txt`, nil); got["content"] != "1 hat" {
		t.Errorf("view: %v", got)
	}
	got = result(t, d, "file_tree", ".", object{"max_depth": 256, "max_chars": 200_000})
	tree := got["tree"].(string)
	for _, line := range []string{"\n  fifo  (special)", "\n  loop  (symlink)", "\n  self  (symlink)", "\n  root  (symlink)", `odd\xff\n\u202e.txt`, "\n" + strings.Repeat("  ", 201) + "end.txt"} {
		if !strings.Contains(tree, line) {
			t.Errorf("the tree lacks %q", line)
		}
	}
	if got["rendered_dirs"] != 201.0 || strings.Contains(tree, "\u202e") || !utf8.ValidString(tree) {
		t.Errorf("tree: %v directories", got["rendered_dirs"])
	}
	got = result(t, d, "list_directory", ".", object{"max_depth": 5, "verbose": true})
	if got["total_entries"] != 13.0 {
		t.Errorf("list: %v entries", got["total_entries"])
	}
	for path, kind := range map[string]string{
		"fifo": "not_a_file", "self": "io_error", "dangling": "path_not_found", "root/etc": "path_outside_sandbox", "loop": "not_a_file",
	} {
		if got, failed := hub(t, d, "view_file", path, nil); !failed || got["error_kind"] != kind {
			t.Errorf("view %s: %v %v, want %s", path, got["error_kind"], got["error"], kind)
		}
	}
	if got := result(t, d, "file_info", "fifo", nil); got["exists"] != true || got["is_binary"] != nil || got["total_lines"] != nil {
		t.Errorf("info of a FIFO: %v", got)
	}
}

// TestIgnoreFilesAbove proves that the rules of a repository hold in every
// directory that is searched or drawn, whatever its ignore files say about
// the directory itself.
func TestIgnoreFilesAbove(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/info/exclude": "*.excluded\n", ".gitignore": "*.tmp\n/build/\n",
		"src/a.txt": "hit\n", "src/a.tmp": "hit\n", "src/a.excluded": "hit\n", "build/out.txt": "hit\n", "build/out.tmp": "hit\n",
		"src/vendor/.git/HEAD": "ref\n", "src/vendor/v.tmp": "hit\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	// With the repository at or above the base of paths, and with a sandbox
	// root below the repository, whose files then are out of sight.
	for _, c := range []struct {
		root, path string
		want       int
	}{
		{"", ".", 2}, {"", "src", 2}, {"", "build", 1}, {"src", ".", 4}, {"", "src/vendor", 1},
	} {
		root := filepath.Join(dir, c.root)
		d := onDisk(t, fileops.Config{SandboxRoot: root}, root)
		if got := result(t, d, "search_files", c.path, object{"query": "hit"}); got["matched_files"] != float64(c.want) {
			t.Errorf("root %q, search of %q: %v files, want %d: %v", c.root, c.path, got["matched_files"], c.want, got["matches"])
		}
		if got := result(t, d, "file_tree", c.path, nil); got["rendered_files"] != float64(c.want) {
			t.Errorf("root %q, tree of %q: %v files, want %d: %v", c.root, c.path, got["rendered_files"], c.want, got["tree"])
		}
	}
}

// TestUnreadable looks at a tree as a user who may not read all of it.
func TestUnreadable(t *testing.T) {
	const asNobody = "FILEOPS_TEST_DIR"
	if dir := os.Getenv(asNobody); dir != "" {
		checkUnreadable(t, dir)
		return
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), "hit\n")
	write(t, filepath.Join(dir, "locked/b.txt"), "hit\n")
	write(t, filepath.Join(dir, "secret.txt"), "hit\n")
	must(t, os.Chmod(filepath.Join(dir, "locked"), 0), os.Chmod(filepath.Join(dir, "secret.txt"), 0))
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "locked"), 0o755) })
	if os.Geteuid() != 0 {
		checkUnreadable(t, dir)
		return
	}
	// The directories of tests belong to root alone.
	must(t, os.Chmod(dir, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
	self, err := os.Executable()
	must(t, err)
	data, err := os.ReadFile(self)
	must(t, err)
	copied := filepath.Join(dir, ".test-binary")
	must(t, os.WriteFile(copied, data, 0o755))
	cmd := exec.Command(copied, "-test.run=^TestUnreadable$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{asNobody + "=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func checkUnreadable(t *testing.T, dir string) {
	d := onDisk(t, fileops.Config{SandboxRoot: dir}, dir)
	got := result(t, d, "search_files", ".", object{"query": "hit"})
	if got["matched_files"] != 1.0 || got["truncated"] != false || !strings.Contains(fmt.Sprint(got["truncated_reason"]), "2 entries could not be read, among them locked, secret.txt") {
		t.Errorf("search: %v", got)
	}
	got = result(t, d, "file_tree", ".", nil)
	if !strings.Contains(got["tree"].(string), "\n  locked/  (unreadable)\n") || !strings.Contains(got["tree"].(string), "\n  secret.txt") {
		t.Errorf("tree: %v", got["tree"])
	}
	got = result(t, d, "list_directory", ".", object{"max_depth": 2, "verbose": true})
	for _, e := range got["entries"].([]any) {
		entry := e.(object)
		if refused := strings.Contains(fmt.Sprint(entry["error"]), "permission denied"); refused != (entry["name"] != "a.txt") {
			t.Errorf("entry %v", entry)
		}
	}
	if got := result(t, d, "file_info", "secret.txt", nil); got["is_readable"] != false || got["size_bytes"] != 4.0 || got["total_lines"] != nil {
		t.Errorf("info: %v", got)
	}
	if got, failed := hub(t, d, "view_file", "secret.txt", nil); !failed || got["error_kind"] != "io_error" {
		t.Errorf("view: %v", got)
	}
}
