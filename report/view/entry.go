package view

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// unpacker unpacks rows; one serves all.
var unpacker = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(1<<30))
})

// entry is a row as it is stored.
type entry struct {
	id, text string
	facets   [][2]int // number of the facet, and of the value
	measures []numbered
	record   json.RawMessage
}

type numbered struct {
	number int
	x      float64
}

// reader reads rows of an index, best in order: it keeps the block that it read last.
type reader struct {
	x       *Index
	chunk   int
	blocks  []byte // first rows of the chunk's blocks
	block   int
	entries []entry
}

func (x *Index) newReader() *reader { return &reader{x: x, chunk: -1, block: -1} }

// read gives a row.
func (r *reader) read(ctx context.Context, n int) (*entry, error) {
	if chunk := n / chunkRows; chunk != r.chunk {
		data, err := r.x.store.get(ctx, partOf(chunk, partBlocks, 0))
		if err != nil {
			return nil, err
		}
		if len(data) == 0 || len(data)%2 != 0 {
			return nil, errDamaged
		}
		r.chunk, r.blocks, r.block = chunk, data, -1
	}
	place := n % chunkRows
	low, high := 0, len(r.blocks)/2 // the last block that begins at or before the place
	for high-low > 1 {
		if middle := (low + high) / 2; int(binary.LittleEndian.Uint16(r.blocks[2*middle:])) <= place {
			low = middle
		} else {
			high = middle
		}
	}
	if low != r.block {
		if err := r.open(ctx, low); err != nil {
			return nil, err
		}
	}
	at := place - int(binary.LittleEndian.Uint16(r.blocks[2*low:]))
	if at < 0 || at >= len(r.entries) {
		return nil, errDamaged
	}
	return &r.entries[at], nil
}

func (r *reader) open(ctx context.Context, block int) error {
	data, err := r.x.store.get(ctx, partOf(r.chunk, partRows, block))
	if err != nil {
		return err
	}
	unpack, err := unpacker()
	if err == nil {
		data, err = unpack.DecodeAll(data, nil)
	}
	if err != nil {
		return err
	}
	r.block, r.entries = block, r.entries[:0:0]
	for in := (&decoder{data: data}); len(in.data) > 0; {
		e := entry{id: string(in.text()), text: string(in.text())}
		for range in.int() {
			e.facets = append(e.facets, [2]int{in.int(), in.int()})
			if in.err != nil {
				return in.err
			}
		}
		for range in.int() {
			e.measures = append(e.measures, numbered{in.int(), math.Float64frombits(in.float())})
			if in.err != nil {
				return in.err
			}
		}
		e.record = json.RawMessage(in.text())
		if in.err != nil {
			return in.err
		}
		r.entries = append(r.entries, e)
	}
	return nil
}

// summary is a row as lists show it.
func (x *Index) summary(n int, e *entry) (RowSummary, error) {
	run := x.runOf(n)
	s := RowSummary{N: n, ID: e.id, Run: run, Text: e.text, Facets: map[string][]int{}, Measures: map[string]*float64{}}
	has := make([]bool, len(x.meta.Facets))
	for _, f := range e.facets {
		if f[0] >= len(x.meta.Facets) || f[1] >= len(x.meta.Facets[f[0]].Places) {
			return s, errDamaged
		}
		m := &x.meta.Facets[f[0]]
		if place := m.Places[f[1]]; place >= 0 {
			s.Facets[m.Key] = append(s.Facets[m.Key], place)
			has[f[0]] = true
		}
	}
	for i := range x.meta.Facets {
		if m := &x.meta.Facets[i]; !has[i] && m.Rest >= 0 && run < len(m.Runs) && m.Runs[run] {
			s.Facets[m.Key] = []int{m.Rest}
		}
	}
	for _, places := range s.Facets {
		slices.Sort(places)
	}
	for _, m := range e.measures {
		if m.number >= len(x.meta.Measures) {
			return s, errDamaged
		}
		if key := x.meta.Measures[m.number]; key != "" {
			s.Measures[key] = &m.x
		}
	}
	return s, nil
}

// summaries are those of rows, in the order given.
func (x *Index) summaries(ctx context.Context, rows []int) ([]RowSummary, error) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return rows[a] - rows[b] })
	out, in := make([]RowSummary, len(rows)), x.newReader()
	for _, i := range order {
		e, err := in.read(ctx, rows[i])
		if err != nil {
			return nil, err
		}
		if out[i], err = x.summary(rows[i], e); err != nil {
			return nil, err
		}
	}
	return out, nil
}
