// Package counts measures in a text what an encoder sees badly: how long it is, and how much of it comes twice. A
// model's manifest says how much that adds to its logits.
package counts

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// What a manifest may weigh; Logit and Bias are not counted.
const (
	Logit    = "logit"    // the model's own logit; its weight is 1 where a manifest gives none
	Bias     = "bias"     // 1
	Length   = "length"   // the natural logarithm of 1 + words
	Repeated = "repeated" // share of the words that stand in the text before, 0..1
	Alike    = "alike"    // the largest Jaccard similarity of the words of two sentences, 0..1
)

var names = []string{Alike, Bias, Length, Logit, Repeated}

const (
	mostRunes     = 50_000 // that are read of a text
	mostSentences = 60     // that are compared with each other
	leastWords    = 4      // different ones in a sentence that is compared
)

// Weights say what is added to a logit, by name.
type Weights map[string]float64

// Check refuses weights of what is not counted, and those that are no numbers.
func (w Weights) Check() error {
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%q is not counted; there are %s", name, strings.Join(names, ", "))
		}
		if math.IsNaN(w[name]) || math.IsInf(w[name], 0) {
			return fmt.Errorf("%s has %v; give a number", name, w[name])
		}
	}
	return nil
}

// Add is the logit with what was counted.
func (w Weights) Add(logit float64, counted map[string]float64) float64 {
	own, ok := w[Logit]
	if !ok {
		own = 1
	}
	sum := own*logit + w[Bias]
	for _, name := range []string{Length, Repeated, Alike} { // in one order: sums are equal to the bit
		sum += w[name] * counted[name]
	}
	return sum
}

// Of counts in a text.
func Of(text string) map[string]float64 {
	text = strings.ToLower(beginning(text))
	words, seen := 0, map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, isGap) {
		seen[word] = true
		words++
	}
	repeated := 0.0
	if words > 0 {
		repeated = 1 - float64(len(seen))/float64(words)
	}
	return map[string]float64{Length: math.Log(float64(1 + words)), Repeated: repeated, Alike: alike(text)}
}

func beginning(text string) string {
	runes := 0
	for at := range text {
		if runes++; runes > mostRunes {
			return text[:at]
		}
	}
	return text
}

func alike(text string) (most float64) {
	var sentences []map[string]bool
	for s := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(".!?\n", r) }) {
		words := map[string]bool{}
		for word := range strings.FieldsFuncSeq(s, isGap) {
			words[word] = true
		}
		if len(words) < leastWords {
			continue
		}
		for _, other := range sentences {
			most = max(most, jaccard(words, other))
		}
		if sentences = append(sentences, words); len(sentences) == mostSentences {
			break
		}
	}
	return most
}

func jaccard(a, b map[string]bool) float64 {
	both := 0
	for word := range a {
		if b[word] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

func isGap(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
