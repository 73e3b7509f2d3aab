package textwindow

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// window abbreviates the lines of a window for tables.
func window(first int, texts ...string) []Line {
	lines := []Line{}
	for i, text := range texts {
		lines = append(lines, Line{first + i, text})
	}
	return lines
}

func TestWindow(t *testing.T) {
	const cut5 = "... (line truncated to 5 chars)"
	tests := []struct {
		name   string
		text   string
		opts   Options
		lines  []Line
		footer string
	}{
		{"empty", "", Options{}, window(1), "(End of file - total 0 lines)"},
		{"one line", "a\n", Options{}, window(1, "a"), "(End of file - total 1 lines)"},
		{"no final line feed", "a", Options{}, window(1, "a"), "(End of file - total 1 lines)"},
		{"only line feeds", "\n\n\n", Options{Offset: 3}, window(3, ""), "(End of file - total 3 lines)"},
		{"CRLF", "a\r\n\r\nb", Options{}, window(1, "a", "", "b"), "(End of file - total 3 lines)"},
		{"other carriage returns", "a\rb\r\r\nc\r", Options{}, window(1, "a\rb\r", "c\r"), "(End of file - total 2 lines)"},
		{"middle", "1\n2\n3\n4\n5\n", Options{Offset: 2, Limit: 3}, window(2, "2", "3", "4"), "(Showing lines 2-4 of 5. Use offset=5 to continue.)"},
		{"limit met exactly", "1\n2\n3", Options{Limit: 3}, window(1, "1", "2", "3"), "(End of file - total 3 lines)"},

		{"line of the greatest length", "12345\n", Options{MaxLineLength: 5}, window(1, "12345"), "(End of file - total 1 lines)"},
		{"line of the greatest length, CRLF", "12345\r\n", Options{MaxLineLength: 5}, window(1, "12345"), "(End of file - total 1 lines)"},
		{"line too long by a character", "123456\nx\n", Options{MaxLineLength: 5}, window(1, "12345"+cut5, "x"), "(End of file - total 2 lines)"},
		{"line too long by a carriage return", "12345\r", Options{MaxLineLength: 5}, window(1, "12345"+cut5), "(End of file - total 1 lines)"},
		{"characters are code points", "你好🙂éx世\n", Options{MaxLineLength: 5}, window(1, "你好🙂éx"+cut5), "(End of file - total 1 lines)"},

		{"bytes met exactly", "aaaa\nbbbb\ncccc\n", Options{MaxBytes: 14}, window(1, "aaaa", "bbbb", "cccc"), "(End of file - total 3 lines)"},
		{"bytes exceeded by one", "aaaa\nbbbb\ncccc\n", Options{MaxBytes: 13}, window(1, "aaaa", "bbbb"), "(Output capped. Showing lines 1-2. Use offset=3 to continue.)"},
		{"bytes of multi-byte characters", "你\n好\n", Options{MaxBytes: 6}, window(1, "你"), "(Output capped. Showing lines 1-1. Use offset=2 to continue.)"},
		{"limit before bytes", "aaaa\nbbbb\n", Options{Limit: 1, MaxBytes: 4}, window(1, "aaaa"), "(Showing lines 1-1 of 2. Use offset=2 to continue.)"},
		{"empty lines count their line feeds", "\n\n\n\n", Options{MaxBytes: 2}, window(1, "", "", ""), "(Output capped. Showing lines 1-3. Use offset=4 to continue.)"},
		{"the suffix counts", "123456\nx\n", Options{MaxLineLength: 5, MaxBytes: 5 + len(cut5)}, window(1, "12345"+cut5), "(Output capped. Showing lines 1-1. Use offset=2 to continue.)"},

		{"first line alone exceeds the bytes", "12345678\nnext\n", Options{MaxLineLength: 5, MaxBytes: 4}, window(1, "1234"+cut5), "(Output capped. Showing lines 1-1. Use offset=2 to continue.)"},
		{"first line is not cut inside a character", "你好世\nnext\n", Options{MaxLineLength: 5, MaxBytes: 7}, window(1, "你好"+cut5), "(Output capped. Showing lines 1-1. Use offset=2 to continue.)"},
		{"first line of a later window", "a\n12345678\nnext\n", Options{Offset: 2, MaxLineLength: 5, MaxBytes: 4}, window(2, "1234"+cut5), "(Output capped. Showing lines 2-2. Use offset=3 to continue.)"},
		{"only line exceeds the bytes", "12345678", Options{MaxLineLength: 5, MaxBytes: 4}, window(1, "1234"+cut5), "(End of file - total 1 lines)"},
		{"huge limits", "a\nb", Options{Limit: int(^uint(0) >> 1), MaxLineLength: int(^uint(0) >> 1), MaxBytes: int(^uint(0) >> 1)}, window(1, "a", "b"), "(End of file - total 2 lines)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Build(tt.text, tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.lines, got.Lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if got.Footer() != tt.footer {
				t.Errorf("footer = %s, want %s", got.Footer(), tt.footer)
			}
		})
	}
}

func TestOffsetBehindTheEnd(t *testing.T) {
	for text, total := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb\n": 2} {
		_, err := Build(text, Options{Offset: 3})
		var got *OffsetError
		if !errors.As(err, &got) || *got != (OffsetError{3, total}) {
			t.Errorf("%q: error = %v, want one with %d lines", text, err, total)
		}
	}
}

// TestScenarioWindows compares with every text and value that the conformance
// scenarios expect of plain files.
func TestScenarioWindows(t *testing.T) {
	data, err := os.ReadFile("../../testkit/testdata/read.json")
	if err != nil {
		t.Fatal(err)
	}
	var scenarios []struct {
		Name    string
		Compose struct {
			ToolFs struct{ ReadLimit, ReadMaxLineLength, ReadMaxBytes int }
		}
		Files []struct {
			Path   string
			Text   *string
			Repeat *struct {
				Text  string
				Count int
			}
		}
		Steps []struct {
			Args struct {
				Path   any `json:"file_path"`
				Offset any
				Limit  any
			}
		}
		Expect []struct {
			Text  string
			Value *Window
		}
	}
	if err := json.Unmarshal(data, &scenarios); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, s := range scenarios {
		texts := map[any]string{}
		for _, f := range s.Files {
			switch {
			case f.Text != nil:
				texts[f.Path] = *f.Text
			case f.Repeat != nil:
				texts[f.Path] = strings.Repeat(f.Repeat.Text, f.Repeat.Count)
			}
		}
		for i, step := range s.Steps {
			text, ok := texts[step.Args.Path]
			want := s.Expect[i]
			outOfRange := strings.Contains(want.Text, "out of range")
			if !ok || want.Value == nil && !outOfRange {
				continue
			}
			checked++
			path := "{{cwd}}/" + step.Args.Path.(string)
			opts := Options{Limit: s.Compose.ToolFs.ReadLimit, MaxLineLength: s.Compose.ToolFs.ReadMaxLineLength, MaxBytes: s.Compose.ToolFs.ReadMaxBytes}
			if n, ok := step.Args.Offset.(float64); ok {
				opts.Offset = int(n)
			}
			if n, ok := step.Args.Limit.(float64); ok {
				opts.Limit = int(n)
			}
			got, err := Build(text, opts)
			var bad *OffsetError
			if errors.As(err, &bad) {
				if msg := "Error: " + bad.Message(path); msg != want.Text {
					t.Errorf("%s step %d: %s, want %s", s.Name, i, msg, want.Text)
				}
				continue
			}
			if diff := cmp.Diff(want.Text, got.Format(path)); diff != "" {
				t.Errorf("%s step %d: text (-want +got):\n%s", s.Name, i, diff)
			}
			want.Value.Capped = got.Capped // It is not part of the value.
			if diff := cmp.Diff(*want.Value, got); diff != "" {
				t.Errorf("%s step %d: value (-want +got):\n%s", s.Name, i, diff)
			}
		}
	}
	if checked < 30 {
		t.Errorf("compared %d steps, want at least 30", checked)
	}
}

// model builds a window of a text in the obvious way.
func model(text string, o Options) (lines []Line, total int) {
	o = o.withDefaults()
	all := strings.Split(text, "\n")
	last := all[len(all)-1]
	for i := range all[:len(all)-1] {
		all[i] = strings.TrimSuffix(all[i], "\r")
	}
	if last == "" {
		all = all[:len(all)-1]
	}
	size := 0
	suffix := "... (line truncated to " + strconv.Itoa(o.MaxLineLength) + " chars)"
	for i := o.Offset - 1; i < len(all) && len(lines) < o.Limit; i++ {
		line := all[i]
		if runes := []rune(line); len(runes) > o.MaxLineLength {
			line = string(runes[:o.MaxLineLength]) + suffix
		}
		cost := len(line)
		if len(lines) > 0 {
			cost++
		}
		if size+cost > o.MaxBytes {
			if len(lines) > 0 {
				break
			}
			kept := ""
			for i, r := range []rune(all[i]) {
				if i == o.MaxLineLength || len(kept)+utf8.RuneLen(r) > o.MaxBytes {
					break
				}
				kept += string(r)
			}
			lines = append(lines, Line{i + 1, kept + suffix})
			break
		}
		size += cost
		lines = append(lines, Line{i + 1, line})
	}
	return lines, len(all)
}

func FuzzWindow(f *testing.F) {
	f.Add("a\r\nb\nc", uint8(1), uint8(2), uint8(3), uint8(4), uint8(1))
	f.Add("你好🙂\r\r\n\n\nxx\r", uint8(1), uint8(0), uint8(2), uint8(7), uint8(2))
	f.Add(strings.Repeat("line\n", 30), uint8(5), uint8(3), uint8(0), uint8(0), uint8(7))
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\nb", uint8(1), uint8(9), uint8(9), uint8(9), uint8(3))
	f.Fuzz(func(t *testing.T, text string, offset, limit, maxLine, maxBytes, chunk uint8) {
		if !utf8.ValidString(text) || len(text) > 2000 {
			return
		}
		opts := Options{Offset: int(offset), Limit: int(limit), MaxLineLength: int(maxLine), MaxBytes: int(maxBytes)}
		whole, wholeErr := Build(text, opts)

		// Chunks cut anywhere give the same.
		b := NewBuilder(opts)
		for rest, n := []byte(text), int(chunk)%9+1; len(rest) > 0; n = n*5%11 + 1 {
			n = min(n, len(rest))
			piece := bytes.Clone(rest[:n])
			b.Write(piece)
			clear(piece) // Chunks are not kept.
			rest = rest[n:]
		}
		pieces, piecesErr := b.Window()
		if diff := cmp.Diff(whole, pieces); diff != "" || (wholeErr == nil) != (piecesErr == nil) {
			t.Fatalf("%q %+v (-whole +chunks), %v, %v:\n%s", text, opts, wholeErr, piecesErr, diff)
		}

		lines, total := model(text, opts)
		if wholeErr != nil {
			if opts.Offset <= max(total, 1) {
				t.Fatalf("%q %+v: %v with %d lines", text, opts, wholeErr, total)
			}
		} else if diff := cmp.Diff(append([]Line{}, lines...), whole.Lines); diff != "" || whole.TotalLines != total {
			t.Fatalf("%q %+v: %d lines, want %d (-model +got):\n%s", text, opts, whole.TotalLines, total, diff)
		}

		// Following the offsets shows every line once.
		seen := 0
		for opts.Offset = 1; opts.Offset > 0; {
			w, err := Build(text, opts)
			if err != nil {
				t.Fatalf("%q %+v: %v", text, opts, err)
			}
			for _, line := range w.Lines {
				seen++
				if line.Number != seen || !utf8.ValidString(line.Text) {
					t.Fatalf("%q %+v: line %+v, want number %d", text, opts, line, seen)
				}
			}
			if w.Next() > 0 && len(w.Lines) == 0 {
				t.Fatalf("%q %+v: no progress", text, opts)
			}
			opts.Offset = w.Next()
		}
		if seen != total {
			t.Fatalf("%q %+v: showed %d lines of %d", text, opts, seen, total)
		}
	})
}

// TestMemoryIsConstant feeds a line of 1 GiB, and 256 MiB of short lines.
func TestMemoryIsConstant(t *testing.T) {
	size := 1 << 30
	if testing.Short() {
		size = 64 << 20
	}
	for name, piece := range map[string]string{"one line": "x", "short lines": "short\n"} {
		chunk := bytes.Repeat([]byte(piece), 64<<10)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b := NewBuilder(Options{})
		n := 0
		for ; n < size; n += len(chunk) {
			b.Write(chunk)
		}
		w, err := b.Window()
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: %d bytes allocated for a window of 50 KiB", name, got)
		}
		if err != nil || w.TotalLines != max(1, n/len(chunk)*bytes.Count(chunk, []byte("\n"))) {
			t.Errorf("%s: %d lines, %v", name, w.TotalLines, err)
		}
	}
}

// BenchmarkWindow compares a window at either end of 1 GiB of lines with
// counting their line feeds.
func BenchmarkWindow(b *testing.B) {
	chunk := bytes.Repeat([]byte("the quick brown fox jumps over it\n"), 256<<10/34)
	chunks := 1 << 30 / len(chunk)
	lines := chunks * (256 << 10 / 34)
	b.Run("count", func(b *testing.B) {
		b.SetBytes(1 << 30)
		for b.Loop() {
			n := 0
			for range chunks {
				n += bytes.Count(chunk, []byte{'\n'})
			}
			if n != lines {
				b.Fatal(n)
			}
		}
	})
	for name, offset := range map[string]int{"start": 1, "end": lines - 1999} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(1 << 30)
			b.ReportAllocs()
			for b.Loop() {
				w := NewBuilder(Options{Offset: offset, MaxBytes: 1 << 20})
				for range chunks {
					w.Write(chunk)
				}
				if got, err := w.Window(); err != nil || len(got.Lines) != 2000 {
					b.Fatal(err)
				}
			}
		})
	}
}
