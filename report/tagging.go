package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/words"
)

// Tagging is the closing summary of a run that looked for errors in rows.
type Tagging struct {
	Rows          int            `json:"rows"`          // read and given out
	Tagged        int            `json:"tagged"`        // rows with a diagnosis
	Untagged      int            `json:"untagged"`      // rows without one
	Rejected      int            `json:"rejected"`      // lines that are no rows
	Truncated     int            `json:"truncated"`     // tagged rows that were truncated
	PartlyRead    int            `json:"partly_read"`   // tagged rows of which the model read parts alone
	WithoutError  int            `json:"without_error"` // tagged rows in which no error was found
	Resumed       int            `json:"resumed"`       // rows that an earlier run tagged
	Labels        []LabelCount   `json:"labels"`        // error types, in the taxonomy's order
	Seconds       float64        `json:"seconds"`
	RowsPerSecond float64        `json:"rows_per_second"` // of those tagged now
	Model         string         `json:"model"`
	Taxonomy      string         `json:"taxonomy"`
	Gates         []gate.Result  `json:"gates"`             // results of --fail-on
	Reasons       map[string]int `json:"reasons,omitempty"` // of the untagged rows, without their details
	// of a language model; nil where the output was finished already
	Usage any    `json:"usage,omitempty"`
	Spent string `json:"-"` // Usage in words, or ""
	// sentences about error types that the model is not to be relied on for
	Weak []string `json:"-"`
}

// LabelCount is the number of tagged rows with an error, and the number of those in which it could not be judged.
type LabelCount struct {
	Label     string `json:"label"`
	Rows      int    `json:"rows"`
	NotJudged int    `json:"not_judged,omitempty"`
}

// Text prints the summary as lines and a table.
func (s *Tagging) Text(w io.Writer) error {
	if s.Resumed > 0 {
		fmt.Fprintf(w, "%s tagged by an earlier run\n", words.Plural(s.Resumed, "row was", "rows were"))
	}
	fmt.Fprintf(w, "%s in %.1f s (%.1f a second) with %s: %s\n", words.Plural(s.Rows, "row", "rows"), s.Seconds,
		s.RowsPerSecond, s.Model, s.outcome())
	if s.Spent != "" {
		fmt.Fprintln(w, s.Spent)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var none []string
	for _, l := range s.Labels {
		if l.Rows+l.NotJudged == 0 {
			none = append(none, l.Label)
			continue
		}
		notJudged := ""
		if l.NotJudged > 0 {
			notJudged = "  not judged in " + words.Plural(l.NotJudged, "row", "rows")
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\n", l.Label, l.Rows, s.share(l), notJudged)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(none) > 0 && s.Tagged > 0 {
		fmt.Fprintln(w, inNoRow(none))
	}
	for _, text := range s.Weak {
		fmt.Fprintln(w, text)
	}
	for _, l := range s.Labels {
		if s.Tagged >= fewestAlike && float64(l.Rows) >= shareAlike*float64(s.Tagged) {
			fmt.Fprintf(w, "%s of the rows have the same error, %s: if that is a surprise, see whether each field is read from "+
				"the right column (--map)\n", s.share(l), l.Label)
		}
	}
	return nil
}

// From so many rows on, and where such a share of them has one error, columns may have been taken for each other: of
// swapped ones 82 to 92 % had one.
const (
	fewestAlike = 10
	shareAlike  = 0.75
)

// outcome counts rows by what became of them.
func (s *Tagging) outcome() string {
	text := fmt.Sprintf("%d without error (%s)", s.WithoutError, Percent(s.WithoutError, s.Tagged))
	if others := words.Some(words.Count{N: s.Truncated, What: "truncated"}, words.Count{N: s.PartlyRead,
		What: "read in part"}, words.Count{N: s.Untagged, What: "untagged"}); others != "" {
		text += ", " + others
	}
	return text + words.Rejected(s.Rejected)
}

// share is that of an error in the rows in which it was judged.
func (s *Tagging) share(l LabelCount) string { return Percent(l.Rows, s.Tagged-l.NotJudged) }

// Report is the summary as a report about the named inputs.
func (s *Tagging) Report(inputs []string) *Report {
	r := &Report{Title: "erreval: " + strings.Join(inputs, ", "), Facts: []string{
		fmt.Sprintf("model %s, taxonomy %s", s.Model, s.Taxonomy),
		words.Plural(s.Rows, "row", "rows") + ": " + s.outcome()}}
	r.Sections = Limits(s.Gates)
	t := Table{Columns: []Column{{Title: "error"}, {Title: "rows", Right: true}, {Title: "share", Right: true}}}
	var notes []string
	for _, l := range s.Labels {
		t.Rows = append(t.Rows, []any{l.Label, l.Rows, s.share(l)})
		if l.NotJudged > 0 {
			notes = append(notes, NotJudgedText(l.Label, words.Plural(l.NotJudged, "row", "rows")))
		}
	}
	r.Sections = append(r.Sections, Section{Title: "Share of the tagged rows with each error", Table: t,
		Notes: append(notes, s.Weak...)})
	return r
}

// Limits is the section of the results of limits, if there are any.
func Limits(results []gate.Result) []Section {
	if len(results) == 0 {
		return nil
	}
	t := Table{Columns: []Column{{Title: "limit"}, {Title: "result"}, {Title: "why"}}}
	for _, g := range results {
		result := "held"
		if g.Missed {
			result = "missed"
		}
		t.Rows = append(t.Rows, []any{g.Gate, result, g.Reason})
	}
	return []Section{{Title: "Limits", Table: t}}
}

// junitSuites is the part of JUnit's format that CI servers read.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

// JUnit has a test case for each limit, which fails if the run missed the limit, and one for each error type with its
// share.
func (s *Tagging) JUnit() ([]byte, error) {
	suite := junitSuite{Name: "erreval", Time: fmt.Sprintf("%.3f", s.Seconds)}
	for _, g := range s.Gates {
		c := junitCase{Class: "erreval.limits", Name: g.Gate, Out: g.Reason}
		if g.Missed {
			suite.Failures++
			c.Failure = &junitFailure{Message: g.Reason, Type: "missed"}
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, l := range s.Labels {
		suite.Cases = append(suite.Cases, junitCase{Class: "erreval.errors", Name: l.Label,
			Out: fmt.Sprintf("%d of %d tagged rows (%s)", l.Rows, s.Tagged-l.NotJudged, s.share(l))})
	}
	suite.Tests = len(suite.Cases)
	data, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
