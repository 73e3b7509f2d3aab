package fslocal

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/bridle-go/bridle/harness/vfs"
)

func TestSmoke(t *testing.T) {
	f, dir := newFS(t)
	ctx := context.Background()
	tg := target(t, f, "a/b/c.txt")
	r, err := f.WriteText(ctx, tg, "one\ntwo\n", vfs.Options{Guard: vfs.CreateIfAbsent()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	r, err = f.EditText(ctx, tg, vfs.Edit{Old: "one", New: "1"}, vfs.Options{Guard: vfs.ReplaceIfVersion(r.Version)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v %v", r, *r.Before)
	txt, err := f.ReadText(ctx, tg)
	t.Log(txt, err)
	wantNames(t, filepath.Join(dir, "a/b"), "c.txt")
	i, err := f.Stat(ctx, tg)
	t.Log(i, err)
	es, err := f.List(ctx, target(t, f, "a"))
	t.Log(es, err)
	_, err = f.WriteText(ctx, target(t, f, "a/b"), "x", vfs.Options{})
	t.Log(err)
	_, err = f.ReadText(ctx, target(t, f, "a/b/c.txt/d"))
	t.Log(err)
	_, err = f.WriteText(ctx, target(t, f, "a/b/c.txt/d"), "x", vfs.Options{})
	t.Log(err)
	_, err = f.ReadText(ctx, target(t, f, "/proc/kmsg"))
	t.Log(err)
	_, err = f.ReadText(ctx, target(t, f, "/proc/self/fd/0"))
	t.Log(err)
	txt, err = f.ReadText(ctx, target(t, f, "/proc/version"))
	t.Log(txt, err)
}

func BenchmarkWrite(b *testing.B) {
	f, _ := newFS(b)
	tg := target(b, f, "a.txt")
	for b.Loop() {
		if _, err := f.WriteText(context.Background(), tg, "hello world\n", vfs.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
