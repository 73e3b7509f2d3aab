package session

import (
	"bytes"
	"strconv"

	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// deltaKind is one of the three deltas that are packed in rows.
type deltaKind struct {
	row    string // type of the row
	chunk  string // type of the chunk
	pieces string // name of the row's list of pieces
	piece  string // name of the chunk's piece
}

var deltaKinds = []*deltaKind{
	{"text-chunks", "text-delta", "texts", "text"},
	{"reasoning-chunks", "reasoning-delta", "texts", "text"},
	{"tool-call-chunks", "tool-call-delta", "args", "argumentsDelta"},
}

func rowKind(rowType string) *deltaKind {
	for _, k := range deltaKinds {
		if k.row == rowType {
			return k
		}
	}
	return nil
}

// deltaOf is what the deltas of one row have in common. The strings are raw
// JSON, so that packing never re-encodes what it keeps; an absent id or name
// is "".
type deltaOf struct {
	kind        *deltaKind
	turn, step  int64
	index       int64
	rawID, name string
}

// appendDelta appends the data of one chunk event.
func (d *deltaOf) appendDelta(dst, rawPiece []byte) []byte {
	dst = append(dst, `{"turn":`...)
	dst = strconv.AppendInt(dst, d.turn, 10)
	dst = append(dst, `,"step":`...)
	dst = strconv.AppendInt(dst, d.step, 10)
	dst = append(dst, `,"chunk":{"type":"`...)
	dst = append(dst, d.kind.chunk...)
	dst = append(dst, `","index":`...)
	dst = strconv.AppendInt(dst, d.index, 10)
	if d.rawID != "" {
		dst = append(append(dst, `,"id":`...), d.rawID...)
	}
	if d.name != "" {
		dst = append(append(dst, `,"name":`...), d.name...)
	}
	dst = append(append(append(dst, `,"`...), d.kind.piece...), `":`...)
	dst = append(dst, rawPiece...)
	return append(dst, '}', '}')
}

// parseDelta splits the data of a chunk event that is a delta in exactly the
// form appendDelta writes. Any other spelling, however equal in meaning, is
// not ok: packing it would not give the same bytes back. The data must be
// valid JSON; d and piece alias it.
func parseDelta(data []byte) (d deltaOf, piece []byte, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"turn":`))
	if !ok {
		return d, nil, false
	}
	if d.turn, rest, ok = cutInt(rest); !ok {
		return d, nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"step":`)); !ok {
		return d, nil, false
	}
	if d.step, rest, ok = cutInt(rest); !ok {
		return d, nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"chunk":{"type":"`)); !ok {
		return d, nil, false
	}
	for _, k := range deltaKinds {
		if r, found := bytes.CutPrefix(rest, []byte(k.chunk)); found {
			d.kind, rest = k, r
			break
		}
	}
	if d.kind == nil {
		return d, nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`","index":`)); !ok {
		return d, nil, false
	}
	if d.index, rest, ok = cutInt(rest); !ok {
		return d, nil, false
	}
	if d.kind.row == "tool-call-chunks" {
		d.rawID, rest = cutStringField(rest, `,"id":`)
		d.name, rest = cutStringField(rest, `,"name":`)
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"`+d.kind.piece+`":`)); !ok {
		return d, nil, false
	}
	if len(rest) == 0 || rest[0] != '"' {
		return d, nil, false
	}
	end := jsonx.SkipValue(rest, 0)
	if string(rest[end:]) != "}}" {
		return d, nil, false
	}
	return d, rest[:end:end], true
}

// cutStringField cuts a field whose value is a string; the value is "" and
// the rest unchanged where another field comes next.
func cutStringField(data []byte, prefix string) (raw string, rest []byte) {
	after, ok := bytes.CutPrefix(data, []byte(prefix))
	if !ok || len(after) == 0 || after[0] != '"' {
		return "", data
	}
	end := jsonx.SkipValue(after, 0)
	return string(after[:end]), after[end:]
}

// cutInt cuts a whole number in the one form that AppendInt gives.
func cutInt(data []byte) (n int64, rest []byte, ok bool) {
	end := 0
	if end < len(data) && data[end] == '-' {
		end++
	}
	for end < len(data) && data[end] >= '0' && data[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(string(data[:end]), 10, 64)
	if err != nil || (n == 0 && end != 1) || (n != 0 && leadingZero(data[:end])) {
		return 0, data, false
	}
	return n, data[end:], true
}

func leadingZero(digits []byte) bool {
	return digits[0] == '0' || digits[0] == '-' && digits[1] == '0'
}
