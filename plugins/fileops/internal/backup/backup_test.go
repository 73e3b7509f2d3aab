package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dirStore is a Store on the real filesystem. fail makes the n-th operation
// fail, from 1.
type dirStore struct {
	calls, fail int
	log         []string
}

var errInjected = errors.New("injected failure")

func (s *dirStore) step(name string) error {
	s.calls++
	s.log = append(s.log, name)
	if s.calls == s.fail {
		return errInjected
	}
	return nil
}

func (s *dirStore) Stat(_ context.Context, path string) (Info, error) {
	if err := s.step("stat"); err != nil {
		return Info{}, err
	}
	i, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return Info{i.Size(), i.Mode().Perm(), i.ModTime()}, nil
}

func (s *dirStore) Open(_ context.Context, path string) (io.ReadCloser, error) {
	if err := s.step("open"); err != nil {
		return nil, err
	}
	return os.Open(path)
}

func (s *dirStore) Copy(ctx context.Context, from, to string) error {
	if err := s.step("copy"); err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	i, err := os.Stat(from)
	if err != nil {
		return err
	}
	return create(to, data, i.Mode().Perm())
}

func (s *dirStore) Create(_ context.Context, path string, data []byte, mode fs.FileMode) error {
	if err := s.step("create"); err != nil {
		return err
	}
	return create(path, data, mode)
}

func create(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Close())
}

func (s *dirStore) List(_ context.Context, dir string) ([]string, error) {
	if err := s.step("list"); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Reverse(names) // no order is promised
	return names, err
}

func (s *dirStore) Remove(_ context.Context, path string) error {
	if err := s.step("remove"); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

func (s *dirStore) CopyTree(_ context.Context, from, to string) (Tree, error) {
	if err := s.step("copytree"); err != nil {
		return Tree{}, errors.Join(err, os.MkdirAll(to, 0o700)) // fails half way
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return Tree{}, err
	}
	return digestTree(to)
}

func (s *dirStore) DigestTree(_ context.Context, dir string) (Tree, error) {
	if err := s.step("digesttree"); err != nil {
		return Tree{}, err
	}
	return digestTree(dir)
}

func digestTree(dir string) (t Tree, err error) {
	h := sha256.New()
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(h, "%q %q\n", path, data)
		t.Size += int64(len(data))
		return err
	})
	t.SHA256 = hex.EncodeToString(h.Sum(nil))
	return t, err
}

// fixture is a folder with one file, and a keeper with a clock that stands.
func fixture(t *testing.T) (*dirStore, *Keeper, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("v1\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	modified := time.Date(2020, 1, 2, 3, 4, 5, 600, time.UTC)
	if err := os.Chtimes(file, modified, modified); err != nil {
		t.Fatal(err)
	}
	s := &dirStore{}
	now := time.Date(2026, 11, 30, 12, 0, 0, 5, time.FixedZone("", 3600))
	return s, New(s, Options{Now: func() time.Time { return now }, Random: bytes.NewReader(bytes.Repeat([]byte{0xab}, 4000))}), file
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestCreate: what is written, by name, byte and mode.
func TestCreate(t *testing.T) {
	_, k, file := fixture(t)
	ctx := context.Background()
	m := must(k.Create(ctx, Request{File: file, Label: "first"}))(t)
	dir := filepath.Join(filepath.Dir(file), Folder)
	const id = "20261130T110000.000000005Z-abababab"
	want := Meta{
		ID: id, OriginalPath: file, Size: 3, Mode: 0o640, Label: "first", Path: filepath.Join(dir, id+".bak"),
		SHA256:   "2d27fbdf4e8ca207afbfa388ca9172fbcc6c70e534af2476b3b704f87debadcf",
		Modified: time.Date(2020, 1, 2, 3, 4, 5, 600, time.UTC), Created: time.Date(2026, 11, 30, 11, 0, 0, 5, time.UTC),
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for name, text := range map[string]string{
		".gitignore": "*\n", id + ".bak": "v1\n",
		id + ".json": `{
  "id": "20261130T110000.000000005Z-abababab",
  "original_path": "` + file + `",
  "sha256": "2d27fbdf4e8ca207afbfa388ca9172fbcc6c70e534af2476b3b704f87debadcf",
  "size": 3,
  "mode": "0640",
  "modified": "2020-01-02T03:04:05.0000006Z",
  "label": "first",
  "created": "2026-11-30T11:00:00.000000005Z"
}
`} {
		if got := string(must(os.ReadFile(filepath.Join(dir, name)))(t)); got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
	if mode := must(os.Stat(m.Path))(t).Mode().Perm(); mode != 0o640 {
		t.Errorf("content has mode %o", mode)
	}
	found := must(k.Find(ctx, file, "", id))(t)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("found (-want +got)\n%s", diff)
	}
	if err := k.Verify(ctx, found); err != nil {
		t.Error(err)
	}
	if got := must(k.Content(ctx, found))(t); string(got) != "v1\n" {
		t.Errorf("content %q", got)
	}
}

// TestListAndLast: ids sort by time even when the clock stands still; each file
// has its own backups, also in a common root, where no .gitignore is put.
func TestListAndLast(t *testing.T) {
	_, k, file := fixture(t)
	ctx := context.Background()
	other := file + ".other"
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"", filepath.Join(t.TempDir(), "deep", "root")} {
		if list, damaged, err := k.List(ctx, file, root); err != nil || list != nil || damaged != 0 {
			t.Fatalf("list of nothing: %v %d %v", list, damaged, err)
		}
		if _, err := k.Find(ctx, file, root, Last); !errors.Is(err, ErrNotFound) {
			t.Errorf("last of nothing: %v", err)
		}
		var ids []string
		for range 3 {
			ids = append(ids, must(k.Create(ctx, Request{File: file, Root: root}))(t).ID)
			must(k.Create(ctx, Request{File: other, Root: root}))(t)
		}
		if !slices.IsSorted(ids) {
			t.Errorf("ids are not in order: %v", ids)
		}
		list, _, err := k.List(ctx, file, root)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range list {
			got = append(got, m.ID)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if m := must(k.Find(ctx, file, root, Last))(t); m.ID != ids[2] {
			t.Errorf("last is %s, want %s", m.ID, ids[2])
		}
		if m := must(k.Find(ctx, other, root, ids[0]))(t); m.OriginalPath != file {
			t.Errorf("found a backup of %s", m.OriginalPath)
		}
		_, err = os.Stat(filepath.Join(Dir(file, root), ".gitignore"))
		if (err == nil) != (root == "") {
			t.Errorf("root %q: .gitignore: %v", root, err)
		}
	}
}

// TestData: given content is kept as it is, whatever the file holds by now.
func TestData(t *testing.T) {
	_, k, file := fixture(t)
	ctx := context.Background()
	for _, data := range []string{"seen\n", ""} {
		m := must(k.Create(ctx, Request{File: file, Data: []byte(data)}))(t)
		if got := must(k.Content(ctx, m))(t); string(got) != data || m.Mode != 0o640 {
			t.Errorf("got %q %o", got, m.Mode)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, k, file := fixture(t)
	ctx := context.Background()
	for _, label := range []string{"a\nb", "\x1b[31m", strings.Repeat("é", MaxLabel+1), "\xff"} {
		if _, err := k.Create(ctx, Request{File: file, Label: label}); !errors.Is(err, ErrLabel) {
			t.Errorf("label %q: %v", label, err)
		}
	}
	if _, err := k.Create(ctx, Request{File: file + "x"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := os.Stat(Dir(file, "")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refusal left a folder: %v", err)
	}
	for _, id := range []string{"nope", "", "../../etc/passwd", "20261130T110000.000000005Z-abababab"} {
		if _, err := k.Find(ctx, file, "", id); !errors.Is(err, ErrNotFound) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

// TestDamage: whatever is changed in a backup, it is refused.
func TestDamage(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, content, meta string){
		"a bit flipped":     func(t *testing.T, content, meta string) { write(t, content, "v2\n") },
		"cut short":         func(t *testing.T, content, meta string) { write(t, content, "v1") },
		"longer":            func(t *testing.T, content, meta string) { write(t, content, "v1\n\n") },
		"content gone":      func(t *testing.T, content, meta string) { remove(t, content) },
		"metadata empty":    func(t *testing.T, content, meta string) { write(t, meta, "") },
		"metadata cut":      func(t *testing.T, content, meta string) { write(t, meta, read(t, meta)[:40]) },
		"metadata no size":  func(t *testing.T, content, meta string) { change(t, meta, `"size": 3,`, "") },
		"metadata bad mode": func(t *testing.T, content, meta string) { change(t, meta, "0640", "07777") },
		"metadata bad hash": func(t *testing.T, content, meta string) { change(t, meta, `"2d27`, `"3d27`) },
		"metadata other id": func(t *testing.T, content, meta string) { change(t, meta, "-abababab", "-00000000") },
		"metadata no path":  func(t *testing.T, content, meta string) { change(t, meta, `"original_path"`, `"path"`) },
		"metadata huge":     func(t *testing.T, content, meta string) { write(t, meta, strings.Repeat(" ", maxMeta)+read(t, meta)) },
	} {
		t.Run(name, func(t *testing.T) {
			_, k, file := fixture(t)
			ctx := context.Background()
			m := must(k.Create(ctx, Request{File: file}))(t)
			damage(t, m.Path, strings.TrimSuffix(m.Path, ".bak")+".json")
			found, err := k.Find(ctx, file, "", m.ID)
			if err == nil {
				err = k.Verify(ctx, found)
				if _, err2 := k.Content(ctx, found); !errors.Is(err2, ErrCorrupt) {
					t.Errorf("Content: %v", err2)
				}
			} else if _, damaged, err := k.List(ctx, file, ""); err != nil || damaged != 1 {
				t.Errorf("List counts %d damaged, %v", damaged, err)
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func read(t *testing.T, path string) string { return string(must(os.ReadFile(path))(t)) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func change(t *testing.T, path, old, new string) {
	t.Helper()
	text := read(t, path)
	if !strings.Contains(text, old) {
		t.Fatalf("%s is not in %s", old, text)
	}
	write(t, path, strings.Replace(text, old, new, 1))
}

// TestFaults lets every single operation of the store fail: the error is told,
// no backup is listed, and no content is left behind.
func TestFaults(t *testing.T) {
	for _, data := range [][]byte{nil, []byte("v1\n")} {
		for n := 1; ; n++ {
			s, k, file := fixture(t)
			ctx := context.Background()
			s.fail = n
			_, err := k.Create(ctx, Request{File: file, Data: data})
			if s.calls < n {
				if err != nil {
					t.Fatal(err)
				}
				if n < 4 {
					t.Fatalf("only %d operations: %v", n-1, s.log)
				}
				break
			}
			if !errors.Is(err, errInjected) {
				t.Errorf("operation %d (%s): %v", n, s.log[n-1], err)
			}
			s.fail = 0
			if list, damaged, err := k.List(ctx, file, ""); len(list) != 0 || damaged != 0 || err != nil {
				t.Errorf("operation %d (%s): listed %v %d %v", n, s.log[n-1], list, damaged, err)
			}
			left, _ := filepath.Glob(filepath.Join(Dir(file, ""), "2*"))
			if len(left) != 0 {
				t.Errorf("operation %d (%s): left %v", n, s.log[n-1], left)
			}
		}
	}
}

// TestDirectory: a directory is kept with all it holds, told from a file,
// verified, and removed as a whole; what fails half way leaves nothing.
func TestDirectory(t *testing.T) {
	s, k, file := fixture(t)
	ctx := context.Background()
	dir := filepath.Dir(file) + "/d"
	must(0, os.MkdirAll(dir+"/sub", 0o750))(t)
	write(t, dir+"/sub/f", "12345")
	m := must(k.Create(ctx, Request{File: dir, Directory: true}))(t)
	found := must(k.Find(ctx, dir, "", Last))(t)
	found.Modified = m.Modified // the same instant, in another zone
	if diff := cmp.Diff(m, found); diff != "" || !m.Directory || m.Size != 5 {
		t.Errorf("(-made +found)\n%s", diff)
	}
	if got := read(t, m.Path+"/sub/f"); got != "12345" || k.Verify(ctx, m) != nil {
		t.Errorf("kept %q, %v", got, k.Verify(ctx, m))
	}
	write(t, m.Path+"/sub/f", "12346")
	if err := k.Verify(ctx, m); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a damaged one: %v", err)
	}
	change(t, strings.TrimSuffix(m.Path, ".bak")+".json", `"directory"`, `"device"`)
	if _, err := k.Find(ctx, dir, "", m.ID); !errors.Is(err, ErrCorrupt) {
		t.Errorf("of another type: %v", err)
	}
	if err := k.Remove(ctx, m); err != nil {
		t.Error(err)
	}
	s.log = nil
	for s.calls, s.fail = 0, 1; ; s.calls, s.fail = 0, s.fail+1 {
		_, err := k.Create(ctx, Request{File: dir, Directory: true})
		if s.calls < s.fail {
			break
		}
		if left, _ := filepath.Glob(filepath.Join(Dir(dir, ""), "2*")); !errors.Is(err, errInjected) || len(left) > 0 {
			t.Errorf("call %d: %v, left %v", s.fail, err, left)
		}
	}
}

// TestCancel: a backup that is cancelled in the middle leaves nothing.
func TestCancel(t *testing.T) {
	_, k, file := fixture(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := k.Create(ctx, Request{File: file}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(Dir(file, ""), "2*"))
	if len(left) != 0 {
		t.Errorf("left %v", left)
	}
}
