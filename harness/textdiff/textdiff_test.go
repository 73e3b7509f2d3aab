package textdiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// numbered returns lines "line lo" to "line hi".
func numbered(lo, hi int) string {
	var out strings.Builder
	for i := lo; i <= hi; i++ {
		fmt.Fprintf(&out, "line %d\n", i)
	}
	return out.String()
}

func TestHunks(t *testing.T) {
	tests := []struct {
		name          string
		before, after string
		context       int
		want          []Hunk
	}{
		{"equal", "a\n", "a\n", 3, nil},
		{"both empty", "", "", 3, nil},
		{"into nothing", "", "a\nb", 3, []Hunk{{0, 0, 1, 2, "", "a\nb"}}},
		{"to nothing", "a\nb", "", 3, []Hunk{{1, 2, 0, 0, "a\nb", ""}}},
		{"final line feed", "a", "a\n", 3, []Hunk{{1, 1, 1, 1, "a", "a\n"}}},
		{"insert without context", "a\nb\n", "a\nx\nb\n", 0, []Hunk{{1, 0, 2, 1, "", "x\n"}}},
		{"delete without context", "a\nx\nb\n", "a\nb\n", 0, []Hunk{{2, 1, 1, 0, "x\n", ""}}},
		{"context is clipped", "a\nb\nc\n", "a\nB\nc\n", 3, []Hunk{{1, 3, 1, 3, "a\nb\nc\n", "a\nB\nc\n"}}},
		{"negative context", "a\nb\n", "a\nB\n", -1, []Hunk{{2, 1, 2, 1, "b\n", "B\n"}}},
		{"huge context", "a\nb\n", "a\nB\n", int(^uint(0) >> 1), []Hunk{{1, 2, 1, 2, "a\nb\n", "a\nB\n"}}},
		{
			"six lines apart is one hunk", numbered(1, 8),
			"X\n" + numbered(2, 7) + "Y\n", 3,
			[]Hunk{{1, 8, 1, 8, numbered(1, 8), "X\n" + numbered(2, 7) + "Y\n"}},
		},
		{
			"seven lines apart are two", numbered(1, 9),
			"X\n" + numbered(2, 8) + "Y\n", 3,
			[]Hunk{
				{1, 4, 1, 4, numbered(1, 4), "X\n" + numbered(2, 4)},
				{6, 4, 6, 4, numbered(6, 9), numbered(6, 8) + "Y\n"},
			},
		},
		{"repeated line goes down", "{\n}\nx\n", "{\n}\n{\n}\nx\n", 0, []Hunk{{2, 0, 3, 2, "", "{\n}\n"}}},
		{"carriage returns are text", "a\r\n", "a\n", 3, []Hunk{{1, 1, 1, 1, "a\r\n", "a\n"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Hunks(tt.before, tt.after, tt.context)); diff != "" {
				t.Errorf("hunks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyRefusesOtherText(t *testing.T) {
	before := numbered(1, 20)
	hunks := Hunks(before, strings.Replace(before, "line 15\n", "", 1), 3)
	for _, other := range []string{"", numbered(1, 3), numbered(2, 20), "x\n" + before} {
		if got, err := Apply(other, hunks); !errors.Is(err, ErrMismatch) {
			t.Errorf("Apply to another text = %q, %v; want ErrMismatch", got, err)
		}
	}
	if got, err := Apply(before, []Hunk{hunks[0], hunks[0]}); !errors.Is(err, ErrMismatch) {
		t.Errorf("Apply of overlapping hunks = %q, %v; want ErrMismatch", got, err)
	}
}

func TestStatAndRanges(t *testing.T) {
	tests := []struct {
		name           string
		before, after  string
		added, removed int
		ranges         string
	}{
		{"equal", "a\n", "a\n", 0, 0, ""},
		{"one changed", "a\nb\nc\n", "a\nB\nc\n", 1, 1, "line 2"},
		{"two places", numbered(1, 9), numbered(1, 2) + "x\ny\nz\n" + numbered(6, 8) + "last\n", 4, 4, "lines 3-5, 9"},
		{"removed in the middle", "a\nb\nc\n", "a\nc\n", 0, 1, "line 2"},
		{"removed at the end", "a\nb\nc\n", "a\nb\n", 0, 1, "line 2"},
		{"all removed", "a\nb\n", "", 0, 2, "line 1"},
		{"from nothing", "", "a\nb\n", 2, 0, "lines 1-2"},
		{"only the final line feed", "a\nb", "a\nb\n", 1, 1, "line 2"},
		{"adjacent ranges join", "a\nb\nc\nd\n", "a\nB\nc2\nd\n", 2, 2, "lines 2-3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			added, removed := Stat(tt.before, tt.after)
			if added != tt.added || removed != tt.removed {
				t.Errorf("Stat = +%d -%d, want +%d -%d", added, removed, tt.added, tt.removed)
			}
			if got := FormatRanges(ChangedRanges(tt.before, tt.after), 0); got != tt.ranges {
				t.Errorf("ranges = %q, want %q", got, tt.ranges)
			}
		})
	}
}

func TestFormatRangesLimit(t *testing.T) {
	ranges := []Range{{1, 1}, {3, 5}, {7, 7}, {9, 12}}
	for limit, want := range map[int]string{
		1: "lines 1 and 3 more places",
		3: "lines 1, 3-5, 7 and 1 more place",
		4: "lines 1, 3-5, 7, 9-12",
	} {
		if got := FormatRanges(ranges, limit); got != want {
			t.Errorf("FormatRanges(limit %d) = %q, want %q", limit, got, want)
		}
	}
}

func card(oldText, newText string) Card { return Card{"p", &oldText, newText} }

func TestCards(t *testing.T) {
	same := strings.Repeat("same\n", 20)
	tests := []struct {
		name          string
		before, after string
		want          []Card
	}{
		{"equal", "a\n", "a\n", []Card{}},
		{"one line", "alpha\nbeta\ngamma\n", "alpha\nBETA\ngamma\n", []Card{card("alpha\nbeta\ngamma", "alpha\nBETA\ngamma")}},
		{"line removed", "keep\ndrop\nkeep2\n", "keep\nkeep2\n", []Card{card("keep\ndrop\nkeep2", "keep\nkeep2")}},
		{"line appended", "a\n", "a\nb\n", []Card{card("a", "a\nb")}},
		{"into nothing", "", "hello\n", []Card{{"p", nil, "hello"}}},
		{"into nothing, no final line feed", "", "hello", []Card{{"p", nil, "hello"}}},
		{"one empty line into nothing", "", "\n", []Card{{"p", nil, "\n"}}},
		{"everything removed", "x\n", "", []Card{card("x", "")}},
		{"everything removed, no final line feed", "x", "", []Card{card("x", "")}},
		{"final line feed added", "a", "a\n", []Card{card("a", "a\n")}},
		{"final line feed removed", "a\n", "a", []Card{card("a\n", "a")}},
		{"final line feed removed with a change", "x\n", "y", []Card{card("x\n", "y")}},
		{"to one empty line", "x\n", "\n", []Card{card("x\n", "\n")}},
		{"from one empty line", "\n", "x\n", []Card{card("", "x")}},
		{"one empty line removed", "\n", "", []Card{card("", "")}},
		{
			"two hunks", numbered(1, 20), strings.Replace(strings.Replace(numbered(1, 20), "line 5\n", "five\n", 1), "line 15\n", "fifteen\n", 1),
			[]Card{
				card("line 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8", "line 2\nline 3\nline 4\nfive\nline 6\nline 7\nline 8"),
				card("line 12\nline 13\nline 14\nline 15\nline 16\nline 17\nline 18", "line 12\nline 13\nline 14\nfifteen\nline 16\nline 17\nline 18"),
			},
		},
		{
			"context grows until the place is certain", same + "end\n", same[:50] + "new\n" + same[50:] + "end\n",
			[]Card{card(strings.TrimSuffix(same, "\n")+"\nend", same[:50]+"new\n"+same[50:]+"end")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Cards("p", tt.before, tt.after)); diff != "" {
				t.Errorf("cards (-want +got):\n%s", diff)
			}
		})
	}
	text, err := json.Marshal(Cards("p", "", "x\n"))
	if want := `[{"path":"p","oldText":null,"newText":"x"}]`; err != nil || string(text) != want {
		t.Errorf("JSON = %s, %v; want %s", text, err, want)
	}
}

func TestApplyCardsRefusesOtherText(t *testing.T) {
	for _, tt := range []struct {
		before string
		cards  []Card
	}{
		{"b\n", []Card{card("a", "x")}},
		{"b\n", []Card{{"p", nil, "x"}}},
		{"b\n", []Card{card("a", "")}},
		{"a\nb\n", []Card{card("a", "x"), card("b", "")}},
		{"a\nb\n", []Card{card("b", "x"), card("a", "y")}},
	} {
		if got, err := ApplyCards(tt.before, tt.cards); !errors.Is(err, ErrMismatch) {
			t.Errorf("ApplyCards(%q, %v) = %q, %v; want ErrMismatch", tt.before, tt.cards, got, err)
		}
	}
}

// TestScenarioCards compares with every before, after and diffs that the
// conformance scenarios expect.
func TestScenarioCards(t *testing.T) {
	checked := 0
	for _, name := range []string{"write.json", "edit.json"} {
		data, err := os.ReadFile(filepath.Join("../../testkit/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var scenarios []struct {
			Name   string
			Expect []*struct {
				Value struct{ Before, After *string }
				Meta  struct{ Diffs []Card }
			}
		}
		if err := json.Unmarshal(data, &scenarios); err != nil {
			t.Fatal(err)
		}
		for _, s := range scenarios {
			for i, e := range s.Expect {
				if e == nil || e.Value.Before == nil || e.Value.After == nil || len(e.Meta.Diffs) == 0 {
					continue
				}
				checked++
				got := Cards(e.Meta.Diffs[0].Path, *e.Value.Before, *e.Value.After)
				if diff := cmp.Diff(e.Meta.Diffs, got); diff != "" {
					t.Errorf("%s step %d (-want +got):\n%s", s.Name, i, diff)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("compared %d steps, want at least 20", checked)
	}
}

// TestRecordedCards makes the cards of recorded sessions from the workspace
// that they started with.
func TestRecordedCards(t *testing.T) {
	for _, name := range []string{"fs-edit/workspace/config.txt", "fs-policy-reject/workspace/settings.txt"} {
		path := filepath.Join("../../../shared/sessions", name)
		before, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("no recorded sessions beside the module")
		}
		if err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(filepath.Join(path, "../../session.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for line := range strings.Lines(string(log)) {
			var event struct {
				Data struct{ Meta struct{ Diffs []Card } }
			}
			if json.Unmarshal([]byte(line), &event) != nil || len(event.Data.Meta.Diffs) == 0 {
				continue
			}
			found = true
			want := event.Data.Meta.Diffs
			after, err := ApplyCards(string(before), want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, Cards(filepath.Base(name), string(before), after)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
		if !found {
			t.Errorf("%s: no cards in the log", name)
		}
	}
}

// texts draws an old text and a new one made from it by random changes.
func texts(t *rapid.T) (before, after string) {
	line := rapid.SampledFrom([]string{"", "a", "b", "c", "}", "ab", "x\r", "é"})
	lines := rapid.SliceOfN(line, 0, 30).Draw(t, "lines")
	end := rapid.SampledFrom([]string{"", "\n"})
	join := func(lines []string) string {
		if len(lines) == 0 {
			return ""
		}
		return strings.Join(lines, "\n") + end.Draw(t, "end")
	}
	before = join(lines)
	changed := append([]string(nil), lines...)
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		at := rapid.IntRange(0, len(changed)).Draw(t, "at")
		drop := rapid.IntRange(0, min(3, len(changed)-at)).Draw(t, "drop")
		add := rapid.SliceOfN(line, 0, 3).Draw(t, "add")
		changed = append(append(append([]string(nil), changed[:at]...), add...), changed[at+drop:]...)
	}
	return before, join(changed)
}

func TestPropertyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts(t)
		context := rapid.IntRange(0, 4).Draw(t, "context")
		hunks := Hunks(before, after, context)
		got, err := Apply(before, hunks)
		if err != nil || got != after {
			t.Fatalf("hunks of %q -> %q gave %q, %v: %+v", before, after, got, err, hunks)
		}
		last := 0
		for _, h := range hunks {
			if h.OldStart < last {
				t.Fatalf("hunk %+v overlaps the one before", h)
			}
			last = h.OldStart + h.OldLines
			if !strings.Contains(before, h.OldText) || !strings.Contains(after, h.NewText) {
				t.Fatalf("hunk %+v has text from elsewhere", h)
			}
		}
		added, removed := Stat(before, after)
		if countLines(before)+added-removed != countLines(after) {
			t.Fatalf("Stat(%q, %q) = +%d -%d", before, after, added, removed)
		}
	})
}

func TestPropertyCards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts(t)
		cards := Cards("p", before, after)
		got, err := ApplyCards(before, cards)
		if before == "" && got+"\n" == after {
			return // Whether the text ends in a line feed cannot be known here.
		}
		if err != nil || got != after {
			t.Fatalf("cards of %q -> %q gave %q, %v", before, after, got, err)
		}
	})
}

// TestPropertyAnchored runs the method for big texts on small ones.
func TestPropertyAnchored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := texts(t)
		a, b := newSides(before, after)
		if a.middle() == 0 || b.middle() == 0 {
			return
		}
		s := newSymbols(a, b)
		kept := anchored(s.a, s.b)
		for i, p := range kept {
			if s.a[p.x] != s.b[p.y] {
				t.Fatalf("kept lines %v differ", p)
			}
			if i > 0 && (p.x <= kept[i-1].x || p.y <= kept[i-1].y) {
				t.Fatalf("kept lines %v, %v are out of order", kept[i-1], p)
			}
		}
	})
}
