package page

import "html/template"

// view is what the page shows. All its texts are visible: nothing in them acts
// on a reader, and the template escapes them.
type view struct {
	Title string
	ID    string
	Began string
	Cwd   string
	Model string
	Facts []fact
	// Torn tells of a log whose end is damaged.
	Torn   string
	Header []head
	Turns  []*turn
}

type fact struct{ Name, Value string }

// head is a fixed part of requests: what the model was told before everything
// else, and with which tools.
type head struct {
	Reason string
	System string
	Tools  []string
}

type turn struct {
	N     int // 0 for what happened outside of turns
	Began string
	Took  string
	// End says how the turn ended where it did not complete.
	End   string
	Items []*item
	// Others names the events that this package knows nothing of.
	Others string

	others map[string]int
}

// The kinds of item.
const (
	kindUser      = "user"
	kindContext   = "context"
	kindText      = "text"
	kindReasoning = "reasoning"
	kindCall      = "call"
	kindRetry     = "retry"
	kindNote      = "note"
)

// item is one entry of the conversation.
type item struct {
	Kind string
	Who  string
	Text []part
	Note string // times and tokens
	// Broken marks what came of an attempt that failed.
	Broken bool
	Images []image
	Call   *call
}

// part is a piece of a text: prose, or a block of code.
type part struct {
	Code bool
	Text string
}

type image struct {
	// Src is a data URL, or "" where the image is not there.
	Src  template.URL
	Alt  string
	W, H int
}

// call is a tool call with its result.
type call struct {
	Name      string
	Title     string
	Remark    string
	Code      string // of a failure
	Failed    bool
	Pending   bool // it has no result
	Approvals []approvalNote
	Arguments string
	// Lines are those of a card of text, Hunks those of a change.
	Lines []line
	Hunks [][]line
	// Long tells that the card is folded at first.
	Long bool
	// Seen is what the model was given.
	Seen string
}

type approvalNote struct {
	Reason, Path, Outcome, Note string
}

type line struct {
	Number int
	Class  string // "", "gone" or "come"
	Sign   string
	// Before, Mark and After make up the text.
	Before, Mark, After string
	Unended             bool
}
