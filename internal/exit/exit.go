// Package exit defines the exit codes of the process, and errors with an exit code.
package exit

import (
	"context"
	"errors"
	"fmt"
)

// Exit codes. docs/reference.md is made of these comments.
const (
	OK          = 0   // done
	Failed      = 1   // failed; doctor: a fault
	Usage       = 2   // usage, or a column that the file lacks
	Incomplete  = 3   // finished, but rows are untagged or unscored, lines were rejected, or an input changed meanwhile
	Unfit       = 4   // model or taxonomy does not fit
	Judge       = 5   // no judge answers, or the budget is spent
	Missed      = 6   // a threshold that the user set was missed
	Interrupted = 130 // interrupted by Ctrl-C or SIGTERM; what was finished is kept
)

// precedence decides where several codes hold.
var precedence = []int{Interrupted, Usage, Failed, Unfit, Judge, Missed, Incomplete}

// codedError is an error with an exit code. A nil err prints nothing.
type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *codedError) Unwrap() error { return e.err }

// With marks err, which may be nil, with an exit code. Several may be joined with errors.Join.
func With(code int, err error) error { return &codedError{code, err} }

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// UsageIf is Usagef where something is wrong, else nil.
func UsageIf(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return Usagef(format, args...)
}

// Code is the exit code of err: the most serious one in its tree. classify gives the code of errors without one, or 0.
func Code(err error, classify func(error) int) int {
	found := map[int]bool{}
	collectCodes(err, classify, found)
	for _, code := range precedence {
		if found[code] {
			return code
		}
	}
	return OK
}

func collectCodes(err error, classify func(error) int, found map[int]bool) {
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		found[Interrupted] = true
		return
	}
	if code := classify(err); code != OK {
		found[code] = true
		return
	}
	switch e := err.(type) { //nolint:errorlint // it walks the tree of wrapped errors itself
	case *codedError:
		found[e.code] = true
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			collectCodes(part, classify, found)
		}
	case interface{ Unwrap() error }:
		if e.Unwrap() == nil {
			found[Failed] = true
		}
		collectCodes(e.Unwrap(), classify, found)
	default:
		found[Failed] = true
	}
}
