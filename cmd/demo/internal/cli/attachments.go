package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/term"
	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/plugins/attachments"
)

func (a *app) attachmentsCommand() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "attachments",
		Short: "List the images of the store, and remove those nobody refers to",
		Long: `attachments lists the images that sessions of demo run have stored: id, type,
dimensions, size, when each was last saved, and how many sessions refer to it. A
damaged image is listed as such.

attachments gc removes the images that no session refers to.`,
		Example: `  demo attachments
  demo attachments --json | jq 'select(.sessions == 0)'
  demo attachments gc --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command attachments %q; did you mean gc?", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := a.home(dir)
			if err != nil {
				return err
			}
			return a.listAttachments(cmd.Context(), h, asJSON)
		},
	}
	cmd.PersistentFlags().StringVar(&dir, "store", "", "the `DIR` of sessions and images (default $XDG_STATE_HOME/bridle, or what the system has for that)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object an image")
	cmd.AddCommand(a.attachmentsCollectCommand(&dir))
	return cmd
}

// collectFlags are those of attachments gc.
type collectFlags struct {
	logs   []string
	age    time.Duration
	dryRun bool
}

func (a *app) attachmentsCollectCommand(dir *string) *cobra.Command {
	f := collectFlags{}
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove the images that no session refers to",
		Long: `gc removes the images that neither a session of the store nor a log given with
--log refers to, with the copies made of them. An image that was saved less than
an hour ago stays: the session that wants it may not have noted it yet. Where a
session cannot be read, nothing is removed, since its images are not known.`,
		Example: "  demo attachments gc --dry-run\n  demo attachments gc --log ~/kept/session.jsonl",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("gc takes no arguments; keep the images of a log with --log %s", shellWord(args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.age <= 0 {
				return usage("--older-than is %v, and must be more than nothing", f.age)
			}
			h, err := a.home(*dir)
			if err != nil {
				return err
			}
			return a.collectAttachments(cmd.Context(), h, f)
		},
	}
	cmd.Flags().StringArrayVar(&f.logs, "log", nil, "keep what this log refers to, too; `FILE` may be given several times")
	cmd.Flags().DurationVar(&f.age, "older-than", time.Hour, "remove only what was last saved longer ago than `DURATION`")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "tell what would be removed, and remove nothing")
	return cmd
}

// withAttachments gives the store of images, or nil where there is none yet.
func withAttachments(h home, cfg attachments.Config, use func(*attachments.Store) error) (err error) {
	cfg.Dir = h.attachments()
	if info, err := os.Stat(filepath.Join(cfg.Dir, "objects")); err != nil || !info.IsDir() {
		return use(nil)
	}
	store, err := attachments.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return use(store)
}

// references counts the logs that refer to each image.
func references(ctx context.Context, h home, logs []string) (map[string]int, error) {
	count := map[string]int{}
	add := func(events iter.Seq2[session.Event, error]) error {
		ids, err := session.References(events)
		for id := range ids {
			count[id]++
		}
		return err
	}
	store := h.sessions(session.Config{})
	all, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		log, err := store.Read(ctx, s.ID)
		if err == nil {
			err = add(eventsOf(log))
		}
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", s.ID, err)
		}
	}
	for _, name := range logs {
		if err := referencesOfFile(name, add); err != nil {
			return nil, err
		}
	}
	return count, nil
}

func referencesOfFile(name string, add func(iter.Seq2[session.Event, error]) error) error {
	f, err := os.Open(name)
	if err != nil {
		return fileFailure(err)
	}
	defer f.Close()
	log, err := session.Read(f)
	if err == nil {
		err = add(eventsOf(log))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", term.Line(name), err)
	}
	return nil
}

func eventsOf(log *session.Log) iter.Seq2[session.Event, error] {
	return func(yield func(session.Event, error) bool) {
		for _, e := range log.Events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// attachmentLine is the JSON form of an image in the list. All keys are always
// there.
type attachmentLine struct {
	ID        string               `json:"id"`
	MediaType attachment.MediaType `json:"mediaType"` // "" where Error is set
	Bytes     int64                `json:"bytes"`
	Width     int                  `json:"width"`
	Height    int                  `json:"height"`
	SavedAt   int64                `json:"savedAt"` // Unix milliseconds
	// Sessions counts those of the store that refer to it.
	Sessions int `json:"sessions"`
	// Error says why the image cannot be read, or is null.
	Error *string `json:"error"`
}

func (a *app) listAttachments(ctx context.Context, h home, asJSON bool) error {
	used, err := references(ctx, h, nil)
	if err != nil {
		return err
	}
	return withAttachments(h, attachments.Config{}, func(store *attachments.Store) error {
		n, total := 0, int64(0)
		if store != nil {
			for id, err := range store.List(ctx) {
				if err != nil {
					return err
				}
				ref, saved, err := store.Describe(ctx, id)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				n, total = n+1, total+ref.Bytes
				if err := a.attachmentEntry(ref, saved, used[id], err, asJSON); err != nil {
					return err
				}
			}
		}
		switch {
		case asJSON:
		case n == 0:
			fmt.Fprintf(a.out, "There are no images in %s; demo run stores those that it reads.\n", term.Line(h.attachments()))
		default:
			fmt.Fprintf(a.out, "%s, %s\n", plural(n, "image"), byteSize(total))
		}
		return nil
	})
}

func (a *app) attachmentEntry(ref attachment.Ref, saved time.Time, sessions int, failure error, asJSON bool) error {
	if asJSON {
		line := attachmentLine{ref.ID, ref.MediaType, ref.Bytes, ref.Width, ref.Height, saved.UnixMilli(), sessions, nil}
		if failure != nil {
			text := failure.Error()
			line.Error = &text
		}
		data, err := encode(line)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", data)
		return nil
	}
	fmt.Fprintln(a.out, ref.ID)
	if failure != nil {
		fmt.Fprintf(a.out, "  %s\n", a.out.Paint(term.Red, term.Line(failure.Error())))
		return nil
	}
	facts := fmt.Sprintf("%s, %d x %d, %s, saved %s, in %s", ref.MediaType, ref.Width, ref.Height,
		byteSize(ref.Bytes), saved.Format("2006-01-02 15:04"), plural(sessions, "session"))
	fmt.Fprintf(a.out, "  %s\n", a.out.Paint(term.Dim, facts))
	return nil
}

func (a *app) collectAttachments(ctx context.Context, h home, f collectFlags) error {
	used, err := references(ctx, h, f.logs)
	if err != nil {
		return failed(codeFailed, "%v; nothing was removed, since the images it refers to are not known", err)
	}
	keep := map[string]bool{}
	for id := range used {
		keep[id] = true
	}
	return withAttachments(h, attachments.Config{Grace: f.age}, func(store *attachments.Store) error {
		if store == nil {
			fmt.Fprintf(a.out, "There are no images in %s.\n", term.Line(h.attachments()))
			return nil
		}
		if !f.dryRun {
			n, size, err := store.Collect(ctx, keep)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Removed %s; %s are free.\n", plural(n, "image"), byteSize(size))
			return nil
		}
		n, size := 0, int64(0)
		for id, err := range store.List(ctx) {
			if err != nil {
				return err
			}
			// A damaged image goes like any other.
			ref, saved, _ := store.Describe(ctx, id)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if keep[id] || time.Since(saved) < f.age {
				continue
			}
			n, size = n+1, size+ref.Bytes
			fmt.Fprintln(a.out, id)
		}
		fmt.Fprintf(a.out, "%s with %s would be removed.\n", plural(n, "image"), byteSize(size))
		return nil
	})
}
