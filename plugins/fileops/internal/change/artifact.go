package change

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bridle-go/bridle/harness/attachment"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// artifactScheme begins the URI of an artifact. What follows is the id of an
// object in the attachment store.
const artifactScheme = "artifact://"

// source is the content that a write asks for. An artifact comes before a URI,
// and a URI before inline content. An artifact is an object of the attachment
// store: content_artifact is the reference as session logs have it, and a URI
// names one that the session's messages refer to. source_encoding says what an
// artifact holds: text is checked, binary is not. Inline content is always
// UTF-8.
func (r *run) source(ctx context.Context, a *WriteArgs) ([]byte, error) {
	switch a.SourceEncoding {
	case "", "utf-8", "text", "binary":
	default:
		return nil, fault.New(fault.InvalidArguments, "source_encoding", fmt.Sprintf("source_encoding %q must be utf-8, text or binary", a.SourceEncoding))
	}
	field := a.artifactField()
	if field == "" {
		if a.Content == nil {
			return nil, fault.New(fault.InvalidArguments, "content", "content must be given")
		}
		return []byte(*a.Content), nil
	}
	if r.attachments == nil {
		return nil, noStore(field)
	}
	store, release, err := r.attachments.Acquire()
	if err != nil {
		return nil, noStore(field)
	}
	defer release()
	ref, field, err := r.artifact(a)
	if err != nil {
		return nil, err
	}
	data, err := store.Read(ctx, *ref)
	if err != nil {
		f := fault.Of(err, field)
		return nil, &fault.Fault{Kind: fault.InvalidArguments, Field: field, Message: f.Message, Err: err}
	}
	if (a.SourceEncoding == "utf-8" || a.SourceEncoding == "text") && !utf8.Valid(data) {
		return nil, fault.New(fault.NotText, field, "the artifact is not UTF-8 text; set source_encoding to binary to write it as it is")
	}
	return data, nil
}

// artifactField is the argument that names an artifact, or "".
func (a *WriteArgs) artifactField() string {
	switch {
	case len(a.ContentArtifact) > 0 && string(a.ContentArtifact) != "null":
		return "content_artifact"
	case a.ContentArtifactURI != nil && *a.ContentArtifactURI != "":
		return "content_artifact_uri"
	}
	return ""
}

func noStore(field string) error {
	return fault.New(fault.UnsupportedByProvider, field, "artifacts are objects of the attachment store, and none is mounted; send content instead")
}

// artifact returns the reference that a write names.
func (r *run) artifact(a *WriteArgs) (*attachment.Ref, string, error) {
	bad := func(field, format string, args ...any) (*attachment.Ref, string, error) {
		return nil, field, fault.New(fault.InvalidArguments, field, fmt.Sprintf(format, args...))
	}
	var ref *attachment.Ref
	if a.artifactField() == "content_artifact" {
		ref = new(attachment.Ref)
		if err := json.Unmarshal(a.ContentArtifact, ref); err != nil || ref.ID == "" {
			return bad("content_artifact", "content_artifact must be the reference of an attachment, with attachmentId, mediaType, bytes, width and height")
		}
	}
	if a.ContentArtifactURI == nil || *a.ContentArtifactURI == "" {
		return ref, "content_artifact", nil
	}
	const field = "content_artifact_uri"
	id, ok := strings.CutPrefix(*a.ContentArtifactURI, artifactScheme)
	if !ok || id == "" {
		return bad(field, "content_artifact_uri %q must be %s and the id of an attachment", *a.ContentArtifactURI, artifactScheme)
	}
	if ref != nil {
		if ref.ID != id {
			return bad(field, "content_artifact and content_artifact_uri name different artifacts; send one of them")
		}
		return ref, "content_artifact", nil
	}
	if ref = r.referred(id); ref == nil {
		return bad(field, "no message of this session refers to the artifact %q", id)
	}
	return ref, field, nil
}

// referred finds an attachment among those that the session's messages show.
func (r *run) referred(id string) *attachment.Ref {
	s := r.call.Session()
	if s == nil {
		return nil
	}
	for _, m := range s.Messages() {
		if ref := refIn(m.Content, id); ref != nil {
			return ref
		}
	}
	return nil
}

func refIn(blocks []llm.Block, id string) *attachment.Ref {
	for _, b := range blocks {
		if b.Attachment != nil && b.Attachment.ID == id {
			return b.Attachment
		}
		if ref := refIn(b.Content, id); ref != nil {
			return ref
		}
	}
	return nil
}
