package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bridle-go/bridle/cmd/demo/internal/cli"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/attachments"
)

// imageStore is a home with images, old ones, and their files.
type imageStore struct {
	dir   string
	store *attachments.Store
	t     *testing.T
}

func (s imageStore) save(width int) attachment.Ref {
	s.t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, width, 10))); err != nil {
		s.t.Fatal(err)
	}
	ref, err := s.store.SaveImage(s.t.Context(), attachment.Image{Data: b.Bytes()})
	if err != nil {
		s.t.Fatal(err)
	}
	then := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(s.file(ref), then, then); err != nil {
		s.t.Fatal(err)
	}
	return ref
}

func (s imageStore) damage(ref attachment.Ref) {
	s.t.Helper()
	then := time.Now().Add(-2 * time.Hour)
	if err := errors.Join(os.WriteFile(s.file(ref), []byte("x"), 0o600), os.Chtimes(s.file(ref), then, then)); err != nil {
		s.t.Fatal(err)
	}
}

func (s imageStore) file(ref attachment.Ref) string {
	digits := strings.TrimPrefix(ref.ID, "sha256:")
	return filepath.Join(s.dir, "attachments", "objects", digits[:2], digits)
}

func (s imageStore) there(ref attachment.Ref) bool {
	_, err := os.Stat(s.file(ref))
	return err == nil
}

// log returns the events of a message with an image.
func log(ref attachment.Ref) session.Event {
	return session.UserMessage(llm.Message{Role: llm.User, ID: "m", Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.Image(ref)}})
}

func (s imageStore) run(status int, args ...string) string {
	s.t.Helper()
	var out, failure bytes.Buffer
	args = append(args, "--store", s.dir)
	if got := cli.Run(s.t.Context(), cli.Env{Args: args, Stdout: &out, Stderr: &failure, Getenv: noEnv}); got != status {
		s.t.Fatalf("%v: status %d: %s", args, got, failure.String())
	}
	return out.String() + failure.String()
}

func TestAttachments(t *testing.T) {
	s := imageStore{dir: t.TempDir(), t: t}
	if got := s.run(0, "attachments"); !strings.HasPrefix(got, "There are no images in ") {
		t.Errorf("an empty store: %q", got)
	}
	if got := s.run(0, "attachments", "gc"); !strings.HasPrefix(got, "There are no images in ") {
		t.Errorf("an empty store: %q", got)
	}
	if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
		t.Errorf("looking made %v, %v", left, err)
	}
	var err error
	if s.store, err = attachments.New(attachments.Config{Dir: filepath.Join(s.dir, "attachments")}); err != nil {
		t.Fatal(err)
	}
	defer s.store.Close()
	inSession, inLog, unused, damaged := s.save(11), s.save(12), s.save(13), s.save(14)
	s.damage(damaged)
	logs := session.NewFileStore(filepath.Join(s.dir, "sessions"), session.Config{})
	live, err := logs.Create(t.Context(), session.Header{ID: "s", Cwd: s.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close() // gc works beside a session in use
	if _, err := live.Append(log(inSession)); err != nil {
		t.Fatal(err)
	}
	if err := live.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	memory, err := session.NewMemory(session.Header{ID: "k", Cwd: s.dir}, session.Config{}, log(inLog))
	if err != nil {
		t.Fatal(err)
	}
	text := memory.Header().AppendJSON(nil)
	for e, err := range memory.Events() {
		if err != nil {
			t.Fatal(err)
		}
		text = e.AppendJSON(append(text, '\n'))
	}
	if err := os.WriteFile(kept, append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}

	list := s.run(0, "attachments")
	for _, want := range []string{
		inSession.ID + "\n  image/png, 11 x 10, ", ", in 1 session\n", unused.ID + "\n  image/png, 13 x 10, ", ", in 0 sessions\n",
		damaged.ID + "\n  the attachment " + damaged.ID + " is damaged: ", "\n4 images, ",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has no %q:\n%s", want, list)
		}
	}
	lines := strings.Split(strings.TrimSpace(s.run(0, "attachments", "--json")), "\n")
	for _, l := range lines {
		var v struct {
			ID       string
			Sessions *int
			Width    int
			Error    *string
		}
		if err := json.Unmarshal([]byte(l), &v); err != nil || v.Sessions == nil || (v.Error != nil) != (v.ID == damaged.ID) {
			t.Errorf("%s: %v", l, err)
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}

	dry := s.run(0, "attachments", "gc", "--dry-run", "--log", kept)
	if !strings.Contains(dry, unused.ID) || !strings.Contains(dry, damaged.ID) || strings.Contains(dry, inLog.ID) || strings.Contains(dry, inSession.ID) || !s.there(unused) {
		t.Errorf("a dry run:\n%s", dry)
	}
	// A session that cannot be read may refer to anything.
	broken := filepath.Join(s.dir, "sessions", "broken.jsonl")
	if err := os.WriteFile(broken, []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.run(1, "attachments", "gc"); !strings.Contains(got, "session broken: ") || !strings.Contains(got, "nothing was removed") || !s.there(unused) {
		t.Errorf("beside a broken session: %s", got)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	young := s.save(15)
	now := time.Now()
	if err := os.Chtimes(s.file(young), now, now); err != nil {
		t.Fatal(err)
	}
	if got := s.run(0, "attachments", "gc", "--log", kept); !strings.HasPrefix(got, "Removed 2 images; ") {
		t.Errorf("got %s", got)
	}
	if s.there(unused) || s.there(damaged) || !s.there(inSession) || !s.there(inLog) || !s.there(young) {
		t.Errorf("unused %v, damaged %v, in a session %v, in a log %v, young %v are there",
			s.there(unused), s.there(damaged), s.there(inSession), s.there(inLog), s.there(young))
	}
	s.run(2, "attachments", "gc", "--older-than", "0s")
	s.run(2, "attachments", "gc", kept)
	s.run(1, "attachments", "gc", "--log", filepath.Join(s.dir, "missing"))
}
