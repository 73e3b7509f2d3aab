package textedit

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// units splits text into breaks and single bytes, the slow and obvious way.
func units(text string) []string {
	var out []string
	for text != "" {
		n := 1
		if strings.HasPrefix(text, "\r\n") {
			n = 2
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func isBreak(unit string) bool { return strings.HasSuffix(unit, "\n") }

func sameUnit(a, b string) bool { return a == b || isBreak(a) && isBreak(b) }

func sameUnits(a, b []string) bool { return slices.EqualFunc(a, b, sameUnit) }

// model is Apply for all matches, unit by unit, from the documentation. It
// returns the pieces of the file that must stay, in order, beside the result.
func model(file, old, new string) (after string, stays []string, count int) {
	mark := ""
	if strings.HasPrefix(file, bom) {
		mark, file = file[:len(bom)], file[len(bom):]
	}
	text, needle, put := units(file), units(old), units(new)
	out := mark
	piece := mark
	for at := 0; at < len(text); {
		if len(needle) == 0 || at+len(needle) > len(text) || !sameUnits(text[at:at+len(needle)], needle) {
			out += text[at]
			piece += text[at]
			at++
			continue
		}
		count++
		stays = append(stays, piece)
		piece = ""
		out += modelReplace(text, at, at+len(needle), put)
		at += len(needle)
	}
	return out, append(stays, piece), count
}

func modelReplace(text []string, from, to int, put []string) string {
	if !slices.ContainsFunc(text, isBreak) {
		return strings.Join(put, "")
	}
	head := 0
	for head < min(to-from, len(put)) && sameUnit(text[from+head], put[head]) {
		head++
	}
	tail := 0
	for tail < min(to-from, len(put))-head && sameUnit(text[to-1-tail], put[len(put)-1-tail]) {
		tail++
	}
	cut := text[from+head : to-tail]
	var replaced []string
	for _, u := range cut {
		if isBreak(u) {
			replaced = append(replaced, u)
		}
	}
	landing := from + head
	if len(cut) > 0 {
		landing = to - tail - 1
	} else if head > 0 {
		landing--
	}
	lineBreak := ""
	for i := landing; i < len(text) && lineBreak == ""; i++ {
		if isBreak(text[i]) {
			lineBreak = text[i]
		}
	}
	for i := landing; i >= 0 && lineBreak == ""; i-- {
		if isBreak(text[i]) {
			lineBreak = text[i]
		}
	}
	out := strings.Join(text[from:from+head], "")
	for _, u := range put[head : len(put)-tail] {
		switch {
		case !isBreak(u):
			out += u
		case len(replaced) > 0:
			out += replaced[0]
			replaced = replaced[1:]
		default:
			out += lineBreak
		}
	}
	return out + strings.Join(text[to-tail:to], "")
}

// compare checks one edit against the model.
func compare(t interface{ Fatalf(string, ...any) }, file, old, new string) {
	want, stays, count := model(file, old, new)
	var found []Range
	for r := range Matches([]byte(file), old) {
		found = append(found, r)
	}
	if len(found) != count {
		t.Fatalf("file %q, needle %q: found %v, want %d", file, old, found, count)
	}
	at := 0
	for i, r := range append(found, Range{len(file), len(file)}) {
		if i < len(stays) && file[at:r.Start] != stays[i] {
			t.Fatalf("file %q, needle %q: piece %d is %q, want %q", file, old, i, file[at:r.Start], stays[i])
		}
		at = r.End
	}
	got, err := Apply([]byte(file), old, new, true)
	switch {
	case count == 0:
		if _, ok := err.(*NotFoundError); !ok {
			t.Fatalf("file %q, needle %q: error %v, want not found", file, old, err)
		}
		return
	case err != nil || string(got.After) != want || got.Count != count:
		t.Fatalf("file %q, needle %q, new %q: got %q, %d, %v; want %q, %d", file, old, new, got.After, got.Count, err, want, count)
	}
	// Independent of the model: what lies between the places is unchanged.
	rest := got.After
	for _, piece := range stays {
		i := bytes.Index(rest, []byte(piece))
		if i < 0 {
			t.Fatalf("file %q, needle %q, new %q: %q lost %q", file, old, new, got.After, piece)
		}
		rest = rest[i+len(piece):]
	}
	_, err = Apply([]byte(file), old, new, false)
	if e, ok := err.(*AmbiguousError); ok != (count > 1) || ok && e.Count != count {
		t.Fatalf("file %q, needle %q: error %v for %d matches", file, old, err, count)
	}
}

var pieces = rapid.SampledFrom([]string{"\n", "\r\n", "\n", "\r\n", "\r", " ", "\t", "a", "b", "ab", "é", "你", "🙂", bom})

func drawText(t *rapid.T, limit int, label string) string {
	return strings.Join(rapid.SliceOfN(pieces, 0, limit).Draw(t, label), "")
}

func TestPropertyEdit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := drawText(t, 40, "file")
		if rapid.Bool().Draw(t, "bom") {
			file = bom + file
		}
		old := drawText(t, 4, "needle")
		if n := len(file); n > 0 && rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
			// Mostly take the needle from the file, with other breaks.
			from := rapid.IntRange(0, n-1).Draw(t, "from")
			old = file[from:min(n, from+rapid.IntRange(1, 12).Draw(t, "length"))]
			old = strings.ToValidUTF8(old, "")
			if rapid.Bool().Draw(t, "LF") {
				old = NormalizeBreaks(old)
			}
		}
		new := drawText(t, 8, "new")
		if rapid.Bool().Draw(t, "wrap") {
			new = old + new + old
		}
		compare(t, file, old, new)
	})
}

func FuzzApply(f *testing.F) {
	f.Add("one\r\ntwo\nthree", "one\ntwo", "1\n2\n3")
	f.Add("\ufeffa\r\r\nb", "\r\n", "\r")
	f.Add("aaaa\n", "aa", "a\r\n")
	f.Fuzz(func(t *testing.T, file, old, new string) {
		if check([]byte(file), len(file)) != nil || check([]byte(new), len(new)) != nil || check([]byte(old), 0) != nil || len(file) > 4096 {
			if got, err := Apply([]byte(file), old, new, true); err == nil && check(got.After, len(got.After)) != nil {
				t.Fatalf("file %q, needle %q, new %q: %q is not text", file, old, new, got.After)
			}
			return
		}
		compare(t, file, old, new)
	})
}
