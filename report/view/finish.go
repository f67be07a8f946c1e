package view

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/erreval/erreval/report"
)

// finish makes the index of what was collected.
func (b *builder) finish(ctx context.Context) (*Index, error) {
	if err := b.flushChunk(); err != nil {
		return nil, err
	}
	b.meta.Starts = append(b.meta.Starts, b.rows)
	c := &b.meta.Catalog
	c.Rows = b.rows
	c.Title = cmp.Or(b.o.Title, b.title())
	if b.task != nil {
		c.Task = b.task.ID()
		for i, f := range b.task.Fields {
			c.Fields = append(c.Fields, Field{Name: f.Name, Definition: f.Definition, Judged: i == 0})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.faults)) {
		c.Notes = append(c.Notes, faultNote(name, b.faults[name].rows, b.faults[name].first))
	}
	if b.left {
		c.Notes = append(c.Notes, fmt.Sprintf("rows can be filtered by the first %d other columns, and by %d kinds of "+
			"values and of numbers in all", maxColumns, maxKinds))
	}
	if err := b.numberGroups(ctx); err != nil {
		return nil, err
	}
	if err := b.rankNames(ctx); err != nil {
		return nil, err
	}
	b.makeMeasures()
	b.makeFacets()
	x := newIndex(b.meta, b.store, b.task)
	if err := x.relate(ctx); err != nil {
		return nil, err
	}
	file, ok := b.store.(*file)
	if !ok {
		return x, nil
	}
	data, err := json.Marshal(stored{Meta: &x.meta, Task: b.task})
	if err != nil {
		return nil, err
	}
	if err := file.put(metaPart, data); err != nil {
		return nil, err
	}
	return x, file.publish(b.o)
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

// numberGroups puts numbers, by first appearance, in the place of the hashes of groups.
func (b *builder) numberGroups(ctx context.Context) error {
	hashes := make([]uint64, 0, b.rows)
	for chunk := range (b.rows + chunkRows - 1) / chunkRows {
		data, err := b.store.get(ctx, partOf(chunk, partGroup, 0))
		if err != nil {
			return err
		}
		for ; len(data) >= 8; data = data[8:] {
			hashes = append(hashes, binary.LittleEndian.Uint64(data))
		}
	}
	numbers, n := numberEqual(hashes)
	b.meta.Groups = n
	return b.putNumbers(partGroup, numbers)
}

func (b *builder) putNumbers(what string, numbers []int32) error {
	for first := 0; first < len(numbers); first += chunkRows {
		var data []byte
		for _, n := range numbers[first:min(first+chunkRows, len(numbers))] {
			data = binary.LittleEndian.AppendUint32(data, uint32(n)) // not negative
		}
		if err := b.put(partOf(first/chunkRows, what, 0), data); err != nil {
			return err
		}
	}
	return nil
}

// numberEqual gives equal hashes equal numbers, from 0 by first appearance, and says how many there are.
func numberEqual(hashes []uint64) (numbers []int32, n int) {
	order := make([]int32, len(hashes))
	for i := range order {
		order[i] = int32(i) // rows are fewer
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(hashes[a], hashes[b]), cmp.Compare(a, b)) })
	numbers = make([]int32, len(hashes))
	first := int32(0)
	for i, at := range order { // first the first row of each
		if i == 0 || hashes[at] != hashes[order[i-1]] {
			first = at
		}
		numbers[at] = first
	}
	for i, first := range numbers {
		if first == int32(i) {
			numbers[i] = int32(n)
			n++
		} else {
			numbers[i] = numbers[first]
		}
	}
	return numbers, n
}

// rankNames gives each row the place of its id among all in order; equal ids have equal places.
func (b *builder) rankNames(ctx context.Context) error {
	names := make([]string, 0, b.rows)
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer unpack.Close()
	for chunk := range (b.rows + chunkRows - 1) / chunkRows {
		data, err := b.store.get(ctx, partOf(chunk, partNames, 0))
		if err != nil {
			return err
		}
		if data, err = unpack.DecodeAll(data, nil); err != nil {
			return err
		}
		all := string(data)
		for in := (&decoder{data: data}); len(in.data) > 0; {
			n := len(in.text())
			end := len(all) - len(in.data)
			names = append(names, all[end-n:end])
		}
	}
	order := make([]int32, len(names))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return strings.Compare(names[a], names[b]) })
	ranks, rank := make([]int32, len(names)), int32(0)
	for i, at := range order {
		if i > 0 && names[at] != names[order[i-1]] {
			rank++
		}
		ranks[at] = rank
	}
	return b.putNumbers(partRank, ranks)
}

// makeMeasures puts the measures into the catalogue, in an order that people expect.
func (b *builder) makeMeasures() {
	var offered []*measureBuild
	b.meta.Measures = make([]string, len(b.measures))
	for _, m := range b.measures {
		if !m.dead && m.rows > 0 && !m.isTime() {
			offered = append(offered, m)
			b.meta.Measures[m.number] = m.key
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
		for i := range b.taskDimensions() {
			if b.task.Dimensions[i].Key == name {
				return i
			}
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

func (b *builder) taskDimensions() int {
	if b.task == nil {
		return 0
	}
	return len(b.task.Dimensions)
}

func (b *builder) describeMeasure(m *measureBuild) Measure {
	out := Measure{Key: m.key, Low: m.low, High: m.high, Runs: m.runs}
	if m.integers {
		out.Step = 1
	}
	switch name, _ := strings.CutPrefix(m.key, prefixScore); {
	case strings.HasPrefix(m.key, prefixScore):
		out.Title = name
		for i := range b.taskDimensions() {
			if d := &b.task.Dimensions[i]; d.Key == name && len(d.Criteria) > 0 {
				out.Title = d.Name
				out.Low = min(out.Low, float64(d.Criteria[0].Score))
				out.High = max(out.High, float64(d.Criteria[len(d.Criteria)-1].Score))
			}
		}
	case strings.HasPrefix(m.key, prefixProbability):
		out.Title = strings.TrimPrefix(m.key, prefixProbability)
		out.Low, out.High, out.Step, out.Threshold = 0, 1, 0, b.threshold(out.Title)
	case m.key == measSeverity:
		out.Title, out.Low, out.High, out.Step = "Severity", 1, 3, 1
	default:
		out.Title = strings.TrimPrefix(m.key, prefixColumn)
	}
	return out
}

// threshold is that of an error type, where all runs that have one have the same.
func (b *builder) threshold(name string) *report.Number {
	var same *report.Number
	for i := range b.meta.Catalog.Runs {
		t, ok := b.meta.Catalog.Runs[i].Thresholds[name]
		if ok && same != nil && *same != t {
			return nil
		}
		if ok {
			same = &t
		}
	}
	return same
}
