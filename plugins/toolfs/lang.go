package toolfs

import (
	"path/filepath"
	"strings"
)

// languages are the extensions that tell a language, by the name that
// highlighters give it: the extension itself, unless it says otherwise.
var languages = map[string]string{
	"ts": "", "tsx": "", "mts": "ts", "cts": "ts", "js": "", "jsx": "", "mjs": "js", "cjs": "js",
	"py": "", "pyi": "py", "rb": "", "go": "", "rs": "", "java": "", "kt": "", "kts": "kt", "scala": "", "groovy": "",
	"c": "", "h": "c", "cc": "cpp", "cpp": "", "cxx": "cpp", "hh": "cpp", "hpp": "cpp", "cs": "", "swift": "", "m": "objc",
	"php": "", "pl": "", "pm": "pl", "lua": "", "r": "", "jl": "", "dart": "", "ex": "", "exs": "ex", "erl": "", "hs": "", "clj": "",
	"ml": "", "mli": "ml", "fs": "", "zig": "", "nim": "", "sql": "", "proto": "", "graphql": "", "tf": "",
	"sh": "", "bash": "sh", "zsh": "sh", "fish": "", "ps1": "", "bat": "",
	"html": "", "htm": "html", "xml": "", "svg": "xml", "css": "", "scss": "", "sass": "", "less": "", "vue": "", "svelte": "",
	"json": "", "jsonc": "json", "jsonl": "json", "yaml": "", "yml": "yaml", "toml": "", "ini": "", "cfg": "ini", "conf": "ini", "properties": "",
	"md": "", "markdown": "md", "mdx": "", "rst": "", "tex": "", "diff": "", "patch": "diff", "csv": "",
}

// langFromPath returns the language of a file by its extension, whatever the
// case; "" for dotfiles, for files without an extension and for unknown ones.
func langFromPath(path string) string {
	base := filepath.Base(filepath.ToSlash(path))
	ext := filepath.Ext(base)
	if ext == "" || ext == base {
		return ""
	}
	ext = strings.ToLower(ext[1:])
	lang, known := languages[ext]
	if !known {
		return ""
	}
	if lang == "" {
		return ext
	}
	return lang
}
