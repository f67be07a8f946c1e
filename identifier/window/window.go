// Package window chooses which sentences of a long text a model reads. These are those that share rare words with the
// other fields of the row, or hold one of them whole, and their neighbours. training/window.py does the same to the
// character; testdata holds both to it.
package window

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
)

const (
	longest  = models.MinWindow // words: a longer sentence, or text without any, is cut into pieces
	stem     = 5                // letters of a word that are compared
	closers  = "\"')]}”’»"
	openers  = "\"'([{“‘«"
	enders   = ".!?…"
	perMille = 1000 // rarity is counted in whole thousandths, so that sums are the same in every language
)

// Weights of a sentence's own score and those of its neighbours.
const (
	weightOwn      = 20
	weightNext     = 7  // of the sentence behind it
	weightPronoun  = 12 // of the sentence behind it, where that begins with a pronoun
	weightPrevious = 3
	weightWhole    = 2 // of a field that stands in the sentence whole, beside its words
)

// A full stop behind these, or behind a single letter, ends no sentence.
var abbreviations = set("mr mrs ms dr prof st jr sr vs etc no fig vol gen col lt rev hon ca cf inc ltd co corp dept " +
	"e.g i.e u.s u.k a.m p.m ph.d")

var pronouns = set("he she it they his her its their him them this these that those such there")

var functionWords = set("a an the of in on at to for from by with and or is are was were be been has have had do " +
	"does did it its he his she her they their this that these those which who whom whose what when where why how")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// Span is a part of a text, in bytes: text[From:To].
type Span struct{ From, To int }

type sentence struct {
	Span
	words int
}

// Choose gives the parts of text that are read, in their order: the sentences that bear most on others, of at most
// w.Words words together, with those of the first and the last w.Ends words. A text that is no longer is one part.
func Choose(text string, others []string, w models.Window) []Span {
	found, words := split(text), 0
	for _, s := range found {
		words += s.words
	}
	if words <= w.Words {
		return []Span{{0, len(text)}}
	}
	scores := score(text, found, others)
	order := make([]int, len(found))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	keep, used := ends(found, w.Ends)
	for _, i := range order {
		if !keep[i] && used+found[i].words <= w.Words {
			keep[i] = true
			used += found[i].words
		}
	}
	var out []Span
	for i, s := range found {
		switch {
		case !keep[i]:
		case i > 0 && keep[i-1]:
			out[len(out)-1].To = s.To
		default:
			out = append(out, s.Span)
		}
	}
	return out
}

// ends keeps whole sentences of up to most words at the beginning, and as many at the end; it counts their words.
func ends(found []sentence, most int) (keep []bool, words int) {
	keep = make([]bool, len(found))
	for i, n := 0, 0; i < len(found) && n+found[i].words <= most; i++ {
		n += found[i].words
		keep[i] = true
	}
	for i, n := len(found)-1, 0; i >= 0 && n+found[i].words <= most; i-- {
		n += found[i].words
		keep[i] = true
	}
	for i, s := range found {
		if keep[i] {
			words += s.words
		}
	}
	return keep, words
}

// Join puts the parts of a text together.
func Join(text string, parts []Span) string {
	if len(parts) == 1 {
		return text[parts[0].From:parts[0].To]
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = text[p.From:p.To]
	}
	return strings.Join(texts, " ")
}

// split cuts a text into sentences.
func split(text string) []sentence {
	var out []sentence
	open := false
	start := -1
	word := func(end int) {
		if !open {
			out = append(out, sentence{Span: Span{From: start}})
		}
		s := &out[len(out)-1]
		s.To, s.words = end, s.words+1
		open = s.words < longest && !endsSentence(text[start:end])
		start = -1
	}
	for i, c := range text {
		switch {
		case !unicode.IsSpace(c):
			if start < 0 {
				start = i
			}
		case start >= 0:
			word(i)
			fallthrough
		default:
			open = open && c != '\n'
		}
	}
	if start >= 0 {
		word(len(text))
	}
	return out
}

func endsSentence(word string) bool {
	core := strings.TrimRight(word, closers)
	last, size := utf8.DecodeLastRuneInString(core)
	if core == "" || !strings.ContainsRune(enders, last) {
		return false
	}
	before := strings.TrimLeft(core[:len(core)-size], openers)
	letter, size := utf8.DecodeRuneInString(before)
	single := size > 0 && size == len(before) && unicode.IsLetter(letter)
	return last != '.' || !single && !abbreviations[strings.ToLower(before)]
}

// score says how much each sentence bears on the other fields.
func score(text string, found []sentence, others []string) []int {
	with, plain := map[string][]int{}, make([]string, len(found)) // word to the sentences with it
	for i, s := range found {
		for _, w := range content(text[s.From:s.To]) {
			with[w] = append(with[w], i)
		}
		plain[i] = flat(text[s.From:s.To])
	}
	own := make([]int, len(found))
	add := func(times int, sentences []int) {
		for _, i := range sentences {
			own[i] += times * rarity(len(found), len(sentences))
		}
	}
	for _, other := range others {
		for _, w := range content(other) {
			add(1, with[w])
		}
		if whole := flat(other); whole != "" {
			add(weightWhole, containing(plain, whole))
		}
	}
	return withNeighbours(own, func(i int) bool { return pronouns[firstWord(text[found[i].From:found[i].To])] })
}

func containing(texts []string, part string) []int {
	var out []int
	for i, t := range texts {
		if strings.Contains(t, part) {
			out = append(out, i)
		}
	}
	return out
}

// withNeighbours adds to each sentence what those beside it are worth.
func withNeighbours(own []int, pronoun func(i int) bool) []int {
	out := make([]int, len(own))
	for i := range own {
		out[i] = weightOwn * own[i]
		switch {
		case i+1 == len(own):
		case pronoun(i + 1):
			out[i] += weightPronoun * own[i+1]
		default:
			out[i] += weightNext * own[i+1]
		}
		if i > 0 {
			out[i] += weightPrevious * own[i-1]
		}
	}
	return out
}

// rarity is how much it says that something stands in `with` of all sentences, in thousandths.
func rarity(all, with int) int {
	return int(math.Floor(perMille*math.Log(1+float64(all)/float64(with)) + 0.5))
}

// content lists the beginnings of the words that are no function words, in order, each once.
func content(text string) []string {
	var out []string
	seen := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), isBetweenWords) {
		if functionWords[w] {
			continue
		}
		if w = words.First(w, stem); !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

func firstWord(text string) string {
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), isBetweenWords) {
		return w
	}
	return ""
}

func isBetweenWords(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) }

// flat is a text in lower case with single spaces.
func flat(text string) string { return strings.Join(strings.Fields(strings.ToLower(text)), " ") }
