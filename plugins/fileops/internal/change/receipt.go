package change

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/session"
)

// Effect is what a change did.
type Effect string

// The effects.
const (
	Created  Effect = "created"
	Updated  Effect = "updated"
	Deleted  Effect = "deleted"
	Moved    Effect = "moved"
	Copied   Effect = "copied"
	Restored Effect = "restored"
)

// Receipt tells what one change did on disk. Paths are absolute.
type Receipt struct {
	// ReceiptID is a ULID. The session's log, a replay and an export have it
	// too: it is an input of the call (tool.Input).
	ReceiptID       string `json:"receipt_id"`
	Operation       string `json:"operation"`
	Path            string `json:"path"`
	DestinationPath string `json:"destination_path,omitempty"`
	Effect          Effect `json:"effect"`
	SHA256Before    string `json:"sha256_before,omitempty"`
	SHA256After     string `json:"sha256_after,omitempty"`
	BytesBefore     *int64 `json:"bytes_before,omitempty"`
	BytesAfter      *int64 `json:"bytes_after,omitempty"`
	AddedLines      *int   `json:"added_lines,omitempty"`
	RemovedLines    *int   `json:"removed_lines,omitempty"`
	BackupID        string `json:"backup_id,omitempty"`
	// SelfVerified tells that the target was read again and is as intended.
	SelfVerified      bool   `json:"self_verified"`
	VerificationError string `json:"verification_error,omitempty"`
	// RolledBack is set in a batch that failed: whether this change was taken
	// back. RollbackError says why it was not.
	RolledBack    *bool  `json:"rolled_back,omitempty"`
	RollbackError string `json:"rollback_error,omitempty"`

	record Record
	shown  [2]string // path and destination as workspace deltas have them
	was    bool      // something was replaced at the destination
	hidden bool      // no part of the workspace, as backups are
	entry  int       // number of the journal's record, from 1; 0 for none
}

// Rename is one path that became another.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Delta is what changed in the workspace. Paths are relative to its root where
// they lie below it.
type Delta struct {
	Created  []string `json:"created,omitempty"`
	Modified []string `json:"modified,omitempty"`
	Deleted  []string `json:"deleted,omitempty"`
	Renamed  []Rename `json:"renamed,omitempty"`
}

// DeltaOf adds up receipts. What was taken back does not count, and neither
// does what came and went.
func DeltaOf(receipts []Receipt) *Delta {
	var d Delta
	state := map[string]Effect{} // Created, Updated or Deleted
	note := func(path string, e Effect) {
		switch was := state[path]; {
		case was == Created && e == Deleted:
			delete(state, path)
		case was == Created && e == Updated:
		case was == Deleted && e == Created:
			state[path] = Updated
		default:
			state[path] = e
		}
	}
	changed := false
	for _, r := range receipts {
		if r.hidden || r.RolledBack != nil && *r.RolledBack {
			continue
		}
		changed = true
		written := Created
		if r.was {
			written = Updated
		}
		switch r.Effect {
		case Deleted:
			note(r.shown[0], Deleted)
		case Copied:
			note(r.shown[1], written)
		case Moved:
			d.Renamed = append(d.Renamed, Rename{r.shown[0], r.shown[1]})
		default:
			note(r.shown[0], written)
		}
	}
	if !changed {
		return nil
	}
	for path, e := range state {
		switch e {
		case Created:
			d.Created = append(d.Created, path)
		case Updated:
			d.Modified = append(d.Modified, path)
		case Deleted:
			d.Deleted = append(d.Deleted, path)
		}
	}
	for _, list := range [][]string{d.Created, d.Modified, d.Deleted} {
		slices.Sort(list)
	}
	return &d
}

// Summarize says in one line what receipts tell.
func Summarize(receipts []Receipt) string {
	parts := make([]string, len(receipts))
	for i, r := range receipts {
		parts[i] = r.summary()
	}
	const most = 5
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("%d more", len(receipts)-most))
	}
	return strings.Join(parts, "; ")
}

func (r Receipt) summary() string {
	text := string(r.Effect) + " " + cmp.Or(r.shown[0], r.Path)
	if to := cmp.Or(r.shown[1], r.DestinationPath); to != "" {
		text += " to " + to
	}
	if r.AddedLines != nil && r.RemovedLines != nil {
		text += fmt.Sprintf(" (+%d -%d)", *r.AddedLines, *r.RemovedLines)
	}
	switch {
	case r.RolledBack != nil && *r.RolledBack:
		return text + ", taken back"
	case r.RolledBack != nil:
		return text + ", not taken back: " + r.RollbackError
	case r.SelfVerified:
		return text + ", verified on disk"
	}
	return text + ", not verified: " + r.VerificationError
}

// Logged is the body of a fileops/receipt event: the receipt, and what is
// needed to take the change back.
type Logged struct {
	CallID  string  `json:"callId,omitempty"`
	Receipt Receipt `json:"receipt"`
	Undo    Record  `json:"undo"`
	// Journal and Entry say where a journal has the change: the journal's id, and
	// the number of the entry from 1.
	Journal string `json:"journal,omitempty"`
	Entry   int    `json:"entry,omitempty"`
}

// TypeReceipt is the type of the event that logs a receipt. It is ignorable.
const TypeReceipt = "fileops/receipt"

// Event returns the event to append.
func (l Logged) Event() (session.Event, error) {
	data, err := json.Marshal(l)
	return session.Event{Type: TypeReceipt, Data: data, Ignorable: true}, err
}

// finish gives a receipt its id, logs it, and keeps it for the outcome. The
// change is on disk: that it could not be logged is told, and fails nothing.
func (r *run) finish(rec Receipt) Receipt {
	id, err := r.drawID("receipt_id")
	rec.ReceiptID, rec.Operation = id, r.op
	if r.journal != nil && !rec.hidden {
		rec.entry = len(r.journal.doc.Records)
	}
	if err == nil {
		err = r.log(rec)
	}
	if err != nil {
		note := "the receipt could not be logged: " + err.Error()
		rec.VerificationError = strings.TrimPrefix(rec.VerificationError+"; "+note, "; ")
	}
	r.receipts = append(r.receipts, rec)
	return rec
}

func (r *run) log(rec Receipt) error {
	s := r.call.Session()
	if s == nil {
		return nil
	}
	l := Logged{CallID: r.call.ID, Receipt: rec, Undo: rec.record, Entry: rec.entry}
	if r.journal != nil {
		l.Journal = r.journal.doc.ID
	}
	e, err := l.Event()
	if err == nil {
		_, err = s.Append(e)
	}
	return err
}
