package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"go.uber.org/fx"

	"github.com/bridle-go/bridle/harness"
	"github.com/bridle-go/bridle/harness/llm"
	"github.com/bridle-go/bridle/harness/plug"
	"github.com/bridle-go/bridle/harness/prompt"
	"github.com/bridle-go/bridle/harness/tool"
	"github.com/bridle-go/bridle/harness/vfs"
	"github.com/bridle-go/bridle/testkit/memfs"
)

// WordCount is a plugin with a tool that counts the words of a text file.
func WordCount() plug.Plugin {
	return plug.Plugin{
		Name:     "wordcount",
		Services: []plug.Declaration{plug.Needs[vfs.FileSystem]()},
		Options: fx.Invoke(func(scope *plug.Scope, tools *tool.Registry, prompts *prompt.Registry, files *plug.Service[vfs.FileSystem]) error {
			if _, err := prompts.Add(scope, prompt.Segment{Name: "count_words", Order: 200, Text: "Use count_words instead of counting yourself."}); err != nil {
				return err
			}
			_, err := tools.Register(scope, countWords(files))
			return err
		}),
	}
}

type countArgs struct {
	FilePath string `json:"file_path"`
}

type countValue struct {
	Words int `json:"words"`
}

func countWords(files *plug.Service[vfs.FileSystem]) tool.Definition {
	return tool.Tool[countArgs, countValue]{
		Name:        "count_words",
		Description: "Count the words of a text file.",
		Input:       json.RawMessage(`{"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"], "additionalProperties": false}`),
		Parallel:    true,
		Run: func(ctx context.Context, call *tool.Call, args countArgs) (countValue, error) {
			fs, release, err := files.Acquire()
			if err != nil {
				return countValue{}, err
			}
			defer release()
			target, err := fs.Resolve(ctx, args.FilePath, vfs.ResolveOptions{Cwd: call.Cwd()})
			if err != nil {
				return countValue{}, err
			}
			text, err := fs.ReadText(ctx, target)
			if err != nil {
				return countValue{}, err
			}
			return countValue{Words: len(strings.Fields(text.Content))}, nil
		},
		Render: func(_ countArgs, v countValue) (tool.Rendered, error) {
			return tool.Rendered{Content: []llm.Block{llm.Text(fmt.Sprintf("%d words", v.Words))}}, nil
		},
	}.Definition()
}

func Example_plugin() {
	ctx := context.Background()
	d, err := harness.Compose(ctx, WordCount(), memfs.Plugin(memfs.Config{Files: map[string]string{"poem.txt": "so much depends\nupon\n"}}))
	if err != nil {
		log.Fatal(err)
	}
	defer d.Stop(ctx)
	for _, arguments := range []string{`{"file_path": "poem.txt"}`, `{"file_path": "novel.txt"}`, `{"file_path": 7}`} {
		r := d.Tools().Execute(ctx, tool.Invocation{Name: "count_words", Arguments: arguments})
		fmt.Println(r.Text())
	}
	// Output:
	// 4 words
	// Error: cannot read "/project/novel.txt": not found
	// Error: invalid arguments for count_words: file_path must be a string, not a number
}
