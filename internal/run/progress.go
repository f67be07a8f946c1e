package run

import (
	"fmt"
	"io"
	"time"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
)

// progressEvery is how often the progress line changes.
const progressEvery = 200 * time.Millisecond

// Progress is a line on a terminal: rows, rate, time left. On anything else it is silent.
type Progress struct {
	w     io.Writer
	on    bool
	shown bool
	last  time.Time
	start time.Time // of this file
	first int       // rows before this file
	size  int64     // of this file in bytes, or -1
	read  *runrecord.InputReader
	from  int64 // bytes skipped, which say nothing about the rate
	rows  int
	More  func() string // what else the line says, or nil
}

// NewProgress is silent where the process is quiet.
func NewProgress(p *Process) *Progress {
	return &Progress{w: Unguarded(p.Err), on: !p.Quiet && p.IsTerminal(p.Err)}
}

// Begin is the start of a file of size bytes (-1 if not known), which is read through read; nil where no file is read.
func (p *Progress) Begin(size int64, read *runrecord.InputReader) {
	p.start, p.first, p.size, p.read, p.from = time.Now(), p.rows, size, read, 0
}

// Skip leaves what was read so far, with so many rows, out of the rate.
func (p *Progress) Skip(rows int) { p.start, p.first, p.from = time.Now(), rows, p.read.Size() }

// Show renews the line, but not too often.
func (p *Progress) Show(rows int) {
	p.rows = rows
	p.ShowText(p.line)
}

// ShowText renews the line with other text than that of rows, but not too often.
func (p *Progress) ShowText(text func(now time.Time) string) {
	now := time.Now()
	if !p.on || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(p.w, "\r\x1b[K%s", words.Printable(text(now)))
}

func (p *Progress) line(now time.Time) string {
	elapsed := now.Sub(p.start)
	line := fmt.Sprintf("%d rows, %.1f rows/s", p.rows, float64(p.rows-p.first)/elapsed.Seconds())
	if p.read == nil {
		return line + p.describeMore()
	}
	if read := p.read.Size(); p.size > 0 && read > p.from {
		left := time.Duration(float64(elapsed) * float64(p.size-read) / float64(read-p.from))
		line += fmt.Sprintf(", %d %%, %s left", 100*read/p.size, left.Round(time.Second))
	}
	return line + p.describeMore()
}

func (p *Progress) describeMore() string {
	if p.More == nil {
		return ""
	}
	return p.More()
}

// Clear removes the line, so that other text can be printed.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
