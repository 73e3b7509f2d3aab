package vfs

import "github.com/bridle-go/bridle/harness/event"

// Intent is a change that a tool is about to make.
type Intent struct {
	Target Target
	// Actor is the tool call, opaque to listeners that do not know tools.
	Actor any
}

// Observation is what a tool has just seen at a target.
type Observation struct {
	Target Target
	// Version is the content that was seen; it is empty when Absent.
	Version Version
	// Absent tells that nothing was there.
	Absent bool
	Actor  any
	// Size is that of the file in bytes, its byte-order mark included. 0 means
	// that the observer does not know it, or that the file is empty.
	Size int64
	// Text is the content that was seen where the observer has it at hand, else
	// nil. It lets a policy say what changed since.
	Text *string
	// First and Last are the lines of a text that were shown, from 1, both
	// included; zero when the whole content was seen.
	First, Last int
	// TotalLines is the number of lines of the text; it counts with First and
	// Last.
	TotalLines int
}

// The file events. Between a tool and the deployment's policies they are the
// only meeting point: the tool knows no policy, the policy knows no tool.
var (
	// WriteIntent is asked before a file is written as a whole. The answer is
	// the guard of the write; without a listener it is none. An error refuses
	// the write.
	WriteIntent = event.NewWaterfall[Intent, Guard]("fs/write-intent")
	// EditIntent is asked likewise before part of a file is changed.
	EditIntent = event.NewWaterfall[Intent, Guard]("fs/edit-intent")
	// Observed tells what a tool has seen, after it has seen it. Listeners only
	// record; a failure reaches the tool's caller.
	Observed = event.NewEmit[Observation]("fs/observed")
	// Refused is asked when a guarded change was refused as stale, so that a
	// policy that remembers what the caller had seen can say more. The answer
	// replaces the error.
	Refused = event.NewWaterfall[Refusal, error]("fs/refused")
)

// Refusal is a guarded change that did not hold.
type Refusal struct {
	Target Target
	Actor  any
	// Err is what the provider said.
	Err error
	// FS is the provider that said it.
	FS FileSystem
}
