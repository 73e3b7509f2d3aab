package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/cmd/demo/internal/live"
	"github.com/bridle-go/bridle/cmd/demo/internal/page"
	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/session"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/plugins/attachments"
)

// logName is the log in the folder of a recorded session.
const logName = "session.jsonl"

func (a *app) showCommand() *cobra.Command {
	var html, images, store string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show LOG|FOLDER|ID",
		Short: "Show a session's log, or make an HTML page of it",
		Long: `show shows the conversation in a log: a file, a folder with session.jsonl in it,
or a session of the store by its id.

With --html it writes one page instead that holds everything and needs nothing:
what was said and thought, each call with its change, images, approvals,
retries, failures, times and tokens. Images come from the store, or from the
attachment store that --images names.`,
		Example: `  demo show last --html session.html
  demo show session.jsonl --html - > session.html
  demo show recordings/fs-edit`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("give one LOG, FOLDER or ID")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			h, log, err := a.findLog(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			switch {
			case asJSON && html != "":
				return usage("give --json or --html, not both")
			case asJSON:
				return a.printLog(log)
			case html == "":
				return a.showLog(cmd.Context(), log)
			}
			if images == "" {
				images = h.attachments()
			}
			return a.writePage(cmd.Context(), log, html, images)
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "write an HTML page to `FILE`, or to standard output for -")
	cmd.Flags().StringVar(&images, "images", "", "the attachment store, a `DIR`, that has the images")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the log with one line an event, the pieces of streamed answers too")
	storeFlag(cmd, &store)
	return cmd
}

// findLog reads the log that a word of the command line names.
func (a *app) findLog(ctx context.Context, store, name string) (home, *session.Log, error) {
	info, err := os.Stat(name)
	if err != nil {
		if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".jsonl") {
			return home{}, nil, fileFailure(err)
		}
		return a.readSession(ctx, store, name)
	}
	if info.IsDir() {
		name = filepath.Join(name, logName)
		if _, err := os.Stat(name); err != nil {
			return home{}, nil, fileFailure(err)
		}
	}
	h, err := a.home(store)
	if err != nil {
		h = home{} // the log is there; its images may not be
	}
	log, err := session.ReadFile(name)
	if err != nil {
		return h, nil, notLog(name, err)
	}
	return h, log, nil
}

// showLog prints a conversation.
func (a *app) showLog(ctx context.Context, log *session.Log) (err error) {
	return withPresenter(ctx, func(lookup live.Lookup) error {
		view := live.NewLog(a.out, lookup).In(log.Header.Cwd)
		for _, e := range log.Events {
			view.Event(e)
		}
		view.Close()
		return nil
	})
}

// withPresenter gives the tools that present calls, of a deployment that runs
// for no longer than that.
func withPresenter(ctx context.Context, use func(live.Lookup) error) (err error) {
	dir, err := os.MkdirTemp("", "bridle-show-*")
	if err != nil {
		return fileFailure(err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := deploy.Agent()
	o.Place(dir, dir)
	d, err := harness.Compose(ctx, deploy.Plugins(o)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Stop(context.WithoutCancel(ctx))) }()
	return use(func(name string) (tool.Definition, error) { return d.Tools().Lookup(nil, name) })
}

// writePage writes the page of a log to a file, which then is whole or not
// there, or to standard output.
func (a *app) writePage(ctx context.Context, log *session.Log, name, images string) error {
	return withPresenter(ctx, func(lookup live.Lookup) (err error) {
		src := page.Source{Log: log, Lookup: lookup}
		if info, err := os.Stat(filepath.Join(images, "objects")); err == nil && info.IsDir() {
			store, err := attachments.New(attachments.Config{Dir: images})
			if err != nil {
				return err
			}
			defer store.Close()
			src.Images = store
		}
		if name == "-" {
			return page.Write(ctx, a.out, src)
		}
		return replaceFile(name, func(w io.Writer) error { return page.Write(ctx, w, src) })
	})
}

// replaceFile writes a file beside the named one and then puts it in its
// place.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".bridle-*")
	if err != nil {
		if at := new(fs.PathError); errors.As(err, &at) {
			at.Path = name // that of the temporary file is nothing to anybody
		}
		return fileFailure(err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return fileFailure(err)
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fileFailure(err)
	}
	return nil
}
