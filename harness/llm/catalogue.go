package llm

// Catalogue is the service that knows facts of models: those that vendors
// publish, and those that the deployment's configuration puts over them.
// Adapters ask it when they resolve a model. Implementations may be called
// concurrently.
type Catalogue interface {
	// Resolve returns what is known of a model on the route provider and
	// model. Vendor names whose published facts hold there, such as "openai",
	// or is "" where none do; a route through some other server has facts of
	// its own. The error is MODEL_UNKNOWN where the configuration says that the
	// provider has no such model; of any other unknown model the result holds
	// the ids alone.
	Resolve(provider, vendor, model string) (ModelInfo, error)
	// Known returns the models of the provider that have facts, sorted by id.
	Known(provider, vendor string) []ModelInfo
}

// Over returns base with every field that m sets in the place of its own.
func (m ModelInfo) Over(base ModelInfo) ModelInfo {
	base.Provider = either(m.Provider, base.Provider)
	base.Model = either(m.Model, base.Model)
	base.Name = either(m.Name, base.Name)
	base.ContextWindow = either(m.ContextWindow, base.ContextWindow)
	base.MaxOutputTokens = either(m.MaxOutputTokens, base.MaxOutputTokens)
	if m.InputModalities != nil {
		base.InputModalities = m.InputModalities
	}
	if m.ReasoningEfforts != nil {
		base.ReasoningEfforts = m.ReasoningEfforts
	}
	base.Media.MaxImages = either(m.Media.MaxImages, base.Media.MaxImages)
	base.Media.MaxDimension = either(m.Media.MaxDimension, base.Media.MaxDimension)
	base.Media.MaxPixels = either(m.Media.MaxPixels, base.Media.MaxPixels)
	base.Media.MaxBytes = either(m.Media.MaxBytes, base.Media.MaxBytes)
	base.Media.MaxRequestBytes = either(m.Media.MaxRequestBytes, base.Media.MaxRequestBytes)
	return base
}

func either[T comparable](first, second T) T {
	var zero T
	if first != zero {
		return first
	}
	return second
}
