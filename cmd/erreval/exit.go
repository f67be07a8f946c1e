package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/report"
)

// Exit codes, as docs/architecture.md lists them.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3   // finished, some rows untagged or unscored, lines rejected, or an input changed meanwhile
	exitUnfit       = 4   // model or taxonomy does not fit
	exitJudge       = 5   // judge unavailable or budget spent
	exitMissed      = 6   // a threshold that the user set was missed
	exitInterrupted = 130 // Ctrl-C or SIGTERM
)

// precedence decides where several codes hold.
var precedence = []int{exitInterrupted, exitUsage, exitFailed, exitUnfit, exitJudge, exitMissed, exitIncomplete}

// codedError says with which code the process ends. A nil err prints nothing.
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

// withCode marks err with an exit code; several may be joined with errors.Join.
func withCode(code int, err error) error { return &codedError{code, err} }

// usagef is an error of the command line: exit code 2.
func usagef(format string, args ...any) error {
	return withCode(exitUsage, fmt.Errorf(format, args...))
}

// actionError marks what a command returned, as opposed to errors of parsing its line.
type actionError struct{ err error }

func (e *actionError) Error() string { return e.err.Error() }
func (e *actionError) Unwrap() error { return e.err }

// exitCode is the one place where errors become exit codes.
func exitCode(err error) int {
	found := map[int]bool{}
	collectCodes(err, found)
	for _, code := range precedence {
		if found[code] {
			return code
		}
	}
	return exitOK
}

func collectCodes(err error, found map[int]bool) {
	if err == nil {
		return
	}
	if errors.Is(err, context.Canceled) {
		found[exitInterrupted] = true
		return
	}
	switch e := err.(type) { //nolint:errorlint // it walks the tree of wrapped errors itself
	case *codedError:
		found[e.code] = true
	case *evaluation.OptionError, *dataset.ColumnsError: // options, and which columns hold the fields, are the command line's
		found[exitUsage] = true
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			collectCodes(part, found)
		}
	case interface{ Unwrap() error }:
		if e.Unwrap() == nil {
			found[exitFailed] = true
		}
		collectCodes(e.Unwrap(), found)
	default:
		code := exitFailed
		if errors.Is(err, report.ErrUnfit) {
			code = exitUnfit
		}
		found[code] = true
	}
}
