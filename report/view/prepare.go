package view

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/taxonomy"
)

// Keys of facets and measures, and how those of several begin.
const (
	facetRun       = "run"
	facetSystem    = dataset.ColumnSystem
	facetBoth      = "system_run"
	facetLabel     = "label"
	facetGold      = "gold"
	facetIssue     = "issue"
	facetUnscored  = "unscored"
	facetTruncated = "truncated"
	facetNotJudged = "not_judged"
	measSeverity   = "severity"

	prefixVerdict     = "verdict."
	prefixColumn      = "column."
	prefixScore       = "score."
	prefixProbability = "probability."
)

// Names of values that no record names.
const (
	noError  = "No Error" // where the taxonomy has no type for it
	noIssue  = "No Issue"
	allScore = "scored"
	whole    = "whole"
)

// Bounds of values that are offered.
const (
	maxColumnValues = 50
	maxColumnText   = 80    // code points
	maxSystems      = 500   // systems, and labels that the taxonomy does not have
	maxColumns      = 100   // other columns that are looked at
	maxKinds        = 200   // facets, and measures
	maxNumber       = 1e100 // whose squares can be added up
)

// prepared is what is read of a row; making it needs no other row.
type prepared struct {
	row                          *dataset.Row
	id, text                     string
	fields                       map[string]string // beginnings of the others, as text is of the judged one
	record                       []byte
	words                        []string
	idHash, groupHash, inputHash uint64
	facets                       []keyValue
	measures                     []keyNumber
	columns                      []cell
	finding                      *issues.Finding
	faults                       []string // columns that cannot be read
	model                        string
	unlabelled                   bool // tagged, and without even the label for no error
}

type keyValue struct{ key, value string }

type keyNumber struct {
	key string
	x   float64
}

// cell is another column's value.
type cell struct {
	name             string
	text             string // "" is none that can be a facet's
	number           float64
	isText, isNumber bool
}

// preparer makes prepared rows of a run; it is not safe for concurrent use.
type preparer struct {
	task    *taxonomy.Taxonomy // nil: the rows are read without
	columns map[string]string  // field to column
	run     int
	system  string          // column
	own     map[string]bool // columns that are no others
	noError string
	out     bytes.Buffer
	writer  *dataset.Writer
}

func newPreparer(task *taxonomy.Taxonomy, columns map[string]string, id []string, system string, run int) *preparer {
	p := &preparer{task: task, columns: columns, run: run, system: system, noError: noError, own: map[string]bool{}}
	p.writer = dataset.NewWriter(&p.out)
	p.own[dataset.ColumnSystem] = system == dataset.ColumnSystem
	for _, name := range []string{dataset.ColumnID, dataset.ColumnLabels, dataset.ColumnDiagnosis,
		dataset.ColumnScores, issues.Column, verdicts.Column, verdicts.DiagnosisA, verdicts.DiagnosisB} {
		p.own[name] = true
	}
	for _, name := range id {
		p.own[name] = true
	}
	if task != nil {
		if no := task.NoErrorIndex(); no >= 0 {
			p.noError = task.Types[no].Name
		}
		for _, field := range task.FieldNames() {
			p.own[cmp.Or(columns[field], field)] = true
			p.own[field+"_a"], p.own[field+"_b"] = true, true
		}
	}
	return p
}

func (p *preparer) prepare(row *dataset.Row) (*prepared, error) {
	r := &prepared{id: row.ID}
	if row.GivenID() == "" && len(row.Values) == 0 {
		r.id = "line " + strconv.Itoa(row.Line)
	}
	p.out.Reset()
	if err := p.writer.Write(row); err != nil {
		return nil, err
	}
	if err := p.writer.Flush(); err != nil {
		return nil, err
	}
	r.record = bytes.Clone(bytes.TrimSuffix(p.out.Bytes(), []byte("\n")))
	p.setTexts(r, row)
	if raw, ok := row.FindAnyCase(p.system); ok {
		if text, ok := shortText(raw); ok && text != "" {
			r.add(facetSystem, text)
		}
	}
	p.setLabels(r, row)
	p.setGold(r, row)
	p.setScores(r, row)
	setVerdicts(r, row)
	setFinding(r, row)
	for _, name := range row.Columns() {
		if !p.own[name] {
			raw, _ := row.Get(name)
			if c, ok := readCell(name, raw); ok {
				r.columns = append(r.columns, c)
			}
		}
	}
	return r, nil
}

func (r *prepared) add(key, value string) { r.facets = append(r.facets, keyValue{key, value}) }

func (r *prepared) measure(key string, x float64) {
	if math.Abs(x) <= maxNumber {
		r.measures = append(r.measures, keyNumber{key, x})
	}
}

// hashOf tells texts apart that are not the same.
func hashOf(kind string, texts ...string) uint64 {
	h := sha256.New()
	var size [8]byte
	for _, text := range append([]string{kind}, texts...) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
		h.Write(size[:])
		io.WriteString(h, text)
	}
	return binary.LittleEndian.Uint64(h.Sum(nil))
}

func (p *preparer) setLabels(r *prepared, row *dataset.Row) {
	d, err := row.Diagnosis()
	if err != nil {
		r.faults = append(r.faults, err.Error())
		r.add(facetLabel, dataset.StatusUntagged)
		return
	}
	if d == nil {
		return
	}
	for _, q := range d.Probabilities {
		r.measure(prefixProbability+q.Label, q.P)
	}
	if d.Status != "" {
		r.add(facetLabel, dataset.StatusUntagged)
		return
	}
	if p.task != nil && d.MadeWith(p.task.ID()) {
		if err := d.NameLabels(p.task); err != nil {
			r.faults = append(r.faults, fmt.Sprintf("row %s: %v", r.id, err))
		}
	}
	for _, label := range d.Labels {
		r.add(facetLabel, label)
	}
	r.model = d.Model
	if len(d.Labels) == 0 {
		r.unlabelled = p.task != nil && p.task.NoError() != ""
		r.add(facetLabel, p.noError)
	}
	for _, label := range d.NotJudged {
		if !slices.Contains(d.Labels, label) {
			r.add(facetNotJudged, label)
		}
	}
	cut := false
	for _, field := range slices.Sorted(maps.Keys(d.Truncated)) {
		if d.Truncated[field] > 0 {
			cut = true
			r.add(facetTruncated, field)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(d.Read)) {
		cut = true
		r.add(facetTruncated, "parts of "+field)
	}
	if !cut {
		r.add(facetTruncated, whole)
	}
}

func (p *preparer) setGold(r *prepared, row *dataset.Row) {
	raw, ok := row.FindAnyCase(dataset.ColumnLabels)
	if !ok || string(raw) == "null" || string(raw) == `""` {
		return
	}
	var labels []string
	var err error
	if p.task != nil && !p.task.IsTask() {
		labels, err = row.Labels(p.task)
	} else if err = json.Unmarshal(raw, &labels); err != nil {
		labels, err = strings.Split(valueText(raw), ";"), nil
	}
	if err != nil {
		r.faults = append(r.faults, err.Error())
		return
	}
	seen := map[string]bool{"": true}
	for _, label := range labels {
		if label = strings.TrimSpace(label); !seen[label] {
			seen[label] = true
			r.add(facetGold, label)
		}
	}
}

func (p *preparer) setScores(r *prepared, row *dataset.Row) {
	scores, err := row.Scores()
	if err != nil {
		r.faults = append(r.faults, err.Error())
		return
	}
	complete := true
	for _, key := range slices.Sorted(maps.Keys(scores)) {
		if s := scores[key]; s.Value != nil {
			r.measure(prefixScore+key, *s.Value)
			continue
		}
		complete = false
		r.add(facetUnscored, key)
	}
	if complete && len(scores) > 0 {
		r.add(facetUnscored, allScore)
	}
}

func setVerdicts(r *prepared, row *dataset.Row) {
	set, err := verdicts.Of(row)
	if err != nil {
		r.faults = append(r.faults, err.Error())
		return
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		r.add(prefixVerdict+name, cmp.Or(set[name].Value, verdicts.Unjudged))
	}
}

func setFinding(r *prepared, row *dataset.Row) {
	f, err := issues.Of(row)
	if err != nil {
		r.faults = append(r.faults, err.Error())
		r.add(facetIssue, issues.Unassigned)
		return
	}
	if f == nil {
		return
	}
	r.finding = f
	switch ids, known := f.Found(); {
	case !known:
		r.add(facetIssue, issues.Unassigned)
	case len(ids) == 0:
		r.add(facetIssue, noIssue)
	default:
		for _, id := range ids {
			r.add(facetIssue, prefixID+id)
		}
	}
	if f.Severity > 0 {
		r.measure(measSeverity, float64(f.Severity))
	}
}

// prefixID tells ids of issues from what stands for none.
const prefixID = "id:"

// readCell reads another column's value; objects, lists and nulls are none.
func readCell(name string, raw json.RawMessage) (cell, bool) {
	c := cell{name: name}
	switch raw[0] {
	case '"':
		text := dataset.NameIn(raw)
		if text == "" {
			return c, false
		}
		c.isNumber = isNumber(text)
		c.text, c.isText = text, utf8.RuneCountInString(text) <= maxColumnText
	case 't', 'f':
		c.text, c.isText = string(raw), true
	case '{', '[', 'n':
		return c, false
	default:
		c.text, c.isText, c.isNumber = string(raw), len(raw) <= maxColumnText, true
	}
	if c.isNumber {
		x, err := strconv.ParseFloat(c.text, 64)
		c.number, c.isNumber = x, err == nil && math.Abs(x) <= maxNumber
	}
	return c, true
}

// isNumber tells whether a text is a number as JSON writes it, as cells of flat formats hold them.
func isNumber(text string) bool {
	return (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}

// shortText is a text, number or truth value as a value's name.
func shortText(raw json.RawMessage) (string, bool) {
	c, ok := readCell("", raw)
	if !ok || c.text == "" {
		return "", false
	}
	if !c.isText {
		return words.First(c.text, maxText), true
	}
	return c.text, true
}

// faultNote counts rows of which a column cannot be read.
func faultNote(name string, rows int, first string) string {
	return fmt.Sprintf("%s: %d rows with a column that cannot be read; the first: %s", name, rows, first)
}
