package dialog

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Arguments returns what goes back to a provider as the arguments of a call:
// one JSON object in UTF-8. Text that is none is wrapped in one, so that the
// model still sees what it wrote.
func Arguments(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if text == "" {
		return "{}"
	}
	if text[0] == '{' && json.Valid([]byte(text)) {
		return PairSurrogates(text)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	// A string always encodes.
	_ = enc.Encode(map[string]string{"invalid_arguments": text})
	return strings.TrimSpace(out.String())
}

// PairSurrogates returns JSON in which each \u escape of half a surrogate pair
// is \ufffd. Such halves are valid by the grammar and no text, so that parsers
// refuse the whole request.
func PairSurrogates(s string) string {
	if !strings.Contains(s, `\u`) {
		return s
	}
	out := []byte(s)
	for i := 0; i < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		u, ok := escaped(out, i)
		switch {
		case !ok:
			i++ // past the character that the backslash escapes
		case u < 0xD800 || u > 0xDFFF:
			i += 5
		default:
			if low, ok := escaped(out, i+6); ok && u < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF {
				i += 11
				continue
			}
			copy(out[i:], `\ufffd`)
			i += 5
		}
	}
	return string(out)
}

// escaped returns the code unit of the \u escape at i.
func escaped(s []byte, i int) (unit uint16, ok bool) {
	if i+6 > len(s) || s[i] != '\\' || s[i+1] != 'u' {
		return 0, false
	}
	for _, c := range s[i+2 : i+6] {
		unit <<= 4
		switch {
		case c >= '0' && c <= '9':
			unit |= uint16(c - '0')
		case c >= 'a' && c <= 'f':
			unit |= uint16(c-'a') + 10
		case c >= 'A' && c <= 'F':
			unit |= uint16(c-'A') + 10
		default:
			return 0, false
		}
	}
	return unit, true
}
