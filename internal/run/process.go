// Package run is the engine of the commands that read rows and write them back with a column more. It has inputs of
// every format, outputs that appear whole or not at all, resume, shards, merge, limits, progress, run records,
// interruption. What is special about a command is its Stage.
package run

import (
	"fmt"
	"io"
	"slices"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/internal/words"
)

// Stdio is the name of standard input and output on the command line.
const Stdio = "-"

// Process is what a run may touch of the process, so that tests can stand in for it.
type Process struct {
	Args       []string // the command line, the program's name first
	In         io.Reader
	Out        io.Writer // data only
	Err        io.Writer // diagnostics, progress
	Getenv     func(string) string
	IsTerminal func(stream any) bool
	Quiet      bool // no progress and no summary

	// NoNotes leaves out what Note is given: another process has said it of the file that this one's is made of.
	NoNotes bool
	noted   []string // what was said about files
}

// Warn says what a user must know even with --quiet.
func (p *Process) Warn(format string, args ...any) {
	fmt.Fprintf(p.Err, "erreval: "+format+"\n", args...)
}

// Say says what is done, unless the process is quiet.
func (p *Process) Say(format string, args ...any) {
	if !p.Quiet {
		p.Warn(format, args...)
	}
}

// PrintSummary prints the closing summary of a run: as JSON on standard output, or on standard error where rows go to
// the other; else as text on standard error, unless the process is quiet.
func (p *Process) PrintSummary(asJSON, rowsOut bool, sum interface{ Text(io.Writer) error }) error {
	switch {
	case asJSON && rowsOut:
		return plainjson.Write(p.Err, sum)
	case asJSON:
		return plainjson.Write(p.Out, sum)
	case p.Quiet:
		return nil
	}
	return sum.Text(p.Err)
}

// WarnFaults prints lines that are no rows, and gives the exit code that says so.
func (p *Process) WarnFaults(faults []error) error {
	for _, f := range faults[:min(ShownRejections, len(faults))] {
		fmt.Fprintf(p.Err, "warning: %s\n", words.Printable(f.Error()))
	}
	if more := len(faults) - ShownRejections; more > 0 {
		fmt.Fprintf(p.Err, "warning: and %d more lines like these\n", more)
	}
	if len(faults) == 0 {
		return nil
	}
	return exit.With(exit.Incomplete, nil)
}

// Noted is what Note said.
func (p *Process) Noted() []string { return p.noted }

// Note says what was assumed about a file, each thing once however often the file is read.
func (p *Process) Note(notes []string) {
	for _, n := range notes {
		if !p.NoNotes && !slices.Contains(p.noted, n) {
			p.noted = append(p.noted, n)
			p.Warn("%s", words.Printable(n))
		}
	}
}
