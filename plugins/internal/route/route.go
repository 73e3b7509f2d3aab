// Package route holds what the plugins that bring a model provider have in
// common: how they meet the registry and the catalogue, and how they list and
// resolve models.
package route

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
)

// live is the catalogue of the moment of each call. While there is none,
// nothing is known of any model.
type live struct{ service *plug.Service[llm.Catalogue] }

func (l live) Resolve(provider, vendor, model string) (llm.ModelInfo, error) {
	c, release, err := l.service.Acquire()
	if err != nil {
		return llm.ModelInfo{Provider: provider, Model: model}, nil
	}
	defer release()
	return c.Resolve(provider, vendor, model)
}

func (l live) Known(provider, vendor string) []llm.ModelInfo {
	c, release, err := l.service.Acquire()
	if err != nil {
		return nil
	}
	defer release()
	return c.Known(provider, vendor)
}

// Resolve returns what is known of a model; the catalogue may be nil.
func Resolve(c llm.Catalogue, provider, vendor, model string) (llm.ModelInfo, error) {
	if strings.TrimSpace(model) == "" {
		return llm.ModelInfo{}, errs.New(llm.UnknownModel, "no model is named for provider "+provider)
	}
	if c == nil {
		return llm.ModelInfo{Provider: provider, Model: model}, nil
	}
	info, err := c.Resolve(provider, vendor, model)
	info.Provider, info.Model = provider, model
	return info, err
}

// List returns the models that a server has, with what is known of each,
// sorted by id. One that may not be used is left out.
func List(c llm.Catalogue, provider, vendor string, served []llm.ModelInfo) []llm.ModelInfo {
	var out []llm.ModelInfo
	for _, m := range served {
		if info, err := Resolve(c, provider, vendor, m.Model); err == nil {
			// What is configured or published wins; the server fills the gaps.
			out = append(out, info.Over(m))
		}
	}
	return sorted(out)
}

// Known returns the models of which something is known, for a server that
// cannot be asked.
func Known(c llm.Catalogue, provider, vendor string) []llm.ModelInfo {
	if c == nil {
		return nil
	}
	return sorted(c.Known(provider, vendor))
}

func sorted(models []llm.ModelInfo) []llm.ModelInfo {
	slices.SortFunc(models, func(a, b llm.ModelInfo) int { return cmp.Compare(a.Model, b.Model) })
	return slices.CompactFunc(models, func(a, b llm.ModelInfo) bool { return a.Model == b.Model })
}

// NoList reports whether err says that the server has no list of models.
func NoList(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}
