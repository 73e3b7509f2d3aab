package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/session"
)

// The names of a folder's parts.
const (
	logName       = "session.jsonl"
	inputName     = "input.json"
	workspaceName = "workspace"
)

// What stands for parts of a log that differ from run to run.
const (
	cwdMark     = "{{cwd}}"
	sessionMark = "{{sessionId}}"
	systemMark  = `"{{system}}"`
	toolsMark   = `"{{tools}}"`
)

// replayedID is the id of a session whose log has none.
const replayedID = "00000000-0000-4000-8000-000000000000"

// Recording is a session to replay.
type Recording struct {
	// Path is where it was loaded from, or "".
	Path string
	// Workspace is a directory that holds the files as they were when the
	// session began. It is copied and never changed. "" begins with no files.
	Workspace string
	// Log is the log as it is spelled.
	Log *session.Log

	raw   []byte
	types []string
}

// Load reads a recording: a log, or a folder. A log that is called as that of a
// folder has the workspace that lies beside it. knownTypes are event types of
// plugins that the deployment has; others must be marked ignorable.
//
// Errors: SESSION_NOT_FOUND, and those of [session.Read], which name the line.
func Load(path string, knownTypes ...string) (*Recording, error) {
	rec := &Recording{Path: path, types: knownTypes}
	file := path
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		file = filepath.Join(path, logName)
	}
	if filepath.Base(file) == logName {
		workspace := filepath.Join(filepath.Dir(file), workspaceName)
		switch info, err := os.Stat(workspace); {
		case err == nil && info.IsDir():
			rec.Workspace = workspace
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, unreadable(workspace, err)
		}
	}
	if err == nil {
		rec.raw, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, unreadable(file, err)
	}
	if rec.Log, err = session.Read(bytes.NewReader(rec.raw), knownTypes...); err != nil {
		return nil, &errs.Error{Code: errs.CodeOf(err), Op: "load recording", Path: file, Message: fmt.Sprintf("%s: %v", file, err), Err: err}
	}
	return rec, nil
}

func unreadable(path string, err error) error {
	code := session.ReadFailed
	if errors.Is(err, fs.ErrNotExist) {
		code = session.NotFound
	}
	return &errs.Error{Code: code, Op: "load recording", Path: path, Message: "the recording cannot be read: " + err.Error(), Err: err}
}

// FromLog returns the recording of a log that was read already.
func FromLog(log *session.Log, knownTypes ...string) (*Recording, error) {
	var b bytes.Buffer
	enc := session.NewEncoder(&b, log.Header, false)
	for _, e := range log.Events {
		if err := enc.Encode(e); err != nil {
			return nil, err
		}
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return &Recording{Log: log, raw: b.Bytes(), types: knownTypes}, nil
}

// directory is the name that the directory of the session had. One that JSON
// escapes is not kept: in a text that is JSON itself it is spelled otherwise.
func (r *Recording) directory() string {
	cwd := r.Log.Header.Cwd
	name := filepath.Base(cwd)
	if !filepath.IsAbs(cwd) || filepath.Dir(cwd) == cwd || string(escaped(name)) != name {
		return workspaceName
	}
	return name
}

// in returns the log as it would read had the session run in directory cwd.
func (r *Recording) in(cwd string) (*session.Log, error) {
	data := rename(r.raw, r.Log.Header.Cwd, cwd)
	data = bytes.ReplaceAll(data, []byte(sessionMark), []byte(replayedID))
	return session.Read(bytes.NewReader(data), r.types...)
}

// spelling turns texts of a replay in cwd into the spelling of the recording.
func (r *Recording) spelling(cwd string) func([]byte) []byte {
	return func(data []byte) []byte { return rename(data, cwd, r.Log.Header.Cwd) }
}

// rename puts one directory in the place of another in JSON, but not in the
// place of one that only begins like it.
func rename(data []byte, from, to string) []byte {
	if from == to || from == "" || from == "/" {
		return data
	}
	old, with := escaped(from), escaped(to)
	var out []byte
	for {
		i := bytes.Index(data, old)
		if i < 0 {
			return append(out, data...)
		}
		end := i + len(old)
		out = append(out, data[:i]...)
		if from != cwdMark && (end < len(data) && nameGoesOn(data[end:]) || i > 0 && isName(data[i-1])) {
			out = append(out, old...)
		} else {
			out = append(out, with...)
		}
		data = data[end:]
	}
}

// escaped is a path within a JSON string.
func escaped(path string) []byte {
	b := encode(path)
	return b[1 : len(b)-1]
}

func nameGoesOn(rest []byte) bool {
	if rest[0] == '.' && len(rest) > 1 {
		return isName(rest[1])
	}
	return isName(rest[0])
}

func isName(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// copyTree copies files, directories and symlinks below from to the directory
// to, which must exist. Symlinks that lead out of the tree are left out and
// named: what is done to the copy must not reach anything beside it.
func copyTree(from, to string) (leftOut []string, err error) {
	if from, err = filepath.Abs(from); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(name))
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			// The owner can always write into the copy, whatever the original says.
			return os.Mkdir(target, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := root.Readlink(filepath.FromSlash(name))
			if err != nil {
				return err
			}
			inside := filepath.Join(filepath.Dir(filepath.FromSlash(name)), link)
			if filepath.IsAbs(link) {
				inside, err = filepath.Rel(from, link)
				link = filepath.Join(to, inside)
			}
			if err != nil || !filepath.IsLocal(inside) {
				leftOut = append(leftOut, name)
				return nil
			}
			return os.Symlink(link, target)
		case d.Type().IsRegular():
			data, err := root.ReadFile(filepath.FromSlash(name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(target, data, info.Mode().Perm()); err != nil {
				return err
			}
			if err := os.Chmod(target, info.Mode().Perm()); err != nil {
				return err
			}
			return os.Chtimes(target, info.ModTime(), info.ModTime())
		}
		leftOut = append(leftOut, name) // a socket, FIFO or device
		return nil
	})
	return leftOut, err
}

// scratch is where a replay works.
type scratch struct {
	root      string // holds the rest; removed in the end
	workspace string // a copy of the files
	home      string // for what the deployment stores
	leftOut   []string
}

// newScratch makes one, with a copy of files in a directory of that name: trees
// show it.
func newScratch(files, name string) (*scratch, error) {
	root, err := os.MkdirTemp("", "bridle-replay-*")
	if err != nil {
		return nil, err
	}
	// Results show paths as the tools spell them, so the directory must not be
	// reached through a symlink.
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	s := &scratch{root: root, workspace: filepath.Join(root, "files", name), home: filepath.Join(root, "home")}
	err = errors.Join(os.MkdirAll(s.workspace, 0o700), os.Mkdir(s.home, 0o700))
	if err == nil && files != "" {
		if s.leftOut, err = copyTree(files, s.workspace); err != nil {
			err = fmt.Errorf("copying the workspace %s: %w", files, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, removeTree(root))
	}
	return s, nil
}

// removeTree removes a tree, also where a mode of a directory in it is in the
// way.
func removeTree(root string) error {
	if err := os.RemoveAll(root); err == nil {
		return nil
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // the second RemoveAll tells what could not be helped
		}
		return nil
	})
	return os.RemoveAll(root)
}

// marked reports whether a part of a header was not recorded.
func marked(part json.RawMessage, mark string) bool { return strings.TrimSpace(string(part)) == mark }
