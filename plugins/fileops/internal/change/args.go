package change

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/bridle-go/bridle/plugins/fileops/internal/patch"
)

// Allow are the permissions that a call gives.
type Allow struct {
	AllowIgnored   bool `json:"allow_ignored,omitempty"`
	AllowSensitive bool `json:"allow_sensitive,omitempty"`
}

// Keep says what is kept of a file before it changes.
type Keep struct {
	BackupLabel string `json:"backup_label,omitempty"`
	BackupRoot  string `json:"backup_root,omitempty"`
	// CreateBackup is on where it is nil.
	CreateBackup *bool `json:"create_backup,omitempty"`
}

func (k Keep) wanted() bool { return k.CreateBackup == nil || *k.CreateBackup }

// WriteArgs are the arguments of write_file and create_file.
type WriteArgs struct {
	Allow
	Keep
	FilePath           string          `json:"file_path"`
	Content            *string         `json:"content,omitempty"`
	ContentArtifact    json.RawMessage `json:"content_artifact,omitempty"`
	ContentArtifactURI *string         `json:"content_artifact_uri,omitempty"`
	SourceEncoding     string          `json:"source_encoding,omitempty"`
	Overwrite          bool            `json:"overwrite,omitempty"`
	ForceOverwrite     bool            `json:"force_overwrite,omitempty"`
	CreateDirs         *bool           `json:"create_dirs,omitempty"`
	Append             bool            `json:"append,omitempty"`
	DryRun             bool            `json:"dry_run,omitempty"`
	ExpectedSHA256     string          `json:"expected_sha256,omitempty"`
}

// Replacement is one text and what comes in its place.
type Replacement struct {
	OldContent string `json:"old_content"`
	NewContent string `json:"new_content"`
}

// UnmarshalJSON takes nothing but the two fields, which must be there.
func (r *Replacement) UnmarshalJSON(data []byte) error {
	var v struct {
		Old *string `json:"old_content"`
		New *string `json:"new_content"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return err
	}
	if v.Old == nil || v.New == nil {
		return errors.New("a replacement needs old_content and new_content")
	}
	r.OldContent, r.NewContent = *v.Old, *v.New
	return nil
}

// List is an array that may also come as a string of JSON, or as one element.
type List[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *List[T]) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		data = bytes.TrimSpace([]byte(text))
	}
	if len(data) > 0 && data[0] == '{' {
		data = append(append([]byte{'['}, data...), ']')
	}
	return json.Unmarshal(data, (*[]T)(l))
}

// EditArgs are the arguments of edit_file.
type EditArgs struct {
	Allow
	Keep
	FilePath                string            `json:"file_path"`
	ConfusableFallback      bool              `json:"confusable_fallback,omitempty"`
	DryRun                  bool              `json:"dry_run,omitempty"`
	ExpectedSHA256          string            `json:"expected_sha256,omitempty"`
	ForceOverwrite          bool              `json:"force_overwrite,omitempty"`
	IgnoreWhitespace        bool              `json:"ignore_whitespace,omitempty"`
	MaxDiagnosticCandidates *int              `json:"max_diagnostic_candidates,omitempty"`
	ReplaceAll              bool              `json:"replace_all,omitempty"`
	Replacements            List[Replacement] `json:"replacements,omitempty"`
	ReplacementsJSON        *string           `json:"replacements_json,omitempty"`
	RequireUniqueMatch      *bool             `json:"require_unique_match,omitempty"`
	ReturnDiff              *bool             `json:"return_diff,omitempty"`
	SnippetContextLines     *int              `json:"snippet_context_lines,omitempty"`
}

// PatchArgs are the arguments of patch_file.
type PatchArgs struct {
	Allow
	Keep
	FilePath string            `json:"file_path"`
	Content  *string           `json:"content,omitempty"`
	DryRun   bool              `json:"dry_run,omitempty"`
	Format   string            `json:"format,omitempty"`
	Patches  List[patch.Patch] `json:"patches,omitempty"`
}

// CopyArgs are the arguments of copy_file.
type CopyArgs struct {
	Allow
	Keep
	SourcePath      string `json:"source_path"`
	DestinationPath string `json:"destination_path"`
	CreateDirs      *bool  `json:"create_dirs,omitempty"`
	DryRun          bool   `json:"dry_run,omitempty"`
	Overwrite       bool   `json:"overwrite,omitempty"`
	Recursive       bool   `json:"recursive,omitempty"`
}

// MoveArgs are the arguments of move_file.
type MoveArgs struct {
	Allow
	Keep
	SourcePath      string `json:"source_path"`
	DestinationPath string `json:"destination_path"`
	CreateDirs      *bool  `json:"create_dirs,omitempty"`
	DryRun          bool   `json:"dry_run,omitempty"`
	Overwrite       bool   `json:"overwrite,omitempty"`
}

// DeleteArgs are the arguments of delete_file.
type DeleteArgs struct {
	Allow
	Keep
	FilePath string `json:"file_path"`
	DryRun   bool   `json:"dry_run,omitempty"`
}

// BackupArgs are the arguments of backup_file.
type BackupArgs struct {
	FilePath   string `json:"file_path"`
	BackupRoot string `json:"backup_root,omitempty"`
	Label      string `json:"label,omitempty"`
}

// ListBackupsArgs are the arguments of list_backups.
type ListBackupsArgs struct {
	FilePath   string `json:"file_path"`
	BackupRoot string `json:"backup_root,omitempty"`
	Offset     int    `json:"offset,omitempty"`
	PageSize   int    `json:"page_size,omitempty"`
}

// RollbackArgs are the arguments of rollback_file.
type RollbackArgs struct {
	FilePath            string `json:"file_path"`
	BackupID            string `json:"backup_id"`
	BackupRoot          string `json:"backup_root,omitempty"`
	AllowTargetOverride bool   `json:"allow_target_override,omitempty"`
	DryRun              bool   `json:"dry_run,omitempty"`
}

// BatchArgs are the arguments of batch_file_ops.
type BatchArgs struct {
	Operations      List[Step] `json:"operations"`
	ContinueOnError bool       `json:"continue_on_error,omitempty"`
	Atomic          bool       `json:"atomic,omitempty"`
}

// Step is one operation of a batch.
type Step struct {
	Operation string          `json:"operation"`
	Path      *string         `json:"path,omitempty"`
	Config    json.RawMessage `json:"config,omitempty"`
	// Given is all that the caller sent, whatever its names and types.
	Given map[string]any `json:"-"`
}

// UnmarshalJSON takes any object: what is wrong with it is told when its turn
// comes.
func (s *Step) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	*s = Step{}
	if err := dec.Decode(&s.Given); err != nil {
		return err
	}
	s.Operation, _ = s.Given["operation"].(string)
	if path, ok := s.Given["path"].(string); ok {
		s.Path = &path
	}
	config, ok := s.Given["config"]
	if !ok {
		return nil
	}
	var err error
	s.Config, err = json.Marshal(config)
	return err
}

// NewArgs returns a pointer to the zero arguments of an operation, or nil
// where this package has none of that name.
func NewArgs(op string) any {
	switch op {
	case "write_file", "create_file":
		return new(WriteArgs)
	case "edit_file":
		return new(EditArgs)
	case "patch_file":
		return new(PatchArgs)
	case "copy_file":
		return new(CopyArgs)
	case "move_file":
		return new(MoveArgs)
	case "delete_file":
		return new(DeleteArgs)
	case "backup_file":
		return new(BackupArgs)
	case "list_backups":
		return new(ListBackupsArgs)
	case "rollback_file":
		return new(RollbackArgs)
	}
	return nil
}

// isDryRun reports whether a call must have no effect at all.
func isDryRun(args any) bool {
	switch a := args.(type) {
	case *WriteArgs:
		return a.DryRun
	case *EditArgs:
		return a.DryRun
	case *PatchArgs:
		return a.DryRun
	case *CopyArgs:
		return a.DryRun
	case *MoveArgs:
		return a.DryRun
	case *DeleteArgs:
		return a.DryRun
	case *RollbackArgs:
		return a.DryRun
	}
	return false
}

// on reads a switch that is on where it is not given.
func on(flag *bool) bool { return flag == nil || *flag }
