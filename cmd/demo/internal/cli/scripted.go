package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/testkit/script"
)

// readScript reads a scripted model.
func readScript(name string) (*script.Model, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fileFailure(err)
	}
	defer f.Close()
	steps, err := script.Parse(f)
	if err != nil {
		return nil, failed(codeInvalidScript, "%s: %s; demo run --help shows a script", name, plainly(err))
	}
	if len(steps) == 0 {
		return nil, failed(codeInvalidScript, "%s: the script has no answers; demo run --help shows a script", name)
	}
	return script.New(script.Config{Models: []llm.ModelInfo{{
		Model: "script", InputModalities: []llm.Modality{llm.TextInput, llm.ImageInput},
	}}}, steps...), nil
}

// plainly words an error of decoding JSON without the types of the program.
func plainly(err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("not JSON at byte %d: %v", syntax.Offset, syntax)
	case errors.As(err, &kind) && kind.Field == "":
		return fmt.Sprintf("it must be a list of objects, one an answer, and there is a JSON %s", kind.Value)
	case errors.As(err, &kind):
		return fmt.Sprintf("%q cannot be a JSON %s", strings.TrimPrefix(kind.Field, "plain."), kind.Value)
	}
	text := err.Error()
	for _, prefix := range []string{"script: ", "json: ", "time: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
