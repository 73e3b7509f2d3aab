package scenario_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/bridle-go/bridle/testkit/scenario"
)

func Example() {
	all, err := scenario.Load(strings.NewReader(`[{
		"name": "greeting",
		"steps":  [{"call": "say", "args": {"text": "hello"}}, {"call": "shout", "args": {}}],
		"expect": [{"isError": false, "text": "hello, world"}, {"isError": true, "code": "UNKNOWN_TOOL"}],
		"after":  []
	}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range all {
		out := scenario.Run(context.Background(), s, toys, scenario.Config{})
		fmt.Println(out.Name, out.Pass)
		for _, d := range out.Differences {
			fmt.Println(d)
		}
	}
	// Output:
	// greeting false
	// steps[0].text
	//   want "hello, world"
	//   got  "hello"
}
