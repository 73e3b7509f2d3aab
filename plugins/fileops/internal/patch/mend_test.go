package patch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMended: what is proposed for patches that cannot be applied. It applies,
// and where it is not plain what was meant nothing is proposed.
func TestMended(t *testing.T) {
	const json = `{"port": 80, "list": [1, 2], "maps": {"name": "x"}, "a.b": 1}`
	for _, c := range []struct {
		name, src     string
		patches, want []Patch
	}{
		{"the op of RFC 6902 for a member", json, ops("add /new 1"), ops("set /new 1")},
		{"the op of RFC 6902 for an item", json, ops("add /list/0 0"), ops("insert /list/0 0")},
		{"and for the end", json, ops("add /list/- 3"), ops("insert /list/- 3")},
		{"an op in capitals", json, ops("SET /port 1"), ops("set /port 1")},
		{"another word for remove", json, ops("delete /port"), ops("remove /port")},
		{"another word for append", json, ops("push /list 3"), ops("append /list 3")},
		{"no slash", json, ops("set port 1"), ops("set /port 1")},
		{"no slash at the start", json, ops("set maps/name 1"), ops("set /maps/name 1")},
		{"dots", json, ops("set maps.name 1"), ops("set /maps/name 1")},
		{"a key with a dot", json, ops("set a.b 2"), ops("set /a.b 2")},
		{"a JSONPath", json, ops("set $.list[1] 3"), ops("set /list/1 3")},
		{"a bare tilde", json, ops("set /a~b 2"), ops("set /a~0b 2")},
		{"a slip in a key", json, ops("replace /prot 1"), ops("replace /port 1")},
		{"a slip on the way", json, ops("set /mpas/name 1"), ops("set /maps/name 1")},
		{"a key in other case", json, ops("remove /MAPS"), ops("remove /maps")},
		{"replace of what is not there", json, ops("replace /other 1"), ops("set /other 1")},
		{"insert into an object", json, ops("insert /other 1"), ops("set /other 1")},
		{"append to what is not there", json, ops("append /items 1"), ops("set /items [1]")},
		{"an index past the end", json, ops("insert /list/9 3"), ops("insert /list/- 3")},
		{"set past the end", json, ops("set /list/5 3"), ops("set /list/- 3")},
		{"an index with a zero", json, ops("set /list/01 3"), ops("set /list/1 3")},
		{"an index from the end", json, ops("remove /list/-1"), ops("remove /list/1")},
		{"missing parents", json, ops(`set /x/y/z [1.50]`), ops(`set /x {"y":{"z":[1.50]}}`)},
		{"after a patch that is right", json, ops("set /q {}", "replace /q/r 1", "set /q/s 2"), ops("set /q {}", "set /q/r 1", "set /q/s 2")},
		{"several", json, ops("add /new 1", "rm /port"), ops("set /new 1", "remove /port")},

		{"remove of what is not there", json, ops("remove /other"), nil},
		{"a short key that is like another", `{"a": 1}`, ops("remove /b"), nil},
		{"remove past the end", json, ops("remove /list/7"), nil},
		{"an index before the start", json, ops("remove /list/-3"), nil},
		{"an index on the way", json, ops("set /x/0/z 1"), nil},
		{"through a scalar", json, ops("set /port/x 1"), nil},
		{"no value", json, ops("set /port"), nil},
		{"an unknown op", json, ops("test /port 80"), nil},
		{"one of two", json, ops("add /new 1", "remove /other"), nil},
		{"not JSON", `{`, ops("add /new 1"), nil},
		{"the root", json, ops("remove ."), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Apply(c.src, JSON, c.patches); err == nil {
				t.Fatal("there is nothing to mend")
			}
			got, ok := Mended(c.src, JSON, c.patches)
			if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
				t.Fatalf("%v (-want +got)\n%s", ok, diff)
			}
			if ok {
				if _, err := Apply(c.src, JSON, got); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
