package doc

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	yamltestsuite "github.com/goccy/go-yaml/testdata/yaml-test-suite"
	"github.com/google/go-cmp/cmp"
)

// plainValue turns a node into what encoding/json makes of the same value.
// Small test documents only: it expands aliases.
func plainValue(n *Node, anchors map[*Props]*Node) any {
	if n.Props != nil && n.Props.Anchor != "" {
		anchors[n.Props] = n
	}
	switch n.Kind {
	case Alias:
		return plainValue(anchors[n.Target], anchors)
	case Sequence:
		list := []any{}
		for _, e := range n.Entries {
			list = append(list, plainValue(e.Value, anchors))
		}
		return list
	case Mapping:
		m := map[string]any{}
		for _, e := range n.Entries {
			key := e.Key
			if key.Kind == Alias {
				key = anchors[key.Target]
			}
			if key.Props != nil {
				anchors[key.Props] = key
			}
			m[key.Text] = plainValue(e.Value, anchors)
		}
		return m
	}
	t, text := n.Resolve()
	switch t {
	case Null:
		return nil
	case Bool:
		return text == "true"
	case Int, Float:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN()
		}
		return f
	}
	return n.Text
}

// suiteExceptions are the cases of the YAML test suite where we differ on
// purpose, with the reason.
var suiteExceptions = map[string]string{
	"block-mapping-with-missing-keys":   "two empty keys are duplicates, which we refuse",
	"trailing-line-of-spaces/01":        "the text ends without a line break: we add none to the value, as libyaml",
	"trailing-whitespace-in-streams/02": "the text ends without a line break: we add none to the value, as libyaml",
}

// TestYAMLTestSuite runs the public YAML test suite: every invalid document is
// refused, every valid one is parsed, and to the expected value where the
// suite gives one.
func TestYAMLTestSuite(t *testing.T) {
	suites, err := yamltestsuite.TestSuites()
	if err != nil {
		t.Skipf("the YAML test suite is not there: %v", err)
	}
	if len(suites) < 300 {
		t.Fatalf("only %d cases found", len(suites))
	}
	for _, suite := range suites {
		t.Run(suite.Name, func(t *testing.T) {
			if reason := suiteExceptions[suite.Name]; reason != "" {
				t.Skip(reason)
			}
			docs, err := ParseYAML(string(suite.InYAML))
			if suite.Error {
				if err == nil {
					t.Fatalf("accepted an invalid document:\n%s", suite.InYAML)
				}
				return
			}
			if err != nil {
				t.Fatalf("refused a valid document: %v\n%s", err, suite.InYAML)
			}
			if suite.InJSON == nil {
				return
			}
			var got []any
			for _, d := range docs {
				got = append(got, plainValue(d.Root, map[*Props]*Node{}))
			}
			if diff := cmp.Diff(suite.InJSON, got); diff != "" {
				text, _ := json.Marshal(got)
				t.Errorf("wrong value (-want +got):\n%s\n%s\ngot %s", diff, suite.InYAML, text)
			}
		})
	}
}
