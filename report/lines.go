package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Lines are lines with a name and a text, in two columns.
type Lines struct{ lines []string }

// Add adds a line; several lines may have the same name.
func (l *Lines) Add(name, format string, args ...any) {
	l.lines = append(l.lines, name+"\t"+fmt.Sprintf(format, args...))
}

// Text writes the lines for a terminal or a log.
func (l *Lines) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range l.lines {
		fmt.Fprintln(tw, line)
	}
	return tw.Flush()
}
