package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"

	"github.com/erreval/erreval/internal/protobuf"
	"github.com/erreval/erreval/internal/regularfile"
)

// export is a graph that an exporter wrote. Its weights stay in their files.
type export struct {
	fsys    fs.FS
	dir     string // the graph's folder, which also holds its files of weights
	files   map[string]*dataIn
	tensors map[string]*initializer
	from    map[string]*node // by their outputs
	nodes   []*node
	inputs  []string
	outputs []string
}

type dataIn struct {
	io.ReaderAt
	io.Closer
	size int64
}

type node struct {
	name, op string
	at       int
	in, out  []string
	attrs    map[string]value
}

// String names the node as exporters' viewers do.
func (n *node) String() string { return fmt.Sprintf("node %s (%s)", n.name, n.op) }

type value struct {
	f    float32
	i    int64
	s    string
	ints []int64
}

// initializer is a TensorProto. Its numbers are in data, or one by one in ints.
type initializer struct {
	name     string
	elem     int
	dims     []int64
	data     protobuf.Message
	ints     []int64
	external map[string]string
}

// openExport reads the graph that stands at name in fsys.
func openExport(fsys fs.FS, name string) (*export, error) {
	g := &export{fsys: fsys, dir: path.Dir(name), files: map[string]*dataIn{}, tensors: map[string]*initializer{},
		from: map[string]*node{}}
	file, err := g.file(path.Base(name))
	if err == nil {
		err = g.parse(protobuf.Message{File: file, End: file.size})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), g.Close())
	}
	return g, nil
}

// Close closes the files.
func (g *export) Close() (err error) {
	for _, f := range g.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// file opens a file in the graph's folder. It refuses names that lead outside.
func (g *export) file(name string) (*dataIn, error) {
	if f := g.files[name]; f != nil {
		return f, nil
	}
	if !fs.ValidPath(name) {
		return nil, fmt.Errorf("weights in %q, which does not lie beside the graph", name)
	}
	f, err := regularfile.OpenFS(g.fsys, path.Join(g.dir, name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	r, ok := f.(io.ReaderAt)
	if err != nil || !ok || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no plain file", name), err, f.Close())
	}
	g.files[name] = &dataIn{r, f, info.Size()}
	return g.files[name], nil
}

// parse reads GraphProto: node = 1, initializer = 5, input = 11, output = 12.
func (g *export) parse(model protobuf.Message) error {
	err := model.Inside(7, func(f protobuf.Field) (err error) {
		switch f.Number {
		case 1:
			err = g.addNode(f.Body)
		case 5:
			err = g.addTensor(f.Body, "")
		case 11, 12:
			to, names := map[int]*[]string{11: &g.inputs, 12: &g.outputs}[f.Number], []string(nil)
			names, err = f.Body.Texts(1)
			*to = append(*to, names...)
		}
		return err
	})
	if err != nil {
		return err
	}
	return g.checkOrder()
}

// checkOrder checks that each value is made once, before it is used, as ONNX asks: then there are no cycles.
func (g *export) checkOrder() error {
	for at, n := range g.nodes {
		n.at = at
		for _, out := range n.out {
			if g.from[out] != nil {
				return fmt.Errorf("%s gives %s once more", n, out)
			}
			if out != "" {
				g.from[out] = n
			}
		}
	}
	for _, n := range g.nodes {
		for _, in := range n.in {
			if from := g.from[in]; from != nil && from.at >= n.at {
				return fmt.Errorf("%s uses %s before it is there", n, in)
			}
		}
	}
	return nil
}

// addNode reads a NodeProto; the constants among them become tensors.
func (g *export) addNode(m protobuf.Message) error {
	n := &node{attrs: map[string]value{}}
	err := m.Visit(func(f protobuf.Field) (err error) {
		switch f.Number {
		case 1:
			n.in, err = appendText(n.in, f)
		case 2:
			n.out, err = appendText(n.out, f)
		case 3:
			n.name, err = f.Body.Text()
		case 4:
			n.op, err = f.Body.Text()
		case 5:
			err = g.addAttribute(n, f.Body)
		}
		return err
	})
	if err != nil || len(n.out) == 0 || g.tensors[n.out[0]] != nil {
		return err
	}
	if n.name == "" {
		n.name = n.out[0]
	}
	g.nodes = append(g.nodes, n)
	return nil
}

func appendText(to []string, f protobuf.Field) ([]string, error) {
	s, err := f.Body.Text()
	return append(to, s), err
}

// addAttribute reads an AttributeProto: name = 1, f = 2, i = 3, s = 4, t = 5, ints = 8. A Constant gives its tensor;
// op_type stands before it.
func (g *export) addAttribute(n *node, m protobuf.Message) error {
	var v value
	name := ""
	err := m.Visit(func(f protobuf.Field) (err error) {
		switch f.Number {
		case 1:
			name, err = f.Body.Text()
		case 2:
			var b [4]byte
			err = f.Body.Read(b[:], 0)
			v.f = math.Float32frombits(binary.LittleEndian.Uint32(b[:]))
		case 3:
			v.i = int64(f.N) // #nosec G115 -- protobuf writes negative numbers so
		case 4:
			if f.Body.Size() < smallTensor {
				v.s, err = f.Body.Text()
			}
		case 5:
			if n.op == "Constant" && len(n.out) == 1 {
				err = g.addTensor(f.Body, n.out[0])
			}
		case 8:
			var more []int64
			more, err = f.Integers()
			v.ints = append(v.ints, more...)
		}
		return err
	})
	n.attrs[name] = v
	return err
}

// addTensor reads a TensorProto: dims = 1, data_type = 2, float_data = 4, int64_data = 7, name = 8, raw_data = 9,
// external_data = 13. Where as is not "", that is its name.
func (g *export) addTensor(m protobuf.Message, as string) error {
	t := &initializer{external: map[string]string{}}
	err := m.Visit(func(f protobuf.Field) (err error) {
		var more []int64
		switch f.Number {
		case 1:
			more, err = f.Integers()
			t.dims = append(t.dims, more...)
		case 2:
			t.elem = int(f.N) // #nosec G115 -- compared with known types only
		case 4, 9:
			t.data = f.Body
		case 7:
			more, err = f.Integers()
			t.ints = append(t.ints, more...)
		case 8:
			t.name, err = f.Body.Text()
		case 13:
			err = f.Body.Entry(t.external)
		}
		return err
	})
	if as != "" {
		t.name = as
	}
	g.tensors[t.name] = t
	return err
}

// size is the number of elements, and false if the dimensions are invalid.
func (t *initializer) size() (int64, bool) {
	n := int64(1)
	for _, d := range t.dims {
		if d < 0 || d > 0 && n > math.MaxInt32/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// raw gives the bytes of t's numbers.
func (g *export) raw(t *initializer) (protobuf.Message, error) {
	if t.external["location"] == "" {
		return t.data, nil
	}
	file, err := g.file(t.external["location"])
	if err != nil {
		return protobuf.Message{}, err
	}
	number := func(key string, otherwise int64) int64 {
		if n, e := strconv.ParseInt(t.external[key], 10, 64); e == nil || t.external[key] != "" {
			err = errors.Join(err, e)
			return n
		}
		return otherwise
	}
	offset := number("offset", 0)
	if err != nil || offset < 0 || offset > file.size {
		return protobuf.Message{}, fmt.Errorf("tensor %s stands at offset %q of %s, which has %d bytes", t.name,
			t.external["offset"], t.external["location"], file.size)
	}
	length := number("length", file.size-offset)
	if err != nil || length < 0 || length > file.size-offset {
		return protobuf.Message{}, fmt.Errorf("tensor %s has %q bytes in %s, which ends before", t.name, t.external["length"],
			t.external["location"])
	}
	return protobuf.Message{File: file, At: offset, End: offset + length}, nil
}

// floats reads t, which holds float32, into to's memory. A number that is not finite is an error.
func (g *export) floats(t *initializer, to []float32) ([]float32, error) {
	n, ok := t.size()
	m, err := g.raw(t)
	if err != nil {
		return nil, err
	}
	if !ok || t.elem != elemFloat || m.Size() != 4*n {
		return nil, fmt.Errorf("tensor %s of shape %v and type %d has %d bytes of numbers; that is no float32 tensor", t.name,
			t.dims, t.elem, m.Size())
	}
	to = slices.Grow(to[:0], int(n))[:n]
	var block [1 << 16]byte
	for done := 0; done < len(to); {
		part := block[:min(4*(len(to)-done), len(block))]
		if err := m.Read(part, int64(4*done)); err != nil {
			return nil, fmt.Errorf("tensor %s: %w", t.name, err)
		}
		for ; len(part) > 0; part = part[4:] {
			v := math.Float32frombits(binary.LittleEndian.Uint32(part))
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return nil, fmt.Errorf("tensor %s: number %d is %v", t.name, done, v)
			}
			to[done] = v
			done++
		}
	}
	return to, nil
}

// numbers reads a constant of few elements, float or integer; it is false for anything else.
func (g *export) numbers(name string) ([]float64, bool) {
	t := g.tensors[name]
	if t == nil {
		return nil, false
	}
	n, ok := t.size()
	if !ok || n > smallTensor {
		return nil, false
	}
	var out []float64
	if t.elem == elemFloat {
		v, err := g.floats(t, nil)
		for _, x := range v {
			out = append(out, float64(x))
		}
		return out, err == nil
	}
	ints := t.ints
	if m, err := g.raw(t); err == nil && t.elem == elemInt64 && m.Size() == 8*n {
		data := make([]byte, m.Size())
		if m.Read(data, 0) != nil {
			return nil, false
		}
		for i := range n {
			ints = append(ints, int64(binary.LittleEndian.Uint64(data[8*i:]))) // #nosec G115 -- the same bits with a sign
		}
	}
	for _, v := range ints {
		out = append(out, float64(v))
	}
	return out, int64(len(out)) == n
}
