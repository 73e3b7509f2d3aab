package term

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
)

// Graphics is a way to show a picture in a terminal.
type Graphics int

const (
	// NoGraphics shows none.
	NoGraphics Graphics = iota
	// Kitty is the kitty graphics protocol
	// (https://sw.kovidgoyal.net/kitty/graphics-protocol/).
	Kitty
	// ITerm is the inline image protocol of iTerm2
	// (https://iterm2.com/documentation-images.html).
	ITerm
	// Blocks are half-block characters in 24-bit colour.
	Blocks
)

// DetectGraphics tells which protocol the terminal of an output speaks, by
// what it says of itself in the environment. With asked, a terminal in true
// colour that speaks none gets half blocks.
func (o *Output) DetectGraphics(getenv func(string) string, asked bool) Graphics {
	program := getenv("TERM_PROGRAM")
	multiplexed := getenv("TMUX") != "" || strings.HasPrefix(getenv("TERM"), "screen")
	switch {
	case !o.color:
		return NoGraphics
	case o.moves && !multiplexed && (getenv("KITTY_WINDOW_ID") != "" || getenv("TERM") == "xterm-kitty" || getenv("TERM") == "xterm-ghostty" || program == "ghostty"):
		return Kitty
	case o.moves && !multiplexed && (program == "iTerm.app" || program == "WezTerm" || program == "mintty"):
		return ITerm
	case asked && (getenv("COLORTERM") == "truecolor" || getenv("COLORTERM") == "24bit"):
		return Blocks
	}
	return NoGraphics
}

// Limits of a picture.
const (
	maxPictureColumns = 60
	maxPictureRows    = 24
	// kittyChunk is how many bytes of base64 one kitty sequence may carry.
	kittyChunk = 4096
	// cellWidth is how many pixels of a picture go to a column, where the
	// terminal scales it anyway; half as many as to a row, as cells are.
	cellWidth = 10
)

// Picture shows a picture, scaled to fit, on lines of its own.
func (o *Output) Picture(m image.Image, how Graphics) error {
	columns, rows := fitCells(m.Bounds(), min(o.width-2, maxPictureColumns))
	if how == Blocks {
		o.blocks(scale(m, columns, rows*2))
		return o.err
	}
	var data bytes.Buffer
	if err := png.Encode(&data, scale(m, columns*cellWidth, rows*cellWidth*2)); err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString(data.Bytes())
	switch how {
	case Kitty:
		o.kitty(text, columns, rows)
	case ITerm:
		fmt.Fprintf(o, "\x1b]1337;File=inline=1;size=%d;width=%d;height=%d;preserveAspectRatio=1:%s\a\n", data.Len(), columns, rows, text)
	}
	return o.err
}

// fitCells returns how many cells a picture takes. A cell is about twice as
// high as wide.
func fitCells(r image.Rectangle, most int) (columns, rows int) {
	w, h := max(r.Dx(), 1), max(r.Dy(), 1)
	columns = max(1, min(most, (w+cellWidth-1)/cellWidth))
	rows = (columns*h + w) / (2 * w)
	if rows > maxPictureRows {
		rows = maxPictureRows
		columns = 2 * rows * w / h
	}
	return max(columns, 1), max(rows, 1)
}

func scale(m image.Image, w, h int) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(out, out.Bounds(), m, m.Bounds(), draw.Src, nil)
	return out
}

func (o *Output) kitty(text string, columns, rows int) {
	first := fmt.Sprintf("a=T,f=100,q=2,c=%d,r=%d,", columns, rows)
	for len(text) > 0 {
		n := min(len(text), kittyChunk)
		more := 1
		if n == len(text) {
			more = 0
		}
		fmt.Fprintf(o, "\x1b_G%sm=%d;%s\x1b\\", first, more, text[:n])
		first, text = "", text[n:]
	}
	fmt.Fprintln(o)
}

// blocks draws two rows of pixels a line: the upper half block has the upper
// one as its colour and the lower one as its ground.
func (o *Output) blocks(m *image.NRGBA) {
	var b strings.Builder
	for y := 0; y < m.Rect.Dy(); y += 2 {
		b.WriteString("  ")
		for x := range m.Rect.Dx() {
			up, down := over(m.NRGBAAt(x, y)), over(m.NRGBAAt(x, y+1))
			fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm\x1b[48;2;%d;%d;%dm▀", up.R, up.G, up.B, down.R, down.G, down.B)
		}
		b.WriteString("\x1b[0m\n")
	}
	fmt.Fprint(o, b.String())
}

// over is a colour on a grey ground, where there is alpha.
func over(c color.NRGBA) color.NRGBA {
	const ground = 96
	mix := func(v uint8) uint8 { return uint8((int(v)*int(c.A) + ground*(255-int(c.A))) / 255) }
	return color.NRGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}
