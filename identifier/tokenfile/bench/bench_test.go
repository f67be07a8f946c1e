//go:build unix

package bench

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	tiktoken "github.com/tiktoken-go/tokenizer"

	"github.com/erreval/erreval/identifier/tokenfile"
	"github.com/erreval/erreval/identifier/tokenfile/internal/gpt2"
)

var rowsFile = flag.String("rows", "", "JSONL file; each row's strings are joined to one text (default: made-up rows)")

// vocabularies are tokenizer.json files by kind: GPT-2's merges, and MiniLM's words without truncation and padding,
// which sugarme would apply.
func vocabularies(b *testing.B) map[string][]byte {
	b.Helper()
	codec, err := tiktoken.Get(tiktoken.R50kBase)
	if err != nil {
		b.Fatal(err)
	}
	bpe, err := gpt2.TokenizerJSON(func(rank uint) (string, error) { return codec.Decode([]uint{rank}) })
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.Open("../testdata/minilm.json.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	var minilm map[string]json.RawMessage
	if err := json.NewDecoder(z).Decode(&minilm); err != nil {
		b.Fatal(err)
	}
	delete(minilm, "truncation")
	delete(minilm, "padding")
	words, err := json.Marshal(minilm)
	if err != nil {
		b.Fatal(err)
	}
	return map[string][]byte{"bpe": bpe, "wordpiece": words}
}

func load(b *testing.B, data []byte) *tokenfile.Tokenizer {
	b.Helper()
	tok, err := tokenfile.Load(fstest.MapFS{"tokenizer.json": {Data: data}})
	if err != nil {
		b.Fatal(err)
	}
	return tok
}

// rows returns the texts to encode.
func rows(b *testing.B, tok *tokenfile.Tokenizer) []string {
	b.Helper()
	if *rowsFile == "" {
		return madeUp(tok)
	}
	f, err := os.Open(*rowsFile)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var texts []string
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var row map[string]any
			if err := json.Unmarshal(line, &row); err != nil {
				b.Fatal(err)
			}
			texts = append(texts, joined(row))
		}
		if err == io.EOF {
			return texts
		}
	}
}

func joined(row map[string]any) string {
	var parts []string
	for _, v := range row {
		if s, ok := v.(string); ok {
			parts = append(parts, s)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// madeUp makes 2,000 rows of about 900 bytes: words of GPT-2's vocabulary, the frequent ones often (Zipf), one in
// twenty of a kind that hardly occurs twice, with numbers, punctuation and a question at the beginning.
func madeUp(tok *tokenfile.Tokenizer) []string {
	var words []string
	for id := range int32(tok.VocabSize()) {
		if w, ok := strings.CutPrefix(tok.Token(id), "Ġ"); ok && len(w) > 1 && w[0] >= 'A' && w[len(w)-1] <= 'z' {
			words = append(words, w)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.2, 4, uint64(len(words)-1))
	word := func() string { return words[zipf.Uint64()] }
	texts := make([]string, 2000)
	for i := range texts {
		var t strings.Builder
		fmt.Fprintf(&t, "What did %s's %s %s?", word(), word(), word())
		for t.Len() < 900 {
			t.WriteByte(' ')
			switch r.IntN(40) {
			case 0:
				fmt.Fprintf(&t, "in %d,", 1800+r.IntN(220))
			case 1:
				t.WriteString(word() + word() + ".")
			case 2:
				t.WriteString("\"" + word() + "\",")
			case 3:
				t.WriteString(strings.ToUpper(word()) + "é")
			default:
				t.WriteString(word())
			}
		}
		texts[i] = t.String()
	}
	return texts
}

// measure encodes one row an iteration, after one round over some rows.
func measure(b *testing.B, texts []string, encode func(text string)) {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	for _, text := range texts[:min(len(texts), 100)] {
		encode(text)
	}
	b.SetBytes(int64(size / len(texts)))
	b.ReportAllocs()
	before := cpu()
	b.ResetTimer()
	for i := range b.N {
		encode(texts[i%len(texts)])
	}
	b.ReportMetric(float64(b.N*(size/len(texts)))/1e6/(cpu()-before), "MB/cpu-s")
}

// cpu returns the seconds of processor time that this process has used, garbage collection included: a measure that
// other work on the machine disturbs less than the time that passes.
func cpu() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func BenchmarkEncode(b *testing.B) {
	files := vocabularies(b)
	texts := rows(b, load(b, files["bpe"]))
	for _, kind := range []string{"bpe", "wordpiece"} {
		b.Run(kind+"/erreval", func(b *testing.B) {
			e, ids := load(b, files[kind]).NewEncoder(), make([]int32, 0, 1<<16)
			measure(b, texts, func(text string) {
				if _, err := e.Append(ids, text, true); err != nil {
					b.Fatal(err)
				}
			})
		})
		encode := sugarmeEncoder(b, files[kind])
		b.Run(kind+"/sugarme", func(b *testing.B) { measure(b, texts, encode) })
	}
	b.Run("bpe/tiktoken-go", func(b *testing.B) {
		tok, err := tiktoken.Get(tiktoken.R50kBase)
		if err != nil {
			b.Fatal(err)
		}
		measure(b, texts, func(text string) {
			if _, _, err := tok.Encode(text); err != nil {
				b.Fatal(err)
			}
		})
	})
}
