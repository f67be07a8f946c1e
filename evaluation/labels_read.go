package evaluation

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// GoldCounts count the lines of the gold file.
type GoldCounts struct {
	Gold       int `json:"gold"`       // labelled rows that fit LabelOptions.Where
	Filtered   int `json:"filtered"`   // rows that do not fit it
	Unlabelled int `json:"unlabelled"` // rows without the column "labels"
	Duplicate  int `json:"duplicate"`  // rows in Gold whose id came before; their texts tell them apart
	Rejected   int `json:"rejected"`   // lines that are no rows
	// NotJudged counts the rows in Gold that lack a field which an error needs. That error counts as absent from gold
	// labels and predictions.
	NotJudged int `json:"not_judged"`
}

// PredictionCounts count the gold rows by what one file predicts for them, and the file's other lines.
type PredictionCounts struct {
	Scored          int `json:"scored"`           // gold rows with a prediction
	Untagged        int `json:"untagged"`         // gold rows whose diagnosis is untagged or absent
	Missing         int `json:"missing"`          // gold rows whose id is not in the file
	Changed         int `json:"changed"`          // gold rows whose id has another text there
	Extra           int `json:"extra"`            // rows whose id is not in the gold file
	Duplicate       int `json:"duplicate"`        // rows whose id came before, and that no gold row is left for
	Rejected        int `json:"rejected"`         // lines that are no rows
	NoProbabilities int `json:"no_probabilities"` // scored rows without the probability of every label
}

// unscored counts the gold rows without a usable prediction.
func (c *PredictionCounts) unscored() int { return c.Untagged + c.Missing + c.Changed }

func (c *GoldCounts) describe(file string) string {
	return file + ": " + joinCounts([]count{{c.Gold, "gold rows"}, {c.Filtered, "filtered out"},
		{c.Unlabelled, "without labels"}, {c.Duplicate, "with an id that came before"}, {c.Rejected, "rejected"},
		{c.NotJudged, "with errors that could not be judged"}})
}

func (c *PredictionCounts) describe(file string) string {
	return file + ": " + joinCounts([]count{{c.Scored, "scored"}, {c.Untagged, "untagged"}, {c.Missing, "missing"},
		{c.Changed, "with changed text"}, {c.Extra, "not in the gold file"}, {c.Duplicate, "with an id that came before"},
		{c.Rejected, "rejected"}, {c.NoProbabilities, "without probabilities"}})
}

type count struct {
	n    int
	what string
}

// joinCounts lists the first count, and those after it that are not zero.
func joinCounts(counts []count) string {
	var parts []string
	for i, c := range counts {
		if i == 0 || c.n != 0 {
			parts = append(parts, fmt.Sprint(c.n, " ", c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// goldRow holds what the figures need of a gold row.
type goldRow struct {
	id      string
	labels  []bool
	group   string
	verdict *bool  // nil: unknown
	by      string // value of LabelOptions.By
}

type goldSet struct {
	file   string
	rows   []goldRow
	index  *dataset.Index // of rows, with -1 for one that the filter or a missing label left out
	counts GoldCounts
	faults []error // the rejected lines
	filter dataset.Filter
	ids    map[string]goldTexts // of the first row of each given id and system
}

// goldTexts identify the texts of a row in a line, and are its labels.
type goldTexts struct {
	line   int
	sum    [sha256.Size]byte
	labels []bool
}

// GoldForm is what a file of gold labels looks like.
const GoldForm = "a row's labels stand in one column (--gold-labels COLUMN), their names joined by \"; \"; of " +
	"several people, name one's column, or choose one's rows with --where COLUMN=VALUE"

func (g *goldSet) addRow(r *dataset.Row, o *LabelOptions) error {
	row, err := g.readRow(r, o)
	if row == nil || err != nil {
		g.index.Add(r, -1)
		return err
	}
	g.index.Add(r, len(g.rows))
	g.rows = append(g.rows, *row)
	id, texts := r.GivenID(), goldTexts{r.Line, r.TextSum(), row.labels}
	if id == "" {
		return nil
	}
	of := id + "\x00" + r.SystemName().String() // two may have written the same
	first, again := g.ids[of]
	switch {
	case !again:
		g.ids[of] = texts
	case first.sum == texts.sum && !slices.Equal(first.labels, texts.labels):
		return fmt.Errorf("the id %q and the texts are those of line %d, where other labels stand: %s", id, first.line,
			GoldForm)
	default:
		g.counts.Duplicate++
	}
	return nil
}

// readRow gives nil for a row that the filter or a missing label leaves out.
func (g *goldSet) readRow(r *dataset.Row, o *LabelOptions) (*goldRow, error) {
	if !g.filter.Match(r) {
		g.counts.Filtered++
		return nil, nil
	}
	raw, ok := r.FindAnyCase(o.column())
	if !ok || string(raw) == "null" || isBlank(raw) {
		g.counts.Unlabelled++
		return nil, nil
	}
	labels, err := r.LabelsIn(o.column(), o.Taxonomy)
	if err != nil {
		return nil, report.Unfit(err)
	}
	d, _ := r.Diagnosis() // of a file of predictions, which finds its fault
	notJudged := notJudgedIn(r, d, o.Taxonomy)
	if notJudged != nil {
		g.counts.NotJudged++
	}
	row := &goldRow{id: r.ID, labels: labelSet(o.Taxonomy.Judged(labels, notJudged), o.Taxonomy)}
	if row.group, err = report.GroupOf(r, o.Taxonomy, o.Intervals.Group); err != nil {
		return nil, err
	}
	if row.by, err = valueBy(r, o.By); err != nil {
		return nil, err
	}
	row.verdict, err = verdictOf(r, o.Verdict)
	return row, err
}

// isBlank tells whether a value is an empty text, such as an empty cell of a table.
func isBlank(raw json.RawMessage) bool {
	return raw[0] == '"' && strings.TrimSpace(dataset.PlainText(raw)) == ""
}

// checkRows is an error if there are no gold rows. It says why.
func (g *goldSet) checkRows(column string) error {
	switch {
	case len(g.rows) > 0:
		return nil
	case g.counts.Unlabelled > 0:
		return fmt.Errorf("%s: none of %d rows has gold labels in the column %q; %s. --gold FILE gives another file (a "+
			"filled-in workbook of a review becomes one by erreval refine merge)", g.file, g.counts.Unlabelled, column, GoldForm)
	case g.counts.Filtered > 0:
		return g.filter.NoMatch(g.file)
	case len(g.faults) > 0:
		return fmt.Errorf("%s: no row could be read; the first fault: %w", g.file, g.faults[0])
	}
	return fmt.Errorf("%s: the file has no rows", g.file)
}

// notJudgedIn are the errors that a row was not judged for, by a diagnosis that says all of it, else for lack of a
// field: a file may lack the name of a column that its model read.
func notJudgedIn(r *dataset.Row, d *dataset.Diagnosis, t *taxonomy.Taxonomy) []string {
	if d != nil && len(d.Probabilities) > 0 {
		return d.NotJudged
	}
	return t.NotJudged(r.Values)
}

func labelSet(names []string, t *taxonomy.Taxonomy) []bool {
	set := make([]bool, len(t.Types))
	for _, name := range names {
		if i, ok := t.Index(name); ok {
			set[i] = true
		}
	}
	return set
}

func verdictOf(r *dataset.Row, column string) (*bool, error) {
	raw, ok := r.Get(column)
	if column == "" || !ok || string(raw) == "null" {
		return nil, nil
	}
	switch v := strings.ToLower(dataset.PlainText(raw)); v { // Excel and Python write it large
	case "true", "1", "false", "0":
		return new(v == "true" || v == "1"), nil
	default:
		return nil, report.OptionErrorf("--auc: row %s: column %q is %.40s, not true or false", r.ID, column, raw)
	}
}

// predictionSet is parallel to the gold rows. labels is nil for a row without prediction, probs for one without
// probabilities.
type predictionSet struct {
	file   string
	labels [][]bool
	probs  [][]float64
	silent []int    // of each type, the scored rows in which the model does not judge it
	models []string // as the diagnoses name them
	counts PredictionCounts
	faults []error

	match   *dataset.Match
	changed map[int]bool // gold rows that were found with another text alone
}

func newPredictionSet(file string, g *goldSet) *predictionSet {
	n := len(g.rows)
	return &predictionSet{file: file, labels: make([][]bool, n), probs: make([][]float64, n), models: []string{},
		counts: PredictionCounts{Missing: n}, match: g.index.NewMatch(), changed: map[int]bool{}}
}

// find gives the gold row of a prediction, and counts it. ok is false where there is none with its text.
func (p *predictionSet) find(r *dataset.Row) (i int, ok bool) {
	i, same, found := p.match.Find(r)
	switch {
	case !found && isRepeated(r):
		p.counts.Duplicate++
	case !found:
		p.counts.Extra++
	case i < 0:
	case !same:
		p.counts.Missing--
		p.counts.Changed++
		p.changed[i] = true
	case p.changed[i]:
		p.counts.Changed--
		return i, true
	default:
		p.counts.Missing--
		return i, true
	}
	return 0, false
}

func (p *predictionSet) addRow(r *dataset.Row, o *LabelOptions) error {
	i, ok := p.find(r)
	if !ok {
		return nil
	}
	d, err := r.Diagnosis()
	if err != nil {
		return err
	}
	if d == nil || d.Status == dataset.StatusUntagged {
		p.counts.Untagged++
		return nil
	}
	notJudged := notJudgedIn(r, d, o.Taxonomy)
	if p.labels[i], err = predictedLabels(d, notJudged, o.Taxonomy); err != nil {
		return report.Unfit(fmt.Errorf("row %s: %w", r.ID, err))
	}
	p.countSilent(d, o.Taxonomy)
	if p.probs[i] = probabilities(d, append(notJudged, d.NotJudged...), o.Taxonomy); p.probs[i] == nil {
		p.counts.NoProbabilities++
	}
	p.counts.Scored++
	p.models = dataset.AppendName(p.models, d.Model)
	return nil
}

func (p *predictionSet) countSilent(d *dataset.Diagnosis, t *taxonomy.Taxonomy) {
	if p.silent == nil {
		p.silent = make([]int, len(t.Types))
	}
	for _, name := range d.NotJudged {
		if i, ok := t.Index(name); ok {
			p.silent[i]++
		}
	}
}

// notJudged are the types that a model judges in no row.
func (l *Labels) notJudged() (types []string) {
	for i, name := range l.o.Taxonomy.Labels() {
		if slices.ContainsFunc(l.preds, func(p *predictionSet) bool {
			return p.counts.Scored > 0 && p.silent[i] == p.counts.Scored
		}) {
			types = append(types, name)
		}
	}
	return types
}

// leaveOut takes types from the labels of a row.
func leaveOut(labels []bool, types []string, t *taxonomy.Taxonomy) []bool {
	if labels == nil {
		return nil
	}
	var names []string
	for i, has := range labels {
		if has {
			names = append(names, t.Types[i].Name)
		}
	}
	return labelSet(t.Judged(names, types), t)
}

func predictedLabels(d *dataset.Diagnosis, notJudged []string, t *taxonomy.Taxonomy) ([]bool, error) {
	for _, name := range d.Labels {
		if _, ok := t.Index(name); !ok {
			return nil, fmt.Errorf("%s has no label %q; the diagnosis was made with %s: give its taxonomy with --taxonomy",
				t.ID(), name, cmp.Or(d.Taxonomy, "an unknown taxonomy"))
		}
	}
	if err := d.CheckNoError(t); err != nil {
		return nil, err
	}
	return labelSet(t.Judged(d.Labels, notJudged), t), nil
}

// probabilities are those of all labels in the taxonomy's order, or nil if one is unknown. A label that cannot be
// judged has 0.
func probabilities(d *dataset.Diagnosis, notJudged []string, t *taxonomy.Taxonomy) []float64 {
	out := make([]float64, len(t.Types))
	for i, name := range t.Labels() {
		if slices.Contains(notJudged, name) {
			continue
		}
		p, ok := d.Probabilities.Get(name)
		if !ok {
			return nil
		}
		out[i] = p
	}
	return out
}
