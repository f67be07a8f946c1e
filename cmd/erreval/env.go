package main

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models/embedded"
)

// env is what a command may touch of the process.
type env struct{ *run.Process }

// stdout and stderr are the process's streams, which keepStreams keeps from libraries.
var stdout, stderr = os.Stdout, os.Stderr

// keepStreams drops what libraries write to os.Stdout and os.Stderr: net/http's transport logs bodies that nobody asked
// for, and a body may repeat a key. Libraries hold the two since they were initialised, so that what these point to is
// replaced. Traces of the runtime and ONNX Runtime's messages are not theirs.
func keepStreams() error {
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	ownOut, ownErr := *os.Stdout, *os.Stderr
	stdout, stderr = &ownOut, &ownErr
	*os.Stdout, *os.Stderr = *nowhere, *nowhere
	return nil
}

// newEnv is that of the process itself.
func newEnv() *env {
	p := &run.Process{Args: os.Args, In: os.Stdin, Out: stdout, Err: stderr, Getenv: os.Getenv,
		IsTerminal: isTerminal}
	p.GuardStreams()
	return &env{Process: p}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// silent is e without its output of data.
func (e *env) silent() *env {
	p := *e.Process
	p.Out = io.Discard
	return &env{Process: &p}
}

// machine is where models and ONNX Runtime are looked for, the models inside the program among them.
func (e *env) machine() *local.Machine {
	return &local.Machine{Getenv: e.Getenv, Embedded: embedded.Models()}
}

// log says what a command does, as e.Warn does; nil if quiet.
func (e *env) log() func(format string, args ...any) {
	if e.Quiet {
		return nil
	}
	return e.Warn
}

// printData prints data as JSON where --json asks for it, else as text.
func printData(ctx *cli.Context, e *env, data any, text interface{ Text(io.Writer) error }) error {
	if ctx.Bool("json") {
		return plainjson.Write(e.Out, data)
	}
	return text.Text(run.Guard(e.Out))
}
