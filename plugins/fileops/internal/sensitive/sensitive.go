// Package sensitive tells by their path alone the files that hold secrets, or
// the state of version control. Tools refuse to change them unless told to.
//
// By the name of the file:
//
//	.env .env.*             environment; not *.example, *.sample, *.template
//	id_rsa id_ed25519 ...   private keys of SSH, also with a suffix (id_rsa_work)
//	ssh_host_*_key          host keys of SSH
//	*.pem *.key *.ppk *.p8 *.pk8
//	*.p12 *.pfx *.jks *.jceks *.bks *.keystore *.kdbx
//	.netrc _netrc .npmrc .pypirc .pgpass .git-credentials
//	credentials*
//
// By any component of the path, the folder itself included:
//
//	.ssh .aws .gnupg .kube .git
//
// Public keys (*.pub) are not sensitive outside those folders. The path must
// be the one that is changed: a caller that follows symlinks asks about the
// link and about what it leads to.
package sensitive

import (
	"runtime"
	"slices"
	"strings"
)

// Matcher applies the rules as the filesystems of one operating system read
// names. The zero value compares case by case and knows "/" alone.
type Matcher struct {
	// FoldCase takes upper and lower case as the same.
	FoldCase bool
	// Windows takes "\" as a separator too, and ignores what Windows drops
	// from a name: dots and blanks at its end, and a stream after ":".
	Windows bool
	// Ignorable drops the zero-width characters that HFS+ ignores in names.
	Ignorable bool
}

// Default returns the matcher for the operating system of this process.
func Default() Matcher { return For(runtime.GOOS) }

// For returns the matcher for an operating system, by its GOOS name.
func For(goos string) Matcher {
	switch goos {
	case "windows":
		return Matcher{FoldCase: true, Windows: true}
	case "darwin", "ios":
		return Matcher{FoldCase: true, Ignorable: true}
	}
	return Matcher{}
}

var (
	folders = []string{".ssh", ".aws", ".gnupg", ".kube", ".git"}
	names   = []string{".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials"}
	keys    = []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"}

	keyExtensions   = []string{".pem", ".key", ".ppk", ".p8", ".pk8"}
	storeExtensions = []string{".p12", ".pfx", ".jks", ".jceks", ".bks", ".keystore", ".kdbx"}
	harmless        = []string{".example", ".sample", ".template"}
)

// Match says in a few words why a path is sensitive, or "" if it is not.
func (m Matcher) Match(path string) string {
	components := strings.FieldsFunc(path, func(r rune) bool {
		return r == '/' || m.Windows && r == '\\'
	})
	for i, c := range components {
		c = m.normal(c)
		components[i] = c
		if slices.Contains(folders, c) {
			if c == ".git" {
				return "belongs to version control (.git)"
			}
			return "is in a folder of secrets (" + c + ")"
		}
	}
	if len(components) == 0 {
		return ""
	}
	return byName(components[len(components)-1])
}

func byName(name string) string {
	hasSuffix := func(suffix string) bool { return len(name) > len(suffix) && strings.HasSuffix(name, suffix) }
	switch {
	case name == ".env":
		return "holds environment secrets"
	case strings.HasPrefix(name, ".env."):
		if slices.ContainsFunc(harmless, hasSuffix) {
			return ""
		}
		return "holds environment secrets"
	case strings.HasSuffix(name, ".pub"):
		return ""
	case slices.ContainsFunc(keys, func(k string) bool {
		rest, ok := strings.CutPrefix(name, k)
		return ok && (rest == "" || strings.ContainsRune("_.-", rune(rest[0])))
	}), strings.HasPrefix(name, "ssh_host_") && strings.HasSuffix(name, "_key"), slices.ContainsFunc(keyExtensions, hasSuffix):
		return "may be a private key"
	case slices.ContainsFunc(storeExtensions, hasSuffix):
		return "is a keystore"
	case slices.Contains(names, name), strings.HasPrefix(name, "credentials"):
		return "holds credentials"
	}
	return ""
}

// normal brings a component to the form in which the rules are written.
func (m Matcher) normal(c string) string {
	if m.Windows {
		if i := strings.IndexByte(c, ':'); i > 0 {
			c = c[:i]
		}
		if trimmed := strings.TrimRight(c, ". "); trimmed != "" {
			c = trimmed
		}
		// The short name that Windows gives to .git.
		if strings.EqualFold(c, "git~1") {
			c = ".git"
		}
	}
	if m.Ignorable {
		c = strings.Map(func(r rune) rune {
			// The code points that HFS+ ignores when it compares names.
			if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
				return -1
			}
			return r
		}, c)
	}
	if m.FoldCase {
		c = strings.ToLower(c)
	}
	return c
}
