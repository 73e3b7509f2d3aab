package session

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// Store keeps sessions. Implementations may be called concurrently.
type Store interface {
	// Create makes a session. A zero ID or CreatedAt of the header comes from
	// the store's config. Errors: SESSION_EXISTS, SESSION_INVALID_ID.
	Create(ctx context.Context, h Header) (*Session, error)
	// Open resumes a session as its one writer and puts right what a crash
	// left; [Session.Repaired] tells what that was. Errors: SESSION_NOT_FOUND,
	// SESSION_LOCKED with the owner, SESSION_CORRUPT and SESSION_UNKNOWN_EVENT
	// with the line, SESSION_VERSION with both versions.
	Open(ctx context.Context, id string) (*Session, error)
	// Read reads a whole log without a lock and changes nothing, so it works
	// on a session that somebody writes.
	Read(ctx context.Context, id string) (*Log, error)
	// List returns the sessions there are, newest first. A session whose log
	// cannot be read is listed with the reason.
	List(ctx context.Context) ([]Info, error)
	// Fork makes a session from the first events of another one, up to and
	// including number at, or to the last boundary when at is negative. A
	// boundary has no open turn and no call without a result; in any other
	// place it fails with SESSION_UNSTABLE_BOUNDARY and the nearest boundary
	// before. The original is only read.
	Fork(ctx context.Context, id string, at int64) (*Session, error)
	// Delete removes a session that nobody has open, and what was kept of its
	// torn ends.
	Delete(ctx context.Context, id string) error
}

// Info is what a list says of a session.
type Info struct {
	ID    string
	Title string
	// CreatedAt is in Unix milliseconds.
	CreatedAt int64
	// UsedAt is when the log was last written to.
	UsedAt time.Time
	Cwd    string
	// Turns counts the turns that began.
	Turns int
	// Size is the bytes of the log, or of its events in memory.
	Size int64
	// Err tells why the log cannot be read; the fields it hides are zero.
	Err error
}

// sortInfos puts the session first that was used last. File systems can give
// two logs one time: then the newer comes first, and at last the ids decide.
func sortInfos(infos []Info) {
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(b.UsedAt.Compare(a.UsedAt), cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// maxIDLength keeps an id and its endings within the 255 bytes of a file
// name.
const maxIDLength = 128

func checkID(id string) error {
	ok := id != "" && len(id) <= maxIDLength && id[0] != '.'
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			ok = false
		}
	}
	if !ok {
		return errs.New(InvalidID, fmt.Sprintf(
			"the session id %q is not valid: it takes letters, digits, '-', '_' and '.', at most %d of them, and no '.' in front", id, maxIDLength))
	}
	return nil
}

// complete fills what a header leaves to the store.
func (c Config) complete(h Header) (Header, error) {
	if h.ID == "" {
		h.ID = c.NewID()
	}
	if h.CreatedAt == 0 {
		h.CreatedAt = c.Clock().UnixMilli()
	}
	h.Extra = maps.Clone(h.Extra)
	return h, checkID(h.ID)
}

func notFound(id string) error {
	return errs.New(NotFound, fmt.Sprintf("there is no session %q", id))
}

func exists(id string) error {
	return errs.New(Exists, fmt.Sprintf("the session %q exists already", id))
}

// forkOf returns the header and the events of a fork.
func forkOf(log *Log, at int64, c Config) (Header, []Event, error) {
	if at >= int64(len(log.Events)) {
		return Header{}, nil, errs.New(UnstableBoundary, fmt.Sprintf(
			"session %s has %d events, so it cannot be forked at event %d", log.Header.ID, len(log.Events), at))
	}
	var s State
	end := int64(-1) // the last boundary
	limit := at
	if at < 0 {
		limit = int64(len(log.Events)) - 1
	}
	for _, e := range log.Events[:limit+1] {
		if err := s.applyKnown(e, c.KnownTypes); err != nil {
			return Header{}, nil, err
		}
		if s.stable() {
			end = e.Seq
		}
	}
	if at >= 0 && end != at {
		where := "there is none before it"
		if end >= 0 {
			where = fmt.Sprintf("the nearest before it is event %d", end)
		}
		return Header{}, nil, errs.New(UnstableBoundary, fmt.Sprintf(
			"session %s cannot be forked at event %d, within turn %d: that is no boundary; %s", log.Header.ID, at, s.turn, where))
	}
	h := log.Header
	h.ID, h.CreatedAt = "", 0
	h, err := c.complete(h)
	if err != nil {
		return Header{}, nil, err
	}
	if h.Extra == nil {
		h.Extra = jsonx.Extra{}
	}
	from := jsonx.Begin(nil)
	from.String("session", log.Header.ID)
	from.Int("seq", end)
	h.Extra["forkedFrom"] = from.End()
	return h, log.Events[:end+1], nil
}

// stable reports whether a log may be forked here.
func (s *State) stable() bool {
	return s.turn == 0 && len(s.pending) == 0 && len(s.claimed) == 0
}

func (s *State) applyKnown(e Event, types []string) error {
	body, err := accept(e, types)
	if err == nil {
		s.apply(e, body)
	}
	return err
}
