package harness_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/textedit"
	"github.com/bridle-go/bridle/harness/vfs"
)

// Remote is a whole provider: the files of an HTTP server that knows ETags and
// conditional requests. An ETag is a version, and If-Match judges it at the
// moment of the change, on the server. Directories are what the names of the
// files say; there are no symlinks, and none of the optional abilities.
type Remote struct {
	URL    string // of the directory "/"
	Client *http.Client
	Cwd    string // of callers that have none
}

var _ vfs.FileSystem = Remote{}

// Plugin returns the provider as a plugin called "remote".
func (p Remote) Plugin() plug.Plugin {
	return plug.Plugin{
		Name:     "remote",
		Services: []plug.Declaration{plug.Provides[vfs.FileSystem]()},
		Options:  fx.Provide(func() vfs.FileSystem { return p }),
	}
}

func (p Remote) Resolve(ctx context.Context, name string, opts vfs.ResolveOptions) (vfs.Target, error) {
	if err := cmp.Or(vfs.CheckPath(name), vfs.Aborted(ctx, "resolve", name)); err != nil {
		return vfs.Target{}, err
	}
	if !path.IsAbs(name) {
		name = path.Join(cmp.Or(opts.Cwd, p.Cwd, "/"), name)
	}
	name = path.Clean(name)
	return vfs.Target{Key: vfs.Key(name), Path: name}, nil
}

func (p Remote) ProcessPath(t vfs.Target) (string, error) { return string(t.Key), nil }

func (p Remote) FileURL(t vfs.Target) (string, error) {
	return (&url.URL{Scheme: "file", Path: string(t.Key)}).String(), nil
}

func (p Remote) Contains(dir, t vfs.Target) (bool, error) {
	below := strings.TrimSuffix(string(dir.Key), "/") + "/"
	return t.Key == dir.Key || strings.HasPrefix(string(t.Key), below), nil
}

func (p Remote) Stat(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	res, err := p.request(ctx, "HEAD", "examine", t, nil, nil)
	if errors.Is(err, errs.NotFound) {
		return p.statDir(ctx, t)
	}
	if err != nil {
		return vfs.Info{}, err
	}
	res.Body.Close()
	return vfs.Info{Type: vfs.File, Size: res.ContentLength, Version: versionOf(res)}, nil
}

func (p Remote) statDir(ctx context.Context, t vfs.Target) (vfs.Info, error) {
	names, err := p.names(ctx, t)
	if err != nil || len(names) == 0 && t.Key != "/" {
		return vfs.Info{}, err
	}
	return vfs.Info{Type: vfs.Directory}, nil
}

func (p Remote) Lstat(ctx context.Context, t vfs.Target) (vfs.Info, error) { return p.Stat(ctx, t) }

func (p Remote) ReadText(ctx context.Context, t vfs.Target) (vfs.Text, error) {
	data, version, err := p.read(ctx, t)
	if err != nil {
		return vfs.Text{}, err
	}
	content, err := vfs.DecodeText(t, data)
	return vfs.Text{Content: content, Version: version}, err
}

func (p Remote) ReadBytes(ctx context.Context, t vfs.Target, limit int64) (vfs.Bytes, error) {
	if limit < 0 {
		return vfs.Bytes{}, failure(errs.InvalidArgs, "read", t, "the limit is negative", nil)
	}
	res, err := p.open(ctx, t)
	if err != nil {
		return vfs.Bytes{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return vfs.Bytes{}, p.broken(ctx, "read", t, err)
	case int64(len(data)) > limit:
		return vfs.Bytes{}, failure(errs.TooLarge, "read", t, "larger than the limit", nil)
	}
	return vfs.Bytes{Data: data, Version: versionOf(res)}, nil
}

func (p Remote) StreamText(ctx context.Context, t vfs.Target) (vfs.TextStream, error) {
	res, err := p.open(ctx, t)
	if err != nil {
		return nil, err
	}
	return &remoteText{ctx: ctx, p: p, t: t, res: res, text: textedit.NewReader(res.Body)}, nil
}

// remoteText is an answer of the server, read as text.
type remoteText struct {
	ctx     context.Context
	p       Remote
	t       vfs.Target
	res     *http.Response
	text    *textedit.Reader
	version vfs.Version
}

func (s *remoteText) Read(b []byte) (int, error) {
	if err := vfs.Aborted(s.ctx, "read", s.t.Path); err != nil {
		return 0, err
	}
	n, err := s.text.Read(b)
	var notText *textedit.NotTextError
	switch {
	case err == io.EOF:
		s.version = versionOf(s.res)
	case errors.As(err, &notText):
		err = vfs.NotText(s.t, "read", err)
	case err != nil && err != io.ErrShortBuffer:
		err = s.p.broken(s.ctx, "read", s.t, err)
	}
	return n, err
}

func (s *remoteText) Version() vfs.Version { return s.version }
func (s *remoteText) Close() error         { return s.res.Body.Close() }

func (p Remote) List(ctx context.Context, t vfs.Target) ([]vfs.Entry, error) {
	info, err := p.Stat(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case !info.Exists():
		return nil, failure(errs.NotFound, "list", t, "not found", nil)
	case info.Type != vfs.Directory:
		return nil, failure(errs.NotDirectory, "list", t, "not a directory", nil)
	}
	names, err := p.names(ctx, t)
	if err != nil {
		return nil, err
	}
	var entries []vfs.Entry
	for _, name := range names {
		entry := vfs.Entry{Name: strings.TrimSuffix(name, "/"), Type: vfs.File}
		if entry.Name != name {
			entry.Type = vfs.Directory
		}
		child := path.Join(string(t.Key), name)
		entry.Target = vfs.Target{Key: vfs.Key(child), Path: child}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (p Remote) WriteText(ctx context.Context, t vfs.Target, content string, opts vfs.Options) (vfs.WriteResult, error) {
	return p.replace(ctx, t, opts, func([]byte) ([]byte, error) { return []byte(content), nil })
}

func (p Remote) EditText(ctx context.Context, t vfs.Target, e vfs.Edit, opts vfs.Options) (vfs.WriteResult, error) {
	return p.replace(ctx, t, opts, func(before []byte) ([]byte, error) {
		if before == nil {
			return nil, failure(errs.NotFound, "edit", t, "not found", nil)
		}
		return vfs.ApplyEdit(t, before, e)
	})
}

// replace puts in place what next makes of the content that is there, nil for
// none, and begins anew when somebody else was faster.
func (p Remote) replace(ctx context.Context, t vfs.Target, opts vfs.Options, next func(before []byte) ([]byte, error)) (vfs.WriteResult, error) {
	if inside, _ := p.Contains(opts.Root, t); opts.Root != (vfs.Target{}) && !inside {
		return vfs.WriteResult{}, vfs.Outside(t, opts.Root)
	}
	for {
		before, version, err := p.read(ctx, t)
		if err != nil && !errors.Is(err, errs.NotFound) {
			return vfs.WriteResult{}, err
		}
		condition := http.Header{"If-None-Match": {"*"}}
		if before != nil {
			condition = http.Header{"If-Match": {string(version)}}
		}
		if want, ok := opts.Guard.Version(); ok && want != version {
			return vfs.WriteResult{}, vfs.Stale(t, before != nil)
		}
		if opts.Guard.Absent() && before != nil {
			return vfs.WriteResult{}, vfs.NotObserved(t)
		}
		after, err := next(before)
		if err != nil {
			return vfs.WriteResult{}, err
		}
		res, err := p.request(ctx, "PUT", "write", t, condition, after)
		if errors.Is(err, errs.StaleVersion) {
			continue // the guard is judged on what is there now
		}
		if err != nil {
			return vfs.WriteResult{}, err
		}
		res.Body.Close()
		return resultOf(t, versionOf(res), before, after, opts), nil
	}
}

func resultOf(t vfs.Target, version vfs.Version, before, after []byte, opts vfs.Options) vfs.WriteResult {
	result := vfs.WriteResult{Operation: vfs.Create, Version: version, Size: int64(len(after))}
	result.After = strings.TrimPrefix(string(after), "\ufeff")
	if before == nil {
		return result
	}
	result.Operation = vfs.Update
	if text, err := vfs.DecodeText(t, before); err == nil && (opts.Exact || max(len(before), len(after)) < vfs.DefaultDiffBasisMaxBytes) {
		result.Before = &text
	}
	return result
}

// read returns a whole file, which is never nil, and its version.
func (p Remote) read(ctx context.Context, t vfs.Target) ([]byte, vfs.Version, error) {
	res, err := p.open(ctx, t)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, "", p.broken(ctx, "read", t, err)
	}
	return data, versionOf(res), nil
}

// open begins to read a file.
func (p Remote) open(ctx context.Context, t vfs.Target) (*http.Response, error) {
	res, err := p.request(ctx, "GET", "read", t, nil, nil)
	if !errors.Is(err, errs.NotFound) {
		return res, err
	}
	if info, statErr := p.statDir(ctx, t); statErr == nil && info.Exists() {
		return nil, failure(errs.NotRegularFile, "read", t, "a directory", nil)
	}
	return nil, err
}

// names returns the names in a directory; those of directories end in "/".
func (p Remote) names(ctx context.Context, t vfs.Target) ([]string, error) {
	dir := vfs.Target{Key: vfs.Key(strings.TrimSuffix(string(t.Key), "/") + "/"), Path: t.Path}
	res, err := p.request(ctx, "GET", "list", dir, nil, nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	list, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, p.broken(ctx, "list", t, err)
	}
	return strings.FieldsFunc(string(list), func(r rune) bool { return r == 0 }), nil
}

// request makes one request; whatever the server refuses is a coded error.
func (p Remote) request(ctx context.Context, method, op string, t vfs.Target, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.URL+(&url.URL{Path: string(t.Key)}).EscapedPath(), bytes.NewReader(body))
	if err != nil {
		return nil, failure(errs.IO, op, t, err.Error(), err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := p.Client.Do(req)
	if err != nil {
		return nil, p.broken(ctx, op, t, err)
	}
	code, known := map[int]errs.Code{
		http.StatusOK: "", http.StatusNotFound: errs.NotFound, http.StatusForbidden: errs.Permission,
		http.StatusPreconditionFailed: errs.StaleVersion, http.StatusConflict: errs.NotDirectory,
	}[res.StatusCode]
	if !known {
		code = errs.IO
	}
	if code != "" {
		res.Body.Close()
		return nil, failure(code, op, t, "the server says "+res.Status, nil)
	}
	return res, nil
}

// broken is the failure of a request or its answer.
func (p Remote) broken(ctx context.Context, op string, t vfs.Target, err error) error {
	return cmp.Or(vfs.Aborted(ctx, op, t.Path), failure(errs.IO, op, t, err.Error(), err))
}

func failure(code errs.Code, op string, t vfs.Target, why string, cause error) error {
	return &errs.Error{Code: code, Op: op, Path: t.Path, Err: cause,
		Message: "cannot " + op + ` "` + vfs.DisplayName(t.Path) + `": ` + why}
}

func versionOf(res *http.Response) vfs.Version { return vfs.Version(res.Header.Get("ETag")) }
