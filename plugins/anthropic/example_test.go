package anthropic_test

import (
	"fmt"

	"github.com/bridle-go/bridle/plugins/anthropic"
	"github.com/bridle-go/bridle/plugins/models"
)

// An adapter works without a deployment; a catalogue tells it about models.
func Example() {
	catalogue, err := models.New(models.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := anthropic.New(anthropic.Config{APIKeyEnv: "MY_ANTHROPIC_KEY"}, catalogue)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()
	info, err := a.ResolveModel("claude-sonnet-4-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(info.Provider, info.Model, info.ContextWindow, info.ReasoningEfforts)
	// Output: anthropic claude-sonnet-4-5 200000 [low medium high]
}
