package gitignore

import "strings"

// expandBraces replaces every {a,b} by its alternatives, from left to right
// and from the outside in. As in a shell, braces without a comma and unpaired
// ones are ordinary text, and a backslash or a character class protects what
// is in it. It gives up when there would be more than limit results.
func expandBraces(pattern string, limit int) ([]string, bool) {
	if limit < 1 {
		return nil, false
	}
	done := []string{}
	// A stack of unfinished texts: the text before from has no more braces.
	type item struct {
		text string
		from int
	}
	work := []item{{pattern, 0}}
	for len(work) > 0 {
		it := work[len(work)-1]
		work = work[:len(work)-1]
		open, end, commas := findBrace(it.text, it.from)
		if open < 0 {
			done = append(done, it.text)
			if len(done) > limit {
				return nil, false
			}
			continue
		}
		if len(done)+len(work)+len(commas)+1 > limit {
			return nil, false
		}
		head, tail := it.text[:open], it.text[end+1:]
		bounds := append(append([]int{open}, commas...), end)
		for k := len(bounds) - 2; k >= 0; k-- {
			work = append(work, item{head + it.text[bounds[k]+1:bounds[k+1]] + tail, open})
		}
	}
	return done, true
}

// findBrace returns the first pair of braces at or after from that has a
// comma of its own, with the places of those commas; open is -1 for none.
func findBrace(s string, from int) (open, end int, commas []int) {
	type pair struct {
		open   int
		commas []int
	}
	var stack []pair
	best := -1
	classes := true
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if !classes {
				continue
			}
			_, next, ok := parseClass(s, i, false)
			if ok {
				i = next - 1
			}
			// Trying again at every bracket of "[[[[..." is quadratic.
			classes = ok
		case '{':
			stack = append(stack, pair{open: i})
		case ',':
			if n := len(stack); n > 0 {
				stack[n-1].commas = append(stack[n-1].commas, i)
			}
		case '}':
			n := len(stack)
			if n == 0 {
				continue
			}
			top := stack[n-1]
			stack = stack[:n-1]
			if len(top.commas) > 0 && (best < 0 || top.open < best) {
				best, end, commas = top.open, i, top.commas
				if len(stack) == 0 {
					return best, end, commas
				}
			}
		}
	}
	return best, end, commas
}

// escapeBraces protects the braces that are ordinary text from a matcher that
// would read them as alternatives.
func escapeBraces(s string) string {
	if !strings.ContainsAny(s, "{}") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i])
			i++
		case s[i] == '{' || s[i] == '}':
			b.WriteByte('\\')
		case s[i] == '[':
			if _, next, ok := parseClass(s, i, false); ok {
				b.WriteString(s[i : next-1])
				i = next - 1
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
