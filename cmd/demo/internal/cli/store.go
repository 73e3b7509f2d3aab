package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/session"
)

// storeName is the directory of the program's files in that of the user.
const storeName = "bridle"

// home is where sessions and images are kept.
type home struct {
	dir string
	// given tells that the command line names it.
	given bool
}

// storeFlag adds the flag that names the store.
func storeFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "store", "", "the `DIR` of sessions and images (default $XDG_STATE_HOME/bridle, or what the system has for that)")
}

// home returns the store that a flag names, else the user's.
func (a *app) home(dir string) (home, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return home{}, fileFailure(err)
		}
		return home{abs, true}, nil
	}
	if state := a.getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return home{dir: filepath.Join(state, storeName)}, nil
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		base, err := os.UserConfigDir()
		if err != nil {
			return home{}, failed(codeFailed, "%v; name a directory with --store", err)
		}
		return home{dir: filepath.Join(base, storeName)}, nil
	}
	// https://specifications.freedesktop.org/basedir-spec: state is what should
	// outlive the program but is no configuration.
	base := a.getenv("HOME")
	if base == "" {
		return home{}, failed(codeFailed, "HOME is not set; name a directory with --store")
	}
	return home{dir: filepath.Join(base, ".local", "state", storeName)}, nil
}

func (h home) attachments() string { return filepath.Join(h.dir, "attachments") }

func (h home) sessions(cfg session.Config) *session.FileStore {
	return session.NewFileStore(filepath.Join(h.dir, "sessions"), cfg)
}

// flag returns the part of a command line that names the store, or "".
func (h home) flag() string {
	if !h.given {
		return ""
	}
	return " --store " + shellWord(h.dir)
}

// make makes the store's directory, which only its owner can read.
func (h home) make() error {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return fileFailure(err)
	}
	return nil
}

// find returns the session of an id, of the beginning of one, or the one
// used last for "last".
func find(ctx context.Context, store *session.FileStore, id string) (session.Info, error) {
	all, err := store.List(ctx)
	if err != nil {
		return session.Info{}, err
	}
	var matches []session.Info
	for _, s := range all {
		switch {
		case s.ID == id:
			return s, nil
		case id == "last" || id != "" && strings.HasPrefix(s.ID, id):
			matches = append(matches, s)
		}
		if id == "last" {
			break
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		return session.Info{}, failed(string(session.NotFound), "there is no session %q in %s; demo sessions lists them", id, store.Dir())
	}
	return session.Info{}, failed(string(session.NotFound), "%d sessions begin with %q, such as %s and %s; give more of the id",
		len(matches), id, matches[0].ID, matches[1].ID)
}

// shellWord writes a word so that a shell reads it as one.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=:@%,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// workdir returns the absolute path of a workspace, which must exist.
func workdir(dir string) (string, error) { return existing(dir, "--cwd") }

// existing returns the absolute path of the directory that a flag names.
func existing(dir, flag string) (string, error) {
	dir, err := filepath.Abs(cmp.Or(dir, "."))
	if err != nil {
		return "", fileFailure(err)
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", failed(string(errs.NotFound), "there is no directory %s; %s wants one that exists", dir, flag)
	}
	if err != nil {
		return "", fileFailure(err)
	}
	if !info.IsDir() {
		return "", failed(string(errs.NotDirectory), "%s is not a directory; give %s a directory", dir, flag)
	}
	return dir, nil
}

// plural writes a number with its word.
func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}
