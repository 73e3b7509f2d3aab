package search_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/plugins/fileops/internal/search"
	"github.com/bridle-go/bridle/plugins/fileops/internal/walk/walktest"
)

var benchmarks = []struct {
	name  string
	query string
	regex bool
	fold  bool
}{
	{"literal", "Errorf", false, false},
	{"literal-common", "return err", false, false},
	{"no-match", "zqxzqx", false, false},
	{"many-matches", "err", false, false},
	{"fold", "errorf", false, true},
	{"regex-prefix", `func \w+\(`, true, false},
	{"regex-inner", `[A-Z]+_[A-Z]+`, true, false},
	{"regex-anchored", `^\s+return nil$`, true, false},
	{"regex-alternation", `Fatalf|Errorf|Panicf`, true, false},
	{"regex-words", `\b\w{12}\b`, true, false},
	{"regex-no-literal", `[0-9]{4}-[0-9]{2}-[0-9]{2}`, true, false},
	{"regex-fold", `(?i)fatal\w*\(`, true, false},
}

// BenchmarkSearch searches the source tree of the Go standard library for the
// number of matches in each file, and has ripgrep, git grep and grep do the
// same where they are installed.
func BenchmarkSearch(b *testing.B) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("the source of the standard library is not at hand")
	}
	src := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	for _, bm := range benchmarks {
		b.Run(bm.name+"/here", func(b *testing.B) {
			for b.Loop() {
				p, err := search.Compile(search.Query{Text: bm.query, Regex: bm.regex, IgnoreCase: bm.fold})
				if err != nil {
					b.Fatal(err)
				}
				root, err := walktest.Open(src)
				if err != nil {
					b.Fatal(err)
				}
				r, err := search.Run(context.Background(), search.Root{Dir: root}, p, search.Options{Mode: search.Count, MaxFiles: 50000})
				root.Close()
				if err != nil || r.Reason != "" {
					b.Fatal(err, r.Reason)
				}
				b.ReportMetric(float64(r.Total), "matches")
			}
		})
		kind := "-F"
		if bm.regex {
			kind = "-P"
		}
		for tool, args := range map[string][]string{
			"rg":   {"rg", "-c", "-j2"},
			"grep": {"grep", "-rIc", kind},
			"git":  {"git", "grep", "--no-index", "-Ic", kind},
		} {
			if _, err := exec.LookPath(args[0]); err != nil {
				continue
			}
			if tool == "rg" && !bm.regex {
				args = append(args, "-F")
			}
			if bm.fold {
				args = append(args, "-i")
			}
			if tool != "rg" && (testing.Short() || os.Getenv("BENCH_ALL") == "") {
				continue
			}
			b.Run(bm.name+"/"+tool, func(b *testing.B) {
				for b.Loop() {
					cmd := exec.Command(args[0], append(args[1:], "--", bm.query, ".")...)
					cmd.Dir = src
					_ = cmd.Run() // status 1: no match
				}
			})
		}
	}
}
