package main

import (
	"io"

	"github.com/erreval/erreval/internal/run"
)

// env is what a command may touch of the process.
type env struct {
	*run.Process
	gpuMemory int64 // bytes that ONNX Runtime may hold on a GPU; 0 is no limit
}

// silent is e without its output of data.
func (e *env) silent() *env {
	p := *e.Process
	p.Out = io.Discard
	return &env{Process: &p, gpuMemory: e.gpuMemory}
}
