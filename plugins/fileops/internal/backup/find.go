package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// List returns the backups of a file, oldest first; of all files in the folder
// where file is empty and root is not. Metadata that cannot be read is left
// out and counted in damaged. A folder that is not there has no backups.
func (k *Keeper) List(ctx context.Context, file, root string) (list []Meta, damaged int, err error) {
	dir := Dir(file, root)
	names, err := k.store.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(names)
	for _, name := range names {
		id, ok := strings.CutSuffix(name, metaSuffix)
		if !ok || !idPattern.MatchString(id) {
			continue
		}
		m, err := k.meta(ctx, dir, id)
		switch {
		case errors.Is(err, ErrCorrupt):
			damaged++
		case errors.Is(err, ErrNotFound): // removed since the folder was listed
		case err != nil:
			return nil, 0, err
		case file == "" || m.OriginalPath == file:
			list = append(list, m)
		}
	}
	return list, damaged, nil
}

// Last is the id that stands for the newest backup of a file.
const Last = "last"

// Find returns the backup of that id, which may be Last, from the folder that
// goes with file and root. The id alone decides: OriginalPath may be another
// file, and the caller has to ask whether that is meant. It fails with
// ErrNotFound, or with ErrCorrupt where the metadata is damaged.
func (k *Keeper) Find(ctx context.Context, file, root, id string) (Meta, error) {
	if id != Last {
		if !idPattern.MatchString(id) {
			return Meta{}, fmt.Errorf("%w: %q is not the id of a backup", ErrNotFound, id)
		}
		return k.meta(ctx, Dir(file, root), id)
	}
	list, damaged, err := k.List(ctx, file, root)
	if err != nil {
		return Meta{}, err
	}
	if len(list) == 0 {
		note := ""
		if damaged > 0 {
			note = fmt.Sprintf(" (%d with unreadable metadata were left out)", damaged)
		}
		return Meta{}, fmt.Errorf("%w: there is none of %s%s", ErrNotFound, file, note)
	}
	return list[len(list)-1], nil
}

// Verify reads the content and compares it with the metadata; ErrCorrupt says
// what is wrong.
func (k *Keeper) Verify(ctx context.Context, m Meta) error {
	sum, size, err := k.digest(ctx, m.Path, m.Directory)
	return m.check(sum, size, err)
}

// Content returns the content after verifying it. It is for files that are
// known to fit into memory.
func (k *Keeper) Content(ctx context.Context, m Meta) ([]byte, error) {
	f, err := k.store.Open(ctx, m.Path)
	if err != nil {
		return nil, m.check("", 0, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(reader{ctx, f}, m.Size+1))
	digest := sha256.Sum256(data)
	if err := m.check(hex.EncodeToString(digest[:]), int64(len(data)), err); err != nil {
		return nil, err
	}
	return data, nil
}

func (m Meta) check(sum string, size int64, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s has lost its content", ErrCorrupt, m.ID)
	case err != nil:
		return err
	case size != m.Size:
		return fmt.Errorf("%w: %s has a size of %d bytes, not %d", ErrCorrupt, m.ID, size, m.Size)
	case sum != m.SHA256:
		return fmt.Errorf("%w: %s has the SHA-256 %s, not %s", ErrCorrupt, m.ID, sum, m.SHA256)
	}
	return nil
}

const typeDirectory = "directory"

// metaFile is the form of metadata on disk.
type metaFile struct {
	ID           string    `json:"id"`
	OriginalPath string    `json:"original_path"`
	Type         string    `json:"type,omitempty"` // "directory", else a file's
	SHA256       string    `json:"sha256"`
	Size         *int64    `json:"size"`
	Mode         string    `json:"mode"` // octal, as for chmod
	Modified     time.Time `json:"modified"`
	Label        string    `json:"label,omitempty"`
	Created      time.Time `json:"created"`
}

func (m Meta) file() metaFile {
	kind := ""
	if m.Directory {
		kind = typeDirectory
	}
	return metaFile{m.ID, m.OriginalPath, kind, m.SHA256, &m.Size, fmt.Sprintf("%04o", m.Mode), m.Modified.UTC(), m.Label, m.Created}
}

var digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// meta reads the metadata of one backup.
func (k *Keeper) meta(ctx context.Context, dir, id string) (Meta, error) {
	f, err := k.store.Open(ctx, path.Join(dir, id+metaSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return Meta{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if err != nil {
		return Meta{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(reader{ctx, f}, maxMeta+1))
	if err != nil {
		return Meta{}, err
	}
	damaged := func(what string) (Meta, error) {
		return Meta{}, fmt.Errorf("%w: metadata of %s %s", ErrCorrupt, id, what)
	}
	var m metaFile
	dec := json.NewDecoder(bytes.NewReader(data))
	if len(data) > maxMeta || dec.Decode(&m) != nil {
		return damaged("does not parse")
	}
	mode, err := strconv.ParseUint(m.Mode, 8, 32)
	switch {
	case m.ID != id:
		return damaged("belongs to " + strconv.Quote(m.ID))
	case err != nil || mode > 0o777:
		return damaged("has a bad mode")
	case m.Type != "" && m.Type != typeDirectory:
		return damaged("is of a " + strconv.Quote(m.Type))
	case m.OriginalPath == "" || m.Size == nil || *m.Size < 0 || !digestPattern.MatchString(m.SHA256):
		return damaged("is not complete")
	}
	return Meta{
		ID: id, OriginalPath: m.OriginalPath, Directory: m.Type == typeDirectory, SHA256: m.SHA256, Size: *m.Size, Mode: fs.FileMode(mode),
		Modified: m.Modified, Label: m.Label, Created: m.Created, Path: path.Join(dir, id+contentSuffix),
	}, nil
}
