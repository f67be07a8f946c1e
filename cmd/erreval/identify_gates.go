package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// githubSummary is the variable in which GitHub's runners name the page of a step.
const githubSummary = "GITHUB_STEP_SUMMARY"

// gateOptions are the flags that make a run say more than its rows do.
type gateOptions struct {
	FailOn  []string // expressions
	Summary string   // Markdown file, or ""
	GitHub  bool     // append to the page named in the environment
	JUnit   string   // XML file, or ""
}

func failOnFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "fail-on",
		Usage: "end with code 6 if `LIMIT` holds, as in \"Factual Error>5%\", \"any>20%\" or \"untagged>0\"; may be repeated"}
}

func gateFlags() []cli.Flag {
	return []cli.Flag{failOnFlag(),
		&cli.StringFlag{Name: "summary", Usage: "write the closing summary as Markdown to `FILE`, replacing it"},
		&cli.BoolFlag{Name: "github-summary", Usage: "append the closing summary to the page of a GitHub step, $" + githubSummary},
		&cli.StringFlag{Name: "junit", Usage: "write limits and error types as JUnit XML to `FILE`, replacing it"}}
}

func readGateOptions(ctx *cli.Context) gateOptions {
	return gateOptions{FailOn: ctx.StringSlice("fail-on"), Summary: ctx.String("summary"), GitHub: ctx.Bool("github-summary"), JUnit: ctx.String("junit")}
}

// check finds what cannot be written before anything is computed.
func (o *gateOptions) check(e *env) error {
	var errs []error
	if o.GitHub && e.Getenv(githubSummary) == "" {
		errs = append(errs, exit.Usagef("--github-summary: $%s is not set; it is on GitHub's runners, elsewhere give --summary FILE", githubSummary))
	}
	return errors.Join(errs...)
}

// parseGates reads the values of --fail-on.
func parseGates(expressions []string, t *taxonomy.Taxonomy) ([]gate.Gate, error) {
	var gates []gate.Gate
	for _, text := range expressions {
		g, err := gate.Parse(text, func(name string) (string, bool) {
			i, ok := t.Index(name)
			if !ok {
				return "", false
			}
			return t.Types[i].Name, true
		})
		if err != nil {
			return nil, exit.Usagef("--fail-on %w; the error types are %s", err, strings.Join(t.Labels(), ", "))
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// checkGates decides all gates. It gives no list but an empty one, for JSON.
func checkGates(gates []gate.Gate, c gate.Counts) []gate.Result {
	results := make([]gate.Result, len(gates))
	for i, g := range gates {
		results[i] = g.Check(c)
	}
	return results
}

// missedGates is nil, or the error with exit code 6 that names what was missed and by how much.
func missedGates(results []gate.Result) error {
	var missed []string
	for _, r := range results {
		if r.Missed {
			missed = append(missed, fmt.Sprintf("--fail-on %q: %s", r.Gate, r.Reason))
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return exit.With(exit.Missed, errors.New(strings.Join(missed, "\n")))
}

// counts is the summary as gates see it.
func (s *identifySummary) counts(noError string) gate.Counts {
	c := gate.Counts{Rows: s.Rows, Tagged: s.Tagged, Untagged: s.Untagged, Truncated: s.Truncated,
		WithoutError: s.WithoutError, Rejected: s.Rejected, Labels: map[string]int{noError: s.WithoutError}, NotJudged: map[string]int{}}
	for _, l := range s.Labels {
		c.Labels[l.Label], c.NotJudged[l.Label] = l.Rows, l.NotJudged
	}
	return c
}

// statsGates decides gates for each system by itself; rejected lines belong to no system, but are told to each.
func statsGates(s *report.Stats, gates []gate.Gate, noError string) error {
	var results []gate.Result
	for _, sys := range s.Systems {
		c := gate.Counts{Rows: sys.Rows, Tagged: sys.Tagged, Untagged: sys.Untagged, Truncated: sys.Truncated,
			WithoutError: sys.WithoutError.Rows, Rejected: s.Rejected, Labels: map[string]int{noError: sys.WithoutError.Rows},
			NotJudged: map[string]int{}}
		for _, l := range sys.Labels {
			c.Labels[l.Label], c.NotJudged[l.Label] = l.Rows, l.NotJudged
		}
		for _, r := range checkGates(gates, c) {
			r.Reason = sys.Name + ": " + r.Reason
			results = append(results, r)
		}
	}
	return missedGates(results)
}

// publish writes the summary to wherever the user wants it besides the terminal.
func (s *identifySummary) publish(e *env, o *identifyOptions) error {
	var errs []error
	if o.Gates.Summary != "" {
		errs = append(errs, replaceFile(o.Gates.Summary, s.markdown(o)))
	}
	if o.Gates.GitHub {
		errs = append(errs, appendFile(e.Getenv(githubSummary), s.markdown(o)))
	}
	if o.Gates.JUnit != "" {
		text, err := s.junit()
		errs = append(errs, err, replaceFile(o.Gates.JUnit, text))
	}
	return errors.Join(errs...)
}

func replaceFile(path, text string) error {
	partial := path + ".partial"
	if err := os.WriteFile(partial, []byte(text), 0o666); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	if err := os.Rename(partial, path); err != nil {
		return fmt.Errorf("summary: %w", errors.Join(err, os.Remove(partial)))
	}
	return nil
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

// markdown is the summary as a page.
func (s *identifySummary) markdown(o *identifyOptions) string {
	r := report.Report{Title: "erreval: " + strings.Join(o.Inputs, ", "), Facts: []string{
		fmt.Sprintf("model %s, taxonomy %s", s.Model, s.Taxonomy),
		fmt.Sprintf("%s: %d without error (%s), %d truncated, %d untagged; %s rejected", words.Plural(s.Rows, "row", "rows"),
			s.WithoutError, report.Percent(s.WithoutError, s.Tagged), s.Truncated, s.Untagged,
			words.Plural(s.Rejected, "line", "lines"))}}
	if len(s.Gates) > 0 {
		t := report.Table{Columns: []report.Column{{Title: "limit"}, {Title: "result"}, {Title: "why"}}}
		for _, g := range s.Gates {
			t.Rows = append(t.Rows, []string{g.Gate, map[bool]string{true: "missed", false: "held"}[g.Missed], g.Reason})
		}
		r.Sections = append(r.Sections, report.Section{Title: "Limits", Table: t})
	}
	t := report.Table{Columns: []report.Column{{Title: "error"}, {Title: "rows", Right: true}, {Title: "share", Right: true}}}
	for _, l := range s.Labels {
		t.Rows = append(t.Rows, []string{l.Label, fmt.Sprint(l.Rows), report.Percent(l.Rows, s.Tagged)})
	}
	r.Sections = append(r.Sections, report.Section{Title: "Share of the tagged rows with each error", Table: t})
	var b strings.Builder
	if err := r.Markdown(&b); err != nil {
		return err.Error() // a strings.Builder does not fail
	}
	return b.String()
}

// junitSuites is what CI servers read of JUnit's format.
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

// junit has one test case a gate, which fails if it was missed, and one an error type with its share.
func (s *identifySummary) junit() (string, error) {
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
			Out: fmt.Sprintf("%d of %d tagged rows (%s)", l.Rows, s.Tagged, report.Percent(l.Rows, s.Tagged))})
	}
	suite.Tests = len(suite.Cases)
	data, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	return xml.Header + string(data) + "\n", err
}
