package fileops

import "slices"

// The fields that changing operations share.

// examplePath and exampleDestination stand for a path that the caller did not
// give. They must not be taken for a file that there is.
const (
	examplePath        = "path/to/file.txt"
	exampleDestination = "path/to/destination.txt"
)

func destinationField(about string) field {
	f := pathField("destination_path", about)
	f.example = exampleDestination
	return f
}

func pathField(name, about string) field {
	return field{name: name, kind: text, required: true, about: about, example: examplePath}
}

func dryRunField(about string) field {
	return field{name: "dry_run", kind: boolean, def: false, about: about + " Nothing is touched. Default false."}
}

// keepFields say what is kept of what was there before.
func keepFields(what string) []field {
	return []field{
		{name: "backup_label", kind: text, about: "A label for the backup, at most 200 characters."},
		{name: "backup_root", kind: text, about: "Folder for the backup. Default .fileops-backups beside the file."},
		{name: "create_backup", kind: boolean, def: true, about: "Keep a backup of " + what + ", for rollback_file. Default true."},
	}
}

// allowFields are the permissions of a call.
func allowFields(what string) []field {
	return []field{
		{name: "allow_ignored", kind: boolean, def: false, about: "Allow " + what + " that .gitignore or .ignore matches. Default false."},
		{name: "allow_sensitive", kind: boolean, def: false, about: "Allow " + what + " that is sensitive (.env, keys, credentials, .git); a person is asked. Default false."},
	}
}

var writeFields = slices.Concat([]field{
	pathField("file_path", "The file to write."),
	{name: "content", kind: text, required: true, lenient: true, about: "The content, as UTF-8 text.", example: ""},
	{name: "content_artifact", kind: object, about: "Reference of an attachment to write instead of content: attachmentId, mediaType, bytes, width, height."},
	{name: "content_artifact_uri", kind: text, about: "artifact:// and the id of an attachment of this session, to write instead of content."},
	{name: "source_encoding", kind: text, enum: []string{"utf-8", "text", "binary"}, about: "What an artifact holds; utf-8 and text are checked. Default: whatever it holds."},
	{name: "overwrite", kind: boolean, def: false, about: "Replace an existing file; needs expected_sha256. Default false."},
	{name: "force_overwrite", kind: boolean, def: false, about: "Replace an existing file without expected_sha256. Default false."},
	{name: "create_dirs", kind: boolean, def: true, about: "Make missing parent directories. Default true."},
	{name: "append", kind: boolean, def: false, about: "Add to the end of the file, in its style of line breaks. Comes before overwrite. Default false."},
	dryRunField("Only show the diff and current_sha256."),
	{name: "expected_sha256", kind: text, about: "SHA-256 in hex of the file as it was seen; anything else there is not overwritten.", hint: "of the file as it was seen"},
}, allowFields("a path"), keepFields("the file that is changed"))

var writeFile = &operation{
	name: "write_file", enable: "allow_write", path: "file_path", changes: true,
	about:  "Create a file, overwrite one, or append to one. Overwriting needs overwrite and expected_sha256, or force_overwrite.",
	fields: writeFields, run: runChange,
}

var createFile = &operation{
	name: "create_file", enable: "allow_write", path: "file_path", changes: true, hubOnly: true,
	about:  "Create a file; something that exists already is refused.",
	fields: without(writeFields, "overwrite", "force_overwrite", "append", "expected_sha256", "create_backup", "backup_label", "backup_root"),
	run:    runChange,
}

var editFile = &operation{
	name: "edit_file", enable: "allow_edit", path: "file_path", changes: true,
	about: "Replace exact texts in a file, in order, all or none.",
	fields: slices.Concat([]field{
		pathField("file_path", "The file to edit."),
		{name: "replacements", kind: objects, loose: true, members: replacementMembers, about: "The replacements, in order: objects with old_content and new_content. A string of JSON with them will do, too.",
			example: []any{map[string]any{"old_content": "old text", "new_content": "new text"}}},
		{name: "replacements_json", kind: text, members: replacementMembers, about: "The replacements as a string of JSON; comes before replacements."},
		{name: "replace_all", kind: boolean, def: false, about: "Replace every match. Default false."},
		{name: "require_unique_match", kind: boolean, def: true, about: "Demand one match only; false takes the first of several. Default true."},
		{name: "ignore_whitespace", kind: boolean, def: false, about: "Where there is no exact match, ignore differences in blanks; one match only. Default false."},
		{name: "confusable_fallback", kind: boolean, def: false, about: "Where there is no exact match, take look-alike quotes, dashes, spaces and full-width punctuation as the same. Default false."},
		{name: "expected_sha256", kind: text, about: "SHA-256 in hex of the file as it was seen; anything else there is not edited.", hint: "of the file as it was seen"},
		{name: "force_overwrite", kind: boolean, def: false, about: "Pass over expected_sha256. Default false."},
		dryRunField("Only check the replacements and show the diff."),
		{name: "return_diff", kind: boolean, def: true, about: "Return the diff. Default true."},
		{name: "snippet_context_lines", kind: integer, def: 3, about: "Lines shown around each change, at most 50. Default 3."},
		{name: "max_diagnostic_candidates", kind: integer, def: 3, about: "How many similar places a miss lists, at most 20. Default 3."},
	}, allowFields("a path"), keepFields("the file")),
	run: runChange,
}

var patchFile = &operation{
	name: "patch_file", enable: "allow_patch", path: "file_path", changes: true,
	about: "Change values of a JSON or YAML file by JSON pointer and keep every other byte.",
	fields: slices.Concat([]field{
		pathField("file_path", "The JSON or YAML file."),
		{name: "patches", kind: objects, loose: true, members: patchMembers, about: "The patches, in order: objects with op (set, replace, insert, append, remove), path (a JSON pointer) and value. A string of JSON with them will do, too.",
			example: []any{map[string]any{"op": "set", "path": "/key", "value": 1}}},
		{name: "content", kind: text, about: "A whole new document instead of patches."},
		{name: "format", kind: text, enum: []string{"auto", "json", "yaml"}, def: "auto", about: "The syntax. Default auto: by extension, else by content."},
		required(dryRunField("Only show the diff.")),
	}, allowFields("a path"), keepFields("the file")),
	run: runChange,
}

var copyFile = &operation{
	name: "copy_file", enable: "allow_copy", path: "source_path", changes: true,
	about: "Copy a file or directory. What is at the destination stays until the copy is complete.",
	fields: slices.Concat([]field{
		pathField("source_path", "What to copy."),
		destinationField("The path of the copy itself, not of the directory for it."),
		{name: "recursive", kind: boolean, def: false, about: "Copy a directory with all it holds. Default false."},
		{name: "overwrite", kind: boolean, def: false, about: "Replace what is at the destination. Default false."},
		{name: "create_dirs", kind: boolean, def: true, about: "Make missing parent directories. Default true."},
		dryRunField("Only check the copy."),
	}, allowFields("a destination"), keepFields("a file that is replaced")),
	run: runChange,
}

var moveFile = &operation{
	name: "move_file", enable: "allow_move", path: "source_path", changes: true,
	about: "Move or rename a file or directory, in one step where it stays on its device.",
	fields: slices.Concat([]field{
		pathField("source_path", "What to move."),
		destinationField("Its new path, not that of the directory for it."),
		{name: "overwrite", kind: boolean, def: false, about: "Replace what is at the destination. Default false."},
		{name: "create_dirs", kind: boolean, def: true, about: "Make missing parent directories. Default true."},
		dryRunField("Only check the move."),
	}, allowFields("a source or destination"), keepFields("a file that is replaced")),
	run: runChange,
}

var deleteFile = &operation{
	name: "delete_file", enable: "allow_delete", path: "file_path", changes: true,
	about: "Delete a file or symlink, never a directory.",
	fields: slices.Concat([]field{
		pathField("file_path", "The file to delete."),
		dryRunField("Only check whether it can be deleted."),
	}, allowFields("a path"), keepFields("the file")),
	run: runChange,
}

var backupFile = &operation{
	name: "backup_file", enable: "allow_backup", path: "file_path", changes: true,
	about: "Keep a backup of a file, for rollback_file.",
	fields: []field{
		pathField("file_path", "The file."),
		{name: "label", kind: text, about: "A label for the backup, at most 200 characters."},
		{name: "backup_root", kind: text, about: "Folder for the backup. Default .fileops-backups beside the file."},
	},
	run: runChange,
}

var listBackups = &operation{
	name: "list_backups", enable: "allow_backup", path: "file_path", hubOnly: true,
	about: "List the backups of a file, the newest first.",
	fields: []field{
		pathField("file_path", "The file, which need not exist any more."),
		{name: "backup_root", kind: text, about: "Folder of the backups. Default .fileops-backups beside the file."},
		{name: "offset", kind: integer, def: 0, about: "How many to pass over."},
		{name: "page_size", kind: integer, min: 1, def: 50, about: "How many to list, at most 200. Default 50."},
	},
	run: runChange,
}

var rollbackFile = &operation{
	name: "rollback_file", enable: "allow_rollback", path: "file_path", changes: true,
	about: "Restore a file from a backup. What is there now is backed up first.",
	fields: []field{
		pathField("file_path", "The file to restore."),
		{name: "backup_id", kind: text, required: true, about: `The id of the backup, or "last" for the newest of the file.`, hint: `or "last"`, example: "last"},
		{name: "backup_root", kind: text, about: "Folder of the backups. Default .fileops-backups beside the file."},
		{name: "allow_target_override", kind: boolean, def: false, about: "Restore a backup of another path here. Default false."},
		required(dryRunField("Only show the diff.")),
	},
	run: runChange,
}

var batchOps = &operation{
	name: "batch_file_ops", enable: "allow_batch", changes: true, hubOnly: true,
	about: "Run up to 100 operations in order. It stops at the first that fails.",
	fields: []field{
		{name: "operations", kind: objects, required: true, loose: true, about: "The operations, in order: objects with operation, path and config.", hint: "each with operation, path and config, as this tool takes them",
			example: []any{map[string]any{"operation": "file_info", "path": examplePath}}},
		{name: "continue_on_error", kind: boolean, def: false, about: "Go on after an operation that failed. Default false."},
		{name: "atomic", kind: boolean, def: false, about: "Take everything back when an operation fails. Default false."},
	},
	run: runBatch,
}

// changeOperations are the operations that change files, with those that
// belong to them.
var changeOperations = []*operation{
	writeFile, createFile, editFile, patchFile, copyFile, moveFile, deleteFile, backupFile, listBackups, rollbackFile, batchOps,
}

// required marks a field as one that the schema demands. A call of the hub may
// leave it out all the same and means its default.
func required(f field) field {
	f.required, f.lenient, f.example = true, true, f.def
	return f
}

func without(all []field, names ...string) []field {
	var out []field
	for _, f := range all {
		if !slices.Contains(names, f.name) {
			out = append(out, f)
		}
	}
	return out
}
