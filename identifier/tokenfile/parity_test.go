package tokenfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	tiktoken "github.com/tiktoken-go/tokenizer"

	"github.com/erreval/erreval/identifier/tokenfile/internal/gpt2"
	"github.com/erreval/erreval/identifier/unigram"
	"github.com/erreval/erreval/identifier/wordpiece"
)

// The fixtures were recorded from Hugging Face's tokenizers by testdata/parity.py.

var parityDir = flag.String("parity", "testdata", "folder that testdata/parity.py wrote")

// open opens a file, or its compressed form.
func open(t testing.TB, path string) io.ReadCloser {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = os.Open(path + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !strings.HasSuffix(f.Name(), ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

var gpt2JSON = sync.OnceValues(func() ([]byte, error) {
	codec, err := tiktoken.Get(tiktoken.R50kBase)
	if err != nil {
		return nil, err
	}
	return gpt2.TokenizerJSON(func(rank uint) (string, error) { return codec.Decode([]uint{rank}) })
})

// tokenizerJSON returns the tokenizer.json of a fixture in a folder.
func tokenizerJSON(t testing.TB, folder, name string) []byte {
	t.Helper()
	read := func() ([]byte, error) { return io.ReadAll(open(t, filepath.Join(folder, name+".json"))) }
	if folder == "testdata" && name == "gpt2" {
		read = gpt2JSON
	}
	data, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if shared := []byte(`"nmt_nfkc"`); bytes.Contains(data, shared) { // recorded once for all
		charsmap, err := io.ReadAll(open(t, filepath.Join(folder, "nmt_nfkc")))
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, shared, []byte(`"`+base64.StdEncoding.EncodeToString(charsmap)+`"`))
	}
	return data
}

var loaded sync.Map // fixtures by name

func fixture(t testing.TB, name string) *Tokenizer {
	t.Helper()
	if tok, ok := loaded.Load(name); ok {
		return tok.(*Tokenizer)
	}
	tok := loadBytes(t, tokenizerJSON(t, "testdata", name))
	loaded.Store(name, tok)
	return tok
}

func loadBytes(t testing.TB, data []byte) *Tokenizer {
	t.Helper()
	tok, err := Load(fstest.MapFS{jsonFile: {Data: data}})
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// compareCases encodes recorded texts both ways and returns how many ids lists it compared and how many differ.
func compareCases(t *testing.T, e *Encoder, cases io.Reader) (compared, differing int) {
	r := bufio.NewReaderSize(cases, 1<<16)
	var got []int32
	for {
		text, err := readBlock(r, 1)
		if errors.Is(err, io.EOF) {
			return compared, differing
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, specials := range []bool{true, false} {
			raw, err := readBlock(r, 4)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]int32, len(raw)/4)
			for i := range want {
				want[i] = int32(binary.LittleEndian.Uint32(raw[4*i:]))
			}
			got, err = e.Append(got[:0], string(text), specials)
			compared++
			if err != nil || !slices.Equal(got, want) {
				if differing++; differing <= 10 {
					t.Errorf("%.200q specials=%t\n got %v, %v\nwant %v", text, specials, got, err, want)
				}
			}
		}
	}
}

// readBlock reads a count and that many values.
func readBlock(r io.Reader, size int) ([]byte, error) {
	var n uint32
	if err := binary.Read(r, binary.LittleEndian, &n); err != nil {
		return nil, err
	}
	data := make([]byte, int(n)*size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("cut short: %w", err)
	}
	return data, nil
}

// TestParity compares the ids of the fixtures, or of what `testdata/parity.py compare` wrote.
func TestParity(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(*parityDir, "*.cases*"))
	if err != nil || len(paths) == 0 || *parityDir == "testdata" && len(paths) != 16 {
		t.Fatalf("%d files of cases in %s, %v", len(paths), *parityDir, err)
	}
	var compared, differing atomic.Int64
	t.Run("with", func(t *testing.T) {
		for _, path := range paths {
			name, _, _ := strings.Cut(filepath.Base(path), ".")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				n, bad := compareCases(t, loadBytes(t, tokenizerJSON(t, *parityDir, name)).NewEncoder(), open(t, path))
				t.Logf("%d cases, %d differ", n, bad)
				if n < 500 {
					t.Error("cases are missing")
				}
				compared.Add(int64(n))
				differing.Add(int64(bad))
			})
		}
	})
	t.Logf("all: %d cases, %d differ", compared.Load(), differing.Load())
}

// sweepLines returns the recorded lines of sweep.txt by their name.
func sweepLines(t *testing.T) map[string][]string {
	data, err := os.ReadFile("testdata/sweep.txt")
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		byName[name] = append(byName[name], rest)
	}
	return byName
}

// sweep hashes, block by block, what put writes for each code point, and compares with the recorded hashes.
func sweep(t *testing.T, lines []string, put func(out []byte, c rune) []byte) {
	const block, recorded = 4096, 122 // see BLOCKS in parity.py
	if len(lines) != recorded {
		t.Fatalf("%d blocks recorded", len(lines))
	}
	var out []byte
	for _, line := range lines {
		var start rune
		if _, err := fmt.Sscanf(line, "%x", &start); err != nil {
			t.Fatal(err)
		}
		out = out[:0]
		for c := start; c < start+block; c++ {
			if c < 0xd800 || c > 0xdfff {
				out = put(out, c)
			}
		}
		if got := fmt.Sprintf("%06x %.8x", start, sha256.Sum256(out)); got != line {
			t.Errorf("code points from %s: got %s", line, got)
		}
	}
}

func TestEveryCodePoint(t *testing.T) {
	lines := sweepLines(t)
	for _, name := range []string{"minilm", "gpt2", "xlmr", "deberta-5", "odd-bytes", "odd-clusters"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := fixture(t, name).NewEncoder()
			var ids []int32
			sweep(t, lines[name], func(out []byte, c rune) []byte {
				var err error
				if ids, err = e.Append(ids[:0], "a"+string(c)+"b "+string(c), true); err != nil {
					t.Fatal(err)
				}
				out = binary.LittleEndian.AppendUint32(out, uint32(len(ids)))
				for _, id := range ids {
					out = binary.LittleEndian.AppendUint32(out, uint32(id))
				}
				return out
			})
		})
	}
}

func TestEveryCodePointNormalized(t *testing.T) {
	lines := sweepLines(t)
	for _, o := range []string{"1111", "0010", "0001", "nfc", "nfkc"} {
		t.Run(o, func(t *testing.T) {
			t.Parallel()
			var b buffer
			switch o {
			case "nfc":
				b = unigram.Normalizer{unigram.NFC}.NewBuffer()
			case "nfkc":
				b = unigram.Normalizer{unigram.NFKC}.NewBuffer()
			default:
				b = wordpiece.Normalizer{CleanText: o[0] == '1', ChineseChars: o[1] == '1', StripAccents: o[2] == '1',
					Lowercase: o[3] == '1'}.NewBuffer()
			}
			sweep(t, lines["normalizer-"+o], func(out []byte, c rune) []byte {
				text := b.Normalize([]byte(string(c) + " \u302f\U0001d165" + string(c) + "\U0001d165\u1b44\u0301"))
				return append(binary.LittleEndian.AppendUint32(out, uint32(len(text))), text...)
			})
		})
	}
}
