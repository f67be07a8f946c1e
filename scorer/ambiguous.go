package scorer

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/erreval/erreval/taxonomy"
)

var (
	// numberBlock is a code block that holds a number alone.
	numberBlock = regexp.MustCompile("(?i)```\\w*\\s*" + mrk + "\\s*```")
	// stated is a sentence that can only be a verdict: "the score is 2", "I would give it a 2". Others, such as "it falls
	// short of a score of 3", give a number that was not given.
	stated = regexp.MustCompile(`(?i)(?:` + label + `\s+(?:is|should\s+be|will\s+be)\s+(?:an?\s+|only\s+|therefore\s+)?|` +
		iGive + `\s+)["'“(]?` + mrk)
)

// quotedNumber finds what the reply quotes, which is not its verdict. It takes long to compile.
var quotedNumber = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"[^"\n\d]{0,600}\d[^"\n]{0,600}"|“[^”\n\d]{0,600}\d[^”\n]{0,600}”|«[^»\n\d]{0,600}\d[^»\n]{0,600}»`)
})

// marks are all verdicts on d in the reply, of whatever form.
func (r *reading) marks(d *taxonomy.Dimension) []mark {
	found := r.jsonMarks(d)
	if r.Prose == "" {
		return found
	}
	found = append(found, allMarks(r.Prose, askedForm, 2, nil)...)
	if !hasNumber(askedForm.ReplaceAllString(r.Prose, "")) {
		return found
	}
	if r.IsBroken() {
		return append(found, onScale(allMarks(r.Prose, keyed, 1, nil), d)...)
	}
	text := r.WithoutQuotes(r.Prose)
	found = append(found, onScale(allMarks(text, numberBlock, 1, nil), d)...)
	return append(found, explicitMarks(text, d)...)
}

// explicitMarks are the verdicts in text, as far as they can be told from numbers in reasons, that lie on the scale.
func explicitMarks(text string, d *taxonomy.Dimension) []mark {
	lines := strings.Split(strings.TrimSpace(withoutMarkup(text, d)), "\n")
	var found []mark
	for _, line := range []string{lines[0], lines[len(lines)-1]} {
		found = append(found, allMarks(line, bareLine, 1, nil)...)
	}
	text = quotedNumber().ReplaceAllString(aroundNumbers(lines), `""`)
	for _, re := range []*regexp.Regexp{boxed, labelled, heading} {
		found = append(found, allMarks(text, re, 1, unlessConditional)...)
	}
	found = append(found, allMarks(stated.ReplaceAllStringFunc(text, unlessNegatedIn), stated, 1, endsSentence)...)
	return onScale(found, d)
}

// aroundNumbers are the lines with a number and the two before each, where its heading may be: the patterns cost most
// where they find nothing.
func aroundNumbers(lines []string) string {
	var kept []string
	next := 0
	for i, line := range lines {
		if hasNumber(line) {
			kept = append(kept, lines[max(next, i-2):i+1]...)
			next = i + 1
		}
	}
	return strings.Join(kept, "\n")
}

// hasNumber tells whether there are digits, or a number as a word, in text.
func hasNumber(text string) bool {
	if strings.ContainsFunc(text, unicode.IsDigit) {
		return true
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) <= 5 && slices.Contains(numberWords, strings.ToLower(word)) {
			return true
		}
	}
	return false
}

// unlessNegatedIn is a sentence, or nothing if it says that the number was not given.
func unlessNegatedIn(sentence string) string {
	if notSo.MatchString(sentence) {
		return ""
	}
	return sentence
}

func onScale(found []mark, d *taxonomy.Dimension) []mark {
	var kept []mark
	for _, m := range found {
		if _, err := m.on(d); err == nil {
			kept = append(kept, m)
		}
	}
	return kept
}
