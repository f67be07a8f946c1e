package wordpiece

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var small = Config{Vocab: map[string]int32{"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "runn": 4, "##ing": 5, "!": 6,
	"東": 7, "##": 8, "##un": 9, "unaff": 10, strings.Repeat("u", 20): 11}, Unk: "[UNK]", Prefix: "##", MaxChars: 12}

func TestSplit(t *testing.T) {
	m, err := New(small)
	if err != nil {
		t.Fatal(err)
	}
	e := m.NewEncoder()
	for text, want := range map[string][]int32{
		"":                            nil,
		"unaffable":                   {10, 3}, // the longest first, as in BERT's own test of "unaffable"
		"running!":                    {4, 5, 6},
		"run un":                      {0, 1},
		"unun":                        {1, 9},
		"東 un\u3000un":                {7, 1, 1},
		"unaffableun!unaffableunun":   {10, 3, 9, 6, 0}, // 11 characters, and 13
		strings.Repeat("u", 20):       {0},
		"##un":                        {0, 0, 1},
		strings.Repeat("un", 6) + "!": {1, 9, 9, 9, 9, 9, 6},
	} {
		for range 2 { // worked out, and remembered
			if got := e.Append(nil, []byte(text)); !slices.Equal(got, want) {
				t.Errorf("%q: got %v, want %v", text, got, want)
			}
		}
	}
}

func TestNoUnknownToken(t *testing.T) {
	if _, err := New(Config{Vocab: map[string]int32{"a": 0}, Unk: "[UNK]"}); err == nil || !strings.Contains(err.Error(),
		`"[UNK]" is not in the vocabulary`) {
		t.Error(err)
	}
}

func TestNormalize(t *testing.T) {
	all := Normalizer{CleanText: true, ChineseChars: true, StripAccents: true, Lowercase: true}
	for _, c := range []struct {
		options    Normalizer
		text, want string
	}{
		{all, "ÉCOLE\x00\u00ad \tİstanbul\ufffd 東京", "ecole  istanbul  東  京 "},
		{all, "각 ǅ Å", "\u1100\u1161\u11a8 ǆ a"},
		{Normalizer{Lowercase: true}, "İÉ\x00東", "i\u0307é\x00東"},
		{Normalizer{StripAccents: true}, "É\u302f\U0001d165", "E\U0001d165\u302f"}, // reordered by class, 216 before 224
		{Normalizer{CleanText: true}, "É\u2003\n\u200bx", "É  x"},
		{Normalizer{}, "É\u0301\x00 ", "É\u0301\x00 "},
	} {
		if got := string(c.options.NewBuffer().Normalize([]byte(c.text))); got != c.want {
			t.Errorf("%+v of %q: got %q, want %q", c.options, c.text, got, c.want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("École \u302f\U0001d165 각 İ\x00", byte(15))
	f.Add("plain", byte(0))
	f.Fuzz(func(t *testing.T, text string, o byte) {
		if !utf8.ValidString(text) {
			return
		}
		b := Normalizer{CleanText: o&1 != 0, ChineseChars: o&2 != 0, StripAccents: o&4 != 0, Lowercase: o&8 != 0}.NewBuffer()
		once := string(b.Normalize([]byte(text)))
		if !utf8.ValidString(once) {
			t.Fatalf("%q is not valid", once)
		}
		if o&2 == 0 && o&12 != 12 { // CJK spaces double, and lowercasing may leave a mark
			if twice := string(b.Normalize([]byte(once))); twice != once {
				t.Errorf("once %q, twice %q", once, twice)
			}
		}
	})
}
