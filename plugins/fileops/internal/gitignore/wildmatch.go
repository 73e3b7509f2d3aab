package gitignore

import "strings"

type tokenKind uint8

const (
	literalByte tokenKind = iota // the byte c
	anyByte                      // "?": one byte except '/'
	classByte                    // "[...]": one byte of set, never '/'
	star                         // "*": any run without '/'
	starStar                     // "**": any run
	starStarDir                  // "**/": nothing, or any run that ends in '/'
	never                        // a malformed class: matches nothing
)

type token struct {
	kind tokenKind
	c    byte
	set  *byteSet
}

// byteSet has one bit for each byte value. Git matches bytes, not characters:
// "?" takes one byte of a multi-byte character.
type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

// compile turns the wildcard part of a pattern into tokens. With pathname, a
// single star stops at '/' and "**" is special where it is a whole component;
// without, there is no '/' in what is matched and every run of stars is one.
func compile(s string, pathname, fold bool) []token {
	var out []token
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case '\\':
			if i+1 == len(s) {
				return []token{{kind: never}}
			}
			out = append(out, token{kind: literalByte, c: s[i+1]})
			i += 2
		case '?':
			out = append(out, token{kind: anyByte})
			i++
		case '[':
			set, next, ok := parseClass(s, i, fold)
			if !ok {
				return []token{{kind: never}}
			}
			out = append(out, token{kind: classByte, set: set})
			i = next
		case '*':
			end := i
			for end < len(s) && s[end] == '*' {
				end++
			}
			rest := s[end:]
			whole := pathname && end-i > 1 && (i == 0 || s[i-1] == '/') &&
				(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
			switch {
			case whole && strings.HasPrefix(rest, "/"):
				out = append(out, token{kind: starStarDir})
				end++
			case whole:
				out = append(out, token{kind: starStar})
			default:
				out = append(out, token{kind: star})
			}
			i = end
		default:
			out = append(out, token{kind: literalByte, c: c})
			i++
		}
	}
	return out
}

// parseClass reads the class that starts at s[i] == '[' and returns the bytes
// it matches and the index after it. The oddities are git's: "]" right after
// the opening (or its negation) is a member, "-" next to a bracket is itself,
// a named class is [:name:], and an unknown name spoils the pattern.
func parseClass(s string, i int, fold bool) (*byteSet, int, bool) {
	at := func(k int) byte {
		if k < len(s) {
			return s[k]
		}
		return 0
	}
	var set byteSet
	i++
	negated := at(i) == '!' || at(i) == '^'
	if negated {
		i++
	}
	var prev byte
	closing := 0
	for c := at(i); ; {
		if c == 0 {
			return nil, 0, false
		}
		switch {
		case c == '\\':
			i++
			if c = at(i); c == 0 {
				return nil, 0, false
			}
			set.add(c)
		case c == '-' && prev != 0 && at(i+1) != 0 && at(i+1) != ']':
			i++
			if c = at(i); c == '\\' {
				i++
				if c = at(i); c == 0 {
					return nil, 0, false
				}
			}
			for b := int(prev); b <= int(c); b++ {
				set.add(byte(b))
				if fold {
					set.add(lowerByte(byte(b)))
				}
			}
			c = 0
		case c == '[' && at(i+1) == ':':
			if closing < i+2 {
				next := strings.IndexByte(s[i+2:], ']')
				if next < 0 {
					return nil, 0, false
				}
				closing = i + 2 + next
			}
			end := closing
			if end-1 < i+2 || s[end-1] != ':' {
				// No ":]": the bracket is an ordinary member.
				set.add('[')
				break
			}
			if !addNamed(&set, s[i+2:end-1], fold) {
				return nil, 0, false
			}
			i, c = end, 0
		default:
			set.add(c)
		}
		prev = c
		i++
		if c = at(i); c == ']' {
			break
		}
	}
	if negated {
		for k := range set {
			set[k] = ^set[k]
		}
	}
	return &set, i + 1, true
}

func addNamed(set *byteSet, name string, fold bool) bool {
	in, ok := namedClasses[name]
	if !ok {
		return false
	}
	if fold && name == "upper" {
		in = isAlpha
	}
	for b := 0; b < 128; b++ {
		if in(byte(b)) {
			set.add(byte(b))
		}
	}
	return true
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isAlpha(c byte) bool { return isLower(c) || isUpper(c) }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return isAlpha(c) || isDigit(c) }
func isGraph(c byte) bool { return 0x20 < c && c < 0x7f }

var namedClasses = map[string]func(byte) bool{
	"alnum":  isAlnum,
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < 0x20 || c == 0x7f },
	"digit":  isDigit,
	"graph":  isGraph,
	"lower":  isLower,
	"print":  func(c byte) bool { return 0x20 <= c && c < 0x7f },
	"punct":  func(c byte) bool { return isGraph(c) && !isAlnum(c) },
	"space":  func(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' },
	"upper":  isUpper,
	"xdigit": func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' },
}

// matchTokens matches the whole of name. It keeps one point of return for the
// last star and one for the last double star: an earlier star of the same
// kind never needs another try, because what the later one can reach from an
// earlier place includes what it can reach from a later one. So the time is
// bounded by a small multiple of len(name) * len(tokens) whatever the pattern.
func matchTokens(tokens []token, name string) bool {
	t, n := 0, 0
	starT, starN := -1, 0
	deepT, deepN := -1, 0
	for {
		if t == len(tokens) && n == len(name) {
			return true
		}
		if t < len(tokens) {
			switch tok := &tokens[t]; tok.kind {
			case star:
				starT, starN = t, n
				t++
				continue
			case starStar, starStarDir:
				// Nothing later can need an earlier single star: the double
				// star reaches all that its other ends could.
				deepT, deepN, starT = t, n, -1
				t++
				continue
			default:
				if n < len(name) && tok.accepts(name[n]) {
					if name[n] == '/' {
						// A star ends before this slash wherever it began.
						starT = -1
					}
					t++
					n++
					continue
				}
			}
		}
		switch {
		case starT >= 0 && starN < len(name) && name[starN] != '/':
			starN++
			t, n = starT+1, starN
		case deepT >= 0 && deepN < len(name):
			starT = -1
			deepN++
			if tokens[deepT].kind == starStarDir {
				slash := strings.IndexByte(name[deepN-1:], '/')
				if slash < 0 {
					return false
				}
				deepN += slash
			}
			t, n = deepT+1, deepN
		default:
			return false
		}
	}
}

func (t *token) accepts(c byte) bool {
	switch t.kind {
	case literalByte:
		return c == t.c
	case anyByte:
		return c != '/'
	case classByte:
		return c != '/' && t.set.has(c)
	}
	return false
}
