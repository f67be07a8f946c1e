package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/term"

	"github.com/erreval/erreval/report"
)

// env is what a command may touch of the process, so that tests can stand in for it.
type env struct {
	args       []string // the command line, the program's name first
	in         io.Reader
	out        io.Writer // data only
	err        io.Writer // diagnostics, progress
	getenv     func(string) string
	isTerminal func(stream any) bool
	gpuMemory  int64    // bytes that ONNX Runtime may hold on a GPU; 0 is no limit
	noted      []string // what was said about files
}

func osEnv() *env {
	return &env{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, isTerminal: isTerminal}
}

// warn says what a user must know even with --quiet.
func (e *env) warn(format string, args ...any) {
	fmt.Fprintf(e.err, "erreval: "+format+"\n", args...)
}

// note says what was assumed about a file, each thing once however often the file is read.
func (e *env) note(notes []string) {
	for _, n := range notes {
		if !slices.Contains(e.noted, n) {
			e.noted = append(e.noted, n)
			e.warn("%s", report.Printable(n))
		}
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
