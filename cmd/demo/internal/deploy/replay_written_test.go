package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bridle-go/bridle/cmd/demo/internal/deploy"
	"github.com/bridle-go/bridle/testkit/replay"
)

// writtenLog is a log as another implementation of the format may write it:
// without numbers, and with its own words where the format leaves them open.
type writtenLog struct {
	lines []string
	turn  int
	step  int
	first bool
}

func newLog() *writtenLog {
	l := &writtenLog{first: true}
	l.lines = []string{`{"type":"session","version":0,"id":"{{sessionId}}","createdAt":0,"cwd":"{{cwd}}","delegationDepth":0}`}
	return l
}

// add appends an event and returns its number.
func (l *writtenLog) add(format string, args ...any) int {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
	return len(l.lines) - 2
}

func spoken(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"source":{"kind":"user"},"role":"user","id":"m-%s"}`, text, text)
}

func (l *writtenLog) start(messages ...string) {
	l.add(`{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"inserted":[%s]}}`, strings.Join(messages, ","))
	l.turn, l.step = l.turn+1, 0
	l.add(`{"type":"turn/start","data":{"turn":%d}}`, l.turn)
	l.add(`{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"removedCount":%d,"inserted":[]}}`, len(messages))
	l.begin()
	for _, m := range messages {
		l.add(`{"type":"user/message","data":%s,"surfaceOp":"append"}`, m)
	}
	if l.first {
		l.first = false
		l.add(`{"type":"user/message","data":{"content":[{"type":"text","text":"Everything is allowed."}],"source":{"kind":"plugin","plugin":"other/prompt","form":"snapshot"},"role":"user","id":"snapshot"},"surfaceOp":"append"}`)
		l.add(`{"type":"request/header","data":{"header":{"config":{"provider":"p","model":"words"},"system":"You are another agent.","tools":"{{tools}}"},"reason":"initial"}}`)
	}
}

func (l *writtenLog) begin() {
	l.step++
	l.add(`{"type":"step/start","data":{"turn":%d,"step":%d}}`, l.turn, l.step)
}

// chunk appends a chunk and returns its number.
func (l *writtenLog) chunk(chunk string) int {
	return l.add(`{"type":"assistant/chunk","data":{"turn":%d,"step":%d,"chunk":%s}}`, l.turn, l.step, chunk)
}

// answer appends one that says a text, or makes a call where name is not "".
func (l *writtenLog) answer(text, id, name, arguments, finish string) {
	block, kind := fmt.Sprintf(`{"type":"text","text":%q}`, text), "text"
	if name != "" {
		block, kind = fmt.Sprintf(`{"type":"tool-call","id":%q,"name":%q,"arguments":%q}`, id, name, arguments), "tool-call"
	}
	first := l.chunk(fmt.Sprintf(`{"type":"block-start","index":0,"blockType":%q}`, kind))
	l.chunk(`{"type":"block-end","index":0,"block":` + block + `}`)
	l.chunk(fmt.Sprintf(`{"type":"finish","reason":{"kind":%q}}`, finish))
	l.add(`{"type":"assistant/message","data":{"turn":%d,"step":%d,"message":{"role":"assistant","content":[%s],"source":{"kind":"model","provider":"p","model":"words"},"id":"a"}},"sourceEventSeqs":[%d,%d,%d],"surfaceOp":"append"}`,
		l.turn, l.step, block, first, first+1, first+2)
}

// called appends a call, the events between, and its result.
func (l *writtenLog) called(id, name, arguments string, between []string, result string, isError bool, more string) {
	l.answer("", id, name, arguments, "tool-calls")
	call := l.add(`{"type":"tool/call","data":{"turn":%d,"step":%d,"callId":%q,"name":%q,"arguments":%q}}`, l.turn, l.step, id, name, arguments)
	for _, e := range between {
		l.add("%s", e)
	}
	l.result(id, result, isError, more, fmt.Sprintf(`,"sourceEventSeqs":[%d]`, call))
	l.end("")
}

func (l *writtenLog) result(id, result string, isError bool, more, sources string) {
	l.add(`{"type":"tool/result","data":{"turn":%d,"step":%d,"message":{"source":{"kind":"tool","callId":%q},"content":[{"type":"tool-result","toolCallId":%q,"content":[{"type":"text","text":%q}],"isError":%v}],"role":"user","id":"r"}%s}%s,"surfaceOp":"append"}`,
		l.turn, l.step, id, id, result, isError, more, sources)
}

// end closes the step and, for a reason, the turn.
func (l *writtenLog) end(reason string) {
	if l.step > 0 && !strings.Contains(l.lines[len(l.lines)-1], `"step/end"`) {
		l.add(`{"type":"step/end","data":{"turn":%d,"step":%d}}`, l.turn, l.step)
	}
	if reason != "" {
		l.add(`{"type":"turn/end","data":{"turn":%d,"reason":{"kind":%q}}}`, l.turn, reason)
	}
}

const readResult = "<path>{{cwd}}/a.txt</path>\n<type>file</type>\n<content>\n1: alpha\n\n(End of file - total 1 lines)\n</content>"

// read makes a whole step that reads the file.
func (l *writtenLog) read(id string) {
	l.called(id, "read", `{"file_path":"a.txt"}`, nil, readResult, false,
		`,"meta":{"path":"{{cwd}}/a.txt","offset":1,"lines":[{"number":1,"text":"alpha"}],"totalLines":1}`)
}

// finish makes a last step, and a turn behind it in which the conversation so
// far is compared again.
func (l *writtenLog) finish(t *testing.T) string {
	t.Helper()
	if !strings.Contains(l.lines[len(l.lines)-1], `"turn/end"`) {
		l.begin()
		l.answer("done", "", "", "", "stop")
		l.end("completed")
	}
	l.start(spoken("last"))
	l.read("last")
	l.begin()
	l.answer("bye", "", "", "", "stop")
	l.end("completed")
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "workspace"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "workspace", "a.txt"), []byte("alpha\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "session.jsonl"), []byte(strings.Join(l.lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

const (
	escalation = `{"file_path":"n.txt","content":"x\n","sandbox_permissions":"workspace-write","justification":"It is asked for."}`
	created    = "<path>{{cwd}}/n.txt</path>\n<type>file</type>\n<content>\nCreated file\n</content>"
)

// questioned is a session that asks whether it may write, and is allowed to.
func questioned(asked, decided string) func(*writtenLog) {
	return func(l *writtenLog) {
		l.add(`{"type":"sandbox/mode","data":{"mode":"read-only"}}`)
		l.add(`{"type":"approval/policy","data":{"policy":"ask"}}`)
		l.start(spoken("write"))
		l.called("c", "write", escalation, []string{`{"type":"approval/asked","data":` + asked + `}`, `{"type":"approval/decided","data":` + decided + `}`},
			created, false, `,"meta":{"diffs":[]}`)
	}
}

// Logs that hold less than ours, say the same in another way, or tell of what
// is not here, replay as far as they can be told apart from a difference.
func TestWrittenLogsReplay(t *testing.T) {
	simple := func(l *writtenLog) { l.start(spoken("go")); l.read("c") }
	tests := []struct {
		name    string
		write   func(*writtenLog)
		skipped int // calls that are not compared
	}{
		{"a plain turn", simple, 0},
		{"failures without a code", func(l *writtenLog) {
			l.start(spoken("go"))
			l.called("c", "edit", `{"file_path":"a.txt","old_string":"","new_string":"x"}`, nil, "Error: old_string must be a non-empty string", true, `,"error":{"name":"Error"}`)
			l.begin()
			l.called("d", "edit", `{"file_path":"a.txt","old_string":"x","new_string":"x"}`, nil, "Error: old_string and new_string must differ", true, "")
		}, 0},
		{"a failure of a class with another name", func(l *writtenLog) {
			l.start(spoken("go"))
			l.called("c", "read", `{"file_path":"no.txt"}`, nil, `Error: cannot read "{{cwd}}/no.txt": not found`, true, `,"error":{"name":"NotFound","code":"FS_NOT_FOUND"}`)
		}, 0},
		{"a model that takes no images", func(l *writtenLog) {
			l.start(spoken("look"))
			l.called("c", "read_image", `{"file_path":"p.png"}`, nil, `Error: cannot read "p.png" as an image: model "words" does not declare image input; switch to an image-capable model to read images`, true, "")
		}, 0},
		{"an allowed question", questioned(`{"id":"q","callId":"c","toolName":"write","reason":"r"}`, `{"id":"q","callId":"c","outcome":"allowed-once"}`), 0},
		{"a decision that names the question alone", questioned(`{"id":"q","callId":"c"}`, `{"id":"q","outcome":"allowed-once"}`), 0},
		{"questions in other words", questioned(`{"requestId":"q","request":{"toolCallId":"c"}}`, `{"requestId":"q","decision":{"kind":"approved"}}`), 0},
		{"questions that name nothing", questioned(`{}`, `{"outcome":"allowed-once"}`), 0},
		{"a message that is in the log alone", func(l *writtenLog) {
			simple(l)
			l.add(`{"type":"user/message","data":%s,"surfaceOp":"none"}`, spoken("shadow"))
		}, 0},
		{"a tool that is not here", func(l *writtenLog) {
			l.start(spoken("go"))
			l.called("c", "shell", `{"command":"ls"}`, nil, "a.txt\n", false, `,"meta":{"exit":0}`)
			l.begin()
			l.read("d")
		}, 1},
		{"a tool that was not there either", func(l *writtenLog) {
			l.start(spoken("go"))
			l.called("c", "shell", `{"command":"ls"}`, nil, `Error: there is no tool "shell"`, true, `,"error":{"name":"ToolError","code":"UNKNOWN_TOOL"}`)
		}, 0},
		{"two messages claimed at once", func(l *writtenLog) { l.start(spoken("one"), spoken("two")); l.read("c") }, 0},
		{"an answer at the output limit that completes the turn", func(l *writtenLog) {
			l.start(spoken("go"))
			l.answer("long", "", "", "", "max-tokens")
			l.end("completed")
		}, 0},
		{"an aborted answer that was not kept", func(l *writtenLog) {
			l.start(spoken("go"))
			l.chunk(`{"type":"block-start","index":0,"blockType":"text"}`)
			l.chunk(`{"type":"text-delta","index":0,"text":"Hel"}`)
			l.end("aborted")
		}, 0},
		{"a failed answer that was not kept", func(l *writtenLog) {
			l.start(spoken("go"))
			l.chunk(`{"type":"block-start","index":0,"blockType":"text"}`)
			l.chunk(`{"type":"text-delta","index":0,"text":"Hel"}`)
			l.end("error")
		}, 0},
		{"calls that were not made, in other words", func(l *writtenLog) {
			l.start(spoken("go"))
			l.answer("", "c", "read", `{"file_path":"a.txt"}`, "tool-calls")
			l.result("c", "Error: stopped", true, `,"error":{"name":"Stop","code":"ABORTED_BEFORE_DISPATCH"}`, "")
			l.end("aborted")
		}, 1},
		{"a turn without an end before another one", func(l *writtenLog) {
			simple(l)
			l.start(spoken("again"))
			l.read("d")
		}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLog()
			test.write(l)
			rec, err := replay.Load(l.finish(t))
			if err != nil {
				t.Fatal(err)
			}
			report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: deploy.Replay, StandIns: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range report.Differences {
				t.Error(d)
			}
			skipped := 0
			for _, c := range report.Calls {
				if c.Skipped != "" {
					skipped++
				}
			}
			if skipped != test.skipped {
				t.Errorf("%d calls were skipped, want %d", skipped, test.skipped)
			}
		})
	}
}

// What makes up for gaps of a log does not hide what is different.
func TestWrittenLogsDiffer(t *testing.T) {
	tests := []struct {
		name, old, new string
		write          func(*writtenLog)
	}{
		{"another code", "FS_NOT_FOUND", "FS_NOT_TEXT", func(l *writtenLog) {
			l.start(spoken("go"))
			l.called("c", "read", `{"file_path":"no.txt"}`, nil, `Error: cannot read "{{cwd}}/no.txt": not found`, true, `,"error":{"name":"FsError","code":"FS_NOT_FOUND"}`)
		}},
		{"another outcome", "allowed-once", "rejected", questioned(`{"id":"q"}`, `{"id":"q","outcome":"allowed-once"}`)},
		{"another text of a failure without a code", "must be a", "has to be a", func(l *writtenLog) {
			l.start(spoken("go"))
			l.called("c", "edit", `{"file_path":"a.txt","old_string":"","new_string":"x"}`, nil, "Error: old_string must be a non-empty string", true, "")
		}},
		{"a success that is told as a failure", `"isError":false`, `"isError":true`, func(l *writtenLog) { l.start(spoken("go")); l.read("c") }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLog()
			test.write(l)
			for i := range l.lines {
				l.lines[i] = strings.ReplaceAll(l.lines[i], test.old, test.new)
			}
			rec, err := replay.Load(l.finish(t))
			if err != nil {
				t.Fatal(err)
			}
			report, err := replay.Run(t.Context(), rec, replay.Config{Plugins: deploy.Replay, StandIns: true})
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(report.Calls[0])
			if err != nil {
				t.Fatal(err)
			}
			if report.Equal() || report.Calls[0].Equal {
				t.Errorf("no difference: %s", line)
			}
		})
	}
}
