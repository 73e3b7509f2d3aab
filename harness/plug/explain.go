package plug

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/bridle-go/bridle/harness/errs"
)

// unwired is the error of a plugin whose constructors lack something. fx tells
// of it in terms of its own functions; where the plugin's declaration is what
// is wrong, this says so. The cause is fx's error in any case.
func unwired(p Plugin, cause error) error {
	var problems []string
	for _, typ := range missingTypes(cause) {
		if problem := p.mismatch(typ); problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(problems) == 0 {
		return failed(p.Name, cause)
	}
	return &errs.Error{Code: errs.PluginFailed, Op: p.Name, Err: cause,
		Message: fmt.Sprintf("plugin %q %s", p.Name, strings.Join(problems, "; it "))}
}

// mismatch says how the declaration disagrees with the constructors where these
// lack a type, or "".
func (p Plugin) mismatch(typ string) string {
	for _, d := range p.Services {
		if d.kind == provides && d.typ.String() == typ {
			return fmt.Sprintf("declares plug.Provides[%s], but none of its constructors returns one; add one with fx.Provide to its Options (fx.Annotate with fx.As where it returns another type)", d.name)
		}
	}
	if service, ok := strings.CutPrefix(typ, "*plug.Service["); ok {
		service = importPath.ReplaceAllString(strings.TrimSuffix(service, "]"), "")
		return fmt.Sprintf("takes a *plug.Service[%s] that it did not declare; add plug.Needs[%[1]s]() or plug.Uses[%[1]s]() to its Services", service)
	}
	return ""
}

// importPath is what a type's name in a type argument has before its package.
var importPath = regexp.MustCompile(`[^\s*\[\](),]*/`)

// The form in which dig lists what is missing, at the end of its message. A
// suggestion may follow each type.
var (
	missingList = regexp.MustCompile(`missing types?: (.*)$`)
	suggestion  = regexp.MustCompile(` \(did you mean [^?]*\?\)`)
)

func missingTypes(err error) []string {
	list := missingList.FindStringSubmatch(err.Error())
	if list == nil {
		return nil
	}
	return strings.Split(suggestion.ReplaceAllString(list[1], ""), "; ")
}

// declaredTwice tells of the services that a plugin declares more than once
// where one word says it all. A plugin may provide what it also uses: it then
// calls whoever is mounted.
func (p Plugin) declaredTwice() error {
	type role struct {
		service  reflect.Type
		provides bool
	}
	seen := map[role]bool{}
	var problems []error
	for _, d := range p.Services {
		r := role{d.typ, d.kind == provides}
		if seen[r] {
			problems = append(problems, &errs.Error{Code: errs.DuplicateService, Op: p.Name,
				Message: fmt.Sprintf("plugin %q declares service %s twice; keep one of the declarations", p.Name, d.name)})
		}
		seen[r] = true
	}
	return errors.Join(problems...)
}
