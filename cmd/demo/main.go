// Command demo shows the harness at work and lets a person use its tools.
//
// Without arguments it gives a tour; "demo --help" tells the rest.
package main

import (
	"os"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
)

func main() { os.Exit(cli.Main()) }
