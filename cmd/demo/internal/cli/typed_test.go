package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
)

// TestWrongCommandLines shows that what is wrong in a command line is told in
// the names that were typed, and ends with status 2, in every command.
func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("teh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   []string
		status int
		stderr string
	}{
		{[]string{"read", ""}, 2, "INVALID_ARGS: FILE must be a non-empty string; see demo read --help"},
		{[]string{"read", "notes.txt", "--offset", "-1"}, 2, "INVALID_ARGS: --offset must be a positive integer; see demo read --help"},
		{[]string{"read", "notes.txt", "--limit", "0"}, 2, "INVALID_ARGS: --limit must be a positive integer; see demo read --help"},
		{[]string{"read", "notes.txt", "--ofset", "1"}, 2, `USAGE: there is no flag "--ofset"; did you mean "--offset"?; see demo read --help`},
		{[]string{"edit", "notes.txt", "--old", "", "--new", "x"}, 2, "INVALID_ARGS: --old must be a non-empty string; see demo edit --help"},
		{[]string{"edit", "notes.txt", "--old", "x", "--new", "x"}, 2, "INVALID_ARGS: --old and --new must differ; see demo edit --help"},
		{[]string{"edit", "notes.txt", "--old-file", os.DevNull, "--new", "x"}, 2, "INVALID_ARGS: --old-file must be a non-empty string; see demo edit --help"},
		{[]string{"edit", "", "--old", "x", "--new", "y"}, 2, "INVALID_ARGS: FILE must be a non-empty string; see demo edit --help"},
		{[]string{"write", "", "--content", "x"}, 2, "INVALID_ARGS: FILE must be a non-empty string; see demo write --help"},
		{[]string{"write", "notes.txt", "--content", "\xff"}, 2, "INVALID_ARGS: --content is not valid UTF-8, and the tools take text only; see demo write --help"},
		{[]string{"ops", "search_files"}, 2, "INVALID_ARGUMENTS: search_files needs --query (what to look for); see demo ops search_files --help"},
		{[]string{"ops", "view_file", "notes.txt", "--start-line", "0"}, 2, "INVALID_ARGUMENTS: --start-line must be at least 1, not 0; see demo ops view_file --help"},
		// What the files are like is no fault of the command line.
		{[]string{"read", "notes.txt", "--offset", "9"}, 1, "FS_NOT_FOUND: "},
		{[]string{"edit", "notes.txt", "--old", "x", "--new", "y"}, 1, "FS_EDIT_NOT_FOUND: "},
		{[]string{"ops", "view_file", "gone"}, 1, "PATH_NOT_FOUND: "},
		{[]string{"read", "note.txt"}, 1, `FS_NOT_FOUND: cannot read "` + filepath.Join(dir, "note.txt") + `": not found; did you mean "notes.txt"?`},
		{[]string{"edit", "note.txt", "--old", "a", "--new", "b"}, 1, `FS_NOT_FOUND: cannot edit "` + filepath.Join(dir, "note.txt") + `": not found; did you mean "notes.txt"?`},
		{[]string{"read", "elsewhere"}, 1, `FS_NOT_FOUND: cannot read "` + filepath.Join(dir, "elsewhere") + `": not found; check the path; a relative one starts at --cwd`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append(tt.args, "--cwd", dir)
			status := cli.Run(t.Context(), cli.Env{Args: args, Stdout: &stdout, Stderr: &stderr, Getenv: noEnv})
			got := strings.TrimSuffix(stderr.String(), "\n")
			if status != tt.status || got != "demo: "+tt.stderr && (!strings.HasSuffix(tt.stderr, ": ") || !strings.HasPrefix(got, "demo: "+tt.stderr)) {
				t.Errorf("status %d, want %d, and stderr\n%s\nwant\ndemo: %s", status, tt.status, got, tt.stderr)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout has %q", stdout.String())
			}
		})
	}
}

var typeName = regexp.MustCompile(`^ +(-\w, )?--[\w-]+ (string|int|int64|stringArray) `)

// TestHelpFitsTheWidth looks at the help of every command: only examples, which
// are to be copied as they are, may be wider than a terminal.
func TestHelpFitsTheWidth(t *testing.T) {
	seen := 0
	var check func(command ...string)
	check = func(command ...string) {
		var out bytes.Buffer
		env := cli.Env{Args: append(append([]string{}, command...), "--help"), Stdout: &out, Stderr: &out, Getenv: noEnv}
		if status := cli.Run(t.Context(), env); status != 0 {
			t.Fatalf("%v: status %d", command, status)
		}
		seen++
		section := ""
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if line != "" && line[0] != ' ' {
				section = line
			}
			example := section == "Examples:" || strings.HasPrefix(line, "    {") // answers of a script
			if n := utf8.RuneCountInString(line); n > 80 && !example {
				t.Errorf("%v: %d columns: %s", command, n, line)
			}
			if typeName.MatchString(line) && section != "Examples:" {
				t.Errorf("%v: a flag names a type of the program: %s", command, line)
			}
			if section == "Available Commands:" && strings.HasPrefix(line, "  ") && line[2] != ' ' && len(command) < 2 {
				if name := strings.Fields(line)[0]; name != "help" {
					defer check(append(append([]string{}, command...), name)...)
				}
			}
		}
	}
	check()
	if seen < 30 {
		t.Errorf("saw the help of %d commands, which cannot be all", seen)
	}
}
