package dialog

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxName is the length of tool names that every provider accepts. Their
// pattern is ^[a-zA-Z0-9_-]{1,64}$ at OpenAI and those that follow it, and no
// narrower at Anthropic (July 2025).
const maxName = 64

// Names maps the names of tools to names that providers accept, and back. A
// name that is acceptable stays as it is; any other becomes what is acceptable
// of it and a digest of the whole.
type Names struct {
	wire map[string]string // by the tool's own name
	own  map[string]string // by the name on the wire
}

// Wire returns the name under which a provider knows the tool.
func (n *Names) Wire(own string) string {
	if w, ok := n.wire[own]; ok {
		return w
	}
	if n.wire == nil {
		n.wire, n.own = map[string]string{}, map[string]string{}
	}
	w := own
	for salt := 0; ; salt++ {
		_, taken := n.own[w]
		if legalName(w) && !taken {
			break
		}
		legal := strings.Map(legalRune, own)
		digest := digestOf(fmt.Sprintf("%s#%d", own, salt))[:8]
		w = legal[:min(len(legal), maxName-len(digest)-1)] + "_" + digest
	}
	n.wire[own], n.own[w] = w, own
	return w
}

// Own returns the tool that a provider means. A name that was never on the
// wire, which a model may make up, stays as it is.
func (n *Names) Own(wire string) string {
	if own, ok := n.own[wire]; ok {
		return own
	}
	return wire
}

func legalName(s string) bool {
	return s != "" && len(s) <= maxName && strings.Map(legalRune, s) == s
}

func legalRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
		return r
	}
	return '_'
}

// maxID is the longest call id that OpenAI takes in a request; Anthropic has
// the same characters and no such bound.
const maxID = 40

// ShortID returns an id of nine letters and digits, which is what Mistral
// demands, made from any other.
func ShortID(id string) string { return digestOf(id)[:9] }

// ids makes the ids of calls acceptable and different from each other. Some
// servers count calls from zero in every answer.
type ids struct {
	form func(string) string // or nil
	used map[string]bool
}

func (s *ids) next(id string) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	w := id
	for n := 0; ; n++ {
		if n > 0 || w == "" || len(w) > maxID || strings.Map(legalRune, w) != w {
			w = "call_" + digestOf(fmt.Sprintf("%s#%d", id, n))[:24]
		}
		if s.form != nil {
			w = s.form(w)
		}
		if !s.used[w] {
			s.used[w] = true
			return w
		}
	}
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
