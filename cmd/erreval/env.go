package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// env is what a command may touch of the process, so that tests can stand in for it.
type env struct {
	args       []string // the command line, the program's name first
	in         io.Reader
	out        io.Writer // data only
	err        io.Writer // diagnostics, progress
	getenv     func(string) string
	isTerminal func(stream any) bool
	gpuMemory  int64 // bytes that ONNX Runtime may hold on a GPU; 0 is no limit
}

func osEnv() *env {
	return &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, isTerminal: isTerminal}
}

// warn says what a user must know even with --quiet.
func (e *env) warn(format string, args ...any) {
	fmt.Fprintf(e.err, "erreval: "+format+"\n", args...)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
