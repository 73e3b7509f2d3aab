package fslocal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The test binary is also the subject of tests that need another process.
	if helper := os.Getenv("FSLOCAL_HELPER"); helper != "" {
		os.Exit(runHelper(helper, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
