// Package textdiff compares two texts line by line.
//
// A line is the text up to and including a line feed; a last line without one
// is a line too, and is different from the same line with one. A carriage
// return is an ordinary character. Line numbers begin at 1.
//
// A change is a run of lines of the old text that another run of lines of the
// new text takes the place of; either may be empty. A [Hunk] is one change, or
// several close ones, with lines of context around. A [Card] is a hunk in the
// form in which tools report it, without positions.
//
// Results depend on nothing but the two texts: there are no timeouts. Work is
// bounded all the same. The common head and tail are skipped without being
// split into lines, and lines that occur on one side only are left out. If at
// most 20 000 lines remain, both sides together, a shortest script is found
// for them; above that, lines that are unique on both sides hold the rest in
// place. If more than 1 048 576 lines differ on one side, all of them are one
// change. The answer then is coarser, but applying it still gives the new text
// to the byte. The worst cases take less than a second and 100 MB.
//
// The package knows no files, paths or encodings. Texts may be any bytes.
package textdiff
