//go:build linux || darwin

package fslocal

import (
	"errors"
	"strings"
	"syscall"

	"github.com/bridle-go/bridle/harness/vfs"
)

// maxLinks is how many symlinks one path may lead through, as in the Linux
// kernel (path_resolution(7)).
const maxLinks = 40

// resolve returns the physical path that an absolute path leads to, and the
// path to show for it. In what is shown, a ".." takes the part before it away,
// unless that part is a symlink: there the parent is another directory than
// the one that is written, and both parts stay.
func resolve(path string) (physical, display string, err error) {
	var (
		w     walker
		shown []shownPart
	)
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." {
			continue
		}
		link, err := w.step(part)
		if err != nil {
			return "", "", err
		}
		n := len(shown)
		switch {
		case part != "..":
			shown = append(shown, shownPart{part, link})
		case n > 0 && shown[n-1].link:
			shown = append(shown, shownPart{"..", true})
		case n > 0:
			shown = shown[:n-1]
		}
	}
	var b strings.Builder
	for _, s := range shown {
		b.WriteByte('/')
		b.WriteString(s.name)
	}
	return w.path(), orRoot(b.String()), nil
}

// shownPart is one part of a display path; link tells that what a ".." behind
// it means cannot be read off the path.
type shownPart struct {
	name string
	link bool
}

// walker follows a path the way the kernel does, and goes on by name where
// nothing exists any more.
type walker struct {
	at      string // "" is the root
	missing int    // parts at the end of at that do not exist
	links   int
}

func (w *walker) path() string { return orRoot(w.at) }

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// step follows one part and reports whether it was a symlink.
func (w *walker) step(part string) (link bool, err error) {
	if part == ".." {
		return false, w.up()
	}
	full := w.at + "/" + part
	if w.missing > 0 {
		w.at = full
		w.missing++
		return false, nil
	}
	content, err := readlink(full)
	switch {
	case err == nil:
		return true, w.follow(full, content)
	case notSymlink(err):
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		w.missing = 1
	default:
		return false, err
	}
	w.at = full
	return false, nil
}

func (w *walker) up() error {
	if w.missing > 0 {
		w.missing--
	} else if w.at != "" {
		// The kernel has no parent for what is no directory.
		m, err := statPath(w.path(), false)
		if err != nil {
			return err
		}
		if m.kind != vfs.Directory {
			return syscall.ENOTDIR
		}
	}
	w.at = w.at[:max(strings.LastIndexByte(w.at, '/'), 0)]
	return nil
}

func (w *walker) follow(full, content string) error {
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	start := *w
	if strings.HasPrefix(content, "/") {
		w.at = ""
	}
	for part := range strings.SplitSeq(content, "/") {
		if part == "" || part == "." {
			continue
		}
		if _, err := w.step(part); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(full, "/proc/") {
		return nil
	}
	// Some links in /proc lead to what no path names, such as a pipe, and hold
	// words instead of a path. They are taken for what they lead to.
	there, err := statPath(full, true)
	if err != nil || there.kind == vfs.Absent {
		return nil
	}
	if here, err := statPath(w.path(), true); err != nil || !here.sameFile(there) {
		w.at, w.missing = full, start.missing
	}
	return nil
}
