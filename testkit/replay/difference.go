package replay

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Difference is one place where a replay does not say what the recording says.
type Difference struct {
	// Event is the number of the recorded event that the difference is about,
	// or -1 where the replay did something of which nothing is recorded.
	Event int64 `json:"event"`
	// Where says what the event is, as in "result of edit" or "request of turn
	// 2, step 1".
	Where string `json:"where"`
	// Path is the field, as in "content[0].text"; "" for the whole.
	Path string `json:"path,omitempty"`
	// Recorded and Replayed are the two values: texts as they are, others as
	// JSON.
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// String returns the difference in three lines for a reader: its place, and
// what was recorded and replayed there. Of long texts these are the lines that
// differ first, around what differs.
func (d Difference) String() string {
	recorded, replayed, _ := firstLines(d.Recorded, d.Replayed)
	return fmt.Sprintf("%s\n  recorded: %s\n  replayed: %s", d.Place(), recorded, replayed)
}

// Place returns where the difference is, as in "event 9, result of edit (c1),
// content[0].text, line 2".
func (d Difference) Place() string {
	var b strings.Builder
	if d.Event >= 0 {
		fmt.Fprintf(&b, "event %d, ", d.Event)
	}
	b.WriteString(d.Where)
	if d.Path != "" {
		b.WriteString(", " + d.Path)
	}
	if _, _, line := firstLines(d.Recorded, d.Replayed); line > 0 {
		fmt.Fprintf(&b, ", line %d", line)
	}
	return b.String()
}

// firstLines returns the first lines of two texts that differ, with their
// number, or 0 where the texts have one line each.
func firstLines(a, b string) (string, string, int) {
	if !strings.Contains(a, "\n") && !strings.Contains(b, "\n") {
		x, y := around(a, b)
		return x, y, 0
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		x, y := "(no such line)", "(no such line)"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		if x != y {
			x, y = around(x, y)
			return x, y, i + 1
		}
	}
	return a, b, 0
}

// around cuts two long lines to the neighbourhood of their first difference, so
// that it is seen at a glance: the ellipses stand for what was left out.
func around(a, b string) (string, string) {
	const before, most = 40, 120
	x, y := []rune(a), []rune(b)
	same := 0
	for same < len(x) && same < len(y) && x[same] == y[same] {
		same++
	}
	from := 0
	if max(len(x), len(y)) > most && same > before {
		from = same - before
	}
	cut := func(r []rune) string {
		text := string(r[min(from, len(r)):min(from+most, len(r))])
		if from > 0 {
			text = "…" + text
		}
		if len(r) > from+most {
			text += "…"
		}
		return text
	}
	return cut(x), cut(y)
}

// differ returns how two JSON values differ, or nil.
func differ(event int64, where string, recorded, replayed json.RawMessage) *Difference {
	path, a, b, different := firstDifference("", parse(recorded), parse(replayed))
	if !different {
		return nil
	}
	return &Difference{Event: event, Where: where, Path: path, Recorded: spell(a), Replayed: spell(b)}
}
