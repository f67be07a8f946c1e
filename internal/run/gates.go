package run

import (
	"errors"
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/taxonomy"
)

// ParseGates reads limits, the values of --fail-on. label finds the name of a label by its name or code; labels are
// all.
func ParseGates(limits []string, label func(string) (string, bool), labels []string) ([]gate.Gate, error) {
	var gates []gate.Gate
	for _, text := range limits {
		g, err := gate.Parse(text, label)
		if err != nil {
			return nil, exit.Usagef("--fail-on %w; the error types are %s", err, strings.Join(labels, ", "))
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// CheckGates decides limits by what the run counted. It gives no list but an empty one, for JSON. noError is the label
// of rows without an error, or "".
func (r *Run) CheckGates(gates []gate.Gate, noError string) []gate.Result {
	c, missing := r.total, r.total[r.stage.missing()]
	seen := gate.Counts{Rows: c[CountRows], Tagged: c[CountRows] - missing, Untagged: missing,
		Truncated: c[CountTruncated], WithoutError: c[CountWithoutError], Rejected: c[CountRejected],
		NoError: noError, Labels: map[string]int{noError: c[CountWithoutError]}, NotJudged: map[string]int{}}
	for name, n := range c {
		if label, ok := strings.CutPrefix(name, CountLabel); ok {
			seen.Labels[label] = n
		}
		if label, ok := strings.CutPrefix(name, CountNotJudged); ok {
			seen.NotJudged[label] = n
		}
	}
	return gate.CheckAll(gates, seen)
}

// FitsTaxonomy refuses labels of another taxonomy than t. d may be nil.
func FitsTaxonomy(row *dataset.Row, d *dataset.Diagnosis, t *taxonomy.Taxonomy) error {
	if d == nil || d.MadeWith(t.ID()) {
		return nil
	}
	return exit.With(exit.Unfit,
		fmt.Errorf("row %s was tagged with the taxonomy %s, not %s; give that one with --taxonomy",
			row.ID, d.Taxonomy, t.ID()))
}

// MissedGates is nil, or the error with exit code 6 that names what was missed and by how much. It says which limits
// hold by some of the rows alone.
func (p *Process) MissedGates(results []gate.Result) error {
	var missed []string
	for _, r := range results {
		if !r.Missed && r.NotJudged > 0 {
			p.Warn("--fail-on %q knows what was judged alone: %s", r.Gate, r.Reason)
		}
		if r.Missed {
			missed = append(missed, fmt.Sprintf("--fail-on %q: %s", r.Gate, r.Reason))
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return exit.With(exit.Missed, errors.New(strings.Join(missed, "\n")))
}
