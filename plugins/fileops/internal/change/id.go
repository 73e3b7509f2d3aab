package change

import (
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/bridle-go/bridle/harness/tool"
)

// clock gives times that never repeat or go back, and ids.
type clock struct {
	now    func() time.Time
	random io.Reader

	mu   sync.Mutex
	last time.Time
}

// time returns the time now, at least a nanosecond after the one before.
func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now().UTC().Round(0)
	if !now.After(c.last) {
		now = c.last.Add(time.Nanosecond)
	}
	c.last = now
	return now
}

// Read makes a clock the source of randomness, safe for concurrent use.
func (c *clock) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return io.ReadFull(c.random, p)
}

// crockford is the alphabet of ULIDs: digits and letters without I, L, O, U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// id returns a ULID (github.com/ulid/spec): 48 bits of Unix milliseconds and
// 80 random ones, 26 characters that sort by time.
func (c *clock) id() (string, error) {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(c.time().UnixMilli())<<16)
	if _, err := c.Read(b[6:]); err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	hi, lo := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var out [26]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = crockford[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return string(out[:]), nil
}

// ulid is the form of what id returns.
var ulid = regexp.MustCompile("^[0-7][" + crockford + "]{25}$")

// drawID returns the id that the call tells under a name: a new one, or in a
// replay the recorded one. Files are named after ids, so nothing else will do.
func (r *run) drawID(name string) (string, error) {
	if id := tool.Input(r.call, name, func() string { return "" }); ulid.MatchString(id) {
		return id, nil
	}
	return r.clock.id()
}
