package run

import (
	"cmp"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/erreval/erreval/internal/exit"
)

// plainWidth is the width of output where there is no terminal, in columns.
const plainWidth = 110

// Width is the number of columns to print in: that of TerminalWidth, else 110.
func (p *Process) Width() int { return cmp.Or(p.TerminalWidth(), plainWidth) }

// TerminalWidth is the number of columns of $COLUMNS, else of the terminal; 0 where there is none, and lines may be of
// any length.
func (p *Process) TerminalWidth() int {
	if n, err := strconv.Atoi(p.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := Unguarded(p.Out).(*os.File); ok && p.IsTerminal(f) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// UsesColor tells whether to print in colours: "auto" on a terminal, unless $NO_COLOR or a dumb one says otherwise,
// "always" or "never". Any other when is an error of usage.
func (p *Process) UsesColor(when string) (bool, error) {
	switch when {
	case "auto":
		return p.IsTerminal(p.Out) && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb", nil
	case "always", "never":
		return when == "always", nil
	}
	return false, exit.Usagef("--color %q: it is auto or always or never", when)
}
