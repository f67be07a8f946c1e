package main

import (
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/training/refine"
)

// actionError marks what a command returned, as opposed to errors of parsing its line.
type actionError struct{ err error }

func (e *actionError) Error() string { return e.err.Error() }
func (e *actionError) Unwrap() error { return e.err }

// codeOf is the exit code of what a command returned.
func codeOf(err error) int { return exit.Code(err, classify) }

// classify gives the exit codes of errors of the library: options, and which columns hold the fields, are the command
// line's.
func classify(err error) int {
	switch err.(type) { //nolint:errorlint // exit.Code walks the tree of wrapped errors itself
	case *evaluation.OptionError, *models.OptionError, *refine.OptionError, *dataset.ColumnsError:
		return exit.Usage
	case *models.UnfitError, *refine.UnfitError:
		return exit.Unfit
	}
	if err == report.ErrUnfit { //nolint:errorlint // the same
		return exit.Unfit
	}
	return exit.OK
}
