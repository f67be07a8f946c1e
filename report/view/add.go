package view

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
)

// facet finds or begins a facet that may have so many values. Where there are too many facets it is one that is dead.
func (b *builder) facet(key string, most int) *facetBuild {
	f := b.facetNo[key]
	if f == nil && len(b.facets) == maxKinds {
		b.left = true
		return &facetBuild{dead: true}
	}
	if f == nil {
		f = &facetBuild{facetColumn: facetColumn{Sets: [][]int{nil}}, key: key, values: map[string]int{},
			sets: map[string]int32{}, most: most}
		b.facets, b.facetNo[key] = append(b.facets, f), f
	}
	return f
}

// refuse ends the facet of a column for a value that is too long.
func (f *facetBuild) refuse(text string) {
	if !f.dead {
		f.dead = true
		f.why = fmt.Sprintf("has a value of more than %d characters: %q", maxColumnText,
			words.First(text, maxColumnText/2)+"…")
	}
}

// valueNumber is that of a value; -1 where there are too many.
func (f *facetBuild) valueNumber(name string) int {
	n, known := f.values[name]
	if !known {
		if len(f.names) == f.most {
			f.dead, f.why = true, fmt.Sprintf("has more than %d values", f.most)
			return -1
		}
		n = len(f.names)
		f.values[name], f.names = n, append(f.names, name)
	}
	return n
}

// measureOf finds or begins a measure. Where there are too many it is one that is dead.
func (b *builder) measureOf(key string) *measureBuild {
	m := b.measNo[key]
	if m == nil && len(b.measures) == maxKinds {
		b.left = true
		return &measureBuild{dead: true}
	}
	if m == nil {
		m = &measureBuild{key: key, low: math.Inf(1), high: math.Inf(-1), integers: true}
		b.measures, b.measNo[key] = append(b.measures, m), m
	}
	return m
}

// column finds another column; nil where there are too many.
func (b *builder) column(name string) *columnBuild {
	c := b.columns[name]
	if c == nil && len(b.columns) < maxColumns {
		c = &columnBuild{b.facet(prefixColumn+name, maxColumnValues), b.measureOf(prefixColumn + name)}
		b.columns[name] = c
	}
	return c
}

// add adds the next row of a run.
func (b *builder) add(r *prepared, s *source, run int) error {
	e := entry{ID: r.id, Text: r.text, Fields: r.fields, Facets: map[string]int32{}, Measures: map[string]*float64{}}
	b.facet(facetRun, len(b.sources)).add(s.name, run)
	for _, f := range r.facets {
		b.facet(f.key, mostValues(f.key)).add(f.value, run)
		if f.key == facetSystem && len(b.sources) > 1 {
			b.facet(facetBoth, maxSystems).add(f.value+" · "+s.name, run)
		}
	}
	for _, m := range r.measures {
		b.measureOf(m.key).add(b.rows, m.x, run, &e)
	}
	for i := range r.columns {
		cell := &r.columns[i]
		c := b.column(cell.name)
		if c == nil {
			b.left = true
			continue
		}
		if cell.isNumber {
			c.measure.add(b.rows, cell.number, run, &e)
		} else {
			c.measure.dead = true
		}
		if cell.isText {
			c.facet.add(cell.text, run)
		} else {
			c.facet.refuse(cell.text)
		}
	}
	for _, f := range b.facets {
		if len(f.row) > 0 {
			e.Facets[f.key] = f.endRow(b.rows)
		}
	}
	b.models = dataset.AppendName(b.models, r.model)
	s.unlabelled += btoi(r.unlabelled)
	if b.together != nil {
		b.together.Add(run, r.row)
	}
	b.addIssues(r, s)
	return b.addEntry(r, &e)
}

func mostValues(key string) int {
	if key == facetIssue {
		return 10_000
	}
	return maxSystems
}

// add gives the row that is added a value.
func (f *facetBuild) add(name string, run int) {
	if f.dead {
		return
	}
	v := f.valueNumber(name)
	if v < 0 || slices.Contains(f.row, v) {
		return
	}
	f.row = append(f.row, v)
	f.Runs = append(f.Runs, make([]bool, max(0, run+1-len(f.Runs)))...)
	f.Runs[run] = true
	f.rows++
}

// endRow finds the set of a row's values, or makes it.
func (f *facetBuild) endRow(row int) int32 {
	slices.Sort(f.row)
	var key []byte
	for _, v := range f.row {
		key = binary.AppendUvarint(key, uint64(v))
	}
	n, known := f.sets[string(key)]
	if !known {
		n = int32(len(f.Sets)) // rows are fewer
		f.sets[string(key)], f.Sets = n, append(f.Sets, slices.Clone(f.row))
	}
	f.set(row, n, 0)
	f.row = f.row[:0]
	return n
}

// add gives a row a number.
func (m *measureBuild) add(row int, x float64, run int, e *entry) {
	if m.dead {
		return
	}
	m.set(row, x, noNumber)
	m.low, m.high, m.rows = min(m.low, x), max(m.high, x), m.rows+1
	m.integers = m.integers && x == math.Trunc(x)
	if n := len(m.runs); n == 0 || m.runs[n-1] != run { // rows come run by run
		m.runs = append(m.runs, run)
	}
	e.Measures[m.key] = &x
}

// addIssues keeps what a row says of its issues, and which columns cannot be read.
func (b *builder) addIssues(r *prepared, s *source) {
	for _, text := range r.faults {
		f := b.faults[s.name]
		if f == nil {
			f = &faultBuild{first: text}
			b.faults[s.name] = f
		}
		f.rows++
	}
	if r.finding == nil {
		return
	}
	ids := r.finding.IDs
	if s.isZIP && r.finding.Status == issues.None {
		ids = []string{noIssue} // which has a severity there, too
	}
	for _, id := range ids {
		i := b.issues[id]
		if i == nil {
			i = &issueBuild{}
			b.issues[id] = i
		}
		if r.finding.Severity > 0 {
			i.severity, i.severities = i.severity+float64(r.finding.Severity), i.severities+1
		}
		if s.isZIP && r.finding.Score != nil {
			i.score, i.scores = i.score+*r.finding.Score, i.scores+1
		}
		if len(i.examples) < 3 && r.finding.Analysis != "" {
			i.examples = append(i.examples, exampleText(issues.Example{Analysis: r.finding.Analysis,
				Quote: r.finding.Quote}))
		}
	}
}

// exampleText is a sentence with its quote.
func exampleText(e issues.Example) string {
	if e.Quote == "" {
		return e.Analysis
	}
	return fmt.Sprintf("%s “%s”", e.Analysis, e.Quote)
}

// addEntry stores a row.
func (b *builder) addEntry(r *prepared, e *entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	data := s2.Encode(nil, slices.Concat(line, []byte("\n"), r.record))
	if b.file.in == nil && (b.rows >= cmp.Or(b.o.memoryRows, memoryRows) || b.file.size > memoryBytes) {
		if err := b.file.move(b.o, b.key); err != nil {
			return err
		}
	}
	at, err := b.file.put(data)
	if err != nil {
		return err
	}
	b.meta.Rows.set(b.rows, at, 0)
	b.ids = append(b.ids, r.id)
	b.meta.Groups.set(b.rows, b.groups.of(r.groupHash), 0)
	b.meta.Inputs.set(b.rows, b.inputs.of(r.inputHash), 0)
	if err := b.words.add(r.words, b.rows, b.file); err != nil {
		return err
	}
	b.rows++
	if b.o.Progress != nil && b.rows%1000 == 0 {
		b.o.Progress(b.rows)
	}
	if b.rows%partRows == 0 {
		return b.flush()
	}
	return nil
}

// flush stores a part of all columns.
func (b *builder) flush() error {
	part := (b.rows - 1) / partRows
	errs := []error{b.meta.Rows.flush(b.file, part), b.meta.Groups.flush(b.file, part), b.meta.Inputs.flush(b.file, part)}
	for _, f := range b.facets {
		errs = append(errs, f.flush(b.file, part))
	}
	for _, m := range b.measures {
		errs = append(errs, m.flush(b.file, part))
	}
	return errors.Join(errs...)
}
