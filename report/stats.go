package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/taxonomy"
)

// Stats are the shares of error types among tagged rows, per system. Its JSON keys are stable.
type Stats struct {
	Files    []string `json:"files"`
	Taxonomy string   `json:"taxonomy"`
	Models   []string `json:"models"` // as the diagnoses name them
	By       string   `json:"by"`     // what a system is: a column, "file", or "" for one of all rows
	Interval Interval `json:"interval"`
	Rejected int      `json:"rejected"`           // lines that are no rows
	LeftOut  int      `json:"left_out"`           // lines that the runs which made the files rejected, as far as records say it
	Repeated int      `json:"repeated,omitempty"` // rows with the texts of one before by the same system, counted too
	again    []string // systems with rows for one input in several files
	// tagged rows without any label, not even that for no error; they count as without error
	Unlabelled int           `json:"unlabelled,omitempty"`
	Systems    []SystemStats `json:"systems"` // in order of appearance
	All        SystemStats   `json:"all"`     // of the rows of all systems together
	// Differences of two systems in each column; of three or more, of the best in the column and the second best.
	Differences []Contrast   `json:"differences,omitempty"`
	Tests       []Test       `json:"tests,omitempty"`      // with StatsOptions.Tests
	Thresholds  []Thresholds `json:"thresholds,omitempty"` // of the files whose records say them
	Weak        []string     `json:"weak,omitempty"`       // what records say that models are not to be relied on for

	columns        []column
	leastGroups    int             // a system of three or more needs to be compared
	few            int             // systems of fewer
	issuesOfErrors bool            // StatsOptions.OfErrors
	unevenPairs    int             // of systems, which Tests leave out (Contrast.Uneven)
	lost           map[string]Lost // by file
	inFiles        *inFiles        // of two files whose rows name several systems
	fewInFile      []string        // of these, systems that take no part in Within, as the second has hardly a row
	newInFile      []string        // of these, systems of which the first has hardly a row
	BySystem       []SystemDiff    `json:"by_system,omitempty"` // of two files that name several: from the first to the second
	// of two files whose systems are the same, the second minus the first in each label, as limits on growth take it
	Within   []Contrast    `json:"within,omitempty"`
	Notes    []string      `json:"notes,omitempty"` // of two files: what may make the difference between them
	Gates    []gate.Result `json:"gates,omitempty"` // see CheckGates
	warnings []FileWarning
}

// SystemStats are those of one system. Shares are of its tagged rows.
type SystemStats struct {
	Name         string       `json:"name"`
	Rows         int          `json:"rows"`
	Tagged       int          `json:"tagged"`
	Untagged     int          `json:"untagged"`    // rows without a diagnosis, or whose diagnosis failed
	Truncated    int          `json:"truncated"`   // tagged rows that were truncated
	PartlyRead   int          `json:"partly_read"` // tagged rows of which a model read parts alone
	WithoutError Share        `json:"without_error"`
	Labels       []LabelShare `json:"labels"` // every error type, in the taxonomy's order
	Scores       []ScoreMean  `json:"scores,omitempty"`
	WithoutIssue *Share       `json:"without_issue,omitempty"` // of the rows that were searched for issues
	Issues       []IssueShare `json:"issues,omitempty"`

	Unscored int `json:"unscored,omitempty"` // rows without a value in the dimension in which most have none, where some have one

	cells      []cell // by column
	unsearched int    // rows of which it is not known whether they have an issue, where it is of others
	few        bool   // has fewer than leastGroups groups
}

// cell is a share, or the mean of scores.
type cell struct {
	Share
	sums *stats.GroupSums // of the rows that are known
}

// ScoreMean is the mean score of the rows that have one in a dimension.
type ScoreMean struct {
	Dimension string `json:"dimension"`
	Rows      int    `json:"rows"`
	Mean      Number `json:"mean"`
	Low       Number `json:"low"`
	High      Number `json:"high"`
}

// IssueShare is the share of rows with an issue among those that were searched for issues.
type IssueShare struct {
	Issue string `json:"issue"` // its id
	Name  string `json:"name"`
	Share
}

// LabelShare is the share of tagged rows with an error among those in which it could be judged.
type LabelShare struct {
	Label     string `json:"label"`
	Code      string `json:"code"`
	NotJudged int    `json:"not_judged,omitempty"` // tagged rows that lack a field which the error needs
	Share
}

// StatsOptions say which rows to count, and how.
type StatsOptions struct {
	Taxonomy *taxonomy.Taxonomy
	Where    map[string]string // column to the value that rows must have there; nil chooses all
	By       string            // what a system is: a column, ByFile or ByNothing; "" is dataset.ColumnSystem, else ByFile
	Within   string            // of ByFile: the column that names systems in files; \"\" is one of dataset.SystemColumns
	Group    string            // by which rows stand and fall together, for intervals; "" if each row is its own
	// Issues gives the ids of the issues that were found in a row; false where it was not searched. nil counts none.
	Issues     func(*dataset.Row) (ids []string, searched bool)
	IssueNames map[string]string // by id
	OfErrors   bool              // the issues are kinds of the errors that rows were judged for
	Thresholds []Thresholds      // of the files
	Weak       []string          // of their models
	LeftOut    map[string]Lost   // by file, what records say of the runs that made it
	Tests      bool              // every pair of systems is tested, which keeps the values of all rows in memory
}

// Values of StatsOptions.By that are no columns.
const (
	ByFile    = "file"
	ByNothing = "none"
)

// MostSystems is the largest number of systems: a column with more values does not name systems.
const MostSystems = 500

// SystemOf names the system of a row: by a column or, for "", by dataset.ColumnSystem where the row has one. It is not
// known without; a row without the column that is given is an *OptionError.
func SystemOf(row *dataset.Row, by string) (name string, known bool, err error) {
	raw, ok := row.FindAnyCase(cmp.Or(by, dataset.ColumnSystem))
	switch {
	case ok && string(raw) != "null":
		return cmp.Or(dataset.ShortName(dataset.NameIn(raw)), Nameless), true, nil
	case ok:
		return Nameless, true, nil
	case by == "":
		return "", false, nil
	}
	return "", false, NoColumn("--by", row, by)
}

// Kinds of columns.
const (
	kindLabel = "label"
	kindScore = "score"
	kindIssue = "issue"
)

// column is a value that is known of some rows: whether a row has an error or an issue (1 or 0), or its score.
type column struct {
	kind string
	name string  // an error type, a dimension, an issue's name; "" where the value is whether a row has none of the kind
	id   string  // an issue's id
	code string  // short name
	of   int     // the column whose known rows are those of this one
	span float64 // between a row's least and greatest value: 1 of shares; 0 where a score's is not known
}

// value is that of a row in a column.
type value struct {
	column int
	x      float64
}

// Lost are lines of a file that are no rows.
type Lost struct {
	Lines      int  // that were rejected, when it was made or read
	Unrecorded bool // no record says how many when it was made
}

// Tally counts rows for Stats. Its memory grows with the groups times systems, and with the rows up to mostPaired; with
// StatsOptions.Tests with all rows.
type Tally struct {
	rows    Tagged
	o       StatsOptions
	scheme  scheme
	stats   Stats
	named   bool   // a row named its system, though no column was asked for
	namedIn string // the last file of which a row names its system
	hints   Hints
	systems map[string]int
	at      map[[2]string]int // column by kind and name, of an issue by its id
	decided bool              // a row has probabilities, of which thresholds make labels
	inFiles []*inFiles        // by what may name systems in two files
	// by group and system: of each column the number of rows known, and the sum of their values
	sums     *sums
	outputs  []*output       // for tests
	bySystem [][]*output     // the same, by system
	texts    map[string]bool // by system, of the first mostPaired rows that name one
}

// NewTally starts counting.
func NewTally(o StatsOptions) *Tally {
	s := newScheme(o.Taxonomy)
	t := &Tally{rows: Tagged{Taxonomy: o.Taxonomy, Where: o.Where}, o: o, scheme: s, systems: map[string]int{},
		texts: map[string]bool{}, at: map[[2]string]int{}, sums: newSums(0),
		stats: Stats{Taxonomy: s.taxonomy, lost: map[string]Lost{}, Thresholds: o.Thresholds,
			Weak: o.Weak, issuesOfErrors: o.OfErrors, Models: []string{}, Systems: []SystemStats{}}}
	for file, l := range o.LeftOut {
		t.stats.lost[file] = l
		t.stats.LeftOut += l.Lines
	}
	t.columnOf(kindLabel, "")
	for _, l := range s.labels {
		t.stats.columns[t.columnOf(kindLabel, l.Name)].code = l.Code
	}
	columns := dataset.SystemColumns
	if o.Within != "" {
		columns = []string{o.Within}
	}
	for _, column := range columns {
		t.inFiles = append(t.inFiles, newInFiles(column, len(t.stats.columns)))
	}
	return t
}

// columnOf finds a column, or adds it.
func (t *Tally) columnOf(kind, id string) int {
	c, ok := t.at[[2]string{kind, id}]
	if !ok {
		added := column{kind: kind, name: id, id: id, span: 1}
		isIssue := kind == kindIssue && id != ""
		if isIssue {
			added.name, added.of = cmp.Or(t.o.IssueNames[id], id), t.columnOf(kindIssue, "")
		}
		if c = len(t.stats.columns); !isIssue {
			added.of = c
		}
		t.at[[2]string{kind, id}] = c
		t.stats.columns = append(t.stats.columns, added)
		t.sums.cells = 2 * len(t.stats.columns)
	}
	return c
}

// ReadRows counts the rows of a file. read gives them until io.EOF, as a dataset.Reader does; file is its name in the
// figures and in errors. A row of another taxonomy is an ErrUnfit, one without a column that the options name an
// *OptionError.
func (t *Tally) ReadRows(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	before := len(t.rows.faults)
	defer func() {
		lost := t.stats.lost[file]
		lost.Lines += len(t.rows.faults) - before
		t.stats.lost[file] = lost
	}()
	return t.rows.Each(ctx, file, read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		if t.o.By == "" && !t.named || t.o.By == ByFile {
			t.hints.file = min(len(t.rows.files)-1, 1)
			t.hints.Add(row)
			t.addUsual(row)
		}
		system, err := t.systemOf(row, file)
		if err != nil {
			return err
		}
		if _, known := t.systems[system]; !known && len(t.systems) == MostSystems {
			return OptionErrorf("--by %s: more than %d different values; choose a column that names systems",
				t.o.By, MostSystems)
		}
		group, err := GroupOf(row, t.o.Taxonomy, t.o.Group)
		if err != nil {
			return err
		}
		t.decided = t.decided || d != nil && len(d.Probabilities) > 0
		hash := newGroupHash(group)
		values, err := t.addRow(system, hash, d, t.valuesOf(row))
		t.countRepeat(system, row)
		if t.o.By == ByFile {
			t.addNamed(t.systems[file], row, hash, values)
		}
		if err == nil && values != nil && (t.o.Tests || len(t.outputs) < mostPaired) {
			t.addOutput(row, d, hash, system, file, values)
		}
		return err
	})
}

// systemOf names the row's system; "" is that of all files.
func (t *Tally) systemOf(row *dataset.Row, file string) (string, error) {
	switch t.o.By {
	case ByFile:
		return file, nil
	case ByNothing:
		return "", nil
	}
	name, known, err := SystemOf(row, t.o.By)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w; --by %s tells files apart", err, ByFile)
	case known:
		t.named, t.namedIn = true, file
	case t.namedIn == file: // a row that lacks what those before it have
		name = Nameless
	default:
		name = file
	}
	return name, nil
}

// systemKind says for the report what the systems are: a column, ByFile, or "" for one of all rows.
func (t *Tally) systemKind() string {
	switch {
	case t.o.By == ByNothing:
		return ""
	case t.o.By != "":
		return t.o.By
	case t.named:
		return dataset.ColumnSystem
	case len(t.rows.files) > 1:
		return ByFile
	}
	return ""
}

// addRow counts one row, and gives all its values; d is nil where there is no diagnosis, values are those besides its
// labels.
func (t *Tally) addRow(system string, group groupHash, d *dataset.Diagnosis, values []value) ([]value, error) {
	i, ok := t.systems[system]
	if !ok {
		i = len(t.stats.Systems)
		t.systems[system] = i
		t.stats.Systems = append(t.stats.Systems, SystemStats{Name: system})
	}
	s := &t.stats.Systems[i]
	s.Rows++
	if d == nil || d.Status == dataset.StatusUntagged {
		s.Untagged++
	} else {
		found, err := t.errorsOf(d)
		if err != nil {
			return nil, err
		}
		s.Tagged++
		if len(d.Labels) == 0 && t.o.Taxonomy.NoError() != "" {
			t.stats.Unlabelled++
		}
		if len(d.Truncated) > 0 {
			s.Truncated++
		}
		if len(d.Read) > 0 {
			s.PartlyRead++
		}
		t.stats.Models = dataset.AppendName(t.stats.Models, d.Model)
		values = append(found, values...)
	}
	if len(values) == 0 {
		return nil, nil
	}
	cells := t.sums.of(group, i)
	for _, v := range values {
		cells[2*v.column]++
		cells[2*v.column+1] += v.x
	}
	return values, nil
}

// errorsOf gives the values of a diagnosis: of the rows without error, and of each error that could be judged.
func (t *Tally) errorsOf(d *dataset.Diagnosis) ([]value, error) {
	found, err := t.scheme.errorsOf(d)
	if err != nil {
		return nil, err
	}
	values := append(make([]value, 0, 1+len(found)), value{0, indicator(!slices.Contains(found, present))})
	for k, f := range found {
		if f != notJudged {
			values = append(values, value{1 + k, indicator(f == present)})
		}
	}
	return values, nil
}

// Warnings say what the figures leave out.
func (s *Stats) Warnings() []FileWarning { return s.warnings }

// IsIncomplete tells whether a line is no row.
func (s *Stats) IsIncomplete() bool { return s.Rejected > 0 }
