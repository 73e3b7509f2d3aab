package term_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
)

func TestASpinnerComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		var mu sync.Mutex
		s := term.NewSpinner(term.NewTerminal(&b, 40), &mu)
		text := func() string {
			mu.Lock()
			defer mu.Unlock()
			return b.String()
		}
		show := func(label string) {
			mu.Lock()
			defer mu.Unlock()
			s.Show(label)
		}
		time.Sleep(time.Second)
		if text() != "" {
			t.Errorf("it shows %q without anything to tell", text())
		}
		show("waiting\x1b[2J")
		time.Sleep(150 * time.Millisecond)
		if text() != "" {
			t.Errorf("it tells of something short: %q", text())
		}
		time.Sleep(2 * time.Second)
		if got := text(); !strings.Contains(got, `waiting\x1b[2J 2s`) || strings.Contains(got, "\n") {
			t.Errorf("it shows %q", got)
		}
		mu.Lock()
		s.Hide()
		mu.Unlock()
		hidden := text()
		if !strings.HasSuffix(hidden, "\r\x1b[K") {
			t.Errorf("it leaves %q", hidden)
		}
		time.Sleep(time.Second)
		if text() != hidden {
			t.Error("it draws although it is hidden")
		}
		show(strings.Repeat("long ", 40))
		time.Sleep(time.Second)
		for frame := range strings.SplitSeq(text()[len(hidden):], "\r") {
			if n := len([]rune(regexp.MustCompile("\x1b\\[[0-9;]*[mK]").ReplaceAllString(frame, ""))); n > 40 {
				t.Errorf("a frame has %d columns", n)
			}
		}
		s.Stop()
		if !strings.HasSuffix(text(), "\r\x1b[K") {
			t.Error("its end leaves something behind")
		}
	})
}

func TestNothingMovesWhereThereIsNoTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		var mu sync.Mutex
		out := term.New(&b, func(string) string { return "" })
		s := term.NewSpinner(out, &mu)
		s.Show("waiting")
		p := term.NewProgress(out, 3)
		p.Show(1, "a")
		p.Hide()
		time.Sleep(time.Second)
		s.Stop()
		if b.Len() > 0 {
			t.Errorf("it writes %q", b.String())
		}
	})
}

func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := term.NewProgress(term.NewTerminal(&b, 50), 4)
	p.Show(1, "one\x1b[2J.png")
	if got := b.String(); !strings.Contains(got, " 1/4 ") || !strings.Contains(got, `one\x1b[2J.png`) || strings.Count(got, "━") != 24 {
		t.Errorf("it shows %q", got)
	}
	p.Hide()
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Error("it leaves something behind")
	}
	b.Reset()
	term.NewProgress(term.NewTerminal(&b, 50), 1).Show(0, "alone")
	if b.Len() > 0 {
		t.Errorf("one piece of work needs no bar: %q", b.String())
	}
}

func TestDetectGraphics(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		asked bool
		want  term.Graphics
	}{
		{"nothing said", nil, false, term.NoGraphics},
		{"kitty", map[string]string{"TERM": "xterm-kitty"}, false, term.Kitty},
		{"a window of kitty", map[string]string{"KITTY_WINDOW_ID": "1"}, false, term.Kitty},
		{"ghostty", map[string]string{"TERM_PROGRAM": "ghostty"}, false, term.Kitty},
		{"iTerm2", map[string]string{"TERM_PROGRAM": "iTerm.app"}, false, term.ITerm},
		{"WezTerm", map[string]string{"TERM_PROGRAM": "WezTerm"}, false, term.ITerm},
		{"kitty within tmux, which does not pass it on", map[string]string{"KITTY_WINDOW_ID": "1", "TMUX": "/tmp/x", "COLORTERM": "truecolor"}, false, term.NoGraphics},
		{"the same, asked", map[string]string{"KITTY_WINDOW_ID": "1", "TMUX": "/tmp/x", "COLORTERM": "truecolor"}, true, term.Blocks},
		{"true colour", map[string]string{"COLORTERM": "truecolor"}, false, term.NoGraphics},
		{"true colour, asked", map[string]string{"COLORTERM": "24bit"}, true, term.Blocks},
		{"few colours, asked", nil, true, term.NoGraphics},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := term.NewTerminal(new(bytes.Buffer), 80)
			if got := o.DetectGraphics(func(key string) string { return tt.env[key] }, tt.asked); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestPicture(t *testing.T) {
	// Noise does not compress, so that it takes several pieces.
	m := image.NewNRGBA(image.Rect(0, 0, 400, 300))
	state := uint32(1)
	for i := range m.Pix {
		state = state*1664525 + 1013904223
		m.Pix[i] = uint8(state >> 24)
	}
	var b bytes.Buffer
	o := term.NewTerminal(&b, 80)

	if err := o.Picture(m, term.Kitty); err != nil {
		t.Fatal(err)
	}
	pieces := regexp.MustCompile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\").FindAllStringSubmatch(b.String(), -1)
	var data string
	for i, p := range pieces {
		if i == 0 && p[1] != "a=T,f=100,q=2,c=40,r=15,m=1" || i > 0 && i < len(pieces)-1 && p[1] != "m=1" || i == len(pieces)-1 && p[1] != "m=0" {
			t.Errorf("piece %d of %d says %q", i, len(pieces), p[1])
		}
		if len(p[2]) > 4096 {
			t.Errorf("piece %d has %d bytes", i, len(p[2]))
		}
		data += p[2]
	}
	checkPNG(t, data, 400, 300)

	b.Reset()
	if err := o.Picture(m, term.ITerm); err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile("^\x1b\\]1337;File=inline=1;size=\\d+;width=40;height=15;preserveAspectRatio=1:([^\a]*)\a\n$").FindStringSubmatch(b.String())
	if inline == nil {
		t.Fatalf("got %.80q", b.String())
	}
	checkPNG(t, inline[1], 400, 300)

	b.Reset()
	flat := image.NewNRGBA(image.Rect(0, 0, 20, 20))
	for i := range flat.Pix {
		flat.Pix[i] = 255
	}
	flat.SetNRGBA(0, 0, color.NRGBA{255, 255, 255, 255})
	if err := o.Picture(flat, term.Blocks); err != nil {
		t.Fatal(err)
	}
	white := "\x1b[38;2;255;255;255m\x1b[48;2;255;255;255m▀"
	if got, want := b.String(), "  "+white+white+"\x1b[0m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func checkPNG(t *testing.T, text string, w, h int) {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil || cfg.Width != w || cfg.Height != h {
		t.Errorf("the picture is %d x %d, %v", cfg.Width, cfg.Height, err)
	}
}
