package unigram

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// vocabulary is the one of Hugging Face's own test of Unigram, and what it makes of texts is theirs too.
var vocabulary = []Piece{{"<unk>", 0}, {"ab", 0}, {"cd", -0.1}, {"abc", -0.2}, {"a", -0.3}, {"b", -0.4},
	{"c", -0.5}, {"ABC", -0.5},
	{"abcdabcd", 20}, {"q", 20.5}, {"r", 20.5}, {"qr", -0.5}, {"▁", -2}, {"▁ab", -3}}

func small() Config {
	return Config{Pieces: vocabulary, Replacement: "▁", Prepend: Never, Split: true}
}

// encode returns the pieces of a text, with its unknown ones as they are named.
func encode(t *testing.T, c Config, text string, first bool) string {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	e := m.NewEncoder()
	ids := e.Append(nil, []byte(text), first)
	if again := e.Append(nil, []byte(text), first); !slices.Equal(again, ids) { // now remembered
		t.Errorf("%q: %v, again %v", text, ids, again)
	}
	var out []string
	for _, id := range ids {
		out = append(out, c.Pieces[id].Text)
	}
	return strings.Join(out, " ")
}

func TestBestPath(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "abc", "AB": "<unk>", "abcd": "ab cd", "abcc": "abc c", "xyz東京": "<unk>", "ABC": "ABC",
		"xabcabaabcdd": "<unk> abc ab a ab cd <unk>", "abABCcd": "ab ABC cd", "ababcdabcdcd": "ab abcdabcd cd",
		"abqrcd":  "ab q r cd",
		"x<unk>y": "<unk>", "<unk>": "<unk>",
	} {
		if got := encode(t, small(), text, true); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Recorded from Hugging Face tokenizers 0.23.3 with the pre-tokenizers named.
func TestMetaspace(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		text   string
		first  bool
		want   string
	}{
		{func(c *Config) {}, "ab ab", true, "ab ▁ ab"},
		{func(c *Config) { c.Prepend = Always }, "ab  ab▁", false, "▁ ab ▁ ▁ ab ▁"},
		{func(c *Config) { c.Prepend = First }, "ab", true, "▁ ab"},
		{func(c *Config) { c.Prepend = First }, "ab", false, "ab"},
		{func(c *Config) { c.Prepend = Always }, "▁ab", false, "▁ ab"},
		{func(c *Config) { c.Prepend, c.SplitSpace = Always, true }, "\u3000ab \n▁ab\tx ", false, "▁ ab ▁ ab ▁ <unk>"},
		{func(c *Config) { c.SplitSpace = true }, "x y", false, "<unk> <unk>"},
		{func(c *Config) { c.Replacement = "x" }, "ab axb", false, "ab <unk> a <unk> b"},
		{func(c *Config) { c.Split = false; c.Replacement = "q" }, "  ", false, "q q"},
	} {
		config := small()
		c.change(&config)
		if got := encode(t, config, c.text, c.first); got != c.want {
			t.Errorf("%q with %s: got %q, want %q", c.text, config.Prepend, got, c.want)
		}
	}
}

func TestByteFallback(t *testing.T) {
	c := small()
	c.ByteFallback = true
	c.Pieces = append(slices.Clone(c.Pieces), Piece{"<0xE2>", -1}, Piece{"<0x85>", -1}, Piece{"<0x90>", -1})
	for text, want := range map[string]string{"⅐": "<0xE2> <0x85> <0x90>",
		"a⅐⅐": "a <0xE2> <0x85> <0x90> <0xE2> <0x85> <0x90>", "⅐x": "<unk>"} {
		if got := encode(t, c, text, true); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"unk_id -1 is not in the vocabulary":                func(c *Config) { c.Unk = -1 },
		"of 0 pieces":                                       func(c *Config) { c.Pieces = nil },
		`replacement " " is not one character`:              func(c *Config) { c.Replacement = " " },
		`prepend_scheme "" is not known`:                    func(c *Config) { c.Prepend = "" },
		`"first" behind WhitespaceSplit is not implemented`: func(c *Config) { c.Prepend, c.SplitSpace = First, true },
	} {
		c := small()
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// nmtNFKC is SentencePiece's own charsmap.
func nmtNFKC(t testing.TB) []byte {
	f, err := os.Open("../tokenfile/testdata/nmt_nfkc.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Recorded from Hugging Face tokenizers 0.23.3, whose Precompiled drops what follows a mapped beginning of a short
// cluster.
func TestNormalize(t *testing.T) {
	precompiled, err := NewCharsmap(nmtNFKC(t))
	if err != nil {
		t.Fatal(err)
	}
	two, err := ReplaceRegex(` {2,}`, "▁")
	if err != nil {
		t.Fatal(err)
	}
	spaces, err := ReplaceRegex(`\s{2,}|[\n\r\t]`, " ")
	if err != nil {
		t.Fatal(err)
	}
	literal, err := ReplaceString("aa", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		stage      Stage
		text, want string
	}{
		{precompiled, "\r\n", " "}, {precompiled, "a\u0301", "\u00e1"}, {precompiled, "e\u0301\u0302",
			"\u00e9"}, {precompiled, "ﬁ\u0301", "fi"},
		{precompiled, "\u00a0\u0301x", " x"}, {precompiled, "\x01abc\x01", "abc"}, {precompiled, "ｶﾞ",
			"カ\u3099"}, {precompiled, "\u1100\u1161", "\u1100\u1161"},
		{precompiled, "Å\u0301\u0302b", "Å\u0301\u0302b"}, {precompiled, "①\u0301", "1"}, {precompiled,
			"a\u200db", "a\u200db"},
		{two, "a  b c   ", "a▁b c▁"}, {spaces, "a\n b\tc\u3000d \u3000", "a b c\u3000d "}, {literal, "aaab", "ab"},
		{Strip{Left: true, Right: true}, "\u3000 a \n", "a"}, {Strip{Right: true}, " a ", " a"},
		// x/text puts in U+034F
		{NFC, "A\u0345\u0301", "Á\u0345"}, {NFC, "A" + strings.Repeat("\u0301", 40), "Á" + strings.Repeat("\u0301", 39)},
		{NFC, "\U00010041\u0301", "\U00010041\u0301"}, // x/text composes these
		{NFC, "\U00011099\U000110ba", "\U0001109a"},   // but these are a pair
		{NFC, "\u1100\u1161\u11a8", "각"}, {NFC, "ﬁ", "ﬁ"}, {NFKC, "ﬁ", "fi"},
	} {
		if got := string(Normalizer{c.stage}.NewBuffer().Normalize([]byte(c.text))); got != c.want {
			t.Errorf("%T of %q: got %q, want %q", c.stage, c.text, got, c.want)
		}
	}
}

// unit makes a unit of a double array that leads to offset by label.
func unit(label, offset uint32, leaf bool) uint32 {
	u := label | offset<<10
	if leaf {
		u |= 1 << 8
	}
	return u
}

func TestDamagedCharsmap(t *testing.T) {
	good := nmtNFKC(t)
	one := func(units ...uint32) []byte {
		data := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
		for _, u := range units {
			data = binary.LittleEndian.AppendUint32(data, u)
		}
		return append(data, "x\x00"...)
	}
	leaf := make([]uint32, 512)
	leaf[0], leaf['a'], leaf[256^'a'] = unit(0, 0, false), unit('a', 256, true), 1<<31|3
	for name, data := range map[string][]byte{
		"empty": nil, "three bytes": good[:3], "cut in the trie": good[:1000], "no trie": one(),
		"a trie that is too short": one(unit(0, 1, false)),
		"a path out of it": one(append([]uint32{unit(0, 0, false), unit(1, 1<<20, false)},
			make([]uint32, 254)...)...), "a leaf out of the replacements": one(leaf...),
		"replacements cut within a character": append(one(make([]uint32, 256)...), 0xe2),
	} {
		if _, err := NewCharsmap(data); !errors.Is(err, errCharsmap) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The place behind a NUL byte may lie outside of the trie: nothing asks for it.
	if _, err := NewCharsmap(one(append([]uint32{unit(0, 255, false)}, make([]uint32, 254)...)...)); err != nil {
		t.Error(err)
	}
	leaf[256^'a'] = 1<<31 | 1
	m, err := NewCharsmap(one(leaf...))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Normalizer{m}.NewBuffer().Normalize([]byte("bab"))); got != "bb" {
		t.Errorf("got %q", got)
	}
}

func FuzzCharsmap(f *testing.F) {
	f.Add(nmtNFKC(f)[:4096], "a\u0301 ﬁ\r\n")
	f.Add(nmtNFKC(f), "①\u0301가ᅡ")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		m, err := NewCharsmap(data)
		if err != nil || !utf8.ValidString(text) {
			return
		}
		if out := (Normalizer{m}).NewBuffer().Normalize([]byte(text)); !utf8.Valid(out) {
			t.Errorf("%q", out)
		}
	})
}

func FuzzForms(f *testing.F) {
	f.Add("a\u0301\u0327 각\u11a8ﬁ ㄳ가ㄳ \U00011131\U00011127")
	f.Add(strings.Repeat("\u0334\u0301", 30))
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return
		}
		for _, form := range []Form{NFC, NFKC} {
			b := Normalizer{form}.NewBuffer()
			once := string(b.Normalize([]byte(text)))
			if twice := string(b.Normalize([]byte(once))); twice != once || !utf8.ValidString(once) {
				t.Errorf("once %q, twice %q", once, twice)
			}
		}
	})
}
