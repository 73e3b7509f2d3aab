package harness_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bridle-go/bridle/plugins/fspolicy"
	"github.com/bridle-go/bridle/plugins/toolfs"
	"github.com/bridle-go/bridle/testkit"
	"github.com/bridle-go/bridle/testkit/vfstest"
)

// objects is a server with files by path. A path that ends in "/" lists the
// names below it, each with a NUL behind it.
type objects struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	file, there := o.files[r.URL.Path]
	switch {
	case strings.HasSuffix(r.URL.Path, "/"):
		_, _ = io.WriteString(w, o.names(r.URL.Path))
	case r.Method != http.MethodPut && !there:
		w.WriteHeader(http.StatusNotFound)
	case r.Method != http.MethodPut:
		w.Header().Set("ETag", etag(file))
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		_, _ = w.Write(file)
	case there && r.Header.Get("If-None-Match") == "*",
		r.Header.Get("If-Match") != "" && (!there || r.Header.Get("If-Match") != etag(file)):
		w.WriteHeader(http.StatusPreconditionFailed)
	case o.belowFile(r.URL.Path):
		w.WriteHeader(http.StatusConflict)
	default:
		var content bytes.Buffer
		if _, err := content.ReadFrom(r.Body); err != nil {
			return // the client is gone; half a file is none
		}
		o.files[r.URL.Path] = content.Bytes()
		w.Header().Set("ETag", etag(content.Bytes()))
	}
}

func (o *objects) belowFile(name string) bool {
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if _, there := o.files[dir]; there {
			return true
		}
	}
	return false
}

func (o *objects) names(dir string) string {
	names := map[string]bool{}
	for file := range o.files {
		if rest, ok := strings.CutPrefix(file, dir); ok {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			names[name] = true
		}
	}
	var list strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/"))
	}) {
		list.WriteString(name + "\x00")
	}
	return list.String()
}

func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// serve returns a provider for files that a server has.
func serve(t testing.TB, files map[string][]byte) Remote {
	server := httptest.NewServer(&objects{files: files})
	t.Cleanup(server.Close)
	return Remote{URL: server.URL, Client: server.Client(), Cwd: "/project"}
}

// TestRemote tries every promise of the contract over HTTP.
func TestRemote(t *testing.T) {
	vfstest.Run(t, func(t testing.TB) vfstest.World {
		return vfstest.World{FS: serve(t, map[string][]byte{}), Dir: "/"}
	})
}

// TestRemoteInTheBasicDeployment puts it in the place of the local files: the
// tools and the policy are those that the local files have.
func TestRemoteInTheBasicDeployment(t *testing.T) {
	files := map[string][]byte{"/project/notes.txt": []byte("in teh end\n")}
	d := testkit.Compose(t, serve(t, files).Plugin(), fspolicy.Plugin(fspolicy.Config{}), toolfs.Plugin(toolfs.Config{}))
	agent := testkit.Agent(t, "/project")
	edit := map[string]any{"file_path": "notes.txt", "old_string": "teh", "new_string": "the"}
	if got := testkit.CodeOf(testkit.Call(t, d, agent, "edit", edit)); got != "FS_NOT_OBSERVED" {
		t.Errorf("a blind edit: %q, want FS_NOT_OBSERVED", got)
	}
	testkit.MustCall(t, d, agent, "read", map[string]any{"file_path": "notes.txt"})
	testkit.MustCall(t, d, agent, "edit", edit)
	if got := string(files["/project/notes.txt"]); got != "in the end\n" {
		t.Errorf("the server has %q, want the edit", got)
	}
}
