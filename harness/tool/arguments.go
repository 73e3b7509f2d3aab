package tool

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/internal/jsonx"
)

// freeze validates the arguments and puts them in canonical form.
func (reg *registered) freeze(inv Invocation) (*Call, error) {
	text := inv.Arguments
	if text == "" {
		text = "{}"
	}
	if !utf8.ValidString(text) {
		// A decoder would put U+FFFD in place of the bytes, and so into files.
		return nil, &errs.Error{Code: errs.InvalidArgs, Op: inv.Name,
			Message: fmt.Sprintf("the arguments of %s are not valid UTF-8; send one JSON object", inv.Name)}
	}
	value, ok := jsonx.Value(text)
	if !ok {
		// The slow way says what is wrong, and takes what is only unusual.
		var err error
		if value, err = parse([]byte(text)); err != nil {
			return nil, &errs.Error{Code: errs.InvalidArgs, Op: inv.Name, Err: err,
				Message: fmt.Sprintf("the arguments of %s are not valid JSON: %v; send one JSON object", inv.Name, err)}
		}
		if half := loneSurrogate(text); half != "" {
			return nil, &errs.Error{Code: errs.InvalidArgs, Op: inv.Name,
				Message: fmt.Sprintf("the arguments of %s hold %s, which is half a character; send it whole", inv.Name, half)}
		}
	}
	given, ok := value.(map[string]any)
	if !ok {
		return nil, &errs.Error{Code: errs.InvalidArgs, Op: inv.Name,
			Message: fmt.Sprintf("the arguments of %s must be a JSON object", inv.Name)}
	}
	if reg.Prepare != nil {
		value = reg.Prepare(given)
	}
	if reg.input != nil {
		if err := reg.input.Validate(value); err != nil {
			return nil, &errs.Error{Code: errs.InvalidArgs, Op: inv.Name, Err: err,
				Message: fmt.Sprintf("invalid arguments for %s: %s", inv.Name, explain(err))}
		}
		if wrong := misspelt(reg.input, value, ""); len(wrong) > 0 {
			return nil, &errs.Error{Code: errs.InvalidArgs, Op: inv.Name,
				Message: fmt.Sprintf("invalid arguments for %s: %s", inv.Name, strings.Join(wrong, "; "))}
		}
	}
	canonical, err := encode(value)
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArgs, "the arguments cannot be encoded: "+err.Error(), err)
	}
	call := &Call{ID: inv.ID, Name: inv.Name, Arguments: canonical, Agent: inv.Agent}
	if reg.decodeArgs != nil {
		if call.decoded, err = reg.decodeArgs(canonical, value); err != nil {
			return nil, err
		}
	}
	return call, nil
}

// misspelt returns a complaint for each property, however deep, that a schema
// knows in another case only. encoding/json would take it for the known one,
// which no schema has validated and no guard has looked at.
func misspelt(s *jsonschema.Schema, value any, at string) []string {
	if s == nil {
		return nil
	}
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if known, ok := s.Properties[name]; ok {
				found = append(found, misspelt(known, value[name], join(at, name))...)
				continue
			}
			for known := range s.Properties {
				if strings.EqualFold(known, name) {
					found = append(found, fmt.Sprintf("%s is not a known property, did you mean %s", join(at, name), known))
				}
			}
		}
	case []any:
		for i, v := range value {
			found = append(found, misspelt(s.Items2020, v, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	return found
}

// loneSurrogate returns the first escape of valid JSON that is half of a
// surrogate pair without its other half, or "". Decoders put U+FFFD in its
// place, which would go into files or be searched for there.
func loneSurrogate(text string) string {
	for at := strings.IndexByte(text, '\\'); at >= 0; {
		next := at + 2
		if u, ok := escaped(text[at:]); ok {
			next = at + 6
			if utf16.IsSurrogate(u) {
				low, _ := escaped(text[next:])
				if utf16.DecodeRune(u, low) == unicode.ReplacementChar {
					return text[at:next]
				}
				next += 6
			}
		}
		more := strings.IndexByte(text[next:], '\\')
		if more < 0 {
			return ""
		}
		at = next + more
	}
	return ""
}

// escaped returns the code unit of the \u escape that text begins with.
func escaped(text string) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	u, err := strconv.ParseUint(text[2:6], 16, 16)
	return rune(u), err == nil
}
