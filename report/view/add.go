package view

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

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
		f = &facetBuild{key: key, number: len(b.facets), values: map[string]int{}, most: most}
		b.facets, b.facetNo[key] = append(b.facets, f), f
	}
	return f
}

// refuse ends the facet of a column for a value that is too long.
func (f *facetBuild) refuse(text string) {
	if !f.dead {
		f.dead, f.places = true, nil
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
		f.counts, f.places = append(f.counts, 0), append(f.places, nil)
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
		m = &measureBuild{key: key, number: len(b.measures), low: math.Inf(1), high: math.Inf(-1), integers: true}
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
	place := b.rows - b.base
	entry := appendText(appendText(nil, r.id), r.text)
	var values, numbers []byte
	nValues, nNumbers := 0, 0
	value := func(f *facetBuild, name string) {
		if f.dead {
			return
		}
		v := f.valueNumber(name)
		if v < 0 {
			f.places = nil
			return
		}
		if list := f.places[v]; len(list) > 0 && list[len(list)-1] == uint16(place) {
			return // twice on one row
		}
		for len(f.runs) <= run {
			f.runs = append(f.runs, false)
		}
		f.runs[run] = true
		f.places[v] = append(f.places[v], uint16(place)) // below chunkRows
		f.counts[v]++
		f.rows++
		values, nValues = binary.AppendUvarint(binary.AppendUvarint(values, uint64(f.number)), uint64(v)), nValues+1
	}
	number := func(m *measureBuild, x float64) {
		if m.dead {
			return
		}
		m.set(place, x, run)
		numbers, nNumbers = binary.AppendUvarint(numbers, uint64(m.number)), nNumbers+1
		numbers = binary.LittleEndian.AppendUint64(numbers, math.Float64bits(x))
	}
	value(b.facet(facetRun, len(b.sources)), s.name)
	for _, f := range r.facets {
		value(b.facet(f.key, mostValues(f.key)), f.value)
	}
	for _, m := range r.measures {
		number(b.measureOf(m.key), m.x)
	}
	for i := range r.columns {
		c := b.column(r.columns[i].name)
		if c == nil {
			b.left = true
			continue
		}
		if r.columns[i].isNumber {
			number(c.measure, r.columns[i].number)
		} else {
			c.measure.dead, c.measure.list = true, nil
		}
		if r.columns[i].isText {
			value(c.facet, r.columns[i].text)
		} else {
			c.facet.refuse(r.columns[i].text)
		}
	}
	b.addIssues(r, s)
	entry = append(binary.AppendUvarint(entry, uint64(nValues)), values...)
	entry = append(binary.AppendUvarint(entry, uint64(nNumbers)), numbers...)
	entry = appendText(entry, string(r.record))
	return b.addEntry(r, entry, place)
}

func mostValues(key string) int {
	if key == facetIssue {
		return 10_000
	}
	return maxSystems
}

func (m *measureBuild) set(place int, x float64, run int) {
	for len(m.list) <= place {
		m.list = append(m.list, math.NaN())
	}
	m.list[place] = x
	m.low, m.high, m.rows = min(m.low, x), max(m.high, x), m.rows+1
	m.integers = m.integers && x == math.Trunc(x)
	if n := len(m.runs); n == 0 || m.runs[n-1] != run { // rows come run by run
		m.runs = append(m.runs, run)
	}
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
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
	for _, id := range r.finding.IDs {
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

// addEntry stores a row; a chunk that is full goes into the store.
func (b *builder) addEntry(r *prepared, entry []byte, place int) error {
	if len(b.block) > 0 && len(b.block)+len(entry) > blockBytes {
		if err := b.flushBlock(); err != nil {
			return err
		}
	}
	if len(b.block) == 0 {
		b.blocks = binary.LittleEndian.AppendUint16(b.blocks, uint16(place)) // below chunkRows
	}
	b.block = append(b.block, entry...)
	b.names = appendText(b.names, r.id)
	b.ids, b.groups, b.inputs = append(b.ids, r.idHash), append(b.groups, r.groupHash), append(b.inputs, r.inputHash)
	if err := b.words.add(r.words, place, b); err != nil {
		return err
	}
	b.rows++
	if b.o.Progress != nil && b.rows%1000 == 0 {
		b.o.Progress(b.rows)
	}
	if b.rows-b.base == chunkRows {
		return b.flushChunk()
	}
	return nil
}

func (b *builder) chunk() int { return b.base / chunkRows }

// put stores a part. A store in memory that grows too large becomes a file.
func (b *builder) put(name string, data []byte) error {
	b.stored += len(data)
	m, inMemory := b.store.(*memory)
	if inMemory && (b.rows > cmp.Or(b.o.memoryRows, memoryRows) || b.stored > memoryBytes) {
		file, err := createFile(b.o, b.key)
		if err != nil {
			return err
		}
		b.store = file
		for name, data := range m.parts {
			if err := file.put(name, data); err != nil {
				return err
			}
		}
	}
	return b.store.put(name, data)
}

func (b *builder) flushBlock() error {
	err := b.put(partOf(b.chunk(), partRows, b.blockN), b.encoder.EncodeAll(b.block, nil))
	b.blockN++
	if b.block = b.block[:0]; cap(b.block) > 4*blockBytes {
		b.block = nil
	}
	return err
}

// flushChunk stores what is left of a chunk, and begins the next one.
func (b *builder) flushChunk() error {
	n := b.rows - b.base
	if n == 0 {
		return nil
	}
	var errs []error
	put := func(what string, n int, data []byte) { errs = append(errs, b.put(partOf(b.chunk(), what, n), data)) }
	errs = append(errs, b.flushBlock(), b.words.flush(b), b.words.flushList(b))
	put(partBlocks, 0, slices.Clone(b.blocks))
	put(partNames, 0, b.encoder.EncodeAll(b.names, nil))
	put(partID, 0, encodeHashes(b.ids))
	put(partGroup, 0, encodeHashes(b.groups))
	put(partInput, 0, encodeHashes(b.inputs))
	for _, f := range b.facets {
		var data []byte
		for v, list := range f.places {
			if len(list) > 0 {
				data = appendPlaces(binary.AppendUvarint(data, uint64(v)), list)
				f.places[v] = nil
			}
		}
		if data != nil {
			put(partFacet, f.number, data)
		}
	}
	for _, m := range b.measures {
		if len(m.list) == 0 {
			continue
		}
		data := make([]byte, 0, 8*n)
		for i := range n {
			x := math.NaN()
			if i < len(m.list) {
				x = m.list[i]
			}
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
		}
		put(partMeasure, m.number, data)
		m.list = m.list[:0]
	}
	b.base, b.blockN = b.rows, 0
	b.blocks, b.names = b.blocks[:0], b.names[:0]
	b.ids, b.groups, b.inputs = b.ids[:0], b.groups[:0], b.inputs[:0]
	return errors.Join(errs...)
}

func encodeHashes(list []uint64) []byte {
	data := make([]byte, 0, 8*len(list))
	for _, h := range list {
		data = binary.LittleEndian.AppendUint64(data, h)
	}
	return data
}
