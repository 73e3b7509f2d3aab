package textdiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	tests := []struct {
		name          string
		before, after string
		want          string
	}{
		{"equal", "a\n", "a\n", ""},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"created", "", "a\n", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"},
		{"emptied", "a\nb\n", "", "--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"final line feed added", "a", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"no final line feed in context", "a\nb", "A\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, truncated := Unified("a/f", "b/f", tt.before, tt.after, 3, 0)
			if got != tt.want || truncated {
				t.Errorf("got %q, truncated %v; want %q", got, truncated, tt.want)
			}
		})
	}
}

func TestUnifiedIsCutAtLines(t *testing.T) {
	before, after := "é\nb\n", "ü\nb\n"
	full, _ := Unified("o", "n", before, after, 3, 0)
	chars := len([]rune(full))
	if got, truncated := Unified("o", "n", before, after, 3, chars); got != full || truncated {
		t.Errorf("limit %d: got %q, truncated %v; want all", chars, got, truncated)
	}
	for limit := 1; limit < chars; limit++ {
		got, truncated := Unified("o", "n", before, after, 3, limit)
		if !truncated || !strings.HasPrefix(full, got) || len([]rune(got)) > limit || (got != "" && !strings.HasSuffix(got, "\n")) {
			t.Errorf("limit %d: got %q, truncated %v", limit, got, truncated)
		}
	}
}

func TestUnifiedNames(t *testing.T) {
	for name, want := range map[string]string{
		"plain":      "plain",
		"with space": "with space\t",
		"日本":         "日本",
		"a\tb":       `"a\tb"`,
		"a\nb\x01\"": `"a\nb\001\""`,
		`back\slash`: `"back\\slash"`,
		"/dev/null":  "/dev/null",
	} {
		if got := fileName(name); got != want {
			t.Errorf("fileName(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestUnifiedIsReadByTools gives random diffs to the real programs.
func TestUnifiedIsReadByTools(t *testing.T) {
	tools := map[string][]string{
		"patch": {"patch", "--binary", "-p1", "-s", "-i", "../diff"},
		"git":   {"git", "apply", "--whitespace=nowarn", "--unidiff-zero", "../diff"},
	}
	for tool, command := range tools {
		t.Run(tool, func(t *testing.T) {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%s is not installed", tool)
			}
			base := t.TempDir()
			dir := filepath.Join(base, "work")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			names := rapid.SampledFrom([]string{"f.txt", "with space.txt", "quo\"te\t.txt", "日本.txt"})
			rapid.Check(t, func(t *rapid.T) {
				before, after := texts(t)
				if before == "" || after == "" || before == after {
					// Both tools take an empty side for a file that is
					// created or removed; see the next test.
					t.Skip("nothing to patch")
				}
				name := names.Draw(t, "name")
				context := rapid.IntRange(1, 4).Draw(t, "context")
				text, _ := Unified("a/"+name, "b/"+name, before, after, context, 0)
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(before), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(base, "diff"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(command[0], command[1:]...)
				cmd.Dir = dir
				// Keep git from looking for a repository above.
				cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+base, "LC_ALL=C")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s\n%q -> %q\n%s", command, err, out, before, after, text)
				}
				got, err := os.ReadFile(path)
				if err != nil || string(got) != after {
					t.Fatalf("%s made %q of %q, want %q (%v)\n%s", tool, got, before, after, err, text)
				}
			})
		})
	}
}

// TestUnifiedCreatesAndRemoves lets the tools create and remove a file.
func TestUnifiedCreatesAndRemoves(t *testing.T) {
	for _, command := range [][]string{{"patch", "-p1", "-s", "-i", "diff"}, {"git", "apply", "diff"}} {
		t.Run(command[0], func(t *testing.T) {
			if _, err := exec.LookPath(command[0]); err != nil {
				t.Skipf("%s is not installed", command[0])
			}
			dir := t.TempDir()
			run := func(oldName, newName, before, after string) {
				text, _ := Unified(oldName, newName, before, after, 3, 0)
				if err := os.WriteFile(filepath.Join(dir, "diff"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(command[0], command[1:]...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s\n%s", command, err, out, text)
				}
			}
			run("/dev/null", "b/f", "", "x\ny")
			if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != "x\ny" {
				t.Fatalf("created %q, %v", got, err)
			}
			run("a/f", "/dev/null", "x\ny", "")
			if _, err := os.Stat(filepath.Join(dir, "f")); !os.IsNotExist(err) {
				t.Errorf("the file is still there: %v", err)
			}
		})
	}
}
