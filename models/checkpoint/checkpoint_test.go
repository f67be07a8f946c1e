package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// want is what torch or safetensors read from a fixture; see testdata/make_fixtures.py.
type want struct {
	DType  DType
	Shape  []int64
	View   bool      // neither contiguous nor transposed
	Values []float32 // nil where Floats refuses the dtype
}

func expected[T any](t *testing.T) map[string]T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	parts := map[string]T{}
	for name, part := range raw {
		var v T
		if json.Unmarshal(part, &v) == nil {
			parts[name] = v
		}
	}
	return parts
}

func open(t testing.TB, dir string) *Weights {
	t.Helper()
	w, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestReadsWhatTorchReads(t *testing.T) {
	fixtures := expected[map[string]want](t)
	if len(fixtures) != 6 {
		t.Fatalf("%d fixtures, want 6", len(fixtures))
	}
	for fixture, tensors := range fixtures {
		t.Run(fixture, func(t *testing.T) {
			w := open(t, filepath.Join("testdata", fixture))
			if got, want := w.Names(), slices.Sorted(maps.Keys(tensors)); !slices.Equal(got, want) {
				t.Fatalf("names\n%q, want\n%q", got, want)
			}
			var buf []float32
			for name, want := range tensors {
				buf = compare(t, w, name, want, buf)
			}
		})
	}
}

func compare(t *testing.T, w *Weights, name string, want want, buf []float32) []float32 {
	t.Helper()
	info, ok := w.Info(name)
	if !ok || info.Name != name || info.DType != want.DType || !slices.Equal(info.Shape, want.Shape) {
		t.Errorf("%s: %v, want %s %v", name, info, want.DType, want.Shape)
	}
	got, err := w.Floats(name, buf)
	if want.View || want.Values == nil {
		if err == nil || !strings.Contains(err.Error(), name) && !strings.Contains(name, `"`) {
			t.Errorf("%s: got %v, want an error that names the tensor", name, err)
		}
		return buf
	}
	if err != nil {
		t.Error(err)
	}
	if !slices.EqualFunc(got, want.Values, func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }) {
		t.Errorf("%s: %v, want %v", name, got, want.Values)
	}
	return got
}

// Every finite number of 16 bits, against torch's conversion.
func TestSixteenBits(t *testing.T) {
	sums := expected[string](t)
	for _, dtype := range []DType{F16, BF16} {
		src := make([]byte, 2<<16)
		for i := range 1 << 16 {
			binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
		}
		floats := make([]float32, 1<<16)
		converters[dtype](floats, src)
		sum := sha256.New()
		for _, v := range floats {
			if !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) {
				sum.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
			}
		}
		if got, want := hex.EncodeToString(sum.Sum(nil)), sums["sha256 of all "+string(dtype)]; got != want {
			t.Errorf("%s: %s, want %s", dtype, got, want)
		}
	}
}

func TestNaNAndInfinity(t *testing.T) {
	for message, bits := range map[string]uint32{
		`tensor "w" holds NaN at index [1 2]`:  0x7fc00000,
		`tensor "w" holds +Inf at index [1 2]`: 0x7f800000,
		`tensor "w" holds -Inf at index [1 2]`: 0xff800000,
	} {
		data := make([]byte, 24)
		binary.LittleEndian.PutUint32(data[20:], bits)
		dir := t.TempDir()
		write(t, dir, "model.safetensors", safe(`{"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}`, string(data)))
		_, err := open(t, dir).Floats("w", nil)
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%v, want %q", err, message)
		}
	}
}

// A tensor longer than what is read at a time.
func TestLongTensor(t *testing.T) {
	const n = chunk/2 + 12345
	var data []byte
	for i := range n {
		data = binary.LittleEndian.AppendUint16(data, uint16(i%0x7f80)) // finite as BF16
	}
	dir := t.TempDir()
	header := fmt.Sprintf(`{"w":{"dtype":"BF16","shape":[%d],"data_offsets":[0,%d]}}`, n, 2*n)
	write(t, dir, "model.safetensors", safe(header, string(data)))
	got, err := open(t, dir).Floats("w", make([]float32, 3))
	if err != nil || len(got) != n {
		t.Fatal(len(got), err)
	}
	for i, v := range got {
		if want := math.Float32frombits(uint32(i%0x7f80) << 16); v != want {
			t.Fatalf("number %d is %v, want %v", i, v, want)
		}
	}
}

func TestBufferIsUsedAgain(t *testing.T) {
	w := open(t, filepath.Join("testdata", "safetensors"))
	buf := make([]float32, 100)
	got, err := w.Floats("encoder.weight", buf)
	if err != nil || &got[0] != &buf[0] || len(got) != 15 {
		t.Error(len(got), err)
	}
	if allocs := testing.AllocsPerRun(20, func() { _, err = w.Floats("encoder.weight", buf) }); allocs > 1 || err != nil {
		t.Errorf("%v allocations, want the one read buffer; %v", allocs, err)
	}
}

func TestInfoIsACopy(t *testing.T) {
	w := open(t, filepath.Join("testdata", "torch"))
	info, _ := w.Info("rows")
	info.Shape[0] = 99
	if again, _ := w.Info("rows"); !reflect.DeepEqual(again.Shape, []int64{3, 4}) {
		t.Error(again)
	}
	if _, ok := w.Info("nothing"); ok {
		t.Error("found a tensor that is not there")
	}
	if _, err := w.Floats("nothing", nil); err == nil || err.Error() != `the checkpoint has no tensor "nothing"` {
		t.Error(err)
	}
}

func TestConcurrentReads(t *testing.T) {
	w, tensors := open(t, filepath.Join("testdata", "torch")), expected[map[string]want](t)["torch"]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for name, want := range tensors {
				compare(t, w, name, want, nil)
			}
		})
	}
	wg.Wait()
}

func TestOrderOfSources(t *testing.T) {
	dir := t.TempDir()
	add := func(file, tensor string) {
		t.Helper()
		write(t, dir, file, safe(`{"`+tensor+`":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, "\x00\x00\x00\x00"))
	}
	check := func(want string) {
		t.Helper()
		if got := open(t, dir).Names(); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if _, err := Open(dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "holds no weights") {
		t.Error(err)
	}
	write(t, dir, "pytorch_model.bin", archived("}("+text("bin")+onlyTensor+"u.", record{"data/0", four}))
	check("bin")
	add("shard", "sharded")
	write(t, dir, "model.safetensors.index.json", []byte(`{"weight_map":{"sharded":"shard"}}`))
	check("sharded")
	add("model.safetensors", "whole")
	check("whole")
}

// The hub's cache holds links to files of other names.
func TestSymbolicLinks(t *testing.T) {
	from, err := filepath.Abs(filepath.Join("testdata", "sharded-safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range []string{"model.safetensors.index.json", "model-00001-of-00002.safetensors",
		"model-00002-of-00002.safetensors"} {
		if err := os.Symlink(filepath.Join(from, file), filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(open(t, dir).Names()); n != 11 {
		t.Errorf("%d tensors, want 11", n)
	}
}

func write(t testing.TB, dir, file string, data []byte) {
	t.Helper()
	path := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A layer of RoBERTa-large, 4096 × 1024 numbers.
func BenchmarkFloats(b *testing.B) {
	for _, dtype := range []DType{F32, F16, BF16} {
		b.Run(string(dtype), func(b *testing.B) {
			size := int(4096 * 1024 * bits[dtype] / 8)
			header := fmt.Sprintf(`{"w":{"dtype":"%s","shape":[4096,1024],"data_offsets":[0,%d]}}`, dtype, size)
			dir := b.TempDir()
			write(b, dir, "model.safetensors", safe(header, strings.Repeat("\x12\x34", size/2)))
			w, buf := open(b, dir), []float32(nil)
			b.SetBytes(int64(size))
			for b.Loop() {
				var err error
				if buf, err = w.Floats("w", buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
