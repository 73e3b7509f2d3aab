//go:build !linux

package fslocal

import "strings"

// foldKey makes names equal that a filesystem which ignores case takes for
// one. On one that does not, two files may then wait for each other, which
// does no harm.
func foldKey(path string) string { return strings.ToLower(path) }
