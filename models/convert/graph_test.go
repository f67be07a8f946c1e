package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestResult(t *testing.T) {
	_, r := converted(t, "roberta", DefaultOptions())
	want := &Result{
		Labels: []string{"type 0", "type 1", "type 2",
			"type 3", "type 4"},
		Inputs: []string{"input_ids",
			"attention_mask"}, Output: "logits",
		Hidden: "LayerNormalization_25", HiddenLayer: 1, Head: "dense+tanh+out_proj",
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	_, r = converted(t, "bert", DefaultOptions())
	if got := strings.Join(r.Inputs, " "); got != "input_ids attention_mask token_type_ids" ||
		r.Head != "pooler+classifier" {
		t.Errorf("%+v", r)
	}
}

// What the checkpoint holds and the graph does not is told, and so is what its config.json leaves open.
func TestNotes(t *testing.T) {
	dir := copied(t, "roberta", map[string]any{"num_hidden_layers": 1, "id2label": nil})
	r, err := Convert(context.Background(), dir, filepath.Join(t.TempDir(), "out"), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, want := range []string{"config.json names no labels (id2label); they are numbered",
		"not used: roberta.encoder.layer.1.attention.", "and 8 more"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
	if r.Labels[4] != "LABEL_4" {
		t.Error(r.Labels)
	}
	if _, r := converted(t, "bert-linear", DefaultOptions()); !strings.Contains(strings.Join(r.Notes, "\n"),
		"the head is one linear layer") {
		t.Error(r.Notes)
	}
}

// fileNames lists a folder.
func fileNames(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// The numbers of a graph in two files are those of the graph in one, each tensor on a page of its own.
func TestExternalData(t *testing.T) {
	for _, precision := range []string{FP32, FP16, INT8} {
		o := withPrecision(precision)
		dir, _ := converted(t, "roberta", o)
		whole := read(t, dir, graphFile)
		o.ExternalAbove = 10_000
		apart, _ := converted(t, "roberta", o)
		if one, two := fileNames(t, dir), fileNames(t, apart); one != graphFile || two != graphFile+" "+dataFile {
			t.Fatal(one, two)
		}
		graph, data := read(t, apart, graphFile), read(t, apart, dataFile)
		if len(graph) > 30_000 {
			t.Errorf("the graph still has %d bytes", len(graph))
		}
		inside, outside := initializers(t, whole), initializers(t, graph)
		if len(inside) != len(outside) || len(inside) == 0 {
			t.Fatalf("%d and %d tensors", len(inside), len(outside))
		}
		moved := 0
		for name, want := range inside {
			got := outside[name].raw
			if e := outside[name]; e.external {
				if moved++; e.offset%alignment != 0 || e.length <= smallTensor {
					t.Errorf("%s: %d bytes at %d", name, e.length, e.offset)
				}
				got = data[e.offset : e.offset+e.length]
			}
			if !bytes.Equal(got, want.raw) {
				t.Errorf("%s: the numbers differ", name)
			}
		}
		if moved < 5 {
			t.Errorf("%d tensors were moved", moved)
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

type stored struct {
	raw            []byte
	external       bool
	offset, length int64
}

// initializers reads the tensors of a model back.
func initializers(t *testing.T, model []byte) map[string]stored {
	t.Helper()
	out := map[string]stored{}
	for _, graph := range fields(t, model)[7] {
		for _, tensor := range fields(t, graph)[5] {
			f := fields(t, tensor)
			s := stored{external: len(f[13]) > 0}
			if len(f[9]) > 0 {
				s.raw = f[9][0]
			}
			for _, entry := range f[13] {
				e := fields(t, entry)
				n := int64(0)
				for _, c := range e[2][0] {
					n = n*10 + int64(c-'0')
				}
				switch string(e[1][0]) {
				case "offset":
					s.offset = n
				case "length":
					s.length = n
				}
			}
			out[string(f[8][0])] = s
		}
	}
	return out
}

// fields splits a protobuf message; integers are left out.
func fields(t *testing.T, message []byte) map[int][][]byte {
	t.Helper()
	out := map[int][][]byte{}
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		v, m := binary.Uvarint(message[n:])
		message = message[n+m:]
		switch tag & 7 {
		case 0:
		case 2:
			out[int(tag>>3)] = append(out[int(tag>>3)], message[:v])
			message = message[v:]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	return out
}

// Expected rows are torch's (make_log_bucket_position, testdata/make_fixtures.py).
func TestBuckets(t *testing.T) {
	var kinds []struct {
		Buckets, Positions, First int64
		Rows                      []int64
	}
	readJSON(t, "testdata/buckets.json", &kinds)
	for _, k := range kinds {
		for i, want := range k.Rows {
			if d := k.First + int64(i); bucket(d, k.Buckets, k.Positions) != want {
				t.Errorf("%d buckets: distance %d is in %d; wanted %d", k.Buckets, d, bucket(d, k.Buckets, k.Positions), want)
			}
		}
	}
	if len(kinds) < 2 {
		t.Fatal("no rows")
	}
}

// wide is the number that a binary16 stands for, by the definition in IEEE 754.
func wide(h uint16) float64 {
	e, m := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(m, -24)
	if e > 0 {
		v = math.Ldexp(1024+m, e-25)
	}
	if h>>15 == 1 {
		v = -v
	}
	return v
}

// Every finite binary16 comes back, and what lies between two goes to the nearer, or to the even one from the middle.
func TestHalf(t *testing.T) {
	for h := range uint16(0x7c00) {
		v, next := wide(h), wide(h+1)
		if got, ok := floatToHalf(float32(v)); !ok || got != h {
			t.Fatalf("%v is %#x; wanted %#x", v, got, h)
		}
		if got, ok := floatToHalf(float32(-v)); !ok || got != h|0x8000 {
			t.Fatalf("%v is %#x; wanted %#x", -v, got, h|0x8000)
		}
		if h == 0x7bff {
			break
		}
		middle := float32((v + next) / 2)
		for _, c := range []struct {
			x    float32
			want uint16
		}{{middle, h + h&1}, {math.Nextafter32(middle, 0), h}, {math.Nextafter32(middle, 1e9), h + 1}} {
			if got, ok := floatToHalf(c.x); !ok || got != c.want {
				t.Fatalf("%v is %#x; wanted %#x", c.x, got, c.want)
			}
		}
	}
	for _, x := range []float32{65520, 1e9, float32(math.Inf(-1))} {
		if got, ok := floatToHalf(x); ok {
			t.Errorf("%v is %#x; wanted none", x, got)
		}
	}
}

func TestCode(t *testing.T) {
	row := []float32{-127, 127, 0, 0.49, 0.5, -0.5, 1.5, 2.5, -2.51} // scale 1
	want := []int8{-127, 127, 0, 0, 0, 0, 2, 2, -3}
	for i, v := range row {
		if got := quantizeValue(v, scaleOf(row)); got != want[i] {
			t.Errorf("%v is %d; wanted %d", v, got, want[i])
		}
	}
	if s := scaleOf([]float32{0, 0}); quantizeValue(0, s) != 0 {
		t.Error("a row of zeros has codes")
	}
}

func TestOptions(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	err := Options{Precision: "int4", ExternalAbove: -1}.Validate()
	for _, want := range []string{`precision "int4" is not known`, "above -1 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
