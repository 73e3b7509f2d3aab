package llm

import (
	"encoding/json"
	"fmt"
	"log/slog"
)

// Secret is a text that must not be shown, such as a key. Formatting, logging
// and encoding it give a placeholder; string(s) gives the text. In a
// configuration it reads as a plain string.
type Secret string

const hidden = "[hidden]"

// String returns a placeholder, or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// Format writes the placeholder whatever the verb.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		fmt.Fprintf(f, "%q", s.String())
		return
	}
	fmt.Fprint(f, s.String())
}

// LogValue returns the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON returns the placeholder.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }
