package fileops

import (
	"fmt"

	"github.com/bridle-go/bridle/plugins/fileops/internal/fault"
)

// failure is the error of an operation.
type failure = fault.Fault

// refuse makes a failure about an argument; field is "" where it is about
// none.
func refuse(kind fault.Kind, field, format string, args ...any) *failure {
	return fault.New(kind, field, fmt.Sprintf(format, args...))
}

// badArgument makes a failure about an argument that cannot mean anything.
func badArgument(field, format string, args ...any) *failure {
	return refuse(fault.InvalidArguments, field, format, args...)
}

// count is a number with its noun.
func count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// with notes the value of an argument that would do; nil takes it away.
func with(f *failure, field string, value any) *failure {
	if f.Call == nil {
		f.Call = map[string]any{}
	}
	f.Call[field] = value
	return f
}
