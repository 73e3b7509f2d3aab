package doc

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Type is what a scalar stands for by the core schema of YAML 1.2, which is
// also what JSON's words and numbers stand for.
type Type uint8

// The types of scalars. Tagged is a scalar with an application's own tag.
const (
	String Type = iota
	Null
	Bool
	Int
	Float
	Tagged
)

var (
	intPattern   = regexp.MustCompile(`^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	floatPattern = regexp.MustCompile(`^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// Resolve returns the type of a scalar and its text in a form that is equal
// for equal values of that type. Numbers with a fraction or an exponent keep
// their spelling: 1.0 and 1.00 are told apart.
func (n *Node) Resolve() (Type, string) {
	switch tag := n.Tag(); tag {
	case "", "!!int", "!!float", "!!bool", "!!null":
	case "!", "!!str":
		return String, n.Text
	default:
		return Tagged, tag + " " + n.Text
	}
	if n.Tag() == "" && n.Style != Plain && n.Style != Empty {
		return String, n.Text
	}
	return ResolvePlain(n.Text)
}

// ResolvePlain resolves the text of a plain scalar.
func ResolvePlain(text string) (Type, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return Null, ""
	case "true", "True", "TRUE":
		return Bool, "true"
	case "false", "False", "FALSE":
		return Bool, "false"
	}
	if c := text[0]; c != '.' && c != '-' && c != '+' && (c < '0' || c > '9') {
		return String, text
	}
	if intPattern.MatchString(text) {
		return Int, canonicalInt(text)
	}
	if floatPattern.MatchString(text) {
		return Float, strings.ToLower(text)
	}
	return String, text
}

func canonicalInt(text string) string {
	base, digits := 10, text
	if strings.HasPrefix(text, "0x") {
		base, digits = 16, text[2:]
	} else if strings.HasPrefix(text, "0o") {
		base, digits = 8, text[2:]
	}
	if v, err := strconv.ParseInt(digits, base, 64); err == nil {
		return strconv.FormatInt(v, 10)
	}
	// Turning a very long number into binary takes quadratic time.
	if len(digits) <= 4096 {
		if v, ok := new(big.Int).SetString(digits, base); ok {
			return v.String()
		}
	}
	return text
}

// identity returns a text that is equal for equal keys of a mapping. That of a
// collection is a digest, remembered, since keys may nest.
func (p *yamlParser) identity(n *Node) string {
	switch n.Kind {
	case Alias:
		return "*" + n.Text
	case Scalar:
		t, text := n.Resolve()
		return string(rune('0'+t)) + text
	}
	if id, ok := p.identities[n]; ok {
		return id
	}
	h := sha256.New()
	put := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	put(n.Kind.String() + n.Tag())
	for _, e := range n.Entries {
		if e.Key != nil {
			put(p.identity(e.Key))
		}
		put(p.identity(e.Value))
	}
	id := "#" + string(h.Sum(nil))
	if p.identities == nil {
		p.identities = make(map[*Node]string)
	}
	p.identities[n] = id
	return id
}

// quote shows a key in a message, shortened.
func (p *yamlParser) quote(key *Node) string {
	text := key.Text
	if key.Kind == Mapping || key.Kind == Sequence {
		text = p.src[key.Start:key.End]
	}
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "..."
	}
	return strconv.Quote(text)
}

// Equal reports whether two nodes mean the same: equal values in equal order,
// with the same anchors and aliases. Styles and comments do not count.
func Equal(a, b *Node) bool {
	if a.Kind != b.Kind || a.Anchor() != b.Anchor() || len(a.Entries) != len(b.Entries) {
		return false
	}
	switch a.Kind {
	case Alias:
		return a.Text == b.Text
	case Scalar:
		if a.Style == b.Style && a.Text == b.Text && a.Tag() == b.Tag() {
			return true
		}
		at, av := a.Resolve()
		bt, bv := b.Resolve()
		return at == bt && av == bv
	}
	if a.Tag() != b.Tag() {
		return false
	}
	for i := range a.Entries {
		x, y := a.Entries[i], b.Entries[i]
		if x.Key != nil && !Equal(x.Key, y.Key) || !Equal(x.Value, y.Value) {
			return false
		}
	}
	return true
}
