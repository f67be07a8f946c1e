// Command erreval finds errors in generated text, offline.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal ends the run in good order; a second one then has its default effect.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, osEnv()))
}

// run executes one command line (args[0] is the program's name) and returns the exit code.
func run(ctx context.Context, args []string, e *env) int {
	app := newApp(e)
	if len(args) > 1 && args[1] == completeCommand {
		printCandidates(e.out, app, args[2:])
		return exitOK
	}
	err := app.RunContext(ctx, reorder(app, args))
	if err == nil {
		return exitOK
	}
	code := exitUsage
	var ran *actionError
	if errors.As(err, &ran) {
		code = exitCode(ran.err)
	} else {
		err = fmt.Errorf("%w\nsee 'erreval --help'", err)
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(e.err, "error: %s\n", text)
	}
	return code
}
