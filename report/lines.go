package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// NamedLines writes lines of a name and what it says, in two columns. What line was given is written when flush is called.
func NamedLines(w io.Writer) (line func(name, format string, args ...any), flush func() error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	return func(name, format string, args ...any) {
		fmt.Fprintf(tw, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}, tw.Flush
}
