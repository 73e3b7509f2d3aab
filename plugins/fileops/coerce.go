package fileops

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bridle-go/bridle/harness/near"
)

// coerced is a value in the form of the field's kind, as far as what was given
// says which one was meant; anything else it leaves.
func (f *field) coerced(v any) any {
	switch f.kind {
	case text:
		return f.coercedText(v)
	case integer:
		return f.coercedNumber(v)
	case boolean:
		return coercedFlag(v)
	case texts:
		return f.coercedTexts(v)
	}
	return v
}

// coercedText takes a number or a flag as it was written, and a word that is
// nearly one of the enumeration's as that one.
func (f *field) coercedText(v any) any {
	var s string
	switch v := v.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	case bool:
		s = strconv.FormatBool(v)
	default:
		return v
	}
	if f.enum == nil || slices.Contains(f.enum, s) {
		return s
	}
	if best := near.Miss(s, f.enum); best != "" {
		return best
	}
	return s
}

// coercedNumber takes the number that a string holds and cuts a fraction off.
// For what is below the field's least value it takes the default, which is of
// more use (-1 often means no limit), or that least value where there is none.
func (f *field) coercedNumber(v any) any {
	if s, ok := v.(string); ok {
		v = json.Number(strings.TrimSpace(s))
	}
	n, whole := wholeNumber(v)
	if !whole {
		j, _ := v.(json.Number)
		x, err := j.Float64()
		if err != nil || math.Abs(x) >= math.MaxInt64 {
			return v
		}
		n = int64(x)
	}
	switch {
	case n >= f.min:
		return json.Number(strconv.FormatInt(n, 10))
	case f.def != nil:
		return json.Number(encode(f.def))
	}
	return json.Number(strconv.FormatInt(f.min, 10))
}

// coercedFlag takes the usual spellings of a flag.
func coercedFlag(v any) any {
	var s string
	switch v := v.(type) {
	case string:
		s = v
	case json.Number:
		s = v.String()
	default:
		return v
	}
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	}
	return v
}

// coercedTexts takes one string as the only element, unless it is a JSON array
// itself, and the words of other vocabularies as the field's own.
func (f *field) coercedTexts(v any) any {
	if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
		list, err := parseList(s)
		if err != nil {
			list = []any{s}
		}
		v = list
	}
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, e := range list {
		if n, isNumber := e.(json.Number); isNumber {
			e = n.String()
		}
		if s, isText := e.(string); isText && f.words != nil {
			e = orWord(f.meantWord(s), s)
		}
		out[i] = e
	}
	return out
}

// meantWord is the word of the field that another was probably meant to be, or
// "".
func (f *field) meantWord(s string) string {
	s = strings.TrimPrefix(strings.ToLower(s), ".")
	if slices.Contains(f.words, s) {
		return s
	}
	if own := f.otherWords[s]; own != "" {
		return own
	}
	return near.Miss(s, f.words)
}

func orWord(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
