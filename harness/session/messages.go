package session

import (
	"fmt"
	"slices"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

// Messages returns the conversation as a provider accepts it, at any point of
// the log: each tool call is followed by its result, in the order of the
// calls, before anybody else speaks. A call without a result gets one that
// says that it was interrupted; a result without a call, and a message
// without content, are left out.
func (s *State) Messages() []llm.Message {
	type slot struct {
		call   llm.Block
		result *llm.Message
	}
	slots := map[int][]slot{} // index of the answer -> its calls
	var answers []int         // indexes of answers with calls, in order
	for i, m := range s.surface {
		if m.Role == llm.Assistant {
			for _, call := range m.ToolCalls() {
				slots[i] = append(slots[i], slot{call: call})
			}
			if slots[i] != nil {
				answers = append(answers, i)
			}
			continue
		}
		for _, one := range splitResults(m) {
			// Some servers use an id again in a later answer, so the newest call
			// without a result is meant.
			id := one.Content[0].ToolCallID
		search:
			for _, a := range slices.Backward(answers) {
				for j := range slots[a] {
					if slots[a][j].call.ID == id && slots[a][j].result == nil {
						slots[a][j].result = &one
						break search
					}
				}
			}
		}
	}

	mayRetry := s.mayRetry
	if mayRetry == nil {
		mayRetry = DefaultMayRetry
	}
	out := make([]llm.Message, 0, len(s.surface))
	for i, m := range s.surface {
		if rest := withoutResults(m); len(rest.Content) > 0 {
			out = append(out, rest)
		}
		for _, sl := range slots[i] {
			if sl.result != nil {
				out = append(out, *sl.result)
				continue
			}
			dispatched := false
			for _, p := range s.pending {
				dispatched = dispatched || p.call.ID == sl.call.ID && p.seq >= 0
			}
			out = append(out, interrupted("interrupted-"+sl.call.ID, sl.call, dispatched, mayRetry).Message)
		}
	}
	return out
}

// splitResults returns one message for each tool result of m.
func splitResults(m llm.Message) []llm.Message {
	var out []llm.Message
	for _, b := range m.Content {
		if b.Type == llm.ToolResultBlock {
			one := m
			one.Content = []llm.Block{b}
			out = append(out, one)
		}
	}
	return out
}

// withoutResults returns m without its tool results.
func withoutResults(m llm.Message) llm.Message {
	if !slices.ContainsFunc(m.Content, isResult) {
		return m
	}
	m.Content = slices.DeleteFunc(slices.Clone(m.Content), isResult)
	return m
}

func isResult(b llm.Block) bool { return b.Type == llm.ToolResultBlock }

// DefaultMayRetry reports whether a call that was cut off can be made again
// without a second effect. It knows the tools that only read files; any other
// may have changed something.
func DefaultMayRetry(name, arguments string) bool {
	return name == "read" || name == "read_image"
}

// interrupted returns the result of a call that the end of the process cut
// off. It says what is known: that it never began, that it may be made again,
// or that nobody knows what it did.
func interrupted(id string, call llm.Block, dispatched bool, mayRetry func(name, arguments string) bool) ToolResult {
	var text string
	code := errs.Aborted
	switch {
	case !dispatched:
		code = errs.AbortedBeforeDispatch
		text = fmt.Sprintf("Error: %s was not run: the session was interrupted before it began. Nothing was changed; the call may be retried.", call.Name)
	case mayRetry(call.Name, call.Arguments):
		text = fmt.Sprintf("Error: %s was interrupted before its result was known. It changes nothing; the call may be retried.", call.Name)
	default:
		text = fmt.Sprintf("Error: %s was interrupted before its result was known. It may or may not have taken effect: look at the current state before you decide whether to retry.", call.Name)
	}
	return ToolResult{
		Message: ResultMessage(id, call.ID, true, llm.Text(text)),
		Error:   &ResultError{Name: "SessionError", Code: string(code)},
	}
}
