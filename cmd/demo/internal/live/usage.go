package live

import (
	"fmt"
	"strconv"

	"github.com/bridle-go/bridle/harness/llm"
)

// Usage adds up the tokens of several answers.
type Usage struct {
	// Answers counts those that reported their tokens.
	Answers                          int
	Input, Output, Cached, Reasoning int64
}

// Add adds the tokens of one answer.
func (u *Usage) Add(a llm.Usage) {
	u.Answers++
	u.Input += a.InputTokens
	u.Output += a.OutputTokens
	for sum, n := range map[*int64]*int64{&u.Cached: a.CacheReadTokens, &u.Reasoning: a.ReasoningTokens} {
		if n != nil {
			*sum += *n
		}
	}
	if a.CacheWriteTokens != nil {
		u.Input += *a.CacheWriteTokens
	}
}

// String tells the tokens, or "" where none were reported.
func (u Usage) String() string {
	if u.Answers == 0 {
		return ""
	}
	text := Count(u.Input+u.Cached) + " tokens in"
	if u.Cached > 0 {
		text += fmt.Sprintf(" (%s cached)", Count(u.Cached))
	}
	text += ", " + Count(u.Output) + " out"
	if u.Reasoning > 0 {
		text += fmt.Sprintf(" (%s reasoning)", Count(u.Reasoning))
	}
	return text
}

// Count writes a number with its thousands apart.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
