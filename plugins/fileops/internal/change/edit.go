package change

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/match"
)

// The defaults of edit_file.
const (
	defaultCandidates = 3
	maxCandidates     = 20
	defaultContext    = 3
	maxContext        = 50
)

func (r *run) edit(ctx context.Context, a *EditArgs) (*EditResult, error) {
	p, err := r.locate(ctx, "file_path", a.FilePath, content)
	if err != nil {
		return nil, err
	}
	res := &EditResult{FilePath: p.show, DryRun: a.DryRun}
	replacements, err := a.replacements()
	if err != nil {
		return res, err
	}
	was, err := r.existing(ctx, p, a.Allow)
	if err != nil {
		return res, err
	}
	res.CurrentSHA256 = was.sha
	if a.ExpectedSHA256 != "" && !a.ForceOverwrite && !sameDigest(a.ExpectedSHA256, was) {
		return res, mismatch(p, was, map[string]any{"expected_sha256": was.sha})
	}
	done, err := match.Apply(ctx, was.data, replacements, match.Options{
		IgnoreWhitespace:   a.IgnoreWhitespace,
		ConfusableFallback: a.ConfusableFallback,
		ReplaceAll:         a.ReplaceAll,
		First:              !on(a.RequireUniqueMatch),
		MaxCandidates:      bounded(a.MaxDiagnosticCandidates, defaultCandidates, maxCandidates),
	})
	if err != nil {
		res.TotalLinesBefore = new(lines(was.data))
		return res, res.failed(p, a, replacements, err)
	}
	res.AppliedCount, res.ReplacementOccurrences, res.MatchMode = new(len(replacements)), &done.Occurrences, done.Mode
	res.UsedConfusableFallback = new(done.Mode == match.ConfusableNormalized)
	res.Changed = new(!bytes.Equal(was.data, done.After))
	res.TotalLinesBefore, res.TotalLinesAfter = new(lines(was.data)), new(lines(done.After))
	res.Snippets, _ = match.Snippets(done.After, done.Changes, bounded(a.SnippetContextLines, defaultContext, maxContext))
	if on(a.ReturnDiff) || a.DryRun {
		res.Diff = diff(p, was, done.After)
	}
	res.CurrentSHA256 = "" // of refusals alone
	if a.DryRun || !*res.Changed {
		return res, nil
	}
	c := &proposal{
		p: p, was: was, next: done.After, intent: vfs.EditIntent, effect: Updated,
		seen: sameDigest(a.ExpectedSHA256, was), keep: a.Keep,
		what: fmt.Sprintf("replace %s", count(done.Occurrences, "place")),
	}
	c.adds, c.drops = stat(was, done.After)
	receipt, err := r.commit(ctx, c)
	if err != nil {
		*res = EditResult{FilePath: res.FilePath, CurrentSHA256: was.sha}
		return res, err
	}
	res.BackupID = receipt.BackupID
	res.SelfVerified, res.VerificationError = &receipt.SelfVerified, receipt.VerificationError
	return res, nil
}

// existing reads a file that must be there and fit into memory.
func (r *run) existing(ctx context.Context, p *place, a Allow) (*file, error) {
	if err := r.admit(ctx, p, a); err != nil {
		return nil, err
	}
	if !p.info.Exists() {
		return nil, notFound(p)
	}
	f, err := r.read(ctx, p)
	if err == nil {
		err = r.loadable(p, f)
	}
	return f, err
}

// replacements are those of the arguments: the JSON string comes first.
func (a *EditArgs) replacements() ([]match.Replacement, error) {
	list, field := a.Replacements, "replacements"
	if a.ReplacementsJSON != nil && *a.ReplacementsJSON != "" {
		list, field = nil, "replacements_json"
		if err := json.Unmarshal([]byte(*a.ReplacementsJSON), &list); err != nil {
			return nil, fault.New(fault.InvalidArguments, field, "replacements_json is no JSON array of replacements: "+err.Error())
		}
	}
	if len(list) == 0 {
		return nil, fault.New(fault.InvalidArguments, field, "replacements must hold at least one object with old_content and new_content")
	}
	out := make([]match.Replacement, len(list))
	for i, l := range list {
		out[i] = match.Replacement{Old: l.OldContent, New: l.NewContent}
	}
	return out, nil
}

func bounded(n *int, def, most int) int {
	if n == nil {
		return def
	}
	return min(max(*n, 0), most)
}

// failed turns what the engine says into diagnostics and a fault.
func (e *EditResult) failed(p *place, a *EditArgs, all []match.Replacement, err error) error {
	var f *match.Failure
	if !errors.As(err, &f) {
		return err
	}
	field := "replacements"
	if f.Kind == match.NotText {
		field = p.field
	}
	if f.Index >= 0 {
		e.Diagnostics = []Diagnostic{{
			ReplacementIndex: f.Index, Kind: f.Kind, Message: f.Message, Occurrences: f.Count, Hint: f.Hint, Candidates: f.Candidates,
		}}
	}
	out := fault.New(fault.Kind(f.Kind), field, fmt.Sprintf("%s; \"%s\" is unchanged", f.Error(), p.show))
	if f.Kind == match.NoMatch || f.Kind == match.Ambiguous || f.Kind == match.AmbiguousWhitespace {
		out.Err = err
		out.Call = a.better(all, f)
	}
	if f.Kind == match.Ambiguous {
		out.Message += "; add surrounding context to old_content, or set replace_all to replace every place"
	}
	return out
}

// likeEnough is the similarity from which on a place is taken for the one that
// was meant.
const likeEnough = 0.9

// better is what to send instead of a call whose text was not found, or at
// several places, where that is known; else nil.
func (a *EditArgs) better(all []match.Replacement, f *match.Failure) map[string]any {
	switch {
	case f.Kind == match.Ambiguous:
		return map[string]any{"replace_all": true}
	case f.Kind != match.NoMatch:
		return nil
	case f.Try != "":
		return map[string]any{f.Try: true}
	}
	near := ""
	for _, c := range f.Candidates {
		if c.Similarity < likeEnough {
			continue
		}
		if near != "" || c.Rivaled {
			return nil // which of them was meant is not known
		}
		near = c.Text
	}
	old := all[f.Index].Old
	if near == "" || strings.Count(strings.TrimSuffix(old, "\n"), "\n") != strings.Count(near, "\n") || strings.HasSuffix(near, "…") {
		return nil
	}
	// A candidate is of whole lines; what the caller has left out of them stays.
	if strings.TrimLeft(old, " \t") == old {
		near = strings.TrimLeft(near, " \t")
	}
	if strings.HasSuffix(old, "\n") {
		near += "\n"
	}
	if near == old || near == all[f.Index].New {
		return nil
	}
	list := make([]Replacement, len(all))
	for i, r := range all {
		list[i] = Replacement{OldContent: r.Old, NewContent: r.New}
	}
	list[f.Index].OldContent = near
	if a.ReplacementsJSON != nil && *a.ReplacementsJSON != "" {
		text, err := json.Marshal(list)
		if err != nil {
			return nil
		}
		return map[string]any{"replacements_json": string(text)}
	}
	return map[string]any{"replacements": list}
}
