package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bridle-go/bridle/harness/errs"
	meant "github.com/bridle-go/bridle/harness/near"
	"github.com/bridle-go/bridle/harness/session"
)

// didYouMean names what was probably meant by a word, or is "".
func didYouMean(word string, candidates []string) string {
	if name := meant.Miss(word, candidates); name != "" && name != word {
		return `; did you mean "` + name + `"?`
	}
	return ""
}

// flagError is the refusal of a flag, in the words of all the other refusals.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		message, _, _ := strings.Cut(err.Error(), ": strconv.") // how it was parsed helps nobody
		return usage("%s", message)
	}
	typed := unknown.GetSpecifiedName()
	if group := unknown.GetSpecifiedShortnames(); group != "" {
		return usage(`there is no flag "-%s"`, typed)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	hint := strings.Replace(didYouMean(typed, names), `"`, `"--`, 1)
	return usage(`there is no flag "--%s"%s`, typed, hint)
}

// asTyped turns the refusal of a call's arguments into that of the command
// line that they come from: it names the flags and arguments that were typed
// in the place of the tool's, which are given in pairs, and nothing was tried.
// Other errors stay as they are.
func asTyped(err error, pairs ...string) error {
	var f *failure
	if !errors.As(err, &f) || f.code != string(errs.InvalidArgs) {
		return err
	}
	message := f.message
	for i := 0; i+1 < len(pairs); i += 2 {
		name := regexp.QuoteMeta(pairs[i])
		// A plain word is a name only where the message is about it.
		pattern := `^` + name + `\b`
		if strings.Contains(pairs[i], "_") {
			pattern = `\b` + name + `\b`
		}
		message = regexp.MustCompile(pattern).ReplaceAllLiteralString(message, pairs[i+1])
	}
	return &failure{status: statusUsage, code: f.code, message: message}
}

// notLog says of a file that is named as a session log, and does not begin like
// one, just that.
func notLog(name string, err error) error {
	if errs.CodeOf(err) != session.Corrupt {
		return err
	}
	if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
		name = filepath.Join(name, logName)
	}
	file, openErr := os.Open(name)
	if openErr != nil {
		return err
	}
	defer file.Close()
	first := make([]byte, 1)
	if n, _ := file.Read(first); n == 1 && first[0] == '{' {
		return err // it may be one that was damaged
	}
	return failed(string(session.Corrupt), "%s is no session log; demo run --json writes one, and demo sessions lists those of the store", name)
}

// nearFile adds to the failure of a file that is not there the name of one
// beside it that may have been meant.
func nearFile(err error, cwd, path string) error {
	var f *failure
	if !errors.As(err, &f) || f.code != string(errs.NotFound) || path == "" {
		return err
	}
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(cwd, at)
	}
	if _, err := os.Lstat(at); err == nil {
		return f // something else is not there, such as a line
	}
	entries, readErr := os.ReadDir(filepath.Dir(at))
	if readErr != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	hint := didYouMean(filepath.Base(at), names)
	if hint == "" {
		return err
	}
	message, _, _ := strings.Cut(f.message, "; "+advice[errs.NotFound])
	return &failure{status: f.status, code: f.code, message: message + hint}
}
