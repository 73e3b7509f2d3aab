package tree

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// ExtensionStat counts the files with one extension.
type ExtensionStat struct {
	// Extension is in lower case and has its dot; "" for files without one.
	Extension string
	Files     int
	Bytes     int64
}

// DirStat counts the files below a directory.
type DirStat struct {
	Path  string // relative to the root, which is "."
	Files int
}

const (
	// maxExtensions and maxLargest bound the lists.
	maxExtensions = 50
	maxLargest    = 10
)

type stats struct {
	extensions map[string]ExtensionStat
	counts     []int // by open directory, the root first
	largest    []DirStat
}

func newStats() *stats {
	return &stats{extensions: map[string]ExtensionStat{}, counts: []int{0}}
}

func (s *stats) add(name string, size int64) {
	ext := extension(name)
	x := s.extensions[ext]
	x.Extension = ext
	x.Files++
	x.Bytes += size
	s.extensions[ext] = x
	s.counts[len(s.counts)-1]++
}

// extension is what follows the last dot, unless that begins the name.
func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 && i < len(name)-1 {
		return strings.ToLower(name[i:])
	}
	return ""
}

func (s *stats) enter() { s.counts = append(s.counts, 0) }

func (s *stats) leave(path string) {
	n := s.counts[len(s.counts)-1]
	s.counts = s.counts[:len(s.counts)-1]
	s.counts[len(s.counts)-1] += n
	s.offer(DirStat{path, n})
}

// offer keeps the largest directories.
func (s *stats) offer(d DirStat) {
	if d.Files == 0 {
		return
	}
	order := func(a, b DirStat) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Path, b.Path))
	}
	at, _ := slices.BinarySearchFunc(s.largest, d, order)
	if at < maxLargest {
		s.largest = slices.Insert(s.largest, at, d)
		s.largest = s.largest[:min(len(s.largest), maxLargest)]
	}
}

// result gives the extensions with most files first. It ends the root.
func (s *stats) result() ([]ExtensionStat, []DirStat) {
	s.offer(DirStat{".", s.counts[0]})
	list := slices.SortedFunc(maps.Values(s.extensions), func(a, b ExtensionStat) int {
		return cmp.Or(cmp.Compare(b.Files, a.Files), strings.Compare(a.Extension, b.Extension))
	})
	return list[:min(len(list), maxExtensions)], s.largest
}
