package view

import (
	"context"
	"encoding/binary"
	"math"
)

// chunks is the number of chunks.
func (x *Index) chunks() int { return (x.rows() + chunkRows - 1) / chunkRows }

// chunkLen is the number of rows in a chunk.
func (x *Index) chunkLen(chunk int) int { return min(chunkRows, x.rows()-chunk*chunkRows) }

// load gives a decoded part; decode gives its size in bytes.
func load[T any](ctx context.Context, x *Index, name string, decode func([]byte) (T, int, error)) (value T, err error) {
	if held, ok := x.cache.find(name); ok {
		return held.(T), nil
	}
	data, err := x.store.get(ctx, name)
	if err != nil {
		return value, err
	}
	value, size, err := decode(data)
	if err == nil {
		x.cache.keep(name, value, size)
	}
	return value, err
}

// facetChunk is a facet's values in a chunk, by their places in the catalogue.
type facetChunk struct{ values []places }

// facetOf gives a facet in a chunk. Rows without a value have that of facetMeta.Rest.
func (x *Index) facetChunk(ctx context.Context, key string, chunk int) (*facetChunk, error) {
	no, ok := x.facetNo[key]
	if !ok {
		return nil, queryErrorf("there is no facet %q", key)
	}
	m := &x.meta.Facets[no]
	n := len(x.meta.Catalog.Facets[x.facetAt[key]].Values)
	return load(ctx, x, partOf(chunk, partFacet, no), func(data []byte) (*facetChunk, int, error) {
		c := &facetChunk{values: make([]places, n)}
		var any bitmap
		for len(data) > 0 {
			number, size := binary.Uvarint(data)
			if size <= 0 || number >= uint64(len(m.Places)) {
				return nil, 0, errDamaged
			}
			p, rest, err := readPlaces(data[size:])
			if err != nil {
				return nil, 0, err
			}
			if data = rest; m.Places[number] >= 0 {
				p.orInto(&any)
				c.values[m.Places[number]] = p
			}
		}
		if m.Rest >= 0 {
			x.addRest(c, m, chunk, &any)
		}
		total := 0
		for i := range c.values {
			total += c.values[i].size()
		}
		return c, total, nil
	})
}

// addRest gives the rows of the facet's runs that have no value the one that stands for it.
func (x *Index) addRest(c *facetChunk, m *facetMeta, chunk int, any *bitmap) {
	var rest bitmap
	first := chunk * chunkRows
	for run, has := range m.Runs {
		if has {
			rest.fill(max(0, x.meta.Starts[run]-first), min(x.chunkLen(chunk), x.meta.Starts[run+1]-first))
		}
	}
	rest.andNot(any)
	c.values[m.Rest].orInto(&rest)
	c.values[m.Rest] = placesOf(&rest)
}

// measureChunk gives a measure in a chunk; rows without are NaN. It is nil where no row has one.
func (x *Index) measureChunk(ctx context.Context, key string, chunk int) ([]float64, error) {
	no, ok := x.measNo[key]
	if !ok {
		return nil, queryErrorf("there is no measure %q", key)
	}
	return load(ctx, x, partOf(chunk, partMeasure, no), func(data []byte) ([]float64, int, error) {
		if data == nil {
			return nil, 0, nil
		}
		if len(data) != 8*x.chunkLen(chunk) {
			return nil, 0, errDamaged
		}
		list := make([]float64, len(data)/8)
		for i := range list {
			list[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
		}
		return list, len(data), nil
	})
}

// numbers gives groups or ranks in a chunk.
func (x *Index) numbers(ctx context.Context, what string, chunk int) ([]int32, error) {
	return load(ctx, x, partOf(chunk, what, 0), func(data []byte) ([]int32, int, error) {
		if len(data) != 4*x.chunkLen(chunk) {
			return nil, 0, errDamaged
		}
		list := make([]int32, len(data)/4)
		for i := range list {
			list[i] = int32(binary.LittleEndian.Uint32(data[4*i:])) // written of int32
		}
		return list, len(data), nil
	})
}

// hashes gives those of ids or inputs in a chunk.
func (x *Index) hashes(ctx context.Context, what string, chunk int) ([]uint64, error) {
	return load(ctx, x, partOf(chunk, what, 0), func(data []byte) ([]uint64, int, error) {
		return decodeHashes(data, x.chunkLen(chunk))
	})
}

func decodeHashes(data []byte, n int) ([]uint64, int, error) {
	if len(data) != 8*n {
		return nil, 0, errDamaged
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return list, len(data), nil
}
