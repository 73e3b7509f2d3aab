package route

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/plugins/internal/endpoint"
)

// Plugin returns the plugin of one endpoint. It is called like its kind where
// that is the provider id, else by the kind, a slash and the id. open makes the
// adapter, which is closed when the plugin is unmounted.
func Plugin[A interface {
	llm.Adapter
	Close()
}](kind, provider string, open func(llm.Catalogue) (A, error)) plug.Plugin {
	name := kind
	if provider != kind {
		name += "/" + provider
	}
	return plug.Plugin{
		Name:     name,
		Services: []plug.Declaration{plug.Needs[*llm.Registry](), plug.Uses[llm.Catalogue]()},
		Options: fx.Invoke(func(p params) error {
			a, err := open(live{p.Facts})
			if err != nil {
				return err
			}
			p.Scope.Add(a.Close)
			return p.register(a)
		}),
	}
}

// params are what the constructor of such a plugin gets.
type params struct {
	fx.In

	Scope  *plug.Scope
	Models *plug.Service[*llm.Registry]
	Facts  *plug.Service[llm.Catalogue]
}

// register has the adapter registered whenever there is a registry, as long
// as the plugin is mounted.
func (p params) register(a llm.Adapter) error {
	return p.Models.While(p.Scope, func(scope *plug.Scope, models *llm.Registry) error {
		_, err := models.Register(scope, a)
		return err
	})
}

// Server is what the configuration of such a plugin comes to.
type Server struct {
	// Kind is the plugin's, for errors.
	Kind     string
	Provider string
	BaseURL  string
	// Key is that of the configuration; without one the environment variable
	// KeyEnv is asked, where one is named. KeyNeeded tells that without a key
	// there is nothing to be had.
	Key       llm.Secret
	KeyEnv    string
	KeyNeeded bool
	// SetKey puts a key into the header.
	SetKey func(h http.Header, key string)
	// Header goes with every request, and so do the configured Headers, which
	// are secret.
	Header  http.Header
	Headers map[string]llm.Secret

	IdleTimeoutSeconds int
	MaxResponseBytes   int64
	Transport          http.RoundTripper
	// Getenv reads the environment. Default [os.Getenv].
	Getenv func(string) string
}

// Getenv returns the function that reads the environment.
func Getenv(configured func(string) string) func(string) string {
	if configured == nil {
		return os.Getenv
	}
	return configured
}

// Open returns the client of the server. keyHint says what to do about a key
// that is needed and missing; it is "" where none is. INVALID_ARGS names what
// is wrong with the configuration.
func (s Server) Open() (client *endpoint.Client, keyHint string, err error) {
	if strings.Contains(s.Provider, "/") {
		return nil, "", errs.New(errs.InvalidArgs,
			fmt.Sprintf("%s: the provider id %q must not have a slash, which separates it from the model", s.Kind, s.Provider))
	}
	key := strings.TrimSpace(string(s.Key))
	if key == "" && s.KeyEnv != "" {
		key = strings.TrimSpace(Getenv(s.Getenv)(s.KeyEnv))
	}
	if key == "" && s.KeyNeeded {
		keyHint = fmt.Sprintf("there is no key: set the environment variable %s, or apiKey in the configuration", s.KeyEnv)
	}
	header, secrets := s.headers()
	if key != "" {
		s.SetKey(header, key)
		secrets = append(secrets, llm.Secret(key))
	}
	client, err = endpoint.New(endpoint.Config{
		Provider: s.Provider, BaseURL: s.BaseURL, Header: header, Secrets: secrets,
		IdleTimeout: time.Duration(s.IdleTimeoutSeconds) * time.Second, MaxResponseBytes: s.MaxResponseBytes,
		Transport: s.Transport,
	})
	return client, keyHint, err
}

// headers returns the headers of every request and what of them is secret.
func (s Server) headers() (http.Header, []llm.Secret) {
	h := http.Header{}
	var secrets []llm.Secret
	for name, value := range s.Headers {
		value = llm.Secret(strings.TrimSpace(string(value)))
		h.Set(name, string(value))
		secrets = append(secrets, value)
	}
	for name, values := range s.Header {
		h[name] = values
	}
	return h, secrets
}
