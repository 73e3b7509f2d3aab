package session

import (
	"iter"
	"regexp"
)

// attachmentID matches the id of a stored image wherever it stands.
var attachmentID = regexp.MustCompile(`sha256:[0-9a-f]{64}`)

// References returns the ids of the attachments that the events of a log refer
// to, for the garbage collection of an attachment store. It looks at the text
// of every event, whether or not this version knows its type, so it keeps
// rather too much than too little.
func References(events iter.Seq2[Event, error]) (map[string]bool, error) {
	keep := map[string]bool{}
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		for _, id := range attachmentID.FindAll(e.Data, -1) {
			keep[string(id)] = true
		}
	}
	return keep, nil
}
