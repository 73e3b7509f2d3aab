package fspolicy

import (
	"container/list"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bridle-go/bridle/harness/vfs"
)

// memory keeps, for files that open sessions have seen, the text where it is at
// hand and the lines that were shown. It is bounded: the texts by their bytes,
// the lines by the number of files. What is forgotten costs a refusal its
// details, or an agent another read, and nothing else.
type memory struct {
	maxBytes int64

	mu    sync.Mutex
	bytes int64
	files map[fileOf]*list.Element // of *seen
	order *list.List               // least recently used first
	// sessions are those of which something was noted and that are open, with
	// how to stop waiting for their end.
	sessions map[string]func()
}

// maxFiles bounds the files that are remembered, over all sessions.
const maxFiles = 16384

type fileOf struct {
	session string
	key     vfs.Key
}

type seen struct {
	file    fileOf
	version vfs.Version
	size    int64 // of the file in bytes, or else of the text; -1 when unknown
	text    *string
	// shown holds the lines that were shown, sorted and apart; whole tells that
	// all were.
	shown []span
	total int
	whole bool
}

// span is a range of lines, both ends included, from 1.
type span struct{ first, last int }

func newMemory(maxBytes int64) *memory {
	return &memory{maxBytes: maxBytes, files: map[fileOf]*list.Element{}, order: list.New(), sessions: map[string]func(){}}
}

// note takes what a session has seen. The result tells that it is the first
// that is noted of the session.
func (m *memory) note(sessionID string, o vfs.Observation) (first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.sessions[sessionID]; !known {
		m.sessions[sessionID], first = func() {}, true
	}
	m.add(sessionID, o)
	return first
}

func (m *memory) add(sessionID string, o vfs.Observation) {
	file := fileOf{sessionID, o.Target.Key}
	var s *seen
	if el, ok := m.files[file]; ok {
		s = el.Value.(*seen)
		m.order.MoveToBack(el)
	} else if !o.Absent {
		s = &seen{file: file, size: -1}
		m.files[file] = m.order.PushBack(s)
	} else {
		return
	}
	if o.Absent {
		m.drop(m.files[file])
		return
	}
	if s.version != o.Version {
		m.setText(s, nil)
		*s = seen{file: file, version: o.Version, size: -1}
	}
	if o.Text != nil {
		m.setText(s, o.Text)
	}
	if o.Size > 0 {
		s.size = o.Size
	}
	if o.First == 0 {
		s.whole = true
	} else {
		s.total = o.TotalLines
		s.shown = cover(s.shown, span{o.First, o.Last})
	}
	for (m.maxBytes >= 0 && m.bytes > m.maxBytes || len(m.files) > maxFiles) && m.order.Len() > 0 {
		m.drop(m.order.Front())
	}
}

// setText replaces the text of s. A text that would fill more than a quarter
// of the memory is not kept.
func (m *memory) setText(s *seen, text *string) {
	if s.text != nil {
		m.bytes -= int64(len(*s.text))
	}
	s.text = nil
	if text != nil {
		s.size = int64(len(*text))
		if s.size <= m.maxBytes/4 {
			s.text = text
			m.bytes += s.size
		}
	}
}

func (m *memory) drop(el *list.Element) {
	s := el.Value.(*seen)
	m.setText(s, nil)
	delete(m.files, s.file)
	m.order.Remove(el)
}

// until keeps how to stop waiting for the end of a session.
func (m *memory) until(sessionID string, undo func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, open := m.sessions[sessionID]; open {
		m.sessions[sessionID] = undo
	}
}

// forget drops all of a session that has been closed.
func (m *memory) forget(sessionID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.sessions, sessionID)
	for el := m.order.Front(); el != nil; {
		next := el.Next()
		if el.Value.(*seen).file.session == sessionID {
			m.drop(el)
		}
		el = next
	}
}

// clear drops everything, and waits for no session any more.
func (m *memory) clear() {
	m.mu.Lock()
	sessions := m.sessions
	m.bytes, m.files, m.order, m.sessions = 0, map[fileOf]*list.Element{}, list.New(), map[string]func(){}
	m.mu.Unlock()
	for _, undo := range sessions {
		undo()
	}
}

// text returns what is still known of the text that the session saw last: its
// size, and the text itself or nil.
func (m *memory) text(sessionID string, key vfs.Key) (text *string, size int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	el, known := m.files[fileOf{sessionID, key}]
	if !known || el.Value.(*seen).size < 0 {
		return nil, 0, false
	}
	s := el.Value.(*seen)
	return s.text, s.size, true
}

// missing says which lines of that version the session has not been shown; ""
// when it has seen all.
func (m *memory) missing(sessionID string, key vfs.Key, v vfs.Version) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	el, known := m.files[fileOf{sessionID, key}]
	if !known || el.Value.(*seen).version != v {
		return "which lines were read is no longer known"
	}
	s := el.Value.(*seen)
	if s.whole {
		return ""
	}
	var gaps []string
	next := 1
	for _, sp := range append(slices.Clip(s.shown), span{s.total + 1, s.total + 1}) {
		switch {
		case sp.first == next+1:
			gaps = append(gaps, fmt.Sprint(next))
		case sp.first > next:
			gaps = append(gaps, fmt.Sprintf("%d-%d", next, sp.first-1))
		}
		next = sp.last + 1
	}
	if len(gaps) == 0 {
		return ""
	}
	const most = 10
	if len(gaps) > most {
		gaps = append(gaps[:most], "more")
	}
	return fmt.Sprintf("of its %d lines these were not read: %s", s.total, strings.Join(gaps, ", "))
}

// cover adds a span to sorted spans and joins those that touch.
func cover(spans []span, add span) []span {
	if add.last < add.first {
		return spans
	}
	spans = append(slices.Clip(spans), add)
	slices.SortFunc(spans, func(a, b span) int { return a.first - b.first })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.first <= last.last+1 {
			last.last = max(last.last, s.last)
		} else {
			out = append(out, s)
		}
	}
	return out
}
