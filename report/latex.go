package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

var latexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "&", `\&`, "%", `\%`, "$", `\$`,
	"#", `\#`, "_", `\_`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">",
	`\textgreater{}`, "–", "--", "…", `\ldots{}`, "−", "$-$", "×", `$\times$`)

func escapeLaTeX(s string) string { return latexEscapes.Replace(words.Printable(s)) }

// LaTeX writes each table of the report as a table environment with the rules of the package booktabs, which the
// document must load, with its notes below it. Facts and method, and sections without a table, are comments.
func (r *Report) LaTeX(w io.Writer) error {
	var b strings.Builder
	comment := func(lines ...string) {
		for _, l := range lines {
			b.WriteString("% " + words.Printable(l) + "\n")
		}
	}
	comment(r.Title)
	comment(slices.Concat(r.Facts, r.Method)...)
	for i, s := range r.Sections {
		if len(s.Table.Rows) == 0 {
			if len(s.Notes) > 0 {
				b.WriteString("\n")
				comment(slices.Concat([]string{s.Title}, s.Notes)...)
			}
			continue
		}
		t, notes := s.Table, slices.Concat(s.Codes, s.Notes)
		if len(s.LaTeX.Rows) > 0 { // with names in full
			t, notes = s.LaTeX, s.Notes
		}
		fmt.Fprintf(&b, "\n\\begin{table}\n\\centering\n\\caption{%s}\n\\label{tab:%s-%d}\n%s",
			escapeLaTeX(s.Title), notInLabels.ReplaceAllString(strings.ToLower(r.Title), "-"), i+1, t.latex())
		for _, note := range notes {
			fmt.Fprintf(&b, "\\par{\\footnotesize %s}\n", escapeLaTeX(note))
		}
		b.WriteString("\\end{table}\n")
	}
	if r.Result != "" {
		b.WriteString("\n")
		comment(r.Result)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notInLabels keeps tables of several reports in one document apart by their titles, in what every label may hold.
var notInLabels = regexp.MustCompile(`[^a-z0-9]+`)

func (t Table) latex() string {
	var b strings.Builder
	head, align := make([]any, len(t.Columns)), ""
	for i, c := range t.Columns {
		head[i] = c.Title
		align += map[bool]string{false: "l", true: "r"}[c.Right]
	}
	line := func(cells []any) {
		escaped := make([]string, len(cells))
		for i, c := range cells {
			escaped[i] = escapeLaTeX(fmt.Sprint(c))
		}
		b.WriteString(strings.Join(escaped, " & ") + ` \\` + "\n")
	}
	b.WriteString(`\begin{tabular}{` + align + "}\n\\toprule\n")
	line(head)
	b.WriteString("\\midrule\n")
	for _, row := range t.Rows {
		line(row)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}
