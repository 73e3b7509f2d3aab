package llm

import (
	"context"
	"encoding/json"
	"iter"
	"slices"

	"github.com/bridle-go/bridle/harness/attachment"
)

// Modality is a kind of input a model takes.
type Modality string

// The input modalities.
const (
	TextInput  Modality = "text"
	ImageInput Modality = "image"
)

// ModelInfo is what is known of one model on one route.
type ModelInfo struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Name is the model's name for people, or "".
	Name string `json:"name,omitempty"`
	// ContextWindow is how many tokens a request and its answer may have
	// together; 0 when it is not known.
	ContextWindow int64 `json:"contextWindow,omitempty"`
	// MaxOutputTokens bounds one answer; 0 when it is not known.
	MaxOutputTokens int64 `json:"maxOutputTokens,omitempty"`
	// InputModalities is nil when nothing is known, which is not the same as
	// text alone.
	InputModalities []Modality `json:"inputModalities,omitempty"`
	// ReasoningEfforts are the efforts that may be asked for, weakest first;
	// empty when none can be chosen.
	ReasoningEfforts []string `json:"reasoningEfforts,omitempty"`
	// Media are the route's limits on images.
	Media MediaLimits `json:"media,omitzero"`
}

// Accepts reports whether the model declares the modality. A model of which
// nothing is known accepts text alone.
func (m ModelInfo) Accepts(kind Modality) bool {
	if m.InputModalities == nil {
		return kind == TextInput
	}
	return slices.Contains(m.InputModalities, kind)
}

// MediaLimits bounds the images of one request. A zero field sets no bound.
type MediaLimits struct {
	// MaxImages bounds how many there are.
	MaxImages int `json:"maxImages,omitempty"`
	// MaxDimension bounds each side of an image, in pixels.
	MaxDimension int `json:"maxDimension,omitempty"`
	// MaxPixels bounds width times height of an image.
	MaxPixels int64 `json:"maxPixels,omitempty"`
	// MaxBytes bounds one encoded image, before base64.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// MaxRequestBytes bounds the whole request: its text, and its images in
	// base64.
	MaxRequestBytes int64 `json:"maxRequestBytes,omitempty"`
}

// Variant returns the bounds of the copy of an image that the route takes.
func (l MediaLimits) Variant() attachment.Variant {
	return attachment.Variant{MaxDimension: l.MaxDimension, MaxPixels: l.MaxPixels, MaxBytes: l.MaxBytes}
}

// ToolSchema describes a tool to a model.
type ToolSchema struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema is the JSON schema of the arguments, an object.
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Options are the settings of a request that may be left alone: a zero field
// asks for the provider's default.
type Options struct {
	// MaxOutputTokens bounds the answer.
	MaxOutputTokens int64
	// Temperature is nil for the default, because 0 means something.
	Temperature *float64
	// ReasoningEffort is one of the model's efforts, or "".
	ReasoningEffort string
	// Extra is merged into the provider's request body, field by field.
	Extra map[string]json.RawMessage
}

// ImageData is an image as it goes to a provider.
type ImageData struct {
	MediaType attachment.MediaType
	Data      []byte
}

// Request is one request to a model.
type Request struct {
	Provider string
	Model    string
	// System is the system prompt, or "".
	System string
	// Tools are the tools the model may call, in the order they are sent.
	Tools []ToolSchema
	// Messages is the conversation. Each tool call in it is followed by its
	// result, and the images in it are within the route's limits.
	Messages []Message
	Options  Options
	// Image returns the bytes of an image of Messages. It is nil where there
	// is none.
	Image func(ctx context.Context, ref attachment.Ref) (ImageData, error)
}

// Adapter reaches the models of one provider. Implementations may be called
// concurrently.
type Adapter interface {
	// Provider returns the provider id, which never changes.
	Provider() string
	// Models lists the models there are, sorted by id. An adapter that cannot
	// ask its provider returns those it knows.
	Models(ctx context.Context) ([]ModelInfo, error)
	// ResolveModel returns what is known of a model, without a request to the
	// provider. It fails with MODEL_UNKNOWN for a model that cannot be used,
	// and answers with what it knows, if only the id, for any other.
	ResolveModel(model string) (ModelInfo, error)
	// Stream sends the request and yields the answer. A stream that ends well
	// ends with one finish chunk. Any failure is yielded once, last, as an
	// [*Error]; what was yielded before it stands. Ending the iteration, or
	// ctx, ends the request; Stream leaves nothing running.
	//
	// Every tool-call-delta carries the id and name of its call, and every
	// block is closed by a block-end that carries it whole.
	Stream(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}
