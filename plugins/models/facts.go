package models

import (
	"regexp"
	"strings"

	"github.com/bridle-go/bridle/harness/llm"
)

// FactsDate is when the facts of the catalogue were last known to hold.
const FactsDate = "2025-12"

// vendor is what a vendor publishes of its own models, on its own route.
type vendor struct {
	media  llm.MediaLimits
	models []fact
	// spelling brings the name of a model to the form of the table; nil for
	// names that are exact.
	spelling func(string) string
}

// fact is what is known of the models of these ids. A window or a limit of 0
// is not known.
type fact struct {
	ids     string // separated by blanks
	window  int64
	output  int64
	images  bool
	efforts string // separated by blanks
}

func (v vendor) ids() []string {
	var out []string
	for _, f := range v.models {
		out = append(out, strings.Fields(f.ids)...)
	}
	return out
}

var (
	text   = []llm.Modality{llm.TextInput}
	vision = []llm.Modality{llm.TextInput, llm.ImageInput}
)

func (f fact) info() llm.ModelInfo {
	info := llm.ModelInfo{ContextWindow: f.window, MaxOutputTokens: f.output, InputModalities: text, ReasoningEfforts: strings.Fields(f.efforts)}
	if f.images {
		info.InputModalities = vision
	}
	return info
}

// snapshot is the date that marks a fixed version of a model.
var snapshot = regexp.MustCompile(`^(.+)-(20\d\d-\d\d-\d\d|20\d{6})$`)

// published returns what the vendor says of the model, or just the limits of
// its route. A model that carries the date of a snapshot is the one without
// it, unless it is listed itself.
func published(name, model string) (llm.ModelInfo, bool) {
	v, ok := vendors[name]
	if !ok {
		return llm.ModelInfo{}, false
	}
	info, found := v.find(model)
	if !found {
		if m := snapshot.FindStringSubmatch(model); m != nil {
			info, found = v.find(m[1])
		}
	}
	info.Media = v.media
	return info, found
}

func (v vendor) find(model string) (llm.ModelInfo, bool) {
	if v.spelling != nil {
		model = v.spelling(model)
	}
	for _, f := range v.models {
		for _, id := range strings.Fields(f.ids) {
			if id == model {
				return f.info(), true
			}
		}
	}
	return llm.ModelInfo{}, false
}

// weights brings the names of open weights together: "Qwen/Qwen2.5-VL-7B-Instruct"
// of the model hubs, and "llama3.2-vision:11b" of Ollama.
func weights(model string) string {
	model = strings.ToLower(model)
	if i := strings.LastIndexByte(model, '/'); i >= 0 {
		model = model[i+1:]
	}
	model, _, _ = strings.Cut(model, ":")
	return model
}

// The sources are the vendors' model pages. Limits on images:
//
// OpenAI documents 50 MB a request and 500 images; two MB are kept back for
// the JSON around them. Anthropic documents 32 MB a request, 100 images,
// 8000 px a side and 2000 px where there are more than 20 images, so the
// latter holds for all: it must not depend on what else is in the request. Its
// 5 MB an image are counted in base64.
var vendors = map[string]vendor{
	"openai": {
		media: llm.MediaLimits{MaxImages: 500, MaxBytes: 20 << 20, MaxRequestBytes: 48_000_000},
		models: []fact{
			{ids: "gpt-5 gpt-5-mini gpt-5-nano", window: 400_000, output: 128_000, images: true, efforts: "minimal low medium high"},
			{ids: "gpt-5.1", window: 400_000, output: 128_000, images: true, efforts: "none low medium high"},
			{ids: "gpt-4.1 gpt-4.1-mini gpt-4.1-nano", window: 1_047_576, output: 32_768, images: true},
			{ids: "gpt-4o gpt-4o-mini", window: 128_000, output: 16_384, images: true},
			{ids: "gpt-4o-2024-05-13", window: 128_000, output: 4096, images: true},
			{ids: "o1 o3 o4-mini", window: 200_000, output: 100_000, images: true, efforts: "low medium high"},
			{ids: "o3-mini", window: 200_000, output: 100_000, efforts: "low medium high"},
			{ids: "gpt-4-turbo", window: 128_000, output: 4096, images: true},
			{ids: "gpt-4", window: 8192, output: 8192},
			{ids: "gpt-3.5-turbo", window: 16_385, output: 4096},
		},
	},
	"anthropic": {
		media: llm.MediaLimits{MaxImages: 100, MaxDimension: 2000, MaxBytes: 3_932_160, MaxRequestBytes: 30_000_000},
		models: []fact{
			{ids: "claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5", window: 200_000, output: 64_000, images: true, efforts: "low medium high"},
			{ids: "claude-sonnet-4 claude-sonnet-4-0", window: 200_000, output: 64_000, images: true, efforts: "low medium high"},
			{ids: "claude-opus-4-1 claude-opus-4 claude-opus-4-0", window: 200_000, output: 32_000, images: true, efforts: "low medium high"},
			{ids: "claude-3-7-sonnet claude-3-7-sonnet-latest", window: 200_000, output: 64_000, images: true, efforts: "low medium high"},
			{ids: "claude-3-5-sonnet claude-3-5-sonnet-latest claude-3-5-haiku claude-3-5-haiku-latest", window: 200_000, output: 8192, images: true},
			{ids: "claude-3-opus claude-3-opus-latest claude-3-haiku", window: 200_000, output: 4096, images: true},
		},
	},
	"deepseek": {
		models: []fact{
			// The two names follow the platform's current model, which has grown
			// before; 128K is what it had at the date of the facts.
			{ids: "deepseek-chat deepseek-reasoner", window: 131_072},
			{ids: "deepseek-v4-flash"},
			{ids: "deepseek-v4-flash-vision-exp", images: true},
		},
	},
	"mistral": {
		models: []fact{
			{ids: "mistral-large-2411", window: 131_072},
			{ids: "pixtral-large-latest pixtral-large-2411 pixtral-12b-2409", window: 131_072, images: true},
			{ids: "mistral-small-2503 mistral-medium-2505", window: 131_072, images: true},
		},
	},
	"gemini": {
		media: llm.MediaLimits{MaxRequestBytes: 19_000_000}, // 20 MB of inline data are documented
		models: []fact{
			{ids: "gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite", window: 1_048_576, output: 65_536, images: true},
			{ids: "gemini-2.0-flash gemini-2.0-flash-lite", window: 1_048_576, output: 8192, images: true},
		},
	},
	"qwen": { // the names of Alibaba Cloud's own endpoint
		models: []fact{
			{ids: "qwen-max qwen-plus qwen-turbo qwen3-coder-plus"},
			{ids: "qwen-vl-max qwen-vl-plus", images: true},
		},
	},
	// Open weights, whoever serves them. What they take for input is a property
	// of the weights; the window and the limits are a setting of the server, and
	// so not known here.
	"open-weights": {
		spelling: weights,
		models: []fact{
			{ids: "llama3.1 llama3.2 llama3.3 llama-3.1-8b-instruct llama-3.1-70b-instruct llama-3.1-405b-instruct " +
				"llama-3.2-1b-instruct llama-3.2-3b-instruct llama-3.3-70b-instruct"},
			{ids: "llama3.2-vision llama-3.2-11b-vision-instruct llama-3.2-90b-vision-instruct", images: true},
			{ids: "llama4 llama-4-scout-17b-16e-instruct llama-4-maverick-17b-128e-instruct", images: true},
			{ids: "qwen2.5 qwen2.5-coder qwen3 qwq qwen2.5-7b-instruct qwen2.5-14b-instruct qwen2.5-32b-instruct qwen2.5-72b-instruct " +
				"qwen2.5-coder-7b-instruct qwen2.5-coder-32b-instruct qwq-32b qwen3-8b qwen3-14b qwen3-32b qwen3-30b-a3b qwen3-235b-a22b"},
			{ids: "qwen2.5vl qwen2.5-vl-3b-instruct qwen2.5-vl-7b-instruct qwen2.5-vl-32b-instruct qwen2.5-vl-72b-instruct " +
				"qwen2-vl-2b-instruct qwen2-vl-7b-instruct qwen2-vl-72b-instruct", images: true},
			{ids: "mistral mixtral mistral-7b-instruct-v0.3 mixtral-8x7b-instruct-v0.1 codestral"},
			{ids: "pixtral-12b-2409 mistral-small-3.1-24b-instruct-2503 mistral-small3.1", images: true},
			{ids: "deepseek-r1 deepseek-v3 deepseek-v3-0324 deepseek-r1-0528"},
			{ids: "gpt-oss gpt-oss-20b gpt-oss-120b", efforts: "low medium high"},
			{ids: "llava gemma-3-4b-it gemma-3-12b-it gemma-3-27b-it", images: true},
		},
	},
}
