package fslocal

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
)

var _ vfs.Watcher = (*FS)(nil)

// watchEvents are the changes of a directory's entries, of their content and
// attributes, and of the directory itself.
const watchEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO |
	unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF |
	unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW | unix.IN_EXCL_UNLINK

// wayEvents are the changes that matter in the directories above.
const wayEvents = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ONLYDIR

// Watch implements [vfs.Watcher] by inotify. It blocks until ctx ends and then
// returns nil. Changes that come together are told once for each target; when
// the kernel lost count, the target itself is told. t need not exist.
// Symlinks below t are not followed. Each directory below t takes one of the
// user's inotify watches; when they are used up, the error is FS_IO_ERROR.
// Staging files are not told.
func (f *FS) Watch(ctx context.Context, t vfs.Target, fn func(vfs.Target)) error {
	const verb = "watch"
	root, err := keyPath(t)
	if err != nil {
		return err
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fail(verb, t.Path, err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	defer events.Close()
	stop := context.AfterFunc(ctx, func() { _ = events.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	w := &watch{fd: fd, root: root, target: t, dirs: map[int32]string{}}
	if err := w.begin(); err != nil {
		return watchFailure(t.Path, err)
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := events.Read(buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return watchFailure(t.Path, err)
		}
		if err := w.take(buf[:n]); err != nil {
			return watchFailure(t.Path, err)
		}
		for _, changed := range w.flush() {
			fn(changed)
		}
	}
}

func watchFailure(path string, err error) error {
	if errors.Is(err, unix.ENOSPC) {
		return refuse(errs.IO, "watch", path, "there are more directories than the system lets one user watch (fs.inotify.max_user_watches)", err)
	}
	return fail("watch", path, err)
}

type watch struct {
	fd     int
	root   string
	target vfs.Target
	dirs   map[int32]string // watch descriptor -> path
	// changed are the paths to be told.
	changed map[string]bool
}

// begin watches everything below the root, and the way to it, where it may
// appear, vanish or be replaced.
func (w *watch) begin() error {
	mask := uint32(watchEvents) // the root may be a file in the first of them
	for at := w.root; at != filepath.Dir(at); {
		at = filepath.Dir(at)
		if err := w.add(at, mask); err != nil && !gone(err) && !errors.Is(err, unix.EACCES) {
			return err
		}
		mask = wayEvents
	}
	return w.addTree(w.root, false)
}

func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

func (w *watch) add(path string, mask uint32) error {
	wd, err := unix.InotifyAddWatch(w.fd, path, mask)
	if err == nil {
		w.dirs[int32(wd)] = path
	}
	return err
}

// addTree watches a directory and all below it. With tell, what is in it is
// told: it may have come before the watch did.
func (w *watch) addTree(path string, tell bool) error {
	if err := w.add(path, watchEvents); err != nil {
		if gone(err) || errors.Is(err, unix.EACCES) {
			return nil // no directory, or one whose changes nobody may see
		}
		return err
	}
	// The watch stands before the directory is read, so that nothing is missed.
	names, err := readNames(path)
	if err != nil {
		return nil // vanished; its parent tells
	}
	for _, d := range names {
		child := filepath.Join(path, d.Name())
		if tell {
			w.tell(child)
		}
		if d.IsDir() {
			if err := w.addTree(child, tell); err != nil {
				return err
			}
		}
	}
	return nil
}

// take reads a block of events.
func (w *watch) take(block []byte) error {
	for len(block) >= unix.SizeofInotifyEvent {
		wd := int32(binary.NativeEndian.Uint32(block[unsafe.Offsetof(unix.InotifyEvent{}.Wd):]))
		mask := binary.NativeEndian.Uint32(block[unsafe.Offsetof(unix.InotifyEvent{}.Mask):])
		size := binary.NativeEndian.Uint32(block[unsafe.Offsetof(unix.InotifyEvent{}.Len):])
		end := min(unix.SizeofInotifyEvent+int(size), len(block))
		name := strings.TrimRight(string(block[unix.SizeofInotifyEvent:end]), "\x00")
		block = block[end:]
		if err := w.event(wd, mask, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) event(wd int32, mask uint32, name string) error {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		w.tell(w.root)
		return w.begin()
	}
	dir, ok := w.dirs[wd]
	if !ok {
		return nil
	}
	if mask&unix.IN_IGNORED != 0 {
		delete(w.dirs, wd)
		return nil
	}
	if name == "" {
		w.tell(dir) // of a directory above, its own parent tells
		return nil
	}
	path := filepath.Join(dir, name)
	appeared := mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0
	if mask&unix.IN_MOVED_FROM != 0 {
		w.forget(path) // what is watched below it has other paths now
	}
	if w.onWay(path) {
		w.tell(w.root)
		if !appeared {
			return nil
		}
		if err := w.begin(); err != nil {
			return err
		}
		return w.addTree(w.root, true)
	}
	w.tell(path)
	if appeared && mask&unix.IN_ISDIR != 0 && w.below(path) {
		return w.addTree(path, true)
	}
	return nil
}

// onWay reports whether path is the root or a directory above it.
func (w *watch) onWay(path string) bool {
	_, ok := Below(path, w.root)
	return ok
}

func (w *watch) below(path string) bool {
	_, ok := Below(w.root, path)
	return ok
}

// forget ends the watches of a directory that was moved away.
func (w *watch) forget(path string) {
	for wd, dir := range w.dirs {
		if _, ok := Below(path, dir); ok {
			delete(w.dirs, wd)
			_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // already gone when it was deleted
		}
	}
}

// isStageName reports whether a name is one that [stageName] gives.
func isStageName(name string) bool {
	return strings.HasPrefix(name, stagePrefix) && strings.HasSuffix(name, stageSuffix)
}

func (w *watch) tell(path string) {
	if !w.below(path) || isStageName(filepath.Base(path)) {
		return
	}
	if w.changed == nil {
		w.changed = map[string]bool{}
	}
	w.changed[path] = true
}

// flush returns what is to be told, in byte order of paths.
func (w *watch) flush() []vfs.Target {
	var targets []vfs.Target
	for path := range w.changed {
		rel, _ := Below(w.root, path)
		t := vfs.Target{Key: vfs.Key(path), Path: w.target.Path}
		if rel != "" {
			t.Path = strings.TrimSuffix(t.Path, "/") + "/" + rel
		}
		targets = append(targets, t)
	}
	clear(w.changed)
	slices.SortFunc(targets, func(a, b vfs.Target) int { return strings.Compare(a.Path, b.Path) })
	return targets
}
