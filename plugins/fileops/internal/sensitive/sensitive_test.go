package sensitive

import "testing"

// TestMatch goes through the rules; the reason tells which one spoke.
func TestMatch(t *testing.T) {
	const (
		env   = "holds environment secrets"
		key   = "may be a private key"
		store = "is a keystore"
		cred  = "holds credentials"
		git   = "belongs to version control (.git)"
	)
	for _, c := range []struct {
		goos, path, want string
	}{
		{"linux", ".env", env}, {"linux", "a/b/.env", env}, {"linux", "/w/.env.local", env}, {"linux", ".env.production.local", env},
		{"linux", ".env.example", ""}, {"linux", ".env.sample", ""}, {"linux", "x/.env.template", ""}, {"linux", ".env.prod.example", ""},
		{"linux", ".envrc", ""}, {"linux", "env", ""}, {"linux", "prod.env.go", ""}, {"linux", ".env/readme", ""},
		{"linux", "id_rsa", key}, {"linux", "k/id_ed25519", key}, {"linux", "id_ecdsa_sk", key}, {"linux", "id_rsa.bak", key}, {"linux", "id_rsa.pub", ""}, {"linux", "id_rsallow.go", ""},
		{"linux", "server.pem", key}, {"linux", "tls/server.key", key}, {"linux", "a.ppk", key}, {"linux", "AuthKey.p8", key}, {"linux", "ssh_host_rsa_key", key}, {"linux", "ssh_host_rsa_key.pub", ""},
		{"linux", ".key", ""}, {"linux", "key", ""}, {"linux", "keys.go", ""}, {"linux", "monkey", ""},
		{"linux", ".ssh/config", "is in a folder of secrets (.ssh)"}, {"linux", "home/.ssh/id_rsa.pub", "is in a folder of secrets (.ssh)"}, {"linux", ".ssh", "is in a folder of secrets (.ssh)"},
		{"linux", "h/.aws/config", "is in a folder of secrets (.aws)"}, {"linux", ".gnupg/x", "is in a folder of secrets (.gnupg)"}, {"linux", ".kube/config", "is in a folder of secrets (.kube)"},
		{"linux", ".sshx/a", ""}, {"linux", "ssh/a", ""},
		{"linux", ".netrc", cred}, {"linux", "_netrc", cred}, {"linux", ".npmrc", cred}, {"linux", "p/.pypirc", cred}, {"linux", ".git-credentials", cred},
		{"linux", "credentials", cred}, {"linux", "credentials.json", cred}, {"linux", "credentials_old.csv", cred}, {"linux", "my-credentials", ""}, {"linux", "credential.go", ""},
		{"linux", "a.p12", store}, {"linux", "a.pfx", store}, {"linux", "debug.keystore", store}, {"linux", "trust.jks", store}, {"linux", "pw.kdbx", store},
		{"linux", ".git/config", git}, {"linux", "sub/.git/hooks/pre-commit", git}, {"linux", ".git", git}, {"linux", ".gitignore", ""}, {"linux", ".github/workflows/a.yml", ""}, {"linux", "a.git/x", ""},
		{"linux", "", ""}, {"linux", "/", ""}, {"linux", "main.go", ""},

		// Case counts where the filesystem tells it apart.
		{"linux", ".ENV", ""}, {"linux", "Credentials.java", ""}, {"linux", ".GIT/config", ""}, {"linux", `.git\config`, ""},
		{"darwin", ".ENV", env}, {"darwin", ".Git/config", git}, {"darwin", ".g\u200cit/config", git}, {"darwin", "ID_RSA", key},
		{"windows", `C:\w\.ENV`, env}, {"windows", `.GIT\config`, git}, {"windows", `.git. \config`, git}, {"windows", `git~1\config`, git}, {"windows", `.env::$DATA`, env}, {"windows", `a\Server.PEM`, key}, {"windows", `..\x`, ""},
	} {
		if got := For(c.goos).Match(c.path); got != c.want {
			t.Errorf("%s: Match(%q) = %q, want %q", c.goos, c.path, got, c.want)
		}
	}
}
