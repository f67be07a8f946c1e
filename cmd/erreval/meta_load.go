package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// goldCounts says what became of the lines of the gold file.
type goldCounts struct {
	Gold       int `json:"gold"`       // labelled rows that the filter lets through
	Filtered   int `json:"filtered"`   // left out by --where
	Unlabelled int `json:"unlabelled"` // without the column labels
	Duplicate  int `json:"duplicate"`  // lines whose id came before; the first counts
	Rejected   int `json:"rejected"`   // lines that are no rows
	NotJudged  int `json:"not_judged"` // of Gold: rows that lack a field which an error needs; that error counts as absent on both sides
}

// predCounts says what became of the gold rows, and of the lines of one prediction file.
type predCounts struct {
	Scored          int `json:"scored"`           // gold rows with a prediction
	Untagged        int `json:"untagged"`         // gold rows whose diagnosis is untagged or absent
	Missing         int `json:"missing"`          // gold rows whose id is not in the file
	Changed         int `json:"changed"`          // gold rows whose id has another text there
	Extra           int `json:"extra"`            // rows whose id is not in the gold file
	Duplicate       int `json:"duplicate"`        // lines whose id came before; the first counts
	Rejected        int `json:"rejected"`         // lines that are no rows
	NoProbabilities int `json:"no_probabilities"` // scored rows without the probability of every label
}

// unscored counts the gold rows without a usable prediction.
func (c predCounts) unscored() int { return c.Untagged + c.Missing + c.Changed }

// goldRow is a gold row as far as the figures need it.
type goldRow struct {
	labels  []bool
	group   string
	text    [sha256.Size]byte // of the task's fields
	verdict *bool             // the --auc column; nil: unknown
}

type goldSet struct {
	file    string
	rows    []goldRow
	index   map[string]int // id → row, or -1 where the filter or a missing label left it out
	counts  goldCounts
	faults  []error             // the rejected lines
	columns map[string][]string // values seen in the columns of --where
}

// predSet is parallel to the gold rows: a nil row of labels has no prediction, a nil row of probs no probabilities.
type predSet struct {
	file     string
	labels   [][]bool
	probs    [][]float64
	models   []string
	taxonomy []string // those the diagnoses name
	counts   predCounts
	faults   []error
}

func loadMeta(ctx context.Context, e *env, o *metaOptions) (*goldSet, []*predSet, error) {
	file := cmp.Or(o.gold, o.preds[0])
	gold, err := loadGold(ctx, e, o, file)
	if err != nil {
		return nil, nil, err
	}
	var preds []*predSet
	for _, file := range o.preds {
		p, err := loadPred(ctx, e, o, gold, file)
		if err != nil {
			return nil, nil, err
		}
		preds = append(preds, p)
	}
	return gold, preds, nil
}

func loadGold(ctx context.Context, e *env, o *metaOptions, file string) (*goldSet, error) {
	g := &goldSet{file: file, index: map[string]int{}, columns: map[string][]string{}}
	var err error
	if g.faults, err = o.eachRow(ctx, e, file, func(r *dataset.Row) error { return g.add(r, o) }); err != nil {
		return nil, err
	}
	g.counts.Gold, g.counts.Duplicate = len(g.rows), duplicates(g.faults)
	g.counts.Rejected = len(g.faults) - g.counts.Duplicate
	return g, g.validate(o)
}

func (g *goldSet) add(r *dataset.Row, o *metaOptions) error {
	g.index[r.ID] = -1
	if !g.matches(r, o.where) {
		g.counts.Filtered++
		return nil
	}
	if raw, ok := r.Get(dataset.ColumnLabels); !ok || string(raw) == "null" {
		g.counts.Unlabelled++
		return nil
	}
	labels, err := r.Labels(o.taxonomy)
	if err != nil {
		return withCode(exitUnfit, err)
	}
	notJudged := o.taxonomy.NotJudged(r.Values)
	if notJudged != nil {
		g.counts.NotJudged++
	}
	row := goldRow{labels: labelSet(o.taxonomy.Judged(labels, notJudged), o.taxonomy), text: textHash(r.Values)}
	if row.group, err = groupOf(r, o); err != nil {
		return err
	}
	if row.verdict, err = verdictOf(r, o.auc); err != nil {
		return err
	}
	g.index[r.ID] = len(g.rows)
	g.rows = append(g.rows, row)
	return nil
}

// matches tells whether the row has every value of --where, and remembers what it saw.
func (g *goldSet) matches(r *dataset.Row, where map[string]string) bool {
	ok := true
	for column, want := range where {
		raw, has := r.Get(column)
		value := plain(raw)
		if has && len(g.columns[column]) < 8 && !slices.Contains(g.columns[column], value) {
			g.columns[column] = append(g.columns[column], value)
		}
		ok = ok && has && value == want
	}
	return ok
}

// plain is a text column's text, and any other column's JSON.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && string(raw) != "null" {
		return s
	}
	return string(raw)
}

func (g *goldSet) validate(o *metaOptions) error {
	switch {
	case len(g.rows) > 0:
		return nil
	case g.counts.Unlabelled > 0:
		return fmt.Errorf("%s: none of %d rows has gold labels in the column %q; give --gold FILE", g.file, g.counts.Unlabelled, dataset.ColumnLabels)
	case g.counts.Filtered > 0:
		return g.noMatch(o.where)
	case len(g.faults) > 0:
		return fmt.Errorf("%s: no row could be read; the first fault: %w", g.file, g.faults[0])
	}
	return fmt.Errorf("%s: the file has no rows", g.file)
}

func (g *goldSet) noMatch(where map[string]string) error {
	var seen []string
	for _, column := range slices.Sorted(maps.Keys(where)) {
		values := "no such column"
		if len(g.columns[column]) > 0 {
			values = "values are " + strings.Join(g.columns[column], ", ")
		}
		seen = append(seen, fmt.Sprintf("%s=%s (%s)", column, where[column], values))
	}
	return fmt.Errorf("%s: no row has %s", g.file, strings.Join(seen, " and "))
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

func textHash(values []string) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, v := range values {
		h.Write(binary.AppendUvarint(nil, uint64(len(v))))
		h.Write([]byte(v))
	}
	h.Sum(sum[:0])
	return sum
}

// groupOf gives the value by which the row is resampled: a task field, or any other column.
func groupOf(r *dataset.Row, o *metaOptions) (string, error) {
	if o.group == "" {
		return r.ID, nil
	}
	if i := slices.Index(o.taxonomy.FieldNames(), o.group); i >= 0 {
		return r.Values[i], nil
	}
	raw, ok := r.Get(o.group)
	if !ok {
		return "", usagef("--group: row %s has no column %q; the columns are %s", r.ID, o.group, strings.Join(r.Columns(), ", "))
	}
	return string(raw), nil
}

func verdictOf(r *dataset.Row, column string) (*bool, error) {
	raw, ok := r.Get(column)
	if column == "" || !ok || string(raw) == "null" {
		return nil, nil
	}
	switch v := plain(raw); v {
	case "true", "1", "false", "0":
		yes := v == "true" || v == "1"
		return &yes, nil
	default:
		return nil, usagef("--auc: row %s: column %q is %.40s, not true or false", r.ID, column, raw)
	}
}

func loadPred(ctx context.Context, e *env, o *metaOptions, gold *goldSet, file string) (*predSet, error) {
	n := len(gold.rows)
	p := &predSet{file: file, labels: make([][]bool, n), probs: make([][]float64, n)}
	p.counts.Missing = n
	var err error
	p.faults, err = o.eachRow(ctx, e, file, func(r *dataset.Row) error { return p.add(r, o, gold) })
	p.counts.Duplicate = duplicates(p.faults)
	p.counts.Rejected = len(p.faults) - p.counts.Duplicate
	return p, err
}

func duplicates(faults []error) int {
	n := 0
	for _, err := range faults {
		if twice := (*dataset.DuplicateIDError)(nil); errors.As(err, &twice) {
			n++
		}
	}
	return n
}

func (p *predSet) add(r *dataset.Row, o *metaOptions, gold *goldSet) error {
	i, ok := gold.index[r.ID]
	if !ok {
		p.counts.Extra++
	}
	if !ok || i < 0 {
		return nil
	}
	p.counts.Missing--
	if textHash(r.Values) != gold.rows[i].text {
		p.counts.Changed++
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
	notJudged := o.taxonomy.NotJudged(r.Values)
	if p.labels[i], err = predicted(d, notJudged, o.taxonomy); err != nil {
		return withCode(exitUnfit, fmt.Errorf("row %s: %w", r.ID, err))
	}
	if p.probs[i] = probabilities(d, notJudged, o.taxonomy); p.probs[i] == nil {
		p.counts.NoProbabilities++
	}
	p.counts.Scored++
	p.models = addOnce(p.models, d.Model)
	p.taxonomy = addOnce(p.taxonomy, d.Taxonomy)
	return nil
}

func addOnce(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func predicted(d *dataset.Diagnosis, notJudged []string, t *taxonomy.Taxonomy) ([]bool, error) {
	for _, name := range d.Labels {
		if _, ok := t.Index(name); !ok {
			return nil, fmt.Errorf("%s has no label %q; the diagnosis was made with %s: give its taxonomy with --taxonomy",
				t.ID(), name, cmp.Or(d.Taxonomy, "an unknown taxonomy"))
		}
	}
	return labelSet(t.Judged(d.Labels, notJudged), t), nil
}

// probabilities are those of all labels in the taxonomy's order, or nil if one is unknown. Of what cannot be judged it is 0.
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

// scored lists the gold rows that every prediction file has a prediction for, so that all figures stand on the same rows.
func (g *goldSet) scored(preds []*predSet) []int {
	var rows []int
	for i := range g.rows {
		if !slices.ContainsFunc(preds, func(p *predSet) bool { return p.labels[i] == nil }) {
			rows = append(rows, i)
		}
	}
	return rows
}

func incomplete(gold *goldSet, preds []*predSet) bool {
	return len(gold.faults) > 0 || slices.ContainsFunc(preds, func(p *predSet) bool { return p.counts.unscored() > 0 || len(p.faults) > 0 })
}

// describeCounts names what is not zero, for one line a file.
func describeCounts(gold *goldSet, preds []*predSet) string {
	lines := []string{gold.describe()}
	for _, p := range preds {
		lines = append(lines, p.describe())
	}
	return strings.Join(lines, "; ")
}

func (g *goldSet) describe() string {
	c := g.counts
	return g.file + ": " + counted(c.Gold, "gold rows", c.Filtered, "filtered out", c.Unlabelled, "without labels", c.Duplicate, "with an id that came before", c.Rejected, "rejected",
		c.NotJudged, "with errors that could not be judged")
}

func (p *predSet) describe() string {
	c := p.counts
	return p.file + ": " + counted(c.Scored, "scored", c.Untagged, "untagged", c.Missing, "missing", c.Changed, "with changed text",
		c.Extra, "not in the gold file", c.Duplicate, "with an id that came before", c.Rejected, "rejected", c.NoProbabilities, "without probabilities")
}

// counted joins pairs of number and word; zeros are left out but for the first.
func counted(pairs ...any) string {
	var parts []string
	for i := 0; i < len(pairs); i += 2 {
		if i == 0 || pairs[i] != 0 {
			parts = append(parts, fmt.Sprint(pairs[i], " ", pairs[i+1]))
		}
	}
	return strings.Join(parts, ", ")
}

// warnMeta says on stderr what the figures leave out.
func warnMeta(e *env, gold *goldSet, preds []*predSet) {
	_ = warnFaults(e, gold.faults) // its code is that of incomplete
	for _, p := range preds {
		_ = warnFaults(e, p.faults)
		if n := p.counts.unscored(); n > 0 {
			fmt.Fprintf(e.err, "warning: %s: %d of %d gold rows have no prediction and are left out of the figures\n", p.file, n, len(gold.rows))
		}
		if p.counts.Changed > 0 {
			fmt.Fprintf(e.err, "warning: %s: %d ids have another text than in %s; tag the same file that the gold labels are for\n", p.file, p.counts.Changed, gold.file)
		}
	}
}
