package event

import (
	"fmt"
	"runtime/debug"

	"github.com/bridle-go/bridle/harness/errs"
)

// PanicError is the cause of a failure that began as a panic in code that a
// plugin gave.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns what the code panicked with.
func (p *PanicError) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Unwrap returns the panic's value where it was an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

func panicked(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// Caught turns a panic of the surrounding function into an error with the given
// code, whose cause is a [*PanicError]. Registries defer it around each call of
// code that a plugin gave them, so that its mistakes end the call and not the
// process. what names that code and whose it is.
func Caught(err *error, code errs.Code, what string) {
	if v := recover(); v != nil {
		*err = errs.Wrap(code, fmt.Sprintf("%s panicked: %v", what, v), panicked(v))
	}
}
