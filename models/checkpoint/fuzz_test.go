package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// seeds adds the fixtures of one kind.
func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*", pattern))
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// check reads a file as Open and Floats do, and looks that nothing lies outside of it.
func check(t *testing.T, data []byte, read reader) {
	t.Helper()
	tensors, err := parseTensors(bytes.NewReader(data), int64(len(data)), read)
	if err != nil {
		oneSentence(t, err)
		return
	}
	for _, tensor := range tensors {
		n, err := countElements(tensor.Shape, int64(len(data))*8)
		if width := bits[tensor.DType]; err != nil || width == 0 || tensor.offset < 0 ||
			tensor.offset+n*width/8 > int64(len(data)) {
			t.Fatalf("%v at %d of %d bytes: %v", tensor.Info, tensor.offset, len(data), err)
		}
		floats, err := tensor.floats(nil)
		if err != nil {
			oneSentence(t, err)
		} else if int64(len(floats)) != n {
			t.Fatalf("%v: %d numbers", tensor.Info, len(floats))
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	seeds(f, "*.safetensors")
	f.Add(safe(`{"w":`+entry+`}`, four))
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data, readSafetensors) })
}

func FuzzTorch(f *testing.F) {
	seeds(f, "*.bin")
	f.Fuzz(func(t *testing.T, data []byte) { check(t, data, readTorch) })
}

// FuzzPickle mutates the pickle alone, in an archive that stays whole.
func FuzzPickle(f *testing.F) {
	for _, pickle := range []string{state(onlyTensor),
		state("ctorch._utils\n_rebuild_parameter\n" + onlyTensor + "\x88}\x87R"),
		"cos\nsystem\n" + text("true") + "\x85R.", "ccollections\nOrderedDict\n)R}" + text("_metadata") + "}sb.",
		"\x8c\x01w\x94q\x01r\x02\x00\x00\x00h\x01j\x02\x00\x00\x00\x8a\x02\x00\x80M\x01\x02K\x01NN\x85."} {
		f.Add([]byte(pickle))
	}
	f.Fuzz(func(t *testing.T, pickle []byte) {
		check(t, archived(string(pickle), record{"data/0", four}), readTorch)
	})
}

func FuzzIndex(f *testing.F) {
	seeds(f, "*.index.json")
	f.Fuzz(func(t *testing.T, data []byte) {
		place, err := parseIndex(data)
		if err != nil {
			oneSentence(t, err)
		}
		for name, file := range place {
			if err == nil && !filepath.IsLocal(file) {
				t.Errorf("tensor %q in %q", name, file)
			}
		}
	})
}
