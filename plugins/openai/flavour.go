package openai

import (
	"slices"

	"github.com/bridle-go/bridle/plugins/internal/dialog"
)

// Flavour is a kind of server that speaks the chat completions protocol.
type Flavour string

// The flavours. Those for which the catalogue has facts are looked up under
// the vendor in parentheses.
const (
	// OpenAI is OpenAI itself (openai).
	OpenAI Flavour = "openai"
	// DeepSeek is the DeepSeek platform (deepseek).
	DeepSeek Flavour = "deepseek"
	// Mistral is the Mistral platform (mistral).
	Mistral Flavour = "mistral"
	// VLLM is a vLLM server, or another that serves open weights (open-weights).
	VLLM Flavour = "vllm"
	// Ollama is an Ollama server (open-weights).
	Ollama Flavour = "ollama"
	// Compatible is any other server. It needs a provider id and a base URL.
	Compatible Flavour = "compatible"
)

// SendReasoning says which answers go back to the server with their reasoning.
type SendReasoning string

// The choices. Only reasoning that came from the same provider goes back.
const (
	ReasoningNever     SendReasoning = "never"
	ReasoningToolCalls SendReasoning = "tool-calls"
	ReasoningAlways    SendReasoning = "always"
)

// traits are what a flavour does differently. Where not said otherwise they
// follow the public API references as of July 2025.
type traits struct {
	baseURL    string
	baseURLEnv string
	keyEnv     string
	keyNeeded  bool
	vendor     string

	maxTokens     string // the field that bounds the answer
	reasoning     string // the field that takes reasoning back
	sendReasoning SendReasoning
	usage         bool // usage comes only when stream_options asks for it
	// alternate is set where user and assistant must take turns, as the chat
	// templates of many open weights demand.
	alternate bool
	callID    func(string) string
}

var flavours = map[Flavour]traits{
	OpenAI: {
		baseURL: "https://api.openai.com/v1", baseURLEnv: "OPENAI_BASE_URL", keyEnv: "OPENAI_API_KEY", keyNeeded: true,
		vendor: "openai", usage: true,
		// Reasoning models refuse max_tokens; the others take both.
		maxTokens: "max_completion_tokens", sendReasoning: ReasoningNever, reasoning: "reasoning_content",
	},
	DeepSeek: {
		baseURL: "https://api.deepseek.com", baseURLEnv: "DEEPSEEK_BASE_URL", keyEnv: "DEEPSEEK_API_KEY", keyNeeded: true,
		vendor: "deepseek", usage: true, maxTokens: "max_tokens",
		// In thinking mode an answer with tool calls is refused without its
		// reasoning; of other answers it is not wanted.
		sendReasoning: ReasoningToolCalls, reasoning: "reasoning_content",
	},
	Mistral: {
		baseURL: "https://api.mistral.ai/v1", baseURLEnv: "MISTRAL_BASE_URL", keyEnv: "MISTRAL_API_KEY", keyNeeded: true,
		vendor: "mistral", maxTokens: "max_tokens", sendReasoning: ReasoningNever, reasoning: "reasoning_content",
		// Unknown fields are refused there, stream_options among them; usage
		// comes unasked.
		usage: false, alternate: true, callID: dialog.ShortID,
	},
	VLLM: {
		baseURL: "http://localhost:8000/v1", baseURLEnv: "VLLM_BASE_URL", keyEnv: "VLLM_API_KEY",
		vendor: "open-weights", usage: true, maxTokens: "max_tokens", sendReasoning: ReasoningNever, reasoning: "reasoning_content", alternate: true,
	},
	Ollama: {
		baseURL: "http://localhost:11434/v1", baseURLEnv: "OLLAMA_BASE_URL", keyEnv: "OLLAMA_API_KEY",
		vendor: "open-weights", usage: true, maxTokens: "max_tokens", sendReasoning: ReasoningNever, reasoning: "reasoning", alternate: true,
	},
	Compatible: {
		usage: true, maxTokens: "max_tokens", sendReasoning: ReasoningNever, reasoning: "reasoning_content", alternate: true,
	},
}

// Flavours lists the flavours by name.
func Flavours() []Flavour {
	var all []Flavour
	for f := range flavours {
		all = append(all, f)
	}
	slices.Sort(all)
	return all
}
