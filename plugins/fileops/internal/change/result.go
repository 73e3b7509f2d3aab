package change

import (
	"fmt"
	"time"

	"github.com/bridle-go/bridle/plugins/fileops/internal/match"
)

// Fields that may not apply are pointers: absent then, and not null.

// WriteResult is the result of write_file and create_file.
type WriteResult struct {
	FilePath          string  `json:"file_path"`
	DryRun            bool    `json:"dry_run"`
	Created           *bool   `json:"created,omitempty"`
	BytesWritten      *int64  `json:"bytes_written,omitempty"`
	BackupID          string  `json:"backup_id,omitempty"`
	CurrentSHA256     string  `json:"current_sha256,omitempty"`
	Diff              *string `json:"diff,omitempty"`
	FileBytesAfter    *int64  `json:"file_bytes_after,omitempty"`
	LinesAfter        *int    `json:"lines_after,omitempty"`
	RequestedBytes    *int64  `json:"requested_bytes,omitempty"`
	RequestedLines    *int    `json:"requested_lines,omitempty"`
	RequestedSHA256   string  `json:"requested_sha256,omitempty"`
	SelfVerified      *bool   `json:"self_verified,omitempty"`
	SHA256After       string  `json:"sha256_after,omitempty"`
	VerificationError string  `json:"verification_error,omitempty"`
	Text              string  `json:"summary,omitempty"`
}

// Diagnostic says why a replacement found no place.
type Diagnostic struct {
	ReplacementIndex int               `json:"replacement_index"`
	Kind             match.Kind        `json:"kind"`
	Message          string            `json:"message"`
	Occurrences      int               `json:"occurrences,omitempty"`
	Hint             string            `json:"hint,omitempty"`
	Candidates       []match.Candidate `json:"candidates,omitempty"`
}

// EditResult is the result of edit_file.
type EditResult struct {
	FilePath               string          `json:"file_path"`
	DryRun                 bool            `json:"dry_run"`
	Changed                *bool           `json:"changed,omitempty"`
	AppliedCount           *int            `json:"applied_count,omitempty"`
	ReplacementOccurrences *int            `json:"replacement_occurrences,omitempty"`
	MatchMode              match.Mode      `json:"match_mode,omitempty"`
	UsedConfusableFallback *bool           `json:"used_confusable_fallback,omitempty"`
	BackupID               string          `json:"backup_id,omitempty"`
	CurrentSHA256          string          `json:"current_sha256,omitempty"` // of refusals
	Diagnostics            []Diagnostic    `json:"diagnostics,omitempty"`
	Diff                   *string         `json:"diff,omitempty"`
	Snippets               []match.Snippet `json:"snippets,omitempty"`
	TotalLinesAfter        *int            `json:"total_lines_after,omitempty"`
	TotalLinesBefore       *int            `json:"total_lines_before,omitempty"`
	SelfVerified           *bool           `json:"self_verified,omitempty"`
	VerificationError      string          `json:"verification_error,omitempty"`
}

// PatchFailure says which patch could not be applied.
type PatchFailure struct {
	PatchIndex int    `json:"patch_index"`
	Op         string `json:"op"`
	Path       string `json:"path"`
	Message    string `json:"message"`
}

// Validation tells whether a text is well formed.
type Validation struct {
	Valid        bool   `json:"valid"`
	Format       string `json:"format"`
	Documents    int    `json:"documents,omitempty"`
	ErrorMessage string `json:"error_message,omitempty"`
	Line         int    `json:"line,omitempty"`
	Column       int    `json:"column,omitempty"`
}

// PatchResult is the result of patch_file.
type PatchResult struct {
	FilePath             string         `json:"file_path"`
	DryRun               bool           `json:"dry_run"`
	Changed              *bool          `json:"changed,omitempty"`
	PatchesApplied       *int           `json:"patches_applied,omitempty"`
	Format               string         `json:"format,omitempty"`
	BackupID             string         `json:"backup_id,omitempty"`
	CurrentSHA256        string         `json:"current_sha256,omitempty"` // of refusals
	Diff                 *string        `json:"diff,omitempty"`
	ErrorDetails         []PatchFailure `json:"error_details,omitempty"`
	ValidationAfterPatch *Validation    `json:"validation_after_patch,omitempty"`
	SelfVerified         *bool          `json:"self_verified,omitempty"`
	VerificationError    string         `json:"verification_error,omitempty"`
}

// CopyResult is the result of copy_file.
type CopyResult struct {
	SourcePath        string `json:"source_path,omitempty"`
	DestinationPath   string `json:"destination_path,omitempty"`
	DryRun            bool   `json:"dry_run"`
	BackupID          string `json:"backup_id,omitempty"`
	BytesCopied       *int64 `json:"bytes_copied,omitempty"`
	Created           *bool  `json:"created,omitempty"`
	IsDir             *bool  `json:"is_dir,omitempty"`
	Overwritten       *bool  `json:"overwritten,omitempty"`
	SelfVerified      *bool  `json:"self_verified,omitempty"`
	VerificationError string `json:"verification_error,omitempty"`
	Text              string `json:"summary,omitempty"`
}

// MoveResult is the result of move_file.
type MoveResult struct {
	SourcePath        string `json:"source_path,omitempty"`
	DestinationPath   string `json:"destination_path,omitempty"`
	DryRun            bool   `json:"dry_run"`
	BackupID          string `json:"backup_id,omitempty"`
	Moved             *bool  `json:"moved,omitempty"`
	Overwritten       *bool  `json:"overwritten,omitempty"`
	SelfVerified      *bool  `json:"self_verified,omitempty"`
	VerificationError string `json:"verification_error,omitempty"`
	Text              string `json:"summary,omitempty"`
}

// DeleteResult is the result of delete_file.
type DeleteResult struct {
	FilePath          string `json:"file_path"`
	DryRun            bool   `json:"dry_run"`
	Deleted           *bool  `json:"deleted,omitempty"`
	FileSizeBytes     *int64 `json:"file_size_bytes,omitempty"`
	BackupID          string `json:"backup_id,omitempty"`
	SelfVerified      *bool  `json:"self_verified,omitempty"`
	VerificationError string `json:"verification_error,omitempty"`
}

// BackupResult is the result of backup_file.
type BackupResult struct {
	FilePath    string `json:"file_path"`
	BackupID    string `json:"backup_id,omitempty"`
	BackupPath  string `json:"backup_path,omitempty"`
	BytesCopied *int64 `json:"bytes_copied,omitempty"`
}

// BackupEntry describes one backup.
type BackupEntry struct {
	BackupID     string    `json:"backup_id"`
	BackupPath   string    `json:"backup_path"`
	OriginalPath string    `json:"original_path"`
	IsDir        bool      `json:"is_dir,omitempty"`
	SHA256       string    `json:"sha256"`
	SizeBytes    int64     `json:"size_bytes"`
	Mode         string    `json:"mode"`
	Modified     time.Time `json:"modified"`
	Label        string    `json:"label,omitempty"`
	Created      time.Time `json:"created"`
}

// ListBackupsResult is the result of list_backups, newest first.
type ListBackupsResult struct {
	FilePath   string        `json:"file_path"`
	Backups    []BackupEntry `json:"backups"`
	Total      int           `json:"total_entries"`
	Offset     int           `json:"offset"`
	NextOffset *int          `json:"next_offset,omitempty"`
	// Damaged counts backups whose metadata cannot be read.
	Damaged int `json:"damaged,omitempty"`
}

// RollbackResult is the result of rollback_file.
type RollbackResult struct {
	FilePath string  `json:"file_path"`
	DryRun   bool    `json:"dry_run"`
	BackupID string  `json:"backup_id,omitempty"`
	Diff     *string `json:"diff,omitempty"`
	Restored *bool   `json:"restored,omitempty"`
	// CurrentBackupID is the backup of what was there before.
	CurrentBackupID   string `json:"current_backup_id,omitempty"`
	SelfVerified      *bool  `json:"self_verified,omitempty"`
	VerificationError string `json:"verification_error,omitempty"`
}

// Summary says what a result tells, in one line.
func (w *WriteResult) Summary() string { return w.Text }

// Summary says what a result tells, in one line.
func (e *EditResult) Summary() string {
	if e.AppliedCount == nil {
		return "edit failed; " + e.FilePath + " is unchanged"
	}
	verb := "edited"
	if e.DryRun {
		verb = "would edit"
	}
	if e.Changed != nil && !*e.Changed {
		return e.FilePath + " is unchanged: the result is what was there"
	}
	return fmt.Sprintf("%s %s: %s in %s", verb, e.FilePath, count(*e.ReplacementOccurrences, "place"), count(*e.AppliedCount, "replacement"))
}

// Summary says what a result tells, in one line.
func (p *PatchResult) Summary() string {
	if p.Changed == nil {
		return "patch failed; " + p.FilePath + " is unchanged"
	}
	switch {
	case !*p.Changed:
		return p.FilePath + " is unchanged: the result is what was there"
	case p.DryRun:
		return "would patch " + p.FilePath
	}
	return fmt.Sprintf("patched %s (%s)", p.FilePath, p.Format)
}

// Summary says what a result tells, in one line.
func (c *CopyResult) Summary() string { return c.Text }

// Summary says what a result tells, in one line.
func (m *MoveResult) Summary() string { return m.Text }

// Summary says what a result tells, in one line.
func (d *DeleteResult) Summary() string {
	switch {
	case d.Deleted == nil:
		return d.FilePath + " was not deleted"
	case d.DryRun:
		return "would delete " + d.FilePath
	}
	return "deleted " + d.FilePath
}

// Summary says what a result tells, in one line.
func (b *BackupResult) Summary() string { return "backed up " + b.FilePath + " as " + b.BackupID }

// Summary says what a result tells, in one line.
func (l *ListBackupsResult) Summary() string {
	return fmt.Sprintf("%s of %s", count(l.Total, "backup"), l.FilePath)
}

// Summary says what a result tells, in one line.
func (r *RollbackResult) Summary() string {
	switch {
	case r.Restored == nil:
		return r.FilePath + " was not restored"
	case r.DryRun:
		return fmt.Sprintf("would restore %s from backup %s", r.FilePath, r.BackupID)
	}
	return fmt.Sprintf("restored %s from backup %s", r.FilePath, r.BackupID)
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
