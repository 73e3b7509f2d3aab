package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// cachedInfo is what was found in a log of that size and time. A log only
// grows, so the same size means the same log.
type cachedInfo struct {
	info     Info
	size     int64
	modified time.Time
}

// List returns the sessions there are, the one used last first. It looks only at the beginning of each
// line and decodes those that matter; a log that has not changed since the
// last call is not read again.
func (s *FileStore) List(ctx context.Context) ([]Info, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failedIO(ReadFailed, "the session directory cannot be read", s.dir, err)
	}
	var infos []Info
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, ok := strings.CutSuffix(entry.Name(), logSuffix)
		if !ok || checkID(id) != nil || !entry.Type().IsRegular() {
			continue
		}
		st, err := entry.Info()
		if err != nil || st.Size() == 0 {
			continue // deleted meanwhile, or never begun
		}
		infos = append(infos, s.info(id, st))
	}
	sortInfos(infos)
	return infos, nil
}

func (s *FileStore) info(id string, st fs.FileInfo) Info {
	s.mu.Lock()
	cached, ok := s.infos[id]
	s.mu.Unlock()
	if ok && cached.size == st.Size() && cached.modified.Equal(st.ModTime()) {
		return cached.info
	}
	info, err := scanInfo(s.path(id, logSuffix))
	info.ID, info.Size, info.Err = id, st.Size(), err
	if err == nil {
		info.UsedAt = st.ModTime()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.infos[id] = cachedInfo{info, st.Size(), st.ModTime()}
	return info
}

var (
	turnPrefix  = []byte(`{"type":"` + TypeTurnStart + `"`)
	titlePrefix = []byte(`{"type":"` + TypeTitle + `"`)
	typePrefix  = []byte(`{"type":`)
)

// scanInfo reads what a list tells of a log.
func scanInfo(path string) (info Info, err error) {
	f, err := os.Open(path)
	if err != nil {
		return info, readFailed(path, err)
	}
	defer f.Close()
	rd, err := NewReader(f)
	if err != nil {
		return info, err
	}
	info.CreatedAt, info.Cwd = rd.header.CreatedAt, rd.header.Cwd
	for {
		line, _, err := rd.readLine()
		if err == io.EOF {
			return info, nil
		}
		if err != nil {
			return info, err
		}
		kind := TypeTitle
		switch {
		case bytes.HasPrefix(line, turnPrefix):
			info.Turns++
			continue
		case bytes.HasPrefix(line, titlePrefix):
		case bytes.HasPrefix(line, typePrefix):
			continue
		default:
			// The type does not come first, which only other writers do.
			fields, err := splitLine(line)
			if err != nil {
				continue // a list is no check; opening the log tells
			}
			kind, _ = lineType(fields)
		}
		switch kind {
		case TypeTurnStart:
			info.Turns++
		case TypeTitle:
			var t Title
			if e, err := ParseEvent(line); err == nil && e.Decode(&t) == nil {
				info.Title = t.Title
			}
		}
	}
}

func splitLine(line []byte) ([]jsonx.Field, error) {
	if err := jsonx.Check(line); err != nil {
		return nil, err
	}
	return jsonx.Split(nil, line)
}
