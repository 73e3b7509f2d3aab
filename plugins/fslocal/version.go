package fslocal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/bridle-go/bridle/harness/vfs"
)

// A version token reads
//
//	l1.DIGEST.IDENTITY
//
// DIGEST is the size in hex, "-" and the sum of the content in hex: XXH3-128 of
// leaves of 256 KiB, see leafSize.
// IDENTITY is device, inode, size, modification and change time in base 36,
// joined by "_". Either may be "-", for unknown. An identity is only recorded
// when it proves that content is unchanged: when a later change of content
// must give another one.
//
// XXH3 tells apart contents that differ by accident; it does not resist
// somebody who makes two contents for one digest. That is no way around a
// guard: who can write the file needs none. It is chosen for its speed of tens
// of GB/s, so that a digest never costs a reader more than the reading.
const tokenScheme = "l1"

// digest stands for content.
type digest struct {
	size int64
	sum  xxh3.Uint128
}

// leafSize is how much content one leaf of the digest covers. Content of one
// leaf has the leaf's sum; longer content has the sum of all its leaves' sums,
// 16 bytes each, high half first, in big-endian order. So leaves can be
// digested side by side.
const leafSize = 256 << 10

type leaf = xxh3.Uint128

func leafOf(data []byte) leaf { return xxh3.Hash128(data) }

// treeHash joins leaves.
type treeHash struct {
	size   int64
	first  leaf
	leaves *xxh3.Hasher // nil while there is one leaf
}

// add joins the next leaf, of n bytes.
func (t *treeHash) add(l leaf, n int) {
	switch {
	case t.size == 0:
		t.first = l
	default:
		if t.leaves == nil {
			t.leaves = xxh3.New()
			t.write(t.first)
		}
		t.write(l)
	}
	t.size += int64(n)
}

func (t *treeHash) write(l leaf) {
	b := l.Bytes()
	_, _ = t.leaves.Write(b[:]) // never fails
}

func (t *treeHash) digest() digest {
	switch {
	case t.size == 0:
		return digest{sum: leafOf(nil)}
	case t.leaves == nil:
		return digest{size: t.size, sum: t.first}
	}
	return digest{size: t.size, sum: t.leaves.Sum128()}
}

func digestOf(data []byte) digest {
	if len(data) <= leafSize {
		return digest{size: int64(len(data)), sum: leafOf(data)}
	}
	var t treeHash
	for len(data) > 0 {
		n := min(len(data), leafSize)
		t.add(leafOf(data[:n]), n)
		data = data[n:]
	}
	return t.digest()
}

// hasher digests content that comes in pieces.
type hasher struct {
	tree treeHash
	part []byte // of the leaf that is not complete
}

func newHasher() *hasher { return &hasher{} }

func (h *hasher) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 {
		if len(h.part) == 0 && len(p) >= leafSize {
			h.tree.add(leafOf(p[:leafSize]), leafSize)
			p = p[leafSize:]
			continue
		}
		n := min(len(p), leafSize-len(h.part))
		h.part = append(h.part, p[:n]...)
		p = p[n:]
		h.flush(leafSize)
	}
	return total, nil
}

func (h *hasher) flush(full int) {
	if len(h.part) > 0 && len(h.part) >= full {
		h.tree.add(leafOf(h.part), len(h.part))
		h.part = h.part[:0]
	}
}

// digest ends the content.
func (h *hasher) digest() digest {
	h.flush(0)
	return h.tree.digest()
}

// token is a parsed version.
type token struct {
	digest   *digest
	identity *identity
}

func (t token) version() vfs.Version {
	b := make([]byte, 0, 128)
	b = append(b, tokenScheme+"."...)
	if t.digest == nil {
		b = append(b, '-')
	} else {
		b = strconv.AppendInt(b, t.digest.size, 16)
		b = fmt.Appendf(b, "-%016x%016x", t.digest.sum.Hi, t.digest.sum.Lo)
	}
	b = append(b, '.')
	if t.identity == nil {
		b = append(b, '-')
	} else {
		i := t.identity
		b = strconv.AppendUint(b, i.dev, 36)
		b = append(b, '_')
		b = strconv.AppendUint(b, i.ino, 36)
		for _, n := range []int64{i.size, i.mtime, i.ctime} {
			b = append(b, '_')
			b = strconv.AppendInt(b, n, 36)
		}
	}
	return vfs.Version(b)
}

// parseVersion reads a token. A token that is not ours stands for nothing, so
// that every content is stale against it.
func parseVersion(v vfs.Version) token {
	parts := strings.Split(string(v), ".")
	if len(parts) != 3 || parts[0] != tokenScheme {
		return token{}
	}
	return token{digest: parseDigest(parts[1]), identity: parseIdentity(parts[2])}
}

func parseDigest(s string) *digest {
	size, sum, _ := strings.Cut(s, "-")
	n, err := strconv.ParseInt(size, 16, 64)
	if err != nil || len(sum) != 32 {
		return nil
	}
	hi, err1 := strconv.ParseUint(sum[:16], 16, 64)
	lo, err2 := strconv.ParseUint(sum[16:], 16, 64)
	if err1 != nil || err2 != nil {
		return nil
	}
	return &digest{size: n, sum: xxh3.Uint128{Hi: hi, Lo: lo}}
}

func parseIdentity(s string) *identity {
	parts := strings.Split(s, "_")
	if len(parts) != 5 {
		return nil
	}
	dev, err := strconv.ParseUint(parts[0], 36, 64)
	if err != nil {
		return nil
	}
	ino, err := strconv.ParseUint(parts[1], 36, 64)
	if err != nil {
		return nil
	}
	var rest [3]int64
	for i := range rest {
		if rest[i], err = strconv.ParseInt(parts[2+i], 36, 64); err != nil {
			return nil
		}
	}
	return &identity{dev: dev, ino: ino, size: rest[0], mtime: rest[1], ctime: rest[2]}
}

// Clocks that stamp files tick; two changes within one tick leave the same
// times. Metadata is trusted only once the tick of the last change is over.
const (
	// fineTick is more than the 10 ms of the slowest kernel tick.
	fineTick = 100 * time.Millisecond
	// coarseTick is the 2 s of FAT, the coarsest filesystem in use. A time that
	// is a whole number of milliseconds may come from such a one.
	coarseTick = 2 * time.Second
)

// settled reports whether metadata seen at the time now proves that content
// stays unchanged for as long as the metadata does.
func settled(m meta, now time.Time, w world) bool {
	if m.kind != vfs.File || m.ctime == 0 || w != worldDisk {
		return false
	}
	tick := fineTick
	if m.ctime%int64(time.Millisecond) == 0 {
		tick = coarseTick
	}
	return m.ctime < math.MaxInt64-int64(tick) && m.ctime+int64(tick) < now.UnixNano()
}

// digests remembers what content settled metadata stood for, so that it need
// not be read again. It keeps between half and all of its capacity of the
// latest.
type digests struct {
	mu       sync.Mutex
	new, old map[identity]digest
}

// digestCapacity bounds the table to about 1 MiB.
const digestCapacity = 8192

func (d *digests) put(id identity, sum digest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.new == nil || len(d.new) >= digestCapacity/2 {
		d.old, d.new = d.new, make(map[identity]digest)
	}
	d.new[id] = sum
}

func (d *digests) get(id identity) (digest, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if sum, ok := d.new[id]; ok {
		return sum, true
	}
	sum, ok := d.old[id]
	return sum, ok
}

// worldOfFile returns the sort of filesystem f lives on, asking once a device.
func (f *FS) worldOfFile(file *file, dev uint64) world {
	return f.worldFor(dev, file.world)
}

func (f *FS) worldOfPath(path string, dev uint64) world {
	return f.worldFor(dev, func() world { return worldAt(path) })
}

func (f *FS) worldFor(dev uint64, ask func() world) world {
	if w, ok := f.worlds.Load(dev); ok {
		return w.(world)
	}
	w := ask()
	f.worlds.Store(dev, w)
	return w
}

// seen makes the token of content that was just read, and remembers it. first
// was known at the time now, before the reading; last after it.
func (f *FS) seen(first, last meta, now time.Time, w world, sum digest) vfs.Version {
	t := token{digest: &sum}
	if first.sameEntry(last) && settled(first, now, w) {
		id := first.identity()
		t.identity = &id
		f.known.put(id, sum)
	}
	return t.version()
}
