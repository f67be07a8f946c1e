package bpe

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// vocabulary numbers the 256 bytes and the tokens that the merges, written "a b", make.
func vocabulary(merges ...string) Config {
	c := Config{Vocab: map[string]int32{}, Regex: true}
	for b := range alphabet {
		c.Vocab[string(alphabet[b])] = int32(b)
	}
	for _, m := range merges {
		left, right, _ := strings.Cut(m, " ")
		c.Merges = append(c.Merges, [2]string{left, right})
		c.Vocab[left+right] = int32(len(c.Vocab))
	}
	return c
}

func encode(t *testing.T, c Config, text string) []string {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	names := map[int32]string{}
	for token, id := range c.Vocab {
		names[id] = token
	}
	var tokens []string
	for _, id := range m.NewEncoder().Append(nil, []byte(text)) {
		tokens = append(tokens, names[id])
	}
	return tokens
}

// The merges are applied by rank, equal ones from the left: worked out by hand.
func TestMerges(t *testing.T) {
	for _, c := range []struct {
		merges []string
		text   string
		want   string
	}{
		{[]string{"a a"}, "aaaaa", "aa aa a"},
		{[]string{"a a", "aa aa", "aa a"}, "aaaaaaa", "aaaa aaa"},
		{[]string{"b c", "a b", "a bc"}, "abcab", "abc ab"},
		{[]string{"a b", "b c", "a bc"}, "abc", "ab c"},
		{[]string{"l o", "lo w", "e r", "low er"}, "lower lowest", "lower Ġ low e s t"},
	} {
		if got := strings.Join(encode(t, vocabulary(c.merges...), c.text), " "); got != c.want {
			t.Errorf("%q with %q: got %s, want %s", c.text, c.merges, got, c.want)
		}
	}
}

// A token that its own bytes are not merged to is only used with IgnoreMerges.
func TestIgnoreMerges(t *testing.T) {
	c := vocabulary("a b")
	c.Vocab["abc"] = 999
	c.Vocab[strings.Repeat("x", 40)] = 1000
	text := "abc" + " " + strings.Repeat("x", 40)
	if got := encode(t, c, "abc"); !slices.Equal(got, []string{"ab", "c"}) {
		t.Errorf("got %q", got)
	}
	c.IgnoreMerges = true
	if got := encode(t, c, text); got[0] != "abc" || len(got) != 1+41 {
		t.Errorf("got %q", got)
	}
	if got := encode(t, c, text[4:]); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestMissingBytes(t *testing.T) {
	c := vocabulary()
	delete(c.Vocab, "y")
	delete(c.Vocab, "z")
	if got := strings.Join(encode(t, c, "ayzb"), " "); got != "a b" {
		t.Errorf("got %s", got)
	}
	c.Unk = "?"
	if got := strings.Join(encode(t, c, "ayzb"), " "); got != "a ? ? b" {
		t.Errorf("got %s", got)
	}
	c.FuseUnk = true
	if got := strings.Join(encode(t, c, "ayzb"), " "); got != "a ? b" {
		t.Errorf("got %s", got)
	}
}

// Worked out from the GPT-2 expression by hand.
func TestScanner(t *testing.T) {
	for text, want := range map[string]string{
		"Hello there       dear":    "Hello| there|      | dear",
		"it's we'll DON'T 'tis ' s": "it|'s| we|'ll| DON|'|T| '|tis| '| s",
		"a1²b ½٣":                   "a|1²|b| ½٣",
		"a\n\n b\t":                 "a|\n\n| b|\t",
		"a \n":                      "a| \n",
		"a\u00a0b \u3000c":          "a|\u00a0|b| |\u3000|c",
		"!?... (x)":                 "!?...| (|x|)",
		"e\u0301a 漢字かな":             "e|\u0301|a| 漢字かな",
		"''s":                       "''|s",
	} {
		s := scanner{classes()}
		var pieces []string
		for i := 0; i < len(text); {
			end := s.endOfPiece([]byte(text), i)
			pieces = append(pieces, text[i:end])
			i = end
		}
		if got := strings.Join(pieces, "|"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	c := vocabulary("a b")
	c.Merges = append(c.Merges, [2]string{"ab", "Q?"})
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), `merge 2 ("ab" "Q?"): the vocabulary lacks "Q?"`) {
		t.Error(err)
	}
	c = vocabulary()
	delete(c.Vocab, "z")
	c.Unk = "<unk>"
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), `unk_token "<unk>"`) {
		t.Error(err)
	}
}

// Whatever the merges are, the ids stand for the bytes of the text.
func FuzzEncode(f *testing.F) {
	f.Add("a a;aa a;b c;bc a", "aaabca bcabc", true)
	f.Add("Ġ a;Ġa b;Ã ©", " ab é  \n'll", false)
	f.Fuzz(func(t *testing.T, merges, text string, regex bool) {
		if !utf8.ValidString(text) || !utf8.ValidString(merges) {
			return
		}
		c := vocabulary()
		c.Regex = regex
		for _, m := range strings.Split(merges, ";") {
			left, right, _ := strings.Cut(m, " ")
			_, hasLeft := c.Vocab[left]
			_, hasRight := c.Vocab[right]
			if !hasLeft || !hasRight {
				continue
			}
			c.Merges = append(c.Merges, [2]string{left, right})
			if _, ok := c.Vocab[left+right]; !ok {
				c.Vocab[left+right] = int32(len(c.Vocab))
			}
		}
		var got []byte
		for _, token := range encode(t, c, text) {
			bytes, _ := tokenBytes(token)
			got = append(got, bytes...)
		}
		if string(got) != text {
			t.Errorf("got %q", got)
		}
	})
}
