package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/taxonomy"
)

// Stats are the shares of error types among tagged rows, per system. Its JSON keys are stable.
type Stats struct {
	Files    []string      `json:"files"`
	Taxonomy string        `json:"taxonomy"`
	Models   []string      `json:"models"` // as the diagnoses name them
	By       string        `json:"by"`     // what a system is: a column, "file", or "" for one of all rows
	Interval Interval      `json:"interval"`
	Rejected int           `json:"rejected"` // lines that are no rows
	Systems  []SystemStats `json:"systems"`  // in order of appearance

	warnings []FileWarning
}

// SystemStats are those of one system. Shares are of its tagged rows.
type SystemStats struct {
	Name         string       `json:"name"`
	Rows         int          `json:"rows"`
	Tagged       int          `json:"tagged"`
	Untagged     int          `json:"untagged"`  // rows without a diagnosis, or whose diagnosis failed
	Truncated    int          `json:"truncated"` // tagged rows that were truncated
	WithoutError Share        `json:"without_error"`
	Labels       []LabelShare `json:"labels"` // every error type, in the taxonomy's order
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
	Taxonomy  *taxonomy.Taxonomy
	Where     map[string]string // column to the value that rows must have there; nil chooses all
	By        string            // what a system is: a column, ByFile or ByNothing; "" is dataset.ColumnSystem, else ByFile
	Intervals IntervalOptions
}

// Values of StatsOptions.By that are no columns.
const (
	ByFile    = "file"
	ByNothing = "none"
)

// mostSystems is the largest number of systems: a column with more values does not name systems.
const mostSystems = 500

// Tally counts rows for Stats. Its memory grows with the groups times systems, not with the rows.
type Tally struct {
	rows    Tagged
	o       StatsOptions
	scheme  scheme
	stats   Stats
	named   bool // a row named its system, though no column was asked for
	systems map[string]int
	sums    *sums // by group and system: tagged rows; without error and with each error type; not judged by error type
}

// NewTally starts counting. The error is that of IntervalOptions.Validate.
func NewTally(o StatsOptions) (*Tally, error) {
	if err := o.Intervals.Validate(); err != nil {
		return nil, err
	}
	s := newScheme(o.Taxonomy)
	return &Tally{rows: Tagged{Taxonomy: o.Taxonomy, Where: o.Where}, o: o, scheme: s, systems: map[string]int{},
		sums:  newSums(1 + (1 + len(s.labels)) + len(s.labels)),
		stats: Stats{Taxonomy: s.taxonomy, Models: []string{}, Systems: []SystemStats{}}}, nil
}

// ReadRows counts the rows of a file. read gives them until io.EOF, as a dataset.Reader does; file is its name in the
// figures and in errors. A row of another taxonomy is an ErrUnfit, one without a column that the options name an
// *OptionError.
func (t *Tally) ReadRows(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	return t.rows.Each(ctx, file, read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		system, err := t.systemOf(row, file)
		if err != nil {
			return err
		}
		if _, known := t.systems[system]; !known && len(t.systems) == mostSystems {
			return OptionErrorf("--by %s: more than %d different values; choose a column that names systems",
				t.o.By, mostSystems)
		}
		group := "" // Wilson's intervals need none
		if t.o.Intervals.Method == Bootstrap {
			if group, err = GroupOf(row, t.o.Taxonomy, t.o.Intervals.Group); err != nil {
				return err
			}
		}
		return t.addDiagnosis(system, group, d)
	})
}

// systemOf names the row's system; "" is that of all files.
func (t *Tally) systemOf(row *dataset.Row, file string) (string, error) {
	column := t.o.By
	switch t.o.By {
	case ByFile:
		return file, nil
	case ByNothing:
		return "", nil
	case "":
		column = dataset.ColumnSystem
	}
	raw, ok := row.Get(column)
	switch {
	case ok && string(raw) != "null":
		t.named = true
		return dataset.ShortName(dataset.PlainText(raw)), nil
	case ok && t.o.By != "":
		return "(null)", nil
	case t.o.By != "":
		return "", NoColumn("--by", row, column)
	}
	return file, nil
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

// addDiagnosis counts one row; d is nil where there is no diagnosis.
func (t *Tally) addDiagnosis(system, group string, d *dataset.Diagnosis) error {
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
		return nil
	}
	has, err := t.scheme.errorsOf(d)
	if err != nil {
		return err
	}
	s.Tagged++
	if len(d.Truncated) > 0 {
		s.Truncated++
	}
	t.stats.Models = dataset.AppendName(t.stats.Models, d.Model)
	rows, found, notJudged := splitCells(t.sums.countsOf(group, i))
	*rows++
	countErrors(found, has)
	for _, name := range d.NotJudged {
		if k := t.scheme.index(name); k >= 0 {
			notJudged[k]++
		}
	}
	return nil
}

// ComputeStats computes shares and intervals. It is an error if no row is tagged; otherwise the error is the context's.
func (t *Tally) ComputeStats(ctx context.Context) (*Stats, error) {
	rows, tagged := 0, 0
	for i := range t.stats.Systems {
		s := &t.stats.Systems[i]
		rows, tagged = rows+s.Rows, tagged+s.Tagged
		if t.o.By == ByNothing {
			s.Name = t.rows.fileNames()
		}
	}
	if tagged == 0 {
		return nil, t.rows.NothingToShow(rows)
	}
	t.stats.Files, t.stats.By, t.stats.warnings = t.rows.files, t.systemKind(), t.rows.warnings()
	t.stats.Rejected = len(t.rows.faults)
	if err := t.computeShares(ctx); err != nil {
		return nil, err
	}
	return &t.stats, nil
}

func (t *Tally) computeShares(ctx context.Context) error {
	for i, cells := range t.sums.sumByBlock(nil, len(t.stats.Systems)) {
		s := &t.stats.Systems[i]
		_, found, notJudged := splitCells(cells)
		withoutError, errors := found[0], found[1:]
		s.WithoutError = newShare(int(withoutError), s.Tagged)
		s.Labels = make([]LabelShare, len(t.scheme.labels))
		for k, l := range t.scheme.labels {
			unjudged := int(notJudged[k])
			s.Labels[k] = LabelShare{l.Name, l.Code, unjudged, newShare(int(errors[k]), s.Tagged-unjudged)}
		}
	}
	t.stats.Interval = t.o.Intervals.describe(len(t.sums.groups))
	switch t.o.Intervals.Method {
	case Wilson:
		t.eachShare(func(_, of, _ int, share *Share) { share.setWilsonInterval(share.Rows, of) })
	case Bootstrap:
		return t.resampleShares(ctx)
	}
	return nil
}

// Warnings say what the figures leave out.
func (s *Stats) Warnings() []FileWarning { return s.warnings }

// IsIncomplete tells whether a line is no row.
func (s *Stats) IsIncomplete() bool { return s.Rejected > 0 }

// eachShare calls f for every share, with the index of its system, the number of rows among which it counts, and its
// index among the shares of the system: rows without error (0), then every error type.
func (t *Tally) eachShare(f func(system, of, index int, share *Share)) {
	for i := range t.stats.Systems {
		s := &t.stats.Systems[i]
		f(i, s.Tagged, 0, &s.WithoutError)
		for k := range s.Labels {
			f(i, s.Tagged-s.Labels[k].NotJudged, 1+k, &s.Labels[k].Share)
		}
	}
}

// resampleShares resamples the groups of all systems at once, since systems share passages.
func (t *Tally) resampleShares(ctx context.Context) error {
	systems := len(t.stats.Systems)
	samples, err := resample(ctx, t.sums, &t.o.Intervals, systems, func(total [][]float64) (shares [][]float64) {
		for _, cells := range total { // NaN where the resample has none of the system's rows
			rows, found, notJudged := splitCells(cells)
			system := []float64{found[0] / *rows}
			for k, n := range found[1:] {
				system = append(system, n/(*rows-notJudged[k]))
			}
			shares = append(shares, system)
		}
		return shares
	})
	if err != nil {
		return err
	}
	groups := t.sums.countGroups(systems)
	t.eachShare(func(system, _, index int, share *Share) {
		setShareInterval(share, samples, groups[system], func(shares [][]float64) float64 { return shares[system][index] })
	})
	return nil
}

func (s *Share) setWilsonInterval(hits, trials int) {
	low, high := stats.Wilson(hits, trials)
	s.Low, s.High = Number(low), Number(high)
}

// Report puts the figures into words and tables.
func (s *Stats) Report() *Report {
	r := &Report{Title: "Errors in " + strings.Join(s.Files, ", ")}
	r.Facts = append(r.Facts, "model "+joinModels(s.Models)+", taxonomy "+s.Taxonomy)
	if s.Rejected > 0 {
		r.Facts = append(r.Facts, rejectedText(s.Rejected)+": outside of every figure")
	}
	r.Facts = append(r.Facts, s.notJudged()...)
	r.Facts = append(r.Facts, s.Interval.facts()...)
	if s.Interval.Method == Bootstrap {
		r.Facts = append(r.Facts,
			"where resampling shows no spread, the interval is Wilson's for that many groups")
	}
	r.Sections = []Section{{Title: "Rows", Table: s.rowTable()}, {Title: "Share of the tagged rows with each error",
		Table: s.labelTable()}}
	return r
}

// notJudged says which shares leave rows out.
func (s *Stats) notJudged() []string {
	var lines []string
	for _, sys := range s.Systems {
		for _, l := range sys.Labels {
			if l.NotJudged > 0 {
				lines = append(lines,
					fmt.Sprintf("%s: %s was not judged in %d rows, which lack a field that it needs; its share is of the others",
						sys.Name, l.Label, l.NotJudged))
			}
		}
	}
	return lines
}

func joinModels(models []string) string {
	if len(models) == 0 {
		return "unknown"
	}
	return strings.Join(models, " and ")
}

func (s *Stats) hasSeveralSystems() bool { return len(s.Systems) > 1 }

func (s *Stats) rowTable() Table {
	t := Table{Columns: []Column{{s.systemTitle(), false}, {"rows", true}, {"untagged", true}, {"truncated", true},
		{"without error", true}, {"share", true}, {s.intervalTitle(), true}}}
	for _, sys := range s.Systems {
		w := sys.WithoutError
		t.Rows = append(t.Rows, []string{sys.Name, fmt.Sprint(sys.Rows), fmt.Sprint(sys.Untagged), fmt.Sprint(sys.Truncated),
			fmt.Sprint(w.Rows), percentText(w.Share), rangeText(w.Low, w.High, "%.1f", " %")})
	}
	return t
}

func (s *Stats) systemTitle() string {
	if s.By == "" {
		return "file"
	}
	return s.By
}

func (s *Stats) intervalTitle() string { return fmt.Sprintf("%.0f %% interval", 100*s.Interval.Level) }

// labelTable has the systems of an error one below the other, to be compared.
func (s *Stats) labelTable() Table {
	t := Table{Columns: []Column{{"error", false}, {"code", false}}}
	if s.hasSeveralSystems() {
		t.Columns = append(t.Columns, Column{s.systemTitle(), false})
	}
	t.Columns = append(t.Columns, Column{"rows", true}, Column{"share", true}, Column{s.intervalTitle(), true})
	if len(s.Systems) == 0 {
		return t
	}
	for k, label := range s.Systems[0].Labels {
		for i, sys := range s.Systems {
			row := []string{label.Label, label.Code}
			if i > 0 {
				row = []string{"", ""}
			}
			if s.hasSeveralSystems() {
				row = append(row, sys.Name)
			}
			share := sys.Labels[k]
			t.Rows = append(t.Rows, append(row, fmt.Sprint(share.Rows), percentText(share.Share.Share),
				rangeText(share.Low, share.High, "%.1f", " %")))
		}
	}
	return t
}
