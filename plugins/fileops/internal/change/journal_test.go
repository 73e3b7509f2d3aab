package change_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bridle-go/bridle/harness/event"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/backup"
	. "github.com/bridle-go/bridle/plugins/fileops/internal/change"
)

// TestJournalsOfOthers proves whose journals are taken over: those of dead
// processes and, after an hour, of other machines; never those of the living,
// and never a file that is no journal. What a journal calls scratch goes only
// if its name is one that an operation gives.
func TestJournalsOfOthers(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	name := backup.Folder + "/journal-" + id + ".json"
	journal := func(owner string) string {
		return fmt.Sprintf(`{"version":1,"id":"%[1]s","operation":"batch_file_ops","owner":%[2]s,"created":"2026-01-02T03:04:05Z",
			"records":[{"path":"ROOT/made","before":{"type":"absent"},"after":{"type":"file","sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"}}],
			"scratch":["ROOT/.fileops-stage-%[1]s","ROOT/kept"]}`, id, owner)
	}
	other := `{"pid":1,"host":"elsewhere"}`
	for _, c := range []struct {
		name, text string
		later      time.Duration
		taken      bool
	}{
		{"dead", journal(fmt.Sprintf(`{"pid":2147483646,"host":%q}`, host)), 0, true},
		{"a number that is used again", journal(fmt.Sprintf(`{"pid":%d,"host":%q,"started":"1"}`, os.Getppid(), host)), 0, true},
		{"alive", journal(fmt.Sprintf(`{"pid":%d,"host":%q}`, os.Getppid(), host)), 0, false},
		{"elsewhere", journal(other), 59 * time.Minute, false},
		{"elsewhere, long ago", journal(other), 61 * time.Minute, true},
		{"no journal", `{"version":1}`, 0, false},
		{"of another version", `{"version":2,"id":"` + id + `"}`, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "memfs", tree{"made": "hi\n", "kept": "k", ".fileops-stage-" + id + "/x": "x"})
			w.put(tree{name: strings.ReplaceAll(c.text, "ROOT", w.root)})
			e := w.engine(Config{Now: func() time.Time { return time.Now().Add(c.later) }})
			found, err := e.Recover(t.Context(), w.fs, nil)
			if err != nil || (len(found) == 1) != c.taken {
				t.Fatalf("%v %v", found, err)
			}
			got, _ := w.state()
			_, made := got["made"]
			_, stage := got[".fileops-stage-"+id+"/"]
			_, kept := got["kept"]
			if made == c.taken || stage == c.taken || !kept {
				t.Errorf("made %v, stage %v, kept %v: %v", made, stage, kept, found)
			}
			if c.taken && (len(found[0].Undone) != 1 || found[0].Undone[0] != "made" || len(found[0].Problems) != 1) {
				t.Errorf("%+v", found[0])
			}
		})
	}
}

// TestRecoveryIsTold proves that the session whose call was interrupted learns
// what is there now, and that another one, which has not seen it, does not.
func TestRecoveryIsTold(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for _, mine := range []bool{true, false} {
		w := newWorld(t, "memfs", tree{"made": "hi\n"})
		call, s := inSession(t, w.root)
		owner := "another"
		if mine {
			owner = s.ID()
		}
		w.put(tree{backup.Folder + "/journal-" + id + ".json": fmt.Sprintf(`{"version":1,"id":"%s","operation":"batch_file_ops","session":%q,
			"owner":{"pid":2147483646,"host":%q},"created":"2026-01-02T03:04:05Z",
			"records":[{"path":"%s/made","before":{"type":"absent"},"after":{"type":"file","sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"}}]}`,
			id, owner, host, w.root)})
		bus, scope := new(event.Bus), plug.NewScope("test")
		var told []string
		vfs.Observed.On(bus, scope, func(_ context.Context, o vfs.Observation) error {
			told = append(told, fmt.Sprintf("%s absent=%v", o.Target.Path, o.Absent))
			return nil
		})
		found, err := New(Config{SandboxRoot: w.root}, bus, nil, nil).Recover(t.Context(), w.fs, call)
		must(t, err)
		if len(found) != 1 || len(found[0].Undone) != 1 {
			t.Fatalf("%+v", found)
		}
		var want []string
		if mine {
			want = []string{w.root + "/made absent=true"}
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("its own call: %v (-want +got):\n%s", mine, diff)
		}
		must(t, scope.Close())
	}
}

// TestRecoveryStrikesReceiptsOut proves that changes which a session has in its
// log, and whose journal was undone when it was found, do not count any more: a
// rewind has nothing to take back, and nothing in its way.
func TestRecoveryStrikesReceiptsOut(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	w := newWorld(t, "memfs", tree{"made": "hi\n"})
	call, s := inSession(t, w.root)
	undo := fmt.Sprintf(`{"path":"%s/made","before":{"type":"absent"},"after":{"type":"file","sha256":"98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"}}`, w.root)
	w.put(tree{backup.Folder + "/journal-" + id + ".json": fmt.Sprintf(`{"version":1,"id":"%s","operation":"rewind","session":%q,
		"owner":{"pid":2147483646,"host":%q},"created":"2026-01-02T03:04:05Z","records":[%s]}`, id, s.ID(), host, undo)})
	for _, r := range []string{
		fmt.Sprintf(`{"journal":%q,"entry":1,"receipt":{"receipt_id":"r1","operation":"rewind"},"undo":%s}`, id, undo),
		fmt.Sprintf(`{"journal":%q,"entry":2,"receipt":{"receipt_id":"r2","operation":"rewind"},"undo":{}}`, id),
	} {
		_, err := s.Append(session.Event{Type: TypeReceipt, Data: []byte(r), Ignorable: true})
		must(t, err)
	}
	e := w.engine(Config{})
	if found, err := e.Recover(t.Context(), w.fs, call); err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	var back []string
	for ev, err := range s.Events() {
		must(t, err)
		if ev.Type == TypeRolledBack {
			var b RolledBack
			must(t, ev.Decode(&b))
			back = append(back, b.ReceiptIDs...)
		}
	}
	if diff := cmp.Diff([]string{"r1"}, back); diff != "" {
		t.Errorf("struck out (-want +got):\n%s", diff)
	}
	if report, err := e.Rewind(t.Context(), w.fs, s, RewindOptions{}); err != nil || len(report.Changes) > 0 {
		t.Errorf("%v %+v", err, report)
	}
}
