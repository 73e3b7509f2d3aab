package deploy

import (
	"maps"
	"reflect"
	"slices"
)

// StaleDocs lists the explanations of settings that do not exist.
func StaleDocs() []string {
	stale := maps.Clone(docs)
	var use func(t reflect.Type)
	use = func(t reflect.Type) {
		for _, f := range fieldsOf(t) {
			if inner, _ := within(f.Type); inner != nil {
				use(inner)
			}
			delete(stale, f.doc)
		}
	}
	use(reflect.TypeFor[AgentSettings]())
	for _, e := range catalogue {
		use(reflect.TypeOf(e.settings(&Options{})).Elem())
	}
	return slices.Sorted(maps.Keys(stale))
}
