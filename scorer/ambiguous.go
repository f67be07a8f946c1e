package scorer

import (
	"regexp"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

var (
	// numberBlock is a code block that holds a number alone.
	numberBlock = regexp.MustCompile("(?i)```\\w*\\s*" + mrk + "\\s*```")
	// stated is a sentence that can only be a verdict: "the score is 2", "I would give it a 2". Others, such as "it falls
	// short of a score of 3", give a number that was not given.
	stated = regexp.MustCompile(`(?i)(?:` + label + `\s+(?:is|should\s+be|will\s+be)\s+(?:an?\s+|only\s+|therefore\s+)?|` +
		iGive + `\s+)["'“(]?` + mrk)
	// quotedNumber: what the reply quotes is not its verdict.
	quotedNumber = regexp.MustCompile(`"[^"\n\d]{0,600}\d[^"\n]{0,600}"|“[^”\n\d]{0,600}\d[^”\n]{0,600}”|«[^»\n\d]{0,600}\d[^»\n]{0,600}»`)
)

// marks are all verdicts on d in the reply, of whatever form.
func (r *reading) marks(d *taxonomy.Dimension) []mark {
	found := append(r.jsonMarks(d), allMarks(r.prose, askedForm, 2, nil)...)
	if r.isBroken() {
		return append(found, onScale(allMarks(r.prose, keyed, 1, nil), d)...)
	}
	text := r.withoutQuotes(r.prose)
	found = append(found, onScale(allMarks(text, numberBlock, 1, nil), d)...)
	return append(found, explicitMarks(text, d)...)
}

// isBroken tells whether the reply was to be an object and is none: its texts cannot be told from the rest.
func (r *reading) isBroken() bool {
	return strings.HasPrefix(strings.TrimSpace(codeFence.ReplaceAllString(r.prose[:min(len(r.prose), 100)], "")), "{")
}

// explicitMarks are the verdicts in text, as far as they can be told from numbers in reasons, that lie on the scale.
func explicitMarks(text string, d *taxonomy.Dimension) []mark {
	text = withoutMarkup(quotedNumber.ReplaceAllString(text, `""`), d)
	var found []mark
	for _, re := range []*regexp.Regexp{boxed, labelled, heading} {
		found = append(found, allMarks(text, re, 1, unlessConditional)...)
	}
	found = append(found, allMarks(stated.ReplaceAllStringFunc(text, unlessNegatedIn), stated, 1, endsSentence)...)
	text = strings.TrimSpace(text)
	lines := strings.Split(text, "\n")
	for _, line := range []string{lines[0], lines[len(lines)-1]} {
		found = append(found, allMarks(line, bareLine, 1, nil)...)
	}
	return onScale(found, d)
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
