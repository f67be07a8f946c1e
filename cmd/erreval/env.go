package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/erreval/erreval/internal/run"
)

// env is what a command may touch of the process.
type env struct{ *run.Process }

// newEnv is that of the process itself.
func newEnv() *env {
	p := &run.Process{Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv,
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
