package fileops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
	"github.com/bridle-go/bridle/plugins/fileops/internal/textview"
)

var fileInfo = &operation{
	name: "file_info", enable: "allow_read_info", path: "path",
	about: "Tell what is at a path: type, size, lines, modification time, whether it is binary, what may be done with it. Nothing there is no error: exists is false.",
	fields: []field{
		{name: "path", kind: text, required: true, about: "The file or directory.", example: examplePath},
	},
	run: runInfo,
}

// described is what file_info returns.
type described struct {
	Path       string `json:"path"`
	Exists     bool   `json:"exists"`
	EntryType  string `json:"entry_type,omitempty"`
	SizeBytes  *int64 `json:"size_bytes,omitempty"`
	TotalLines *int   `json:"total_lines,omitempty"`
	Created    string `json:"created,omitempty"`
	Modified   string `json:"modified,omitempty"`
	IsBinary   *bool  `json:"is_binary,omitempty"`
	IsReadable *bool  `json:"is_readable,omitempty"`
	IsWritable *bool  `json:"is_writable,omitempty"`
	MimeType   string `json:"mime_type,omitempty"`
	Metadata   string `json:"metadata"`
}

func (d described) summary() string { return d.Metadata }

func runInfo(ctx context.Context, r *request) (result, error) {
	t, err := r.resolve(ctx, "path")
	if err != nil {
		return nil, err
	}
	out := described{Path: t.Path}
	link, err := r.fs.Lstat(ctx, t)
	if err != nil {
		return nil, err
	}
	if !link.Exists() {
		out.Metadata = shown(t) + " does not exist"
		return out, r.absent(ctx, t)
	}
	out.Exists = true
	info := link
	if link.Type == vfs.Link {
		// What a symlink leads to is described, as far as it exists.
		if info, err = r.fs.Stat(ctx, t); err != nil {
			return nil, err
		}
	}
	out.EntryType = entryType(link.Type)
	if !info.Exists() {
		info.Modified = link.Modified // of a symlink that leads nowhere
	}
	if !info.Modified.IsZero() {
		out.Modified = r.fileTime("modified", info.Modified)
	}
	if info.Exists() {
		readable, writable, err := vfs.Access(ctx, r.fs, t)
		if err != nil {
			return nil, err
		}
		out.IsReadable, out.IsWritable = &readable, &writable
		born, err := vfs.BirthTime(ctx, r.fs, t)
		if err != nil {
			return nil, err
		}
		if !born.IsZero() {
			out.Created = r.fileTime("created", born)
		}
	}
	if info.Type == vfs.File {
		if info.Size >= 0 {
			out.SizeBytes = &info.Size
		}
		if out.IsReadable != nil && *out.IsReadable {
			if err := r.describeContent(ctx, t, &out); err != nil {
				return nil, err
			}
		}
	}
	out.Metadata = out.describe(t, link.Type)
	return out, nil
}

// describeContent reads the file: once for the beginning, and a text to the
// end for its lines.
func (r *request) describeContent(ctx context.Context, t vfs.Target, out *described) error {
	v, _, err := r.view(ctx, t, textview.Request{StartLine: 1, EndLine: 1})
	binary := false
	var f *failure
	switch {
	case errors.As(err, &f) && f.Kind == fault.NotText:
		binary = true
	case errs.CodeOf(err) == errs.Permission || errs.CodeOf(err) == errs.NotRegularFile || errs.CodeOf(err) == errs.Unsupported:
		return nil
	case err != nil:
		return err
	default:
		out.TotalLines = &v.TotalLines
	}
	out.IsBinary = &binary
	out.MimeType = mimeType(t.Path, binary)
	if binary && out.MimeType == "" {
		head, err := r.head(ctx, t)
		if err != nil {
			return err
		}
		out.MimeType = http.DetectContentType(head)
	}
	return nil
}

// head is the first bytes of a file.
func (r *request) head(ctx context.Context, t vfs.Target) ([]byte, error) {
	if _, ok := vfs.As[vfs.Opener](r.fs); !ok {
		whole, err := r.fs.ReadBytes(ctx, t, wholeReads)
		return whole.Data[:min(len(whole.Data), textview.Sniff)], err
	}
	file, err := vfs.Open(ctx, r.fs, t)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, textview.Sniff)
	n, err := file.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], errors.Join(err, file.Close())
}

// binaryHead reports whether the beginning of a file is no text: it has a NUL or
// is no UTF-8. A character that the end of a full head cuts is none of its
// faults.
func binaryHead(head []byte) bool {
	if len(head) == textview.Sniff {
		for n := 1; n < utf8.UTFMax; n++ {
			if tail := head[len(head)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					head = head[:len(head)-n]
				}
				break
			}
		}
	}
	return bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head)
}

func (d described) describe(t vfs.Target, typ vfs.Type) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", shown(t))
	switch typ {
	case vfs.Directory:
		b.WriteString("directory")
	case vfs.Link:
		b.WriteString("symlink")
	case vfs.File:
		b.WriteString("file")
	default:
		b.WriteString("special file, not to be opened")
	}
	if d.SizeBytes != nil {
		b.WriteString(", " + count(*d.SizeBytes, "byte", "bytes"))
	}
	if d.TotalLines != nil {
		b.WriteString(", " + count(*d.TotalLines, "line", "lines"))
	}
	if d.IsBinary != nil && *d.IsBinary {
		b.WriteString(", binary")
	}
	if d.MimeType != "" {
		b.WriteString(", " + d.MimeType)
	}
	if d.IsReadable != nil && !*d.IsReadable {
		b.WriteString(", not readable")
	}
	if d.IsWritable != nil && !*d.IsWritable {
		b.WriteString(", not writable")
	}
	if d.Modified != "" {
		b.WriteString(", modified " + d.Modified)
	}
	return b.String()
}

// entryType is the type as results name it; "" for a special file.
func entryType(t vfs.Type) string {
	switch t {
	case vfs.File:
		return "file"
	case vfs.Directory:
		return "dir"
	case vfs.Link:
		return "symlink"
	}
	return ""
}

// mimeTypes are those of common extensions. The system's own table is not
// asked: it differs from machine to machine.
var mimeTypes = map[string]string{
	".c": "text/x-c", ".cc": "text/x-c++", ".cpp": "text/x-c++", ".cs": "text/x-csharp", ".css": "text/css", ".csv": "text/csv",
	".gif": "image/gif", ".go": "text/x-go", ".gz": "application/gzip", ".h": "text/x-c", ".hpp": "text/x-c++", ".html": "text/html",
	".java": "text/x-java", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json",
	".jsx": "text/javascript", ".kt": "text/x-kotlin", ".lua": "text/x-lua", ".md": "text/markdown", ".mjs": "text/javascript",
	".mp3": "audio/mpeg", ".mp4": "video/mp4", ".pdf": "application/pdf", ".php": "text/x-php", ".png": "image/png", ".proto": "text/x-protobuf",
	".py": "text/x-python", ".rb": "text/x-ruby", ".rs": "text/x-rust", ".sh": "text/x-shellscript", ".sql": "text/x-sql", ".svg": "image/svg+xml",
	".swift": "text/x-swift", ".tar": "application/x-tar", ".toml": "application/toml", ".ts": "text/typescript", ".tsx": "text/typescript",
	".txt": "text/plain", ".wasm": "application/wasm", ".webp": "image/webp", ".xml": "application/xml", ".yaml": "application/yaml",
	".yml": "application/yaml", ".zip": "application/zip",
}

// mimeType goes by the extension, where that fits what the content is.
func mimeType(name string, binary bool) string {
	m := mimeTypes[strings.ToLower(path.Ext(slashed(name)))]
	textual := m == "" || strings.HasPrefix(m, "text/") || m == "application/json" || m == "application/toml" ||
		strings.HasSuffix(m, "xml") || m == "application/yaml"
	if binary && textual {
		return ""
	}
	if m == "" {
		return "text/plain"
	}
	return m
}
