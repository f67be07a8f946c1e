package tokenfile

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

var sample = strings.Repeat("How did Émile's teacher, who wasn't in Kraków in 1984, explain photosynthesis?\n\n  "+
	"It's unbelievable: 北京 😀 <s> [SEP] ", 8)

func TestNoAllocations(t *testing.T) {
	for _, name := range []string{"minilm", "gpt2", "roberta", "roberta-prefix", "odd-bpe", "cased", "xlmr", "xlmr-spm",
		"deberta", "deberta-5", "odd-bytes", "odd-clusters"} {
		for _, specials := range []bool{true, false} {
			e, ids := fixture(t, name).NewEncoder(), make([]int32, 0, 4*len(sample))
			encode := func() { ids, _ = e.Append(ids[:0], sample, specials) }
			encode() // the buffers grow once
			if n := testing.AllocsPerRun(20, encode); n != 0 {
				t.Errorf("%s: %g allocations with specials=%t", name, n, specials)
			}
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	e := fixture(t, "gpt2").NewEncoder()
	ids, err := e.Append([]int32{-5}, "Hello world", true)
	if want := []int32{-5, 15496, 995}; err != nil || !slices.Equal(ids, want) { // OpenAI's published example
		t.Errorf("got %v, %v, want %v", ids, err, want)
	}
}

func seed(f *testing.F) {
	for _, text := range []string{"", " ", sample[:120], "don't  stop\n\n now", "a\u0301\u302f\U0001d165", "İ<mask> </s>",
		"\xff", strings.Repeat("ab", 300)} {
		f.Add(text, true)
		f.Add(text, false)
	}
}

// bytesOf turns ids back into the bytes they stand for.
func bytesOf(tok *Tokenizer, ids []int32) string {
	var out []byte
	for _, id := range ids {
		for _, r := range tok.Token(id) {
			out = append(out, gpt2Bytes[r])
		}
	}
	return string(out)
}

// gpt2Bytes inverts the alphabet as the encoder of GPT-2 writes it: 188 characters stand for themselves, the rest is
// numbered from 256 on.
var gpt2Bytes = func() map[rune]byte {
	m, next := map[rune]byte{}, rune(256)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= '¡' && b <= '¬' || b >= '®' {
			m[b] = byte(b)
			continue
		}
		m[next] = byte(b)
		next++
	}
	return m
}()

func FuzzBPE(f *testing.F) {
	seed(f)
	tok := fixture(f, "gpt2")
	e := tok.NewEncoder()
	f.Fuzz(func(t *testing.T, text string, specials bool) {
		ids, err := e.Append(nil, text, specials)
		if (err == nil) != utf8.ValidString(text) {
			t.Fatal(err)
		}
		if got := bytesOf(tok, ids); err == nil && got != text {
			t.Errorf("%v decode to %q", ids, got)
		}
	})
}

func FuzzWordPiece(f *testing.F) {
	seed(f)
	tok := fixture(f, "minilm")
	e, fresh := tok.NewEncoder(), tok.NewEncoder()
	f.Fuzz(func(t *testing.T, text string, specials bool) {
		ids, err := e.Append(nil, text, specials)
		if (err == nil) != utf8.ValidString(text) {
			t.Fatal(err)
		}
		for _, id := range ids {
			if id < 0 || int(id) >= tok.VocabSize() {
				t.Fatalf("id %d", id)
			}
		}
		if err != nil {
			return
		}
		// A space separates words: both halves are encoded as if alone.
		twice, _ := fresh.Append(nil, text+" "+text, specials)
		if !slices.Equal(twice, slices.Concat(ids, ids)) {
			t.Errorf("twice %v, once %v", twice, ids)
		}
	})
}

// What an encoder remembers changes no ids, and a line break ends the pieces of both halves.
func FuzzUnigram(f *testing.F) {
	seed(f)
	f.Add("▁a ▁▁b\u200d<unk>☃\U0001f1e9", false)
	for _, name := range []string{"xlmr", "odd-bytes"} {
		fixture(f, name)
	}
	f.Fuzz(func(t *testing.T, text string, specials bool) {
		for _, name := range []string{"xlmr", "odd-bytes"} {
			tok := fixture(t, name)
			e := tok.NewEncoder()
			ids, err := e.Append(nil, text, specials)
			if (err == nil) != utf8.ValidString(text) {
				t.Fatal(err)
			}
			for _, id := range ids {
				if id < 0 || int(id) >= tok.VocabSize() {
					t.Fatalf("id %d", id)
				}
			}
			if again, _ := e.Append(nil, text, specials); !slices.Equal(again, ids) {
				t.Errorf("%s: again %v, once %v", name, again, ids)
			}
			if twice, _ := e.Append(nil, text+"\n"+text, specials); name == "xlmr" && err == nil &&
				!slices.Equal(twice, slices.Concat(ids, ids)) {
				t.Errorf("twice %v, once %v", twice, ids)
			}
		}
	})
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(goodBPE), "")
	f.Add([]byte(goodUnigram), "")
	f.Add([]byte(goodWordPiece), "")
	f.Add([]byte(`{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "a": 5, "aa": 6}`), "#version: 0.2\na a\n")
	f.Add([]byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n"), `{"do_lower_case": false}`)
	f.Fuzz(func(t *testing.T, data []byte, second string) {
		for _, fsys := range []fstest.MapFS{
			{jsonFile: {Data: data}},
			{vocabFile: {Data: data}, mergesFile: {Data: []byte(second)}},
			{wordsFile: {Data: data}, configFile: {Data: []byte(second)}},
		} {
			tok, err := Load(fsys)
			if err != nil {
				continue
			}
			ids, err := tok.NewEncoder().Append(nil, "ab aab <s> [SEP] É京\n", true)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if id < 0 || int(id) >= tok.VocabSize() {
					t.Fatalf("id %d of %d", id, tok.VocabSize())
				}
			}
		}
	})
}

// One tokenizer serves several goroutines, each with an encoder of its own.
func TestConcurrentEncoders(t *testing.T) {
	for _, name := range []string{"minilm", "roberta", "deberta"} {
		tok := fixture(t, name)
		want, err := tok.NewEncoder().Append(nil, sample, true)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				e := tok.NewEncoder()
				for range 3 {
					if ids, err := e.Append(nil, sample, true); err != nil || !slices.Equal(ids, want) {
						t.Errorf("%s: %v, %v", name, ids, err)
					}
				}
			})
		}
		group.Wait()
	}
}

// BenchmarkUnigram encodes made-up rows, mostly of words seen before, with the stages of XLM-R and of DeBERTa-v3.
func BenchmarkUnigram(b *testing.B) {
	for _, name := range []string{"xlmr", "deberta"} {
		b.Run(name, func(b *testing.B) {
			e, ids := fixture(b, name).NewEncoder(), []int32(nil)
			b.SetBytes(int64(len(sample)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if ids, err = e.Append(ids[:0], sample, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
