package session

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// MemoryStore keeps sessions in memory: for tests, and for deployments that
// keep nothing. It keeps the rules of a store, the lock among them.
type MemoryStore struct {
	config Config

	mu   sync.Mutex
	logs map[string]*memoryLog
}

var _ Store = (*MemoryStore)(nil)

type memoryLog struct {
	header Header
	log    *memory
	open   bool
}

// NewMemoryStore returns an empty store.
func NewMemoryStore(config Config) *MemoryStore {
	return &MemoryStore{config: config.withDefaults(), logs: map[string]*memoryLog{}}
}

// heldMemory is the log of an open session, which its close gives back.
type heldMemory struct {
	*memory
	release func()
}

func (h heldMemory) close() error {
	h.release()
	return nil
}

func (m *MemoryStore) hold(l *memoryLog) backend {
	l.open = true
	return heldMemory{l.log, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		l.open = false
	}}
}

// Create makes a session.
func (m *MemoryStore) Create(_ context.Context, h Header) (*Session, error) {
	return m.create(h, nil)
}

func (m *MemoryStore) create(h Header, events []Event) (*Session, error) {
	h, err := m.config.complete(h)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.logs[h.ID] != nil {
		return nil, exists(h.ID)
	}
	l := &memoryLog{header: h, log: &memory{log: events[:len(events):len(events)]}}
	s, err := m.session(l)
	if err != nil {
		return nil, err
	}
	m.logs[h.ID] = l
	return s, nil
}

// session opens l; m.mu is held.
func (m *MemoryStore) session(l *memoryLog) (*Session, error) {
	state := &State{}
	s := newSession(l.header, m.config, nil, state)
	for _, e := range l.log.log {
		if err := state.applyKnown(e, m.config.KnownTypes); err != nil {
			return nil, err
		}
		s.lastTime = max(s.lastTime, e.Time)
	}
	s.backend = m.hold(l)
	return s, nil
}

// Open resumes a session.
func (m *MemoryStore) Open(_ context.Context, id string) (*Session, error) {
	m.mu.Lock()
	l := m.logs[id]
	switch {
	case l == nil:
		m.mu.Unlock()
		return nil, notFound(id)
	case l.open:
		m.mu.Unlock()
		return nil, lockedBy(thisProcess())
	}
	s, err := m.session(l)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := s.repair(nil, ""); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Read reads a whole log.
func (m *MemoryStore) Read(_ context.Context, id string) (*Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[id]
	if l == nil {
		return nil, notFound(id)
	}
	log := &Log{Header: l.header, State: &State{}, Events: l.log.snapshot()}
	for _, e := range log.Events {
		if err := log.State.applyKnown(e, m.config.KnownTypes); err != nil {
			return nil, err
		}
	}
	return log, nil
}

// List returns the sessions there are, the one used last first.
func (m *MemoryStore) List(context.Context) ([]Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var infos []Info
	for id, l := range m.logs {
		info := Info{ID: id, CreatedAt: l.header.CreatedAt, Cwd: l.header.Cwd}
		used := info.CreatedAt // the events of a fork can be older than itself
		for _, e := range l.log.snapshot() {
			info.Size += int64(len(e.Data))
			used = max(used, e.Time)
			switch e.Type {
			case TypeTurnStart:
				info.Turns++
			case TypeTitle:
				var t Title
				if err := e.Decode(&t); err == nil {
					info.Title = t.Title
				}
			}
		}
		info.UsedAt = time.UnixMilli(used)
		infos = append(infos, info)
	}
	sortInfos(infos)
	return infos, nil
}

// Fork makes a session from the first events of another one.
func (m *MemoryStore) Fork(ctx context.Context, id string, at int64) (*Session, error) {
	log, err := m.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	h, events, err := forkOf(log, at, m.config)
	if err != nil {
		return nil, err
	}
	s, err := m.create(h, events)
	if err != nil {
		return nil, err
	}
	if _, err := s.Append(EndSeed{From: id, Seq: int64(len(events)) - 1}.Event()); err != nil {
		s.Close()
		return nil, fmt.Errorf("fork: %w", err)
	}
	return s, nil
}

// Delete removes a session.
func (m *MemoryStore) Delete(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[id]
	switch {
	case l == nil:
		return notFound(id)
	case l.open:
		return lockedBy(thisProcess())
	}
	delete(m.logs, id)
	return nil
}
