package term

import (
	"fmt"
	"strings"
)

// barWidth is how many columns the bar itself has.
const barWidth = 24

// Progress shows how much of some work is done, in one line that it takes away
// again. On anything but a terminal it shows nothing.
type Progress struct {
	out   *Output
	total int
}

// NewProgress returns a bar for so many pieces of work.
func NewProgress(out *Output, total int) *Progress { return &Progress{out, total} }

// Show draws the bar: so many pieces are done, and this one is next.
func (p *Progress) Show(done int, next string) {
	if !p.out.moves || p.total < 2 {
		return
	}
	full := barWidth * done / p.total
	head := fmt.Sprintf(" %d/%d ", done, p.total)
	label := []rune(Line(next))
	if most := p.out.width - barWidth - len(head) - 2; len(label) > most {
		label = label[:max(most, 0)]
	}
	bar := p.out.Paint(Cyan, strings.Repeat("━", full)) + p.out.Paint(Dim, strings.Repeat("━", barWidth-full))
	fmt.Fprintf(p.out, "\r%s%s%s\x1b[K", bar, head, p.out.Paint(Dim, string(label)))
}

// Hide takes the bar away, so that something else can be written.
func (p *Progress) Hide() {
	if p.out.moves && p.total >= 2 {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
