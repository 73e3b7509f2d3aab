//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// typed is for Linux only; scripts ask for that by the condition [linux].
func typed(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("typed needs the terminals of Linux")
}
