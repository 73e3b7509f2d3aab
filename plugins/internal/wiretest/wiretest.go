// Package wiretest tests adapters against recorded requests and answers.
//
// The files are txtar archives that begin with what they show. A request file
// holds config.json, request.json and the body.json that must come of it; an
// answer file holds the stream as the server sends it, and the chunks that
// must come of it, one a line, with the error last.
package wiretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// Make returns an adapter of the plugin under test for the JSON of its
// configuration.
type Make func(t testing.TB, config []byte, transport http.RoundTripper) llm.Adapter

// RoundTripper answers requests without a network.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Answer returns a response with that body.
func Answer(r *http.Request, status int, body io.Reader) *http.Response {
	rc, ok := body.(io.ReadCloser)
	if !ok {
		rc = io.NopCloser(body)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: rc, Request: r, ProtoMajor: 1, ProtoMinor: 1}
}

// Hello is a request that any adapter can send.
func Hello(a llm.Adapter) llm.Request {
	return llm.Request{Provider: a.Provider(), Model: "m", Tools: []llm.ToolSchema{{Name: "read", InputSchema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []llm.Message{{Role: llm.User, Content: []llm.Block{llm.Text("hello")}}}}
}

// Collect returns the chunks of an answer, and the error at its end.
func Collect(ctx context.Context, a llm.Adapter, r llm.Request) (chunks []llm.Chunk, err error) {
	for c, e := range a.Stream(ctx, r) {
		if err != nil {
			return chunks, errors.New("something follows the error of the answer")
		}
		if e != nil {
			err = e
			continue
		}
		chunks = append(chunks, c)
	}
	return chunks, err
}

// Lines returns an answer as text, one chunk a line.
func Lines(chunks []llm.Chunk, err error) string {
	var out strings.Builder
	for _, c := range chunks {
		out.Write(c.AppendJSON(nil))
		out.WriteByte('\n')
	}
	if err != nil {
		fmt.Fprintf(&out, "%s: %v\n", errs.CodeOf(err), err)
	}
	return out.String()
}

// each runs a subtest for each archive of a folder. It compares what run
// returns with the named file of the archive, or rewrites that.
func each(t *testing.T, folder, file string, run func(t *testing.T, files map[string][]byte) string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no files in testdata/%s (%v)", folder, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(bytes.TrimSpace(archive.Comment)) == 0 {
				t.Errorf("%s does not say what it shows", path)
			}
			files := map[string][]byte{}
			for _, f := range archive.Files {
				files[f.Name] = f.Data
			}
			got := run(t, files)
			if *update {
				kept := archive.Files[:0]
				for _, f := range archive.Files {
					if f.Name != file {
						kept = append(kept, f)
					}
				}
				archive.Files = append(kept, txtar.File{Name: file, Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(files[file]), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// message is a message in a request file. From is the route of an answer.
type message struct {
	Role    llm.Role    `json:"role"`
	From    string      `json:"from"`
	Content []llm.Block `json:"content"`
}

// Requests compares the bodies of requests, and that they are the same bytes
// each time.
func Requests(t *testing.T, make Make) {
	each(t, "requests", "body.json", func(t *testing.T, files map[string][]byte) string {
		var in struct {
			llm.Request
			Messages []message
		}
		if err := json.Unmarshal(files["request.json"], &in); err != nil {
			t.Fatal(err)
		}
		r := in.Request
		for _, m := range in.Messages {
			provider, model, _ := strings.Cut(m.From, "/")
			r.Messages = append(r.Messages, llm.Message{Role: m.Role, Content: m.Content, Source: llm.Source{Provider: provider, Model: model}})
		}
		r.Image = func(_ context.Context, ref attachment.Ref) (llm.ImageData, error) {
			if ref.Name == "broken.png" {
				return llm.ImageData{}, errs.New(errs.AttachmentCorrupt, "it is damaged")
			}
			return llm.ImageData{MediaType: ref.MediaType, Data: []byte("bytes of " + ref.Name)}, nil
		}
		var bodies []string
		for range 3 {
			a := make(t, files["config.json"], RoundTripper(func(req *http.Request) (*http.Response, error) {
				data, err := io.ReadAll(req.Body)
				bodies = append(bodies, string(data))
				return Answer(req, http.StatusTeapot, strings.NewReader("")), err
			}))
			r.Provider = a.Provider()
			if _, err := Collect(t.Context(), a, r); llm.ClassOf(err) != llm.Invalid {
				t.Fatalf("the teapot's answer is %v", err)
			}
		}
		if len(bodies) != 3 || bodies[0] != bodies[1] || bodies[0] != bodies[2] {
			t.Fatalf("equal requests have different bytes:\n%s", strings.Join(bodies, "\n"))
		}
		if !json.Valid([]byte(bodies[0])) {
			t.Fatalf("the body is no JSON: %s", bodies[0])
		}
		var out bytes.Buffer
		if err := json.Indent(&out, []byte(bodies[0]), "", "  "); err != nil {
			t.Fatal(err)
		}
		return out.String() + "\n"
	})
}

// Streams compares the chunks of answers, however the bytes of the stream
// arrive, and checks the promises of [llm.Adapter].
func Streams(t *testing.T, make Make) {
	each(t, "streams", "chunks", func(t *testing.T, files map[string][]byte) string {
		var got string
		for i, wrap := range []func(io.Reader) io.Reader{
			func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader,
		} {
			a := make(t, files["config.json"], RoundTripper(func(req *http.Request) (*http.Response, error) {
				return Answer(req, http.StatusOK, wrap(bytes.NewReader(files["stream"]))), nil
			}))
			chunks, err := Collect(t.Context(), a, Hello(a))
			Check(t, chunks, err)
			lines := Lines(chunks, err)
			if i > 0 && lines != got {
				t.Errorf("the chunks depend on how the bytes arrive (-want +got):\n%s", cmp.Diff(got, lines))
			}
			got = lines
		}
		return got
	})
}

// Check demands what [llm.Adapter] promises of an answer: the accumulator
// takes it, deltas of calls carry their id and name, deltas add up to the
// block that closes them, and one that ends well ends with a finish.
func Check(t testing.TB, chunks []llm.Chunk, err error) {
	t.Helper()
	var acc llm.Accumulator
	sum := map[int]string{}
	for i, c := range chunks {
		if err := acc.Add(c); err != nil {
			t.Errorf("chunk %d cannot follow: %v", i, err)
		}
		switch c.Type {
		case llm.TextDelta, llm.ReasoningDelta:
			sum[c.Index] += c.Text
		case llm.ToolCallDelta:
			sum[c.Index] += c.ArgumentsDelta
			if c.ID == "" || c.Name == "" {
				t.Errorf("chunk %d: the delta of a call has the id %q and the name %q", i, c.ID, c.Name)
			}
		case llm.BlockEnd:
			if whole := c.Block.Text + c.Block.Arguments; whole != sum[c.Index] {
				t.Errorf("chunk %d: the block is %q, its deltas are %q", i, whole, sum[c.Index])
			}
		case llm.FinishChunk:
			if i != len(chunks)-1 {
				t.Errorf("chunk %d of %d is the finish", i, len(chunks))
			}
		}
	}
	reason, finished := acc.Finish()
	var e *llm.Error
	switch {
	case err == nil && !finished:
		t.Error("the answer ended well without a finish")
	case err != nil && finished:
		t.Errorf("the answer finished and failed: %v", err)
	case err != nil && !errors.As(err, &e):
		t.Errorf("the error %v is no *llm.Error", err)
	case finished && (reason.Kind == llm.FinishStop || reason.Kind == llm.FinishToolCalls) && !acc.Closed():
		t.Errorf("a block is open after the finish %q", reason.Kind)
	}
}

// Cuts cuts each recorded stream at every byte. Whatever is left must be a
// beginning of the answer with an error that can be retried, or all of it once
// the stop reason was there.
func Cuts(t *testing.T, make Make) {
	each(t, "streams", "chunks", func(t *testing.T, files map[string][]byte) string {
		stream := files["stream"]
		want := string(files["chunks"])
		whole := strings.HasSuffix(want, "}\n") // it finishes
		step := 1
		if testing.Short() {
			step = 7
		}
		for n := 0; n < len(stream); n += step {
			for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
				a := make(t, files["config.json"], RoundTripper(func(req *http.Request) (*http.Response, error) {
					return Answer(req, http.StatusOK, io.MultiReader(bytes.NewReader(stream[:n]), iotest.ErrReader(end))), nil
				}))
				chunks, err := Collect(t.Context(), a, Hello(a))
				Check(t, chunks, err)
				if !whole {
					continue
				}
				got := Lines(chunks, nil)
				switch {
				case err == nil && withoutUsage(got) != withoutUsage(want):
					t.Fatalf("cut after %d bytes it ends well with\n%s", n, got)
				case err != nil && !strings.HasPrefix(want, got):
					t.Fatalf("cut after %d bytes it has chunks that the whole has not:\n%s", n, got)
				case err != nil && llm.ClassOf(err) != llm.Network:
					t.Fatalf("cut after %d bytes the error is %v", n, err)
				}
			}
		}
		return want
	})
}

// withoutUsage drops the usage, which may come after the stop reason and so be
// lost with a cut.
func withoutUsage(lines string) string {
	var out []string
	for l := range strings.Lines(lines) {
		if !strings.HasPrefix(l, `{"type":"usage"`) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

// Seeds returns the recorded streams, to fuzz with.
func Seeds(f *testing.F) [][]byte {
	paths, err := filepath.Glob("testdata/streams/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("there are no recorded streams (%v)", err)
	}
	var seeds [][]byte
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "stream" {
				seeds = append(seeds, file.Data)
			}
		}
	}
	return seeds
}

// Fuzz reads any bytes as an answer, which must keep the promises.
func Fuzz(f *testing.F, make Make) {
	for _, s := range Seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		a := make(t, nil, RoundTripper(func(req *http.Request) (*http.Response, error) {
			return Answer(req, http.StatusOK, bytes.NewReader(stream)), nil
		}))
		chunks, err := Collect(context.Background(), a, Hello(a))
		Check(t, chunks, err)
	})
}
