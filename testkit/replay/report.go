package replay

import (
	"encoding/json"

	"github.com/bridle-go/bridle/harness/session"
)

// Report is what came of a replay. Paths in it are spelled as in the
// recording.
type Report struct {
	// Calls are the recorded tool calls that have a result, in the order of
	// their results.
	Calls []Call
	// Requests counts the requests that were compared.
	Requests int
	// Differences are all that were found, in the order of the recording.
	Differences []Difference
	// Notes say what could not be replayed or compared.
	Notes []string
	// Log is the log of the replay, with the paths of the directory it ran in.
	Log *session.Log
}

// Equal reports whether the replay says what the recording says.
func (r *Report) Equal() bool { return len(r.Differences) == 0 }

// First returns the first difference, or nil.
func (r *Report) First() *Difference {
	if len(r.Differences) == 0 {
		return nil
	}
	return &r.Differences[0]
}

// Call is one recorded tool call and what came of it.
type Call struct {
	// Event is the number of the recorded result.
	Event      int64
	Turn, Step int
	ID         string
	Name       string
	// Arguments is the text that the model sent.
	Arguments string
	Recorded  Outcome
	// Replayed is nil where the replay did not come to the call.
	Replayed *Outcome
	// Equal is also set of a call that is not compared.
	Equal bool
	// Skipped says why the call is not compared, or "".
	Skipped string
}

// Outcome is a tool result as a log has it.
type Outcome struct {
	// Content is a JSON list of content blocks.
	Content json.RawMessage      `json:"content"`
	IsError bool                 `json:"isError"`
	Error   *session.ResultError `json:"error,omitempty"`
	Meta    json.RawMessage      `json:"meta,omitempty"`
}

// MarshalJSON returns the call as one JSON value, with a null where nothing
// was replayed.
func (c Call) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Event     int64    `json:"event"`
		Turn      int      `json:"turn"`
		Step      int      `json:"step"`
		ID        string   `json:"callId"`
		Name      string   `json:"name"`
		Arguments string   `json:"arguments"`
		Recorded  Outcome  `json:"recorded"`
		Replayed  *Outcome `json:"replayed"`
		Equal     bool     `json:"equal"`
		Skipped   string   `json:"skipped,omitempty"`
	}(c)), nil
}
