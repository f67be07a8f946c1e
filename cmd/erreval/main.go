// Command erreval finds errors in generated text, offline.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/erreval/erreval/cmd/erreval/internal/commandline"
	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/fileerror"
	"github.com/erreval/erreval/llm/vendor"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/training/refine"
)

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	if err := keepStreams(); err != nil {
		fmt.Fprintf(os.Stderr, "error: %s\n", err)
		os.Exit(exit.Usage)
	}
	e := newEnv()
	// The first signal ends the run in good order; a second one then has its default effect.
	context.AfterFunc(ctx, func() {
		stop()
		fmt.Fprintln(e.Err, "\nerreval: finishing what is in flight; Ctrl-C again ends at once")
	})
	os.Exit(execute(ctx, os.Args, e))
}

// run executes one command line (args[0] is the program's name) and returns the exit code.
func execute(ctx context.Context, args []string, e *env) int {
	e.Args = vendor.HideHeaders(args) // what is printed of it, and recorded
	app := newApp(e)
	if len(args) > 1 && args[1] == commandline.CompleteCommand {
		commandline.WriteCandidates(e.Out, app, args[2:])
		return exit.OK
	}
	args, err := commandline.Reorder(app, args)
	if err == nil {
		var help strings.Builder
		app.Writer = &help // nothing else is written there
		err = app.RunContext(ctx, args)
		_, _ = io.WriteString(e.Out, commandline.Wrap(help.String(), e.TerminalWidth()))
	}
	if err == nil {
		return exit.OK
	}
	code := exit.Usage // an error of parsing the line, unless a command ran
	var ran *actionError
	switch {
	case !errors.As(err, &ran):
	case ctx.Err() != nil:
		code = exit.Interrupted
	default:
		code = codeOf(ran.err)
	}
	text := strings.Trim(fileerror.Plain(err).Error(), "\n") // an error with a code alone is an empty line
	if text == context.Canceled.Error() {
		text = "interrupted"
	}
	kind := "error"
	if code == exit.Incomplete { // it finished
		kind = "warning"
	}
	if text != "" {
		fmt.Fprintf(e.Err, "%s: %s\n", kind, text)
	}
	return code
}

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
