package simulate

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	sentenceForm = regexp.MustCompile(`[^.!?\n]*[^.!?\n\s][^.!?\n]*[.!?]*["')\]]*\s*`)
	listItem     = regexp.MustCompile(`\n\s*(?:\d+[.)]|[-*•])\s`)
)

// between puts a part between others, with a space on either side.
func between(before, part, after string) string {
	return strings.TrimSpace(strings.TrimRight(before, " ") + " " + part + " " + after)
}

// leastWords is what a sentence needs to be planted again.
const leastWords = 4

// longSentences are those of leastWords or more.
func longSentences(text string) [][]int {
	return slices.DeleteFunc(sentenceForm.FindAllStringIndex(text, -1),
		func(s []int) bool { return len(strings.Fields(text[s[0]:s[1]])) < leastWords })
}

// cutOff ends the text in a word, behind one, or behind the mark of a list's item.
func cutOff(e *editor, of int) (string, bool) {
	text := strings.TrimRight(e.texts[of], " \n\t")
	if items := listItem.FindAllStringIndex(text, -1); len(items) > 1 && e.rng.IntN(4) == 0 {
		return strings.TrimRight(text[:items[1+e.rng.IntN(len(items)-1)][1]], " \n\t"), true
	}
	words := strings.Fields(text)
	if len(words) < 2*leastWords {
		return "", false
	}
	at := len(text) * (30 + e.rng.IntN(66)) / 100
	for !utf8.RuneStart(text[at]) {
		at--
	}
	if e.rng.IntN(2) == 0 {
		at += max(strings.IndexAny(text[at:], " \n\t"), 0)
	}
	text = strings.TrimRightFunc(text[:at], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return text, len(strings.Fields(text)) >= leastWords
}

// repeatSentence says a sentence again, at once or later.
func repeatSentence(e *editor, of int) (string, bool) {
	text := e.texts[of]
	found := longSentences(text)
	i := len(found) - 1
	if i < 0 {
		return "", false
	}
	s, _ := pickOf(e.rng, found)
	at := s[1]
	if e.rng.IntN(2) == 0 {
		later, _ := pickOf(e.rng, found)
		at = max(at, later[1])
	}
	again := strings.TrimSpace(text[s[0]:s[1]])
	return between(text[:at], strings.TrimSpace(strings.Repeat(again+" ", 1+e.rng.IntN(2))), text[at:]), true
}

// loop says the last sentence, or a few words of it, again and again.
func loop(e *editor, of int) (string, bool) {
	text := e.texts[of]
	found := longSentences(text)
	if len(found) == 0 {
		return "", false
	}
	s, _ := pickOf(e.rng, found)
	again, until := strings.TrimSpace(text[s[0]:s[1]]), strings.TrimSpace(text[:s[1]])
	if words := strings.Fields(again); e.rng.IntN(2) == 0 {
		again = strings.Join(words[max(0, len(words)-2-e.rng.IntN(6)):], " ")
	}
	return until + strings.Repeat(" "+again, 3+e.rng.IntN(9)), true
}

// foreign takes a row in another language: the whole text, or some of its sentences among those of this one.
func foreign(e *editor, of int) (string, bool) {
	i, ok := pickOf(e.rng, e.others)
	if !ok || slices.Contains(e.others, of) || e.group[i] == e.group[of] {
		return "", false
	}
	other := e.rows[i].Values[0]
	if e.rng.IntN(4) == 0 {
		return other, true
	}
	text := e.texts[of]
	here, there := sentenceForm.FindAllStringIndex(text, -1), longSentences(other)
	if len(here) == 0 || len(there) == 0 {
		return "", false
	}
	at, _ := pickOf(e.rng, here)
	from := e.rng.IntN(len(there))
	to := min(len(there)-1, from+e.rng.IntN(3))
	rest := text[at[1]:]
	if e.rng.IntN(2) == 0 {
		rest = "" // it goes on in the other language
	}
	return between(text[:at[1]], strings.TrimRight(other[there[from][0]:there[to][1]], " "), rest), true
}

// ofOther is a row of another group.
func (e *editor) ofOther(of int) (int, bool) {
	for range attempts {
		if i := e.rng.IntN(len(e.rows)); e.group[i] != e.group[of] {
			return i, true
		}
	}
	return 0, false
}

// swapText takes the text of a row of another group.
func swapText(e *editor, of int) (string, bool) {
	i, ok := e.ofOther(of)
	return e.rows[i].Values[0], ok
}

// turns introduce another request and the text that answers it.
var turns = [][2]string{{"\n\nUser: ", "\nAssistant: "}, {"\n\nHuman: ", "\n\nAssistant: "}, {"\n\n", "\n\n"},
	{"\n\n### Instruction:\n", "\n\n### Response:\n"}, {"\n\nQ: ", "\nA: "},
	{"<|im_end|>\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"}}

// appendOther goes on with another request and its text, or with that text alone.
func appendOther(e *editor, of int) (string, bool) {
	i, ok := e.ofOther(of)
	if !ok || len(e.rows[i].Values) < 2 {
		return "", false
	}
	text, other := strings.TrimSpace(e.texts[of]), e.rows[i].Values[0]
	if e.rng.IntN(3) == 0 {
		return text + " " + other, true
	}
	turn, _ := pickOf(e.rng, turns)
	return text + turn[0] + strings.TrimSpace(e.group[i]) + turn[1] + other, true
}

// scramble breaks the grammar of some sentences: words change places, are left out or doubled.
func scramble(e *editor, of int) (string, bool) { return e.scramble(e.texts[of]) }

func (e *editor) scramble(text string) (string, bool) {
	found := longSentences(text)
	if len(found) == 0 {
		return "", false
	}
	var b strings.Builder
	last, share := 0, max(1, len(found)/2)
	chosen := e.rng.Perm(len(found))[:1+e.rng.IntN(share)]
	for i, s := range found {
		b.WriteString(text[last:s[0]])
		last = s[1]
		part := text[s[0]:s[1]]
		if slices.Contains(chosen, i) {
			part = e.breakGrammar(part)
		}
		b.WriteString(part)
	}
	b.WriteString(text[last:])
	return b.String(), true
}

// breakGrammar changes one word in five, and one at least.
func (e *editor) breakGrammar(sentence string) string {
	body := strings.TrimRightFunc(sentence, unicode.IsSpace)
	words := strings.Fields(body)
	for range max(1, len(words)/5) {
		i := e.rng.IntN(len(words) - 1)
		switch e.rng.IntN(3) {
		case 0:
			words[i], words[i+1] = words[i+1], words[i]
		case 1:
			words[i+1] = words[i] + " " + words[i+1]
		default:
			if len(words) > 2 {
				words = slices.Delete(words, i, i+1)
			}
		}
	}
	return strings.Join(words, " ") + sentence[len(body):]
}

var deniable = regexp.MustCompile(` (is|are|was|were|can|will|should|could|would|may) `)

// deny says a sentence again, denied.
func deny(e *editor, of int) (string, bool) {
	text := e.texts[of]
	found := slices.DeleteFunc(longSentences(text), func(s []int) bool {
		part := text[s[0]:s[1]]
		return !deniable.MatchString(part) || strings.Contains(part, " not ") || strings.Contains(part, "n't ")
	})
	s, ok := pickOf(e.rng, found)
	if !ok {
		return "", false
	}
	part := strings.TrimSpace(text[s[0]:s[1]])
	at := deniable.FindStringIndex(part)
	denied := part[:at[1]] + "not " + part[at[1]:]
	return between(strings.TrimSpace(text), denied, ""), true
}
