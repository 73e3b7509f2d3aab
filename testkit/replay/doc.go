// Package replay drives the agent loop with a recorded session in place of a
// model and a person, and tells whether everything that follows from them
// comes out as it was: each request and each tool result.
//
//	rec, err := replay.Load("testdata/fix-typo")
//	report, err := replay.Run(ctx, rec, replay.Config{Plugins: deployment})
//	if !report.Equal() {
//		t.Error(report.First())
//	}
//
// A recording is a log of package session: a file, or a folder that holds
//
//	session.jsonl   the log
//	workspace/      the files as they were when the session began
//	input.json      what was said, for readers; the log alone decides
//
// In a log of a folder, {{cwd}} stands for the directory of the workspace,
// {{sessionId}} for the session's id, and {{system}} and {{tools}} for a system
// prompt and tool schemas that are not recorded and not compared. The workspace
// is copied to a scratch directory before anything runs, and never changed. A
// log that names a real directory is moved to the scratch directory likewise;
// differences are told in the spelling of the log.
//
// What came from outside is fed at its recorded place: the chunks of the
// model, its failures, messages and steering, sandbox modes, approval policies,
// answers to questions, the moment of a cancellation and the end of a process.
// Times and ids come from the recording too, so a log that was written by this
// loop comes out byte for byte, its packing included, where the plugins
// are deterministic; [Config].Exact asks for that. Otherwise the two logs are
// compared by what matters in any log of the format: the messages and the
// header of each request, without the ids of messages, and the content, error
// flag, error and metadata of each tool result. Runtime-context snapshots of
// another system's wording are left out on both sides.
//
// What a tool takes from the world by [tool.Input] comes from the recording
// too: from the events that the call logged, or else from the field of that
// name in the JSON of its result. Such fields are therefore equal whatever the
// clock says; what the call did is compared. Of the file operations these are
// receipt_id, backup_id, elapsed_ms, and the created and modified times of
// files. What is not in the recording is made anew.
//
// The plugins come from the caller, because this package knows none. They must
// not include an adapter for the providers of the recording. Where they need no
// model registry, they need not bring one.
//
// [Record] writes a folder from a scripted session.
package replay
