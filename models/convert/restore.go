package convert

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/wholefile"
)

// Endings of the initializers that Convert makes of a weight for int8, and of what it divides a layer's inputs by.
const (
	codesEnding, scaleEnding, apartEnding, inverseEnding = ".int8", ".scale", ".apart", ".inverse"
	weightEnding                                         = ".weight"
)

const vocabularyFile = "tokenizer.json"

// restorer takes weights out of a graph that Convert wrote, as they were but for rounding.
type restorer struct{ *export }

// Restore writes the encoder of an int8 graph that Convert made of a BERT as a Hugging Face checkpoint, with its
// tokenizer, into the directory to, which must be empty or absent: to be trained on, under a head of its own. Weights
// are within half a step of int8 of what they were.
func Restore(model fs.FS, to string) error {
	g, err := openExport(model, graphFile)
	if err != nil {
		return err
	}
	err = publish(to, func(dir string) error { return restorer{g}.write(model, dir) })
	return errors.Join(err, g.Close())
}

func (r restorer) write(model fs.FS, dir string) error {
	shapes := r.shapes()
	settings, err := r.settings(shapes)
	if err != nil {
		return err
	}
	tokenizer, err := regularfile.ReadFS(model, vocabularyFile, regularfile.Max)
	if err != nil {
		return err
	}
	err = createFile(dir, "model.safetensors", func(w io.Writer) error { return r.writeWeights(newEmitter(w), shapes) })
	return explainFault(errors.Join(err, wholefile.Write(filepath.Join(dir, configFile), settings),
		wholefile.Write(filepath.Join(dir, vocabularyFile), tokenizer)))
}

// shapes are those of the encoder's weights in a checkpoint, by name. The last layer's key has no bias in the graph,
// where it changes nothing.
func (r restorer) shapes() map[string][]int64 {
	out := map[string][]int64{}
	for name, t := range r.tensors {
		plain, coded := strings.CutSuffix(name, codesEnding)
		switch {
		case !strings.HasPrefix(name, "bert.") || !coded && !strings.HasSuffix(name, weightEnding) &&
			!strings.HasSuffix(name, ".bias"):
		case len(t.dims) == 3:
			out[plain] = []int64{t.dims[0] * t.dims[1], t.dims[2]}
			out[strings.TrimSuffix(plain, weightEnding)+".bias"] = out[plain][:1]
		case coded && !r.scaledByRow(plain):
			out[plain] = []int64{t.dims[1], t.dims[0]}
		default:
			out[plain] = t.dims
		}
	}
	return out
}

// scaledByRow tells the two ways in which Convert quantises: with one scale a row, or transposed with one a column.
func (r restorer) scaledByRow(name string) bool {
	scale := r.tensors[name+scaleEnding]
	return scale != nil && len(scale.dims) > 1
}

// settings is the config.json.
func (r restorer) settings(shapes map[string][]int64) ([]byte, error) {
	const tables = "bert.embeddings.%s_embeddings.weight"
	words, positions := shapes[fmt.Sprintf(tables, "word")], shapes[fmt.Sprintf(tables, "position")]
	types, inner := shapes[fmt.Sprintf(tables, "token_type")], shapes["bert.encoder.layer.0.intermediate.dense.weight"]
	layers := 0
	for shapes[fmt.Sprintf("bert.encoder.layer.%d.output.dense.weight", layers)] != nil {
		layers++
	}
	key := r.tensors[fmt.Sprintf("bert.encoder.layer.%d.attention.self.key.weight"+codesEnding, layers-1)]
	if len(words) != 2 || len(positions) != 2 || len(types) != 2 || len(inner) != 2 || key == nil || len(key.dims) != 3 {
		return nil, errors.New("the weights of this graph cannot be trained on: it is not one that erreval made of a BERT " +
			"as int8; take an encoder's checkpoint")
	}
	c := map[string]any{"model_type": "bert", "architectures": []string{"BertForSequenceClassification"},
		"vocab_size": words[0], "hidden_size": words[1], "num_hidden_layers": layers, "num_attention_heads": key.dims[0],
		"intermediate_size": inner[0], "max_position_embeddings": positions[0], "type_vocab_size": types[0],
		"hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0}
	for _, n := range r.nodes {
		if e, ok := n.attrs["epsilon"]; ok {
			c["layer_norm_eps"] = e.f
		}
		if n.op == "FastGelu" || n.op == "Relu" {
			c["hidden_act"] = map[string]string{"FastGelu": "gelu_new", "Relu": "relu"}[n.op]
		}
	}
	return json.Marshal(c)
}

// writeWeights writes safetensors: eight bytes of the header's length, the header, the numbers.
func (r restorer) writeWeights(e *emitter, shapes map[string][]int64) error {
	type entry struct {
		Type    string   `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	header, end := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, int64(0)
	names := slices.Sorted(maps.Keys(shapes))
	for _, name := range names {
		size := int64(4)
		for _, d := range shapes[name] {
			size *= d
		}
		header[name] = entry{"F32", shapes[name], [2]int64{end, end + size}}
		end += size
	}
	data, err := json.Marshal(header)
	if err != nil {
		return err
	}
	e.bytes(append(binary.LittleEndian.AppendUint64(nil, uint64(len(data))), data...))
	for _, name := range names {
		v, err := r.weight(name, shapes[name])
		if err != nil {
			return err
		}
		e.floats(v)
	}
	return e.flush()
}

// weight is a weight as a checkpoint has it.
func (r restorer) weight(name string, shape []int64) ([]float32, error) {
	switch {
	case r.tensors[name] != nil:
		return r.floats(r.tensors[name], nil)
	case r.tensors[name+codesEnding] == nil:
		return make([]float32, shape[0]), nil
	}
	scale, err := r.named(name + scaleEnding)
	if err != nil {
		return nil, err
	}
	codes, err := r.codes(r.tensors[name+codesEnding])
	if err != nil || int64(len(scale)) != shape[0] {
		return nil, errors.Join(err, fmt.Errorf("tensor %s has %d scales for %v", name, len(scale), shape))
	}
	rows, width := int(shape[0]), int(shape[1])
	v := make([]float32, len(codes))
	if r.scaledByRow(name) {
		for i, c := range codes {
			v[i] = float32(int8(c)) * scale[i/width] // #nosec G115 -- the same bits with a sign
		}
		return v, nil
	}
	for i, c := range codes {
		v[i%rows*width+i/rows] = float32(int8(c)) * scale[i%rows] // #nosec G115 -- the same bits with a sign
	}
	return v, r.undivide(name, v, rows, width)
}

// undivide takes back what Convert divided the channels of a layer's input by, and puts those that it computes apart in
// their places.
func (r restorer) undivide(name string, v []float32, rows, width int) error {
	layer := strings.TrimSuffix(name, weightEnding)
	for _, other := range []string{".key", ".value"} { // they read what the query reads
		if plain, ok := strings.CutSuffix(layer, other); ok {
			layer = plain + ".query"
		}
	}
	if r.tensors[layer+inverseEnding] == nil {
		return nil
	}
	inverse, err := r.named(layer + inverseEnding)
	if err != nil || len(inverse) != width {
		return errors.Join(err, fmt.Errorf("tensor %s has %d numbers for %d inputs", layer+inverseEnding, len(inverse),
			width))
	}
	var apart []float32
	if r.tensors[name+apartEnding] != nil {
		if apart, err = r.named(name + apartEnding); err != nil {
			return err
		}
	}
	for i, factor := range inverse {
		if factor == 0 && len(apart) < rows {
			return fmt.Errorf("tensor %s lacks input %d", name+apartEnding, i)
		}
		for o := range rows {
			if v[o*width+i] *= factor; factor == 0 {
				v[o*width+i] = apart[o]
			}
		}
		if factor == 0 {
			apart = apart[rows:]
		}
	}
	return nil
}

// named reads a float32 tensor by its name.
func (r restorer) named(name string) ([]float32, error) {
	if r.tensors[name] == nil {
		return nil, fmt.Errorf("the graph has no tensor %s", name)
	}
	return r.floats(r.tensors[name], nil)
}

// codes reads an int8 tensor.
func (r restorer) codes(t *initializer) ([]byte, error) {
	n, ok := t.size()
	m, err := r.raw(t)
	if err != nil {
		return nil, err
	}
	if !ok || t.elem != elemInt8 || m.Size() != n {
		return nil, fmt.Errorf("tensor %s of shape %v and type %d has %d bytes of numbers; that is no int8 tensor", t.name,
			t.dims, t.elem, m.Size())
	}
	data := make([]byte, n)
	return data, m.Read(data, 0)
}
