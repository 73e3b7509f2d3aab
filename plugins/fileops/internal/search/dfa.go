package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// dfa answers one question about a buffer very fast: where is the next place
// by which some match of an expression has ended? It is built lazily, one
// transition at a time, from the program that package regexp would run, and
// gives up its cache when that grows too large. It knows nothing about where
// a match begins or which of several is preferred; regexp settles that on the
// lines that the dfa points at.
//
// In line mode every line is a text of its own: a match never holds a line
// feed, and ^ $ \A \z all mean the ends of the line. Otherwise the buffer is
// one text.
//
// Equivalence with package regexp holds down to invalid UTF-8, of which each
// byte counts as U+FFFD, with one exception: in line mode a CR may also count
// as the end of the line, so that "x$" finds "x\r\n" and a candidate has to
// be verified when its line ends in CR.
//
// A dfa is not safe for concurrent use; fork makes one that is independent.
type dfa struct {
	prog     *syntax.Prog
	lineMode bool
	usesText bool // the program asks for the beginning of the text
	usesLine bool // ... of a line
	usesWord bool // ... for word boundaries

	// bounds cuts the runes above ASCII into classes that no instruction
	// tells apart; class i begins at bounds[i].
	bounds []rune

	table  []uint32 // 256 entries a state, see below
	wide   []uint32 // len(bounds) entries a state
	states []dfaState
	index  map[string]uint32
	resets int
	built  int // states made since the last reset

	seen    []uint32 // scratch of step: generation marks by instruction
	gen     uint32
	pending []uint32
	next    []uint32
	key     []byte
}

// dfaState is a set of instructions reached before the empty-width conditions
// at this place are known, and what came before the place.
type dfaState struct {
	pcs  []uint32
	prev prevKind
	// atEnd is 1 when the end of the text here ends a match, -1 when not, and
	// 0 when that is not known yet.
	atEnd int8
	skip  skipper
}

type prevKind uint8

const (
	prevText prevKind = iota // nothing: the beginning of the text
	prevLine                 // a line feed
	prevWord                 // a word character
	prevOther
)

var prevRune = [...]rune{prevText: -1, prevLine: '\n', prevWord: 'a', prevOther: ' '}

// An entry of the table is the next state's number times 256, or has the
// special bit with a reason in the low byte.
const (
	special    = 1 << 31
	reasonNone = special     // not computed yet
	reasonWide = special | 1 // first byte of a character above ASCII
	matchBit   = 1 << 30     // a match has ended before this byte
	skipBit    = 1 << 29     // the next state is worth skipping in
	stateMask  = skipBit - 1

	// maxStates bounds the cache: 1 KiB of table each.
	maxStates = 2048
	// maxResets is how often the cache may be thrown away before the dfa is
	// taken to be no good for an expression.
	maxResets = 16
)

func newDFA(prog *syntax.Prog, lineMode bool) *dfa {
	d := &dfa{prog: prog, lineMode: lineMode}
	bounds := []rune{0x80, utf8.RuneError, utf8.RuneError + 1}
	mark := func(lo, hi rune) {
		bounds = append(bounds, lo, hi+1)
	}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		switch inst.Op {
		case syntax.InstEmptyWidth:
			op := syntax.EmptyOp(inst.Arg)
			d.usesText = d.usesText || op&syntax.EmptyBeginText != 0
			d.usesLine = d.usesLine || op&syntax.EmptyBeginLine != 0
			d.usesWord = d.usesWord || op&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
		case syntax.InstRune, syntax.InstRune1:
			if len(inst.Rune) == 1 {
				for _, r := range orbit(inst.Rune[0]) {
					mark(r, r)
				}
				continue
			}
			for k := 0; k+1 < len(inst.Rune); k += 2 {
				mark(inst.Rune[k], inst.Rune[k+1])
			}
		}
	}
	bounds = slices.DeleteFunc(bounds, func(r rune) bool { return r < 0x80 })
	slices.Sort(bounds)
	d.bounds = slices.Compact(bounds)
	d.init()
	return d
}

func (d *dfa) init() {
	d.seen = make([]uint32, len(d.prog.Inst))
	d.gen = 0
	d.clear()
}

func (d *dfa) fork() *dfa {
	f := *d
	f.table, f.wide, f.states, f.index = nil, nil, nil, nil
	f.pending, f.next, f.key, f.resets = nil, nil, nil, 0
	f.init()
	return &f
}

func (d *dfa) clear() {
	d.table = d.table[:0]
	d.wide = d.wide[:0]
	d.states = d.states[:0]
	d.index = map[string]uint32{}
	d.built = 0
	d.state(nil, d.normal(prevText), true)
}

// useless reports that the expression has too many states for the cache to
// pay off; what is left should be given to package regexp.
func (d *dfa) useless() bool { return d.resets >= maxResets }

// normal drops what the program cannot tell apart.
func (d *dfa) normal(k prevKind) prevKind {
	if k == prevLine && (d.lineMode || !d.usesLine) {
		k = prevOther
	}
	if k == prevText && !d.usesText && !d.usesLine {
		k = prevOther
	}
	if k == prevWord && !d.usesWord {
		k = prevOther
	}
	return k
}

// state returns the number of a state, adding it when it is new. The start of
// a match is always among its instructions: the search is not anchored.
func (d *dfa) state(pcs []uint32, prev prevKind, first bool) uint32 {
	d.next = append(d.next[:0], pcs...)
	d.next = append(d.next, uint32(d.prog.Start))
	slices.Sort(d.next)
	d.next = slices.Compact(d.next)
	d.key = append(d.key[:0], byte(prev))
	for _, pc := range d.next {
		d.key = binary.AppendUvarint(d.key, uint64(pc))
	}
	if n, ok := d.index[string(d.key)]; ok {
		return n
	}
	if !first && d.built >= maxStates {
		return stateMask // the cache is full
	}
	n := uint32(len(d.states))
	d.built++
	d.index[string(d.key)] = n
	d.states = append(d.states, dfaState{pcs: slices.Clone(d.next), prev: prev})
	for b := range 256 {
		v := uint32(reasonNone)
		if b >= 0x80 {
			v = reasonWide
		}
		d.table = append(d.table, v)
	}
	for range d.bounds {
		d.wide = append(d.wide, reasonNone)
	}
	return n
}

// step computes the transition from state n on the rune r, -1 for the end of
// the text, as a table entry. ok is false when the cache is full.
func (d *dfa) step(n uint32, r rune) (entry uint32, ok bool) {
	st := &d.states[n]
	after := r
	if d.lineMode && r == '\n' {
		after = -1
	}
	flags := syntax.EmptyOpContext(prevRune[st.prev], after)
	out, match := d.follow(st.pcs, flags, after)
	if d.lineMode && r == '\r' && !match {
		// It may be half of the line's end.
		_, match = d.follow(st.pcs, syntax.EmptyOpContext(prevRune[st.prev], -1), -1)
	}
	if match {
		// The caller starts afresh after a match, so the next state is moot.
		return matchBit, true
	}
	prev := prevOther
	switch {
	case d.lineMode && r == '\n':
		prev = prevText
	case r == '\n':
		prev = prevLine
	case isWord(r):
		prev = prevWord
	}
	to := d.state(out, d.normal(prev), false)
	if to == stateMask {
		return 0, false
	}
	entry = to << 8
	if d.states[to].skip.ready {
		entry |= skipBit
	}
	return entry, true
}

// follow passes from a set of instructions over empty-width conditions and
// then the rune r. It reports whether a match was passed.
func (d *dfa) follow(pcs []uint32, flags syntax.EmptyOp, r rune) (out []uint32, match bool) {
	d.gen++
	d.pending = append(d.pending[:0], pcs...)
	var next []uint32
	for len(d.pending) > 0 {
		pc := d.pending[len(d.pending)-1]
		d.pending = d.pending[:len(d.pending)-1]
		if d.seen[pc] == d.gen {
			continue
		}
		d.seen[pc] = d.gen
		inst := &d.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			d.pending = append(d.pending, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			d.pending = append(d.pending, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				d.pending = append(d.pending, inst.Out)
			}
		case syntax.InstMatch:
			match = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && inst.MatchRune(r) {
				next = append(next, inst.Out)
			}
		}
	}
	return next, match
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
}
