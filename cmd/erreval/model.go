package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/internal/nativelib"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/models/embedded"
)

func joinFlag() cli.Flag {
	return &cli.StringFlag{Name: "join",
		Usage: "how a plain export's fields become one input: `fields` (apart, default) or text (one string)"}
}

// libraryFlag names ONNX Runtime's shared library. The environment variable is read by local.Machine, which has to
// tell the two apart.
func libraryFlag() cli.Flag {
	return &cli.StringFlag{Name: "ort-lib",
		Usage: "`PATH` of ONNX Runtime's shared library [$" + nativelib.EnvVar + "] (default: the cache, then the system)"}
}

func gpuMemoryFlag() cli.Flag {
	return &cli.StringFlag{Name: "gpu-memory", EnvVars: envName("gpu-memory"),
		Usage: "let ONNX Runtime hold at most `SIZE` on the GPU, as in 8GB or 900MB; no limit where not given"}
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
