package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/erreval/erreval/discover/clear"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// finish makes the index of what was collected.
func (b *builder) finish(ctx context.Context) (*Index, error) {
	if err := errors.Join(b.flush(), b.words.flush(b.file), b.rankIDs(), b.pairRuns()); err != nil {
		return nil, err
	}
	b.meta.Words = b.words.blocks
	b.meta.Starts = append(b.meta.Starts, b.rows)
	c := &b.meta.Catalog
	c.Rows = b.rows
	c.Title = cmp.Or(b.o.Title, b.title())
	if b.task != nil {
		c.Task = b.task.ID()
		for i, f := range b.task.Fields {
			c.Fields = append(c.Fields, Field{Name: f.Name, Definition: f.Definition, Judged: i == 0, Group: f.Group})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.faults)) {
		c.Notes = append(c.Notes, faultNote(name, b.faults[name].rows, b.faults[name].first))
	}
	c.Notes = append(c.Notes, b.doubts()...)
	if b.left {
		c.Notes = append(c.Notes, fmt.Sprintf("rows can be filtered by the first %d other columns, and by %d kinds of "+
			"values and of numbers in all", maxColumns, maxKinds))
	}
	b.makeMeasures()
	b.makeFacets()
	x := newIndex(b.meta, b.file, b.task)
	if b.file.in != nil {
		if err := b.file.out.Flush(); err != nil {
			return nil, err
		}
	}
	if err := x.relate(ctx); err != nil {
		return nil, err
	}
	return x, b.file.finish(b.o, stored{&x.meta, b.task})
}

// doubts say what figures may be owed to besides the rows.
func (b *builder) doubts() (notes []string) {
	if len(b.models) > 1 {
		notes = append(notes, report.ModelsText(b.models))
	}
	var known *source
	for _, s := range b.sources {
		if s.unlabelled > 0 {
			notes = append(notes, s.name+": "+report.UnlabelledText(s.unlabelled))
		}
		if known != nil && len(s.reading.Thresholds) > 0 && !maps.Equal(known.reading.Thresholds, s.reading.Thresholds) {
			notes = append(notes, fmt.Sprintf("%s and %s are tagged with different thresholds, and what differs may be theirs",
				known.name, s.name))
		}
		if known == nil && len(s.reading.Thresholds) > 0 {
			known = s
		}
	}
	return notes
}

// title is made of the runs' names.
func (b *builder) title() string {
	names := make([]string, len(b.sources))
	for i, s := range b.sources {
		names[i] = s.name
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// rankIDs gives each row the place of its id among all in order; equal ids have equal places.
func (b *builder) rankIDs() error {
	order := sorted(b.rows, func(x, y int) int { return strings.Compare(b.ids[x], b.ids[y]) })
	ranks, rank := make([]int32, b.rows), int32(0)
	for i, at := range order {
		if i > 0 && b.ids[at] != b.ids[order[i-1]] {
			rank++
		}
		ranks[at] = rank
	}
	b.ids = nil
	return b.meta.IDs.store(b.file, ranks)
}

// pairRuns gives the rows of several runs that belong together the same number.
func (b *builder) pairRuns() error {
	if b.together == nil {
		return nil
	}
	numbers, c := slices.Concat(b.together.Numbers()...), &b.meta.Catalog
	for _, of := range b.together.Systems {
		one, other := c.Runs[of.A].Name, c.Runs[of.B].Name
		c.Notes = append(c.Notes, fmt.Sprintf("%s and %s: %s", one, other, report.OtherSystems(of.Systems, one, other)))
	}
	b.together = nil
	return b.meta.Pairs.store(b.file, numbers)
}

// makeMeasures puts the measures into the catalogue, in an order that people expect.
func (b *builder) makeMeasures() {
	var offered []*measureBuild
	b.meta.Measures = map[string]*column[float64]{}
	for _, m := range b.measures {
		if !m.dead && m.rows > 0 && !m.isTime() {
			offered, b.meta.Measures[m.key] = append(offered, m), &m.column
		}
	}
	slices.SortStableFunc(offered, func(x, y *measureBuild) int { return b.placeOf(x.key) - b.placeOf(y.key) })
	b.meta.Catalog.Measures = []Measure{}
	for _, m := range offered {
		b.meta.Catalog.Measures = append(b.meta.Catalog.Measures, b.describeMeasure(m))
	}
}

// earliest is a point in time in seconds: the year 1973. Later ones, and those in smaller units, are larger.
const earliest = 1e8

// isTime tells a column with points in time, as logs have: their mean says nothing.
func (m *measureBuild) isTime() bool {
	name, isColumn := strings.CutPrefix(strings.ToLower(m.key), prefixColumn)
	return isColumn && m.low >= earliest && (strings.HasSuffix(name, "at") || strings.HasSuffix(name, "date") ||
		slices.ContainsFunc([]string{"created", "updated", "time"}, func(s string) bool { return strings.Contains(name, s) }))
}

// placeOf orders measures: scores, probabilities as the taxonomy has them, severity, then columns as they came.
func (b *builder) placeOf(key string) int {
	const many = 1 << 20
	name, isScore := strings.CutPrefix(key, prefixScore)
	if isScore {
		if i := slices.IndexFunc(b.dimensions(), func(d taxonomy.Dimension) bool { return d.Key == name }); i >= 0 {
			return i
		}
		return many - 1
	}
	if name, ok := strings.CutPrefix(key, prefixProbability); ok {
		if b.task != nil {
			if i, ok := b.task.Index(name); ok {
				return many + i
			}
		}
		return 2*many - 1
	}
	if key == measSeverity {
		return 2 * many
	}
	return 3 * many
}

func (b *builder) dimensions() []taxonomy.Dimension {
	if b.task == nil {
		return nil
	}
	return b.task.Dimensions
}

func (b *builder) describeMeasure(m *measureBuild) Measure {
	out := Measure{Key: m.key, Low: m.low, High: m.high, Runs: m.runs}
	if m.integers {
		out.Step = 1
	}
	switch name, _ := strings.CutPrefix(m.key, prefixScore); {
	case strings.HasPrefix(m.key, prefixScore):
		out.Title = name
		for _, d := range b.dimensions() {
			if d.Key == name && len(d.Criteria) > 0 {
				out.Title = d.Name
				out.Low = min(out.Low, float64(d.Criteria[0].Score))
				out.High = max(out.High, float64(d.Criteria[len(d.Criteria)-1].Score))
			}
		}
	case strings.HasPrefix(m.key, prefixProbability):
		out.Title = strings.TrimPrefix(m.key, prefixProbability)
		out.Low, out.High, out.Step = 0, 1, 0
	case m.key == measSeverity:
		out.Title, out.Low, out.High, out.Step = "Severity", 1, 3, 1
	default:
		out.Title = strings.TrimPrefix(m.key, prefixColumn)
	}
	if m.key == prefixColumn+clear.ColumnScore &&
		!slices.ContainsFunc(b.sources, func(s *source) bool { return !s.isZIP }) {
		out.Title, out.Low, out.High = "Score", min(0, out.Low), max(1, out.High)
	}
	return out
}
