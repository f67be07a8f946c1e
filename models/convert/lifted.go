package convert

import (
	"slices"

	"github.com/erreval/erreval/models/checkpoint"
)

// matrix is a weight of an export, [in, out] where it is transposed.
type matrix struct {
	*initializer
	transposed bool
}

// lifted holds the weights of an export by their names in a checkpoint.
type lifted struct {
	*export
	weights map[string]matrix
	buf     []float32
}

// Names are sorted.
func (l *lifted) Names() []string {
	names := make([]string, 0, len(l.weights))
	for name := range l.weights {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Info has the shape that a checkpoint would have.
func (l *lifted) Info(name string) (checkpoint.Info, bool) {
	m, ok := l.weights[name]
	if !ok {
		return checkpoint.Info{}, false
	}
	shape := slices.Clone(m.dims)
	if m.transposed {
		slices.Reverse(shape)
	}
	return checkpoint.Info{Name: name, DType: "F32", Shape: shape}, true
}

// Floats reads a weight as a checkpoint would have it.
func (l *lifted) Floats(name string, to []float32) ([]float32, error) {
	m := l.weights[name]
	if !m.transposed {
		return l.floats(m.initializer, to)
	}
	v, err := l.floats(m.initializer, l.buf)
	if err != nil {
		return nil, err
	}
	l.buf = v
	in, out := int(m.dims[0]), int(m.dims[1])
	to = slices.Grow(to[:0], len(v))[:len(v)]
	for o := range out {
		for i := range in {
			to[o*in+i] = v[i*out+o]
		}
	}
	return to, nil
}
