package issues

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Changes of an issue from one run to another.
const (
	New       = "new"   // no row of A has it
	Gone      = "gone"  // no row of B has it
	Grown     = "grown" // more of B's rows have it than of A's, by more than chance explains
	Shrunk    = "shrunk"
	Unchanged = "no change shown" // there may be one that so few rows do not show
)

// Changes are those that limits may be on.
func Changes() []string { return []string{New, Gone, Grown, Shrunk} }

// byLabels is the List.Analysis of issues that are named after error types, so that lists need not be mapped.
const byLabels = "labels"

// alpha is the level at which a change is called one, over all issues together.
const alpha = 1 - stats.Level

// anyIssue stands in Grown and Shrunk for the rows with an issue.
const anyIssue = "rows with any issue"

// pairedFrom is the share of the smaller file's rows that the other file has too from which rows are compared in pairs.
const pairedFrom = 0.5

// Diff is what changed between the issues of two runs, A and B, which have ids in common where B was mapped to A's
// list.
type Diff struct {
	A         DiffSide       `json:"a"`
	B         DiffSide       `json:"b"`
	Pairing   report.Pairing `json:"pairing"`
	Apart     bool           `json:"found_apart,omitempty"` // neither list was mapped to another one
	Both      int            `json:"both"`                  // rows with a partner in the other file
	Compared  int            `json:"compared"`              // pairs that were looked at in both; 0 where rows are not paired
	Paired    bool           `json:"paired"`                // shares are of Compared
	SharedIDs int            `json:"shared_issues"`
	Group     string         `json:"group,omitempty"` // see DiffOptions
	Issues    []IssueDiff    `json:"issues"`          // the largest differences first
	Any       IssueDiff      `json:"any_issue"`       // of the rows with any of them; its p is not corrected
	Gates     []gate.Result  `json:"gates"`           // results of --fail-on, see CheckGates
	faults    []error
}

// DiffSide is one of the files.
type DiffSide struct {
	File       string `json:"file"`
	Rows       int    `json:"rows"`
	Looked     int    `json:"looked_at"`  // rows of which it is known whether they have a listed issue
	Unassigned int    `json:"unassigned"` // rows of which nothing is known
	Issues     int    `json:"issues"`
}

// IssueDiff is what changed for one issue. Differences are B minus A.
type IssueDiff struct {
	ID         string        `json:"id"`
	Name       string        `json:"name"`
	Change     string        `json:"change"` // New, Gone, Grown, Shrunk or Unchanged
	CountA     int           `json:"count_a"`
	CountB     int           `json:"count_b"`
	ShareA     report.Number `json:"share_a"`
	ShareB     report.Number `json:"share_b"`
	Difference report.Figure `json:"difference"` // of the shares
	Gained     int           `json:"gained,omitempty"`
	Lost       int           `json:"lost,omitempty"`
	P          report.Number `json:"p"`      // two-sided, that the difference is not 0
	PHolm      report.Number `json:"p_holm"` // corrected for the number of issues
}

// DiffOptions say how runs are compared.
type DiffOptions struct {
	Taxonomy *taxonomy.Taxonomy
	Where    map[string]string // column to the value that rows must have there; nil chooses all
	ID       []string          // columns that the user named for ids, see dataset.NewPairing
	Group    string            // by which rows stand and fall together, for intervals; "" if each row is its own
}

// Comparison collects the rows of two runs: first those of A, then those of B.
type Comparison struct {
	o       DiffOptions
	filter  dataset.Filter
	diff    Diff
	at      stats.Numbers[string] // of issues, by id: places in diff
	pairing *dataset.Pairing
	groups  stats.Numbers[[16]byte]
	a, b    []compared
	pairOf  []int // by row of b: row of a, or -1
}

type compared struct {
	group int
	has   []int // places of issues; nil where nothing is known
	known bool
}

// NewComparison starts with the lists of both runs. They have to share an id, else nothing can be compared.
func NewComparison(a, b *List, o DiffOptions) (*Comparison, error) {
	c := &Comparison{o: o, filter: dataset.Filter{Where: o.Where}, at: stats.Numbers[string]{},
		pairing: dataset.NewPairing(o.Taxonomy, o.ID), groups: stats.Numbers[[16]byte]{}}
	c.diff.Group, c.diff.Issues = o.Group, []IssueDiff{}
	c.diff.Apart = a.Analysis != byLabels || b.Analysis != byLabels
	for side, l := range []*List{a, b} {
		for _, issue := range l.Issues {
			c.diff.Apart = c.diff.Apart && !issue.Known
			if c.at.Of(issue.ID) < len(c.diff.Issues) {
				c.diff.SharedIDs++
			} else {
				c.diff.Issues = append(c.diff.Issues, IssueDiff{ID: issue.ID, Name: issue.Name})
			}
		}
		[]*DiffSide{&c.diff.A, &c.diff.B}[side].Issues = len(l.Issues)
	}
	if c.diff.SharedIDs == 0 && len(a.Issues) > 0 && len(b.Issues) > 0 {
		return nil, errors.New("the lists have no issue in common: find the second one's with " +
			"erreval discover --issues A.issues.json, so that its rows are mapped to the first one's")
	}
	return c, nil
}

// ReadA reads the rows of the first file, ReadB, after it, those of the second; read gives them until io.EOF.
func (c *Comparison) ReadA(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	return c.read(ctx, file, read, &c.diff.A, func(row *dataset.Row, r compared) {
		c.pairing.AddA(row)
		c.a = append(c.a, r)
	})
}

// ReadB reads the second file.
func (c *Comparison) ReadB(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	return c.read(ctx, file, read, &c.diff.B, func(row *dataset.Row, r compared) {
		c.pairing.AddB(row)
		c.b = append(c.b, r)
	})
}

func (c *Comparison) read(ctx context.Context, file string, read func() (*dataset.Row, error), s *DiffSide,
	add func(*dataset.Row, compared)) error {
	s.File = file
	faults, err := dataset.EachRow(ctx, read, func(row *dataset.Row) error {
		if !c.filter.Match(row) {
			return nil
		}
		f, err := Of(row)
		if err != nil {
			return err
		}
		group, err := report.GroupOf(row, c.o.Taxonomy, c.o.Group)
		if err != nil {
			return err
		}
		sum := sha256.Sum256([]byte(group))
		r := compared{group: c.groups.Of([16]byte(sum[:16]))}
		s.Rows++
		if f == nil || !f.IsKnown() {
			s.Unassigned++
			add(row, r)
			return nil
		}
		s.Looked++
		r.known = true
		for _, id := range f.IDs {
			at, ok := c.at[id]
			if !ok {
				return fmt.Errorf("row %s has the issue %q, which %s does not list", row.ID, id, Path(file))
			}
			r.has = append(r.has, at)
		}
		add(row, r)
		return nil
	})
	c.diff.faults = append(c.diff.faults, faults...)
	return err
}

// ComputeDiff compares. It is an error if no row can be compared.
func (c *Comparison) ComputeDiff() (*Diff, error) {
	d := &c.diff
	if d.A.Rows+d.B.Rows == 0 && len(c.o.Where) > 0 {
		return nil, c.filter.NoMatch(d.A.File + ", " + d.B.File)
	}
	if d.A.Looked == 0 || d.B.Looked == 0 {
		return nil, fmt.Errorf("%s has %s that were looked at, %s has %d: nothing can be compared", d.A.File,
			words.Plural(d.A.Looked, "row", "rows"), d.B.File, d.B.Looked)
	}
	c.pair()
	at := c.addAny()
	if d.Paired {
		c.comparePairs()
	} else {
		c.compareShares()
	}
	d.Any, d.Issues = d.Issues[at], d.Issues[:at]
	d.Any.PHolm = d.Any.P
	d.Any.setChange()
	c.correct()
	slices.SortStableFunc(d.Issues, func(a, b IssueDiff) int {
		return cmp.Compare(math.Abs(float64(b.Difference.Value)), math.Abs(float64(a.Difference.Value)))
	})
	return d, nil
}

// correct corrects the p-values for all issues together, and says what they tell.
func (c *Comparison) correct() {
	p := make([]float64, len(c.diff.Issues))
	for n := range p {
		p[n] = float64(c.diff.Issues[n].P)
	}
	holm := stats.Holm(p)
	for n := range c.diff.Issues {
		i := &c.diff.Issues[n]
		i.PHolm = report.Number(holm[n])
		i.setChange()
	}
}

func (i *IssueDiff) setChange() {
	switch {
	case i.CountA == 0 && i.CountB > 0:
		i.Change = New
	case i.CountB == 0 && i.CountA > 0:
		i.Change = Gone
	case float64(i.PHolm) < alpha && i.Difference.Value > 0:
		i.Change = Grown
	case float64(i.PHolm) < alpha && i.Difference.Value < 0:
		i.Change = Shrunk
	default:
		i.Change = Unchanged
	}
}

// addAny gives rows with issues one more, at the place that it returns.
func (c *Comparison) addAny() int {
	at := len(c.diff.Issues)
	c.diff.Issues = append(c.diff.Issues, IssueDiff{Name: anyIssue})
	for _, rows := range [][]compared{c.a, c.b} {
		for i := range rows {
			if len(rows[i].has) > 0 {
				rows[i].has = append(rows[i].has, at)
			}
		}
	}
	return at
}

// pair decides whether rows are compared in pairs.
func (c *Comparison) pair() {
	d := &c.diff
	pairs := c.pairing.Match()
	c.pairOf, d.Both, d.Pairing = pairs.Of, pairs.Both, report.NewPairing(pairs, len(c.a), len(c.b))
	for j, i := range c.pairOf {
		if i >= 0 && c.b[j].known && c.a[i].known {
			d.Compared++
		}
	}
	if d.Paired = float64(d.Compared) >= pairedFrom*float64(min(d.A.Looked, d.B.Looked)); !d.Paired {
		d.Compared = 0
	}
}
