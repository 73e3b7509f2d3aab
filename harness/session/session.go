package session

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/approval"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/sandbox"
)

// Config is what sessions take from outside. The zero value works.
type Config struct {
	// Clock gives the time of events. A log's times never go back, whatever
	// it says. Default: time.Now.
	Clock func() time.Time
	// TimeOf, where it is not nil, is asked first for the time of an event by
	// its number: a replay gives events the times they had. Where it is not ok
	// the clock counts.
	TimeOf func(seq int64) (t time.Time, ok bool)
	// NewID gives the ids of sessions and messages. Default: random UUIDs.
	NewID func() string
	// Recall, where it is not nil, is asked for what a tool call takes from the
	// world and tells, such as an id that it draws: a replay puts the next
	// recorded value of that name into the pointer. Where it reports false the
	// call makes a value of its own, and into means nothing.
	Recall func(callID, name string, into any) bool
	// KnownTypes are event types, beside the core ones, that the deployment
	// understands; any other must be marked ignorable.
	KnownTypes []string
	// MayRetry reports whether a tool call that was cut off by the end of the
	// process can be made again without a second effect. Default:
	// [DefaultMayRetry].
	MayRetry func(name, arguments string) bool
	// Logger is told when a subscriber panics. Default: slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.NewID == nil {
		c.NewID = newUUID
	}
	if c.MayRetry == nil {
		c.MayRetry = DefaultMayRetry
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// newUUID returns a random UUID, version 4 of RFC 9562.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// backend keeps the events of one open session.
type backend interface {
	// append takes events that are numbered and valid.
	append(events []Event) error
	// checkpoint returns when all that was appended before is durable.
	checkpoint(ctx context.Context) error
	// events yields the log from the first event on, up to what was appended
	// when it was called.
	events() iter.Seq2[Event, error]
	close() error
}

// Session is one open log. It has one writer, itself, and may be used by any
// number of goroutines.
type Session struct {
	header   Header
	config   Config
	repaired Repair

	mu       sync.Mutex
	state    *State
	backend  backend
	lastTime int64
	failed   error
	closed   bool

	subs       []*subscriber
	closers    []*closer
	deliveries []Event
	delivering bool
}

// NewMemory returns a session that lives in memory. A zero ID or CreatedAt of
// the header comes from the config. The events are taken into the log as they
// are, except that they are numbered anew and that one without a time gets
// the current one.
func NewMemory(header Header, config Config, events ...Event) (*Session, error) {
	config = config.withDefaults()
	if header.ID == "" {
		header.ID = config.NewID()
	}
	if header.CreatedAt == 0 {
		header.CreatedAt = config.Clock().UnixMilli()
	}
	s := newSession(header, config, &memory{}, &State{})
	for _, e := range events {
		if _, err := s.append([]Event{e}, true); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newSession(h Header, c Config, b backend, state *State) *Session {
	state.mayRetry = c.MayRetry
	return &Session{header: h, config: c, backend: b, state: state, lastTime: h.CreatedAt}
}

// ID returns the session's id.
func (s *Session) ID() string { return s.header.ID }

// Header returns the log's first line.
func (s *Session) Header() Header {
	h := s.header
	h.Extra = maps.Clone(h.Extra)
	return h
}

// Cwd returns the absolute path of the session's workspace.
func (s *Session) Cwd() string { return s.header.Cwd }

// NewID returns an id from the session's generator, for a message.
func (s *Session) NewID() string { return s.config.NewID() }

// Recall puts what the call told under a name when it was recorded into a
// pointer. It reports false in a session that is no replay.
func (s *Session) Recall(callID, name string, into any) bool {
	return s.config.Recall != nil && s.config.Recall(callID, name, into)
}

// Append adds events to the log, all of them or none, and returns them with
// their numbers and times. The log keeps their data: it must not be changed
// afterwards. Subscribers have seen them when Append returns, unless another
// Append was delivering at the time.
//
// The events are durable only after the next [Session.Checkpoint]; the end of
// the process alone loses at most a second's worth of stream deltas.
//
// Errors: SESSION_INVALID_EVENT, SESSION_UNKNOWN_EVENT, SESSION_CLOSED, and
// SESSION_WRITE_FAILED, after which the session takes no more events.
func (s *Session) Append(events ...Event) ([]Event, error) {
	return s.append(events, false)
}

func (s *Session) append(events []Event, keepTime bool) ([]Event, error) {
	out := slices.Clone(events)
	bodies, err := s.acceptAll(out)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	return s.commit(out, bodies, keepTime)
}

// acceptAll validates events, puts each on one line, and returns what their
// data hold.
func (s *Session) acceptAll(events []Event) ([]any, error) {
	bodies := make([]any, len(events))
	for i := range events {
		if err := s.check(&events[i]); err != nil {
			return nil, err
		}
		body, err := accept(events[i], s.config.KnownTypes)
		if err != nil {
			if errs.CodeOf(err) == "" {
				err = errs.Wrap(InvalidEvent, "the event cannot be appended: "+err.Error(), err)
			}
			return nil, err
		}
		bodies[i] = body
	}
	return bodies, nil
}

// commit numbers accepted events, adds them to the log and the folds, and
// tells the subscribers. s.mu is held and is given up.
func (s *Session) commit(out []Event, bodies []any, keepTime bool) ([]Event, error) {
	if err := s.usable(); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	now := max(s.config.Clock().UnixMilli(), s.lastTime)
	for i := range out {
		out[i].Seq = s.state.events + int64(i)
		if !keepTime || out[i].Time == 0 {
			out[i].Time = s.timeOf(out[i].Seq, now)
		}
	}
	if err := s.backend.append(out); err != nil {
		s.failed = errs.Wrap(WriteFailed, fmt.Sprintf("the log of session %s could not be written: %v", s.header.ID, err), err)
		err := s.failed
		s.mu.Unlock()
		return nil, err
	}
	for i, e := range out {
		s.state.apply(e, bodies[i])
		s.lastTime = max(s.lastTime, e.Time)
	}
	if len(s.subs) == 0 {
		s.mu.Unlock()
		return out, nil
	}
	s.deliveries = append(s.deliveries, out...)
	s.deliver()
	return out, nil
}

func (s *Session) timeOf(seq, now int64) int64 {
	if s.config.TimeOf != nil {
		if t, ok := s.config.TimeOf(seq); ok {
			return t.UnixMilli()
		}
	}
	return now
}

// check makes sure that the event is one line of JSON.
func (s *Session) check(e *Event) error {
	if e.Type == "" {
		return errs.New(InvalidEvent, "the event cannot be appended: it has no type")
	}
	if rowKind(e.Type) != nil || e.Type == headerType {
		return errs.New(InvalidEvent, fmt.Sprintf("the event cannot be appended: the type %q is one of the format's own", e.Type))
	}
	if e.Data == nil {
		return nil // where the type needs data, accept says so
	}
	if err := jsonx.CheckValue(e.Data); err != nil {
		return errs.Wrap(InvalidEvent, fmt.Sprintf("the data of the %s event cannot be logged: %v", e.Type, err), err)
	}
	if bytes.ContainsAny(e.Data, "\n\r") {
		var one bytes.Buffer
		if err := json.Compact(&one, e.Data); err != nil {
			return errs.Wrap(InvalidEvent, err.Error(), err)
		}
		e.Data = one.Bytes()
	}
	return nil
}

// usable reports why the session takes no events; s.mu is held.
func (s *Session) usable() error {
	if s.closed {
		return errs.New(Closed, fmt.Sprintf("session %s is closed", s.header.ID))
	}
	return s.failed
}

// Events yields the log's events from the first on, as far as it went when
// the iteration began.
func (s *Session) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s.mu.Lock()
		if s.closed {
			err := s.usable()
			s.mu.Unlock()
			yield(Event{}, err)
			return
		}
		all := s.backend.events()
		s.mu.Unlock()
		all(yield)
	}
}

// Checkpoint returns when every event appended before is durable: a crash of
// the machine does not lose it. Concurrent calls share one sync.
func (s *Session) Checkpoint(ctx context.Context) error {
	s.mu.Lock()
	err := s.usable()
	b := s.backend
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err := b.checkpoint(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.failed == nil {
			s.failed = errs.Wrap(WriteFailed, fmt.Sprintf("the log of session %s could not be made durable: %v", s.header.ID, err), err)
		}
		return s.failed
	}
	return nil
}

// Close makes the log durable and gives up its lock. It may be called twice.
func (s *Session) Close() error {
	closers, err := s.shut()
	for _, c := range closers {
		s.end(c)
	}
	return err
}

func (s *Session) shut() ([]*closer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	s.closed = true
	s.subs = nil
	closers := s.closers
	s.closers = nil
	if err := s.backend.close(); err != nil {
		return closers, errs.Wrap(WriteFailed, fmt.Sprintf("the log of session %s could not be closed: %v", s.header.ID, err), err)
	}
	return closers, nil
}

// View calls fn with the folds while nothing is appended. fn must not keep
// the state, change it, or use the session.
func (s *Session) View(fn func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.state)
}

func view[T any](s *Session, fn func(*State) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fn(s.state)
}

// Messages returns the conversation as a provider accepts it; see
// [State.Messages].
func (s *Session) Messages() []llm.Message { return view(s, (*State).Messages) }

// SandboxMode returns the mode of the last sandbox/mode event, or "".
func (s *Session) SandboxMode() sandbox.Mode { return view(s, (*State).SandboxMode) }

// ApprovalPolicy returns the policy of the last approval/policy event, or "".
func (s *Session) ApprovalPolicy() approval.Mode { return view(s, (*State).ApprovalPolicy) }

// RequestHeader returns the latest request header, or false.
func (s *Session) RequestHeader() (h RequestHeader, ok bool) {
	s.View(func(st *State) { h, ok = st.RequestHeader() })
	return h, ok
}

// RequestContext returns the latest request context, or false.
func (s *Session) RequestContext() (c RequestContext, ok bool) {
	s.View(func(st *State) { c, ok = st.RequestContext() })
	return c, ok
}

// PendingCalls returns the calls of the newest answer that have no result.
func (s *Session) PendingCalls() []llm.Block { return view(s, (*State).PendingCalls) }

// LastTurn returns the number of the turn that began last, or 0.
func (s *Session) LastTurn() int { return view(s, (*State).LastTurn) }

// Title returns the session's title, or "".
func (s *Session) Title() string { return view(s, (*State).Title) }

// OpenTurn returns the number of the open turn, or 0.
func (s *Session) OpenTurn() int { return view(s, (*State).OpenTurn) }

// OpenStep returns the number of the open step, or 0.
func (s *Session) OpenStep() int { return view(s, (*State).OpenStep) }

// Observations returns what the session knows of files; see
// [State.Observations].
func (s *Session) Observations() []Observed { return view(s, (*State).Observations) }

// Len returns the number of events.
func (s *Session) Len() int64 { return view(s, (*State).Len) }
