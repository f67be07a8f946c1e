// Command withjudge runs a command with a scripted judge beside it, for the examples in docs/:
//
//	withjudge erreval score tagged.jsonl -o scored.jsonl --judge scripted
//
// The judge is an OpenAI-compatible endpoint on this machine, whose address the command finds in OPENAI_BASE_URL. It
// follows a fixed rule instead of reading, so that whoever runs the example gets the figures printed there. They say
// that the parts work together, and nothing about how well a language model judges.
package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	"github.com/erreval/erreval/llm/llmtest"
)

// address is fixed where it is free: the journal of a run knows replies by their endpoint, among other things.
const address = "127.0.0.1:11435"

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: withjudge COMMAND ARGUMENT…")
		os.Exit(2)
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withjudge:", err)
	}
	os.Exit(code)
}

// run runs the command and gives its exit code.
func run(args []string) (int, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return 1, err
	}
	judge := llmtest.NewServer(judge)
	judge.Forget = true
	server := &http.Server{Handler: judge}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL=http://"+l.Addr().String()+"/v1")
	err = cmd.Run()
	if fault := errors.Join(server.Close(), <-done); !errors.Is(fault, http.ErrServerClosed) {
		return 1, errors.Join(err, fault)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
