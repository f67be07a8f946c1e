package cluster

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Key is what is left of a sentence without case, punctuation, white space and articles: its words in order, with a
// space between. Sentences of one key are near-identical: they are grouped and decided once. A number, a name or a
// quoted word is a word like others, so sentences that differ in one are not near-identical; nor are those with the
// same words in another order, such as "the answer contradicts the passage" turned round. A sentence without words is
// its own key.
func Key(sentence string) string {
	words := slices.DeleteFunc(splitWords(sentence), func(w string) bool { return w == "a" || w == "an" || w == "the" })
	if len(words) == 0 {
		return strings.TrimSpace(sentence)
	}
	return strings.Join(words, " ")
}

// splitWords gives the words in lower case. An apostrophe within a word is left out.
func splitWords(sentence string) []string {
	sentence = strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(sentence))
	return strings.FieldsFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
}

// stopWords are English words that say little of what a sentence is about. Those that negate are not among them.
var stopWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`a an and are as at be been because but by can could did do does for from had has
		have he her him his how i if in into is it its me more most my of on one or other our out own same she so some such
		than that the their them then there these they this those to too two up us very was we were what when where which
		while who whom whose why will with would you your`) {
		m[w] = true
	}
	return m
}()

// contentWords are the words of a sentence without stop words, or all if there are no others.
func contentWords(sentence string) []string {
	words := splitWords(sentence)
	content := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return stopWords[w] })
	if len(content) == 0 {
		return words
	}
	return content
}

// Lengths of the n-grams, in characters. A word counts with a space on either side.
const (
	shortestGram = 3
	longestGram  = 4
)

// gram is an n-gram; 0 fills a shorter one up.
type gram [longestGram]rune

// gramCounts are the n-grams of a sentence, in the order of their first places, with their numbers.
type gramCounts struct {
	grams  []gram
	counts []int
	place  map[gram]int
}

// count counts the n-grams of a sentence's content words.
func (c *gramCounts) count(sentence string) {
	if c.place == nil {
		c.place = map[gram]int{}
	}
	clear(c.place)
	c.grams, c.counts = c.grams[:0], c.counts[:0]
	for _, w := range contentWords(sentence) {
		runes := []rune(" " + w + " ")
		for n := shortestGram; n <= longestGram; n++ {
			for i := 0; i+n <= len(runes); i++ {
				c.add(runes[i : i+n])
			}
		}
	}
}

func (c *gramCounts) add(runes []rune) {
	var g gram
	copy(g[:], runes)
	k, ok := c.place[g]
	if !ok {
		k = len(c.grams)
		c.place[g] = k
		c.grams, c.counts = append(c.grams, g), append(c.counts, 0)
	}
	c.counts[k]++
}

// sparse is a vector: its numbers at the places where they are not 0.
type sparse struct {
	at    []int32
	value []float32
}

// space is the vector space of n-grams over a set of sentences.
type space struct {
	number map[gram]int32
	idf    []float64
	rows   []sparse
}

// newSpace makes the vectors of sentences: TF-IDF with sublinear counts, 1 + ln tf, and smooth weights,
// ln((1+n)/(1+df)) + 1, of length 1.
func newSpace(sentences []string) *space {
	s := &space{number: map[gram]int32{}, rows: make([]sparse, len(sentences))}
	var in []int
	var c gramCounts
	for i, sentence := range sentences {
		c.count(sentence)
		row := sparse{make([]int32, len(c.grams)), make([]float32, len(c.grams))}
		for j, g := range c.grams {
			k, ok := s.number[g]
			if !ok {
				k = int32(len(in))
				s.number[g] = k
				in = append(in, 0)
			}
			in[k]++
			row.at[j], row.value[j] = k, sublinear(c.counts[j])
		}
		s.rows[i] = row
	}
	for _, df := range in {
		s.idf = append(s.idf, smoothIDF(df, len(sentences)))
	}
	for _, row := range s.rows {
		s.weigh(row)
	}
	return s
}

func sublinear(count int) float32 { return float32(1 + math.Log(float64(count))) }

func smoothIDF(df, n int) float64 { return math.Log(float64(1+n)/float64(1+df)) + 1 }

// weigh multiplies counts by their weights, and gives the vector the length 1.
func (s *space) weigh(row sparse) {
	sum := 0.0
	for j, k := range row.at {
		x := float64(row.value[j]) * s.idf[k]
		sum += x * x
		row.value[j] = float32(x)
	}
	scale(row, sum)
}

// scale divides a vector by the root of the sum of its squares.
func scale(row sparse, squares float64) {
	if squares == 0 {
		return
	}
	by := float32(1 / math.Sqrt(squares))
	for j := range row.value {
		row.value[j] *= by
	}
}
