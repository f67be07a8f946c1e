package report_test

import (
	"strings"
	"testing"

	"github.com/erreval/erreval/report"
)

// TestLaTeX: a table of a paper, in which no text of a user's is a command.
func TestLaTeX(t *testing.T) {
	table := report.NewTable("system", "share")
	table.Rows = [][]any{{`a_b & \input{x}`, "50.0 %"}, {"50 % off\nnext", "–"}}
	r := report.Report{Title: "What\nis this", Facts: []string{"2 rows"}, Sections: []report.Section{
		{Title: "Shares #1", Notes: []string{"a note"}, Table: table}, {Title: "no table"},
		{Title: "lines", Notes: []string{"a\nb: 2"}}}}
	var b strings.Builder
	if err := r.LaTeX(&b); err != nil {
		t.Fatal(err)
	}
	want := `% What is this
% 2 rows

\begin{table}
\centering
\caption{Shares \#1}
\label{tab:what-is-this-1}
\begin{tabular}{lr}
\toprule
system & share \\
\midrule
a\_b \& \textbackslash{}input\{x\} & 50.0 \% \\
50 \% off next & -- \\
\bottomrule
\end{tabular}
\par{\footnotesize a note}
\end{table}

% lines
% a b: 2
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
