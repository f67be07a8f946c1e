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

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/pairwise/verdicts"
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
	if b.left > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("of the rows' other columns, the first %d can be filtered by", maxColumns))
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
		if !m.dead && m.rows > 0 {
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
	out := Measure{Key: m.key, Low: m.low, High: m.high}
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

// makeFacets puts the facets into the catalogue.
func (b *builder) makeFacets() {
	b.meta.Facets = make([]facetMeta, len(b.facets))
	b.meta.Catalog.Facets = []Facet{}
	offered := slices.Clone(b.facets)
	slices.SortStableFunc(offered, func(x, y *facetBuild) int { return facetPlace(x.key) - facetPlace(y.key) })
	for _, f := range offered {
		m := facetMeta{Places: make([]int, len(f.names)), Rest: -1, Runs: f.runs}
		if b.isOffered(f) {
			out := b.describeFacet(f)
			m.Key = f.key
			for i := range out.Values {
				if out.Values[i].Role == RoleUnknown && f.key != facetUnscored {
					m.Rest = i
				}
			}
			b.setPlaces(f, &out, &m)
			b.meta.Catalog.Facets = append(b.meta.Catalog.Facets, out)
		} else {
			for i := range m.Places {
				m.Places[i] = -1
			}
			if f.dead && !strings.HasPrefix(f.key, prefixColumn) {
				b.meta.Catalog.Notes = append(b.meta.Catalog.Notes, fmt.Sprintf(
					"%s: more than %d values; rows cannot be filtered by it", f.key, f.most))
			}
		}
		b.meta.Facets[f.number] = m
	}
}

// setPlaces says where the values of numbers are in the catalogue, whose names differ from those that were counted.
func (b *builder) setPlaces(f *facetBuild, out *Facet, m *facetMeta) {
	at := map[string]int{}
	for i := range out.Values {
		at[out.Values[i].key] = i
	}
	for n, name := range f.names {
		m.Places[n] = at[name]
	}
}

func (b *builder) isOffered(f *facetBuild) bool {
	if f.dead || len(f.names) == 0 {
		return false
	}
	name, isColumn := strings.CutPrefix(f.key, prefixColumn)
	if !isColumn {
		return true
	}
	m := b.columns[name].measure
	return (m.dead || m.rows == 0) && 2*len(f.names) <= f.rows // else a measure, or names rather than kinds
}

func facetPlace(key string) int {
	for i, known := range []string{facetRun, facetSystem, facetLabel, facetGold, facetIssue, facetUnscored,
		facetTruncated} {
		if key == known {
			return i
		}
	}
	if strings.HasPrefix(key, prefixVerdict) {
		return 10
	}
	return 11
}

// describeFacet makes a facet with its values in order. Each value's key is the name that was counted.
func (b *builder) describeFacet(f *facetBuild) Facet {
	out := Facet{Key: f.key, Values: []Value{}}
	add := func(key, name, role, note string) {
		out.Values = append(out.Values, Value{key: key, Name: name, Role: role, Note: note})
	}
	rest := func() { // values that were not foreseen, by appearance
		for _, name := range f.names {
			if !slices.ContainsFunc(out.Values, func(v Value) bool { return v.key == name }) {
				add(name, name, "", "")
			}
		}
	}
	out.Title = map[string]string{facetRun: "Run", facetSystem: "System", facetLabel: "Error", facetGold: "Gold label",
		facetIssue: "Issue", facetUnscored: "Unscored", facetTruncated: "Cut"}[f.key]
	switch f.key {
	case facetLabel, facetGold:
		out.Multi = true
		b.addTypes(add)
		rest()
		if f.key == facetLabel {
			moveLast(&out, dataset.StatusUntagged, add)
		}
	case facetIssue:
		out.Multi = true
		b.addListed(f, &out)
		moveLast(&out, issues.Unassigned, add)
	case facetUnscored:
		out.Multi = true
		add(allScore, allScore, RoleNone, "every dimension has a score")
		for i := range b.taskDimensions() {
			if d := &b.task.Dimensions[i]; slices.Contains(f.names, d.Key) {
				add(d.Key, d.Name, "", "")
			}
		}
		rest()
	case facetTruncated:
		out.Multi = true
		add(whole, whole, RoleNone, "nothing was cut")
		rest()
	default:
		if out.Title == "" {
			b.describeOther(f, &out, add)
		}
		rest()
	}
	uniqueNames(out.Values)
	return out
}

// describeOther is of verdicts and of other columns.
func (b *builder) describeOther(f *facetBuild, out *Facet, add func(key, name, role, note string)) {
	if name, ok := strings.CutPrefix(f.key, prefixVerdict); ok {
		out.Title = name
		for _, value := range verdicts.Values() {
			add(value, value, "", "")
		}
		add(verdicts.Unjudged, verdicts.Unjudged, RoleUnknown, "")
		return
	}
	out.Title = strings.TrimPrefix(f.key, prefixColumn)
	for _, name := range slices.Sorted(slices.Values(f.names)) {
		add(name, name, "", "")
	}
}

// addTypes adds the taxonomy's types, that of rows without error first.
func (b *builder) addTypes(add func(key, name, role, note string)) {
	if b.task == nil || b.task.NoErrorIndex() < 0 {
		add(noError, noError, RoleNone, "")
	}
	if b.task == nil {
		return
	}
	if no := b.task.NoErrorIndex(); no >= 0 {
		t := &b.task.Types[no]
		add(t.Name, t.Name, RoleNone, t.Definition)
	}
	for i := range b.task.Types {
		if t := &b.task.Types[i]; !t.NoError {
			add(t.Name, t.Name, "", t.Definition)
		}
	}
}

// moveLast puts the value that stands for what is not known behind all others.
func moveLast(out *Facet, key string, add func(key, name, role, note string)) {
	out.Values = slices.DeleteFunc(out.Values, func(v Value) bool { return v.key == key })
	add(key, key, RoleUnknown, "")
}

// uniqueNames puts a number behind a name that came before.
func uniqueNames(values []Value) {
	seen := map[string]bool{}
	for i := range values {
		name := values[i].Name
		for n := 2; seen[values[i].Name]; n++ {
			values[i].Name = fmt.Sprintf("%s (%d)", name, n)
		}
		seen[values[i].Name] = true
	}
}

// addListed adds the issues: none first, then those of the lists, then others by appearance.
func (b *builder) addListed(f *facetBuild, out *Facet) {
	out.Values = append(out.Values, Value{key: noIssue, Name: noIssue, Role: RoleNone})
	known := map[string]bool{}
	for _, s := range b.sources {
		if s.list == nil {
			continue
		}
		for i := range s.list.Issues {
			if issue := &s.list.Issues[i]; !known[issue.ID] {
				known[issue.ID] = true
				out.Values = append(out.Values, b.describeIssue(issue.ID, issue))
			}
		}
	}
	for _, name := range f.names {
		if id, ok := strings.CutPrefix(name, prefixID); ok && !known[id] {
			out.Values = append(out.Values, b.describeIssue(id, &issues.Issue{Name: id, Severity: report.Undefined}))
		}
	}
}

// describeIssue is an issue as its list has it; what the list does not say follows from its rows.
func (b *builder) describeIssue(id string, issue *issues.Issue) Value {
	v := Value{key: prefixID + id, Name: cmp.Or(issue.Name, id), Note: issue.Description}
	rows := b.issues[id]
	severity := issue.Severity
	if rows != nil && !severity.Defined() && rows.severities > 0 {
		severity = report.Number(rows.severity / float64(rows.severities))
	}
	if rows != nil && !severity.Defined() && rows.scores > 0 {
		severity = report.Number(1 - rows.score/float64(rows.scores))
	}
	if severity.Defined() {
		v.Severity = &severity
	}
	if issue.Stability != nil {
		stability := report.Number(*issue.Stability)
		v.Stability = &stability
	}
	for _, e := range issue.Examples {
		if e.Analysis != "" {
			v.Examples = append(v.Examples, exampleText(e))
		}
	}
	if v.Examples == nil && rows != nil {
		v.Examples = rows.examples
	}
	return v
}
