package simulate

import (
	"slices"
	"strings"
)

// rules are all mechanisms, several a label; weights are relative within a label.
var rules = []rule{
	{"OK", "unchanged", 8, func(_ *maker, r Row) (Example, bool) { return with(r, r.Question, r.Answer, r.Answer, "OK") }},
	{"OK", "lower-case", 1, lowerCase},
	{"OTA", "sibling-answer", 6, siblingAnswer},
	{"OTA", "same-shape", 6, sameShape},
	{"OTA", "neighbour-words", 2, neighbourWords},
	{"OTA", "other-clause", 7, otherClause},
	{"OTA", "half-answer", 1, halfAnswer},
	{"OTA", "question-word", 2, questionWord},
	{"OTA", "sibling-question", 4, siblingQuestion},
	{"Fact", "entity-swap", 4, entitySwap},
	{"Fact", "reversal", 2, reversal},
	{"INM", "neighbour-passage", 1, neighbourPassage},
	{"OTP", "other-document", 1, otherDocument},
	{"Spell", "typo", 1, typo},
	{"Gram", "auxiliary", 2, auxiliary},
	{"Gram", "word-order", 1, wordOrder},
	{"Gram", "doubled-word", 1, doubledWord},
	{"Gram", "dropped-word", 1, droppedWord},
	{"Gram", "tense", 3, tense},
	{"Gram", "number", 1, number},
	{"Inc", "cut", 1, cut},
	{"NAQ", "statement", 2, statement},
	{"NAQ", "bare-phrase", 1, barePhrase},
	{"Vague", "pronoun", 3, pronoun},
	{"Vague", "generic", 1, generic},
	{"Copy", "clause", 1, copyClause},
}

func lowerCase(_ *maker, r Row) (Example, bool) {
	return with(r, strings.TrimSuffix(strings.ToLower(r.Question), "?"), r.Answer, r.Answer, "OK")
}

// siblingAnswer gives the question the answer of another question on the same passage.
func siblingAnswer(m *maker, r Row) (Example, bool) {
	s, _ := m.sibling(r)
	return with(r, r.Question, s.Answer, r.Answer, "OTA")
}

// siblingQuestion keeps the answer and asks another question of the same passage.
func siblingQuestion(m *maker, r Row) (Example, bool) {
	s, _ := m.sibling(r)
	return with(r, s.Question, r.Answer, s.Answer, "OTA")
}

// sibling finds a row on the same passage with an answer that shares no word with r's.
func (m *maker) sibling(r Row) (Row, bool) {
	return pickIf(m, m.byPassage[r.Passage], func(s Row) bool {
		return s.Question != r.Question && !shareWord(s.Answer, r.Answer)
	})
}

// sameShape takes another name or number from the passage: the near miss that real systems produce.
func sameShape(m *maker, r Row) (Example, bool) {
	want := shape(r.Answer)
	s, _ := pickIf(m, spans(r.Passage), func(s string) bool {
		return want != "" && shape(s) == want && !shareWord(s, r.Answer) && !shareWord(s, r.Question)
	})
	return with(r, r.Question, s, r.Answer, "OTA")
}

// neighbourWords takes a stretch of the passage as long as the answer from another place.
func neighbourWords(m *maker, r Row) (Example, bool) {
	words, n := strings.Fields(r.Passage), len(strings.Fields(r.Answer))
	if len(words) < n+8 {
		return Example{}, false
	}
	i := m.rng.IntN(len(words) - n)
	s := strings.Trim(strings.Join(words[i:i+n], " "), ".,;:!?\"'()")
	if s == "" || shareWord(s, r.Answer) || isFunction(strings.Fields(s)[0]) {
		return Example{}, false
	}
	return with(r, r.Question, s, r.Answer, "OTA")
}

// halfAnswer keeps one of two things asked for.
func halfAnswer(m *maker, r Row) (Example, bool) {
	a, b, ok := strings.Cut(r.Answer, " and ")
	if !ok || len(strings.Fields(r.Answer)) > 12 {
		return Example{}, false
	}
	if m.rng.IntN(2) == 0 {
		a = b
	}
	return with(r, r.Question, strings.Trim(a, " ,"), r.Answer, "OTA")
}

// otherClause gives another clause of the passage, mostly of the sentence that holds the answer: small generators ask
// for the wrong half of what they were given.
func otherClause(m *maker, r Row) (Example, bool) {
	parts := sentences(r.Passage)
	if i := slices.IndexFunc(parts, func(s string) bool { return strings.Contains(s, r.Answer) }); i >= 0 &&
		m.rng.IntN(3) > 0 {
		parts = parts[i : i+1]
	}
	var fit []string
	for _, s := range parts {
		for _, c := range clauses(s) {
			if n := len(strings.Fields(c)); n >= 3 && n <= 25 && !strings.Contains(c, r.Answer) && !shareWord(c, r.Answer) {
				fit = append(fit, c)
			}
		}
	}
	c, _ := pickOf(m.rng, fit)
	return with(r, r.Question, c, r.Answer, "OTA")
}

var questionWords = []string{"When", "Where", "Why", "How"}

// questionWord asks when where the answer says where, and the like.
func questionWord(m *maker, r Row) (Example, bool) {
	first, rest, _ := strings.Cut(r.Question, " ")
	next, _, _ := strings.Cut(rest, " ")
	if _, aux := disagree[next]; !aux || !slices.Contains(questionWords, first) {
		return Example{}, false
	}
	other, _ := pickOf(m.rng, questionWords)
	return with(r, other+" "+rest, r.Answer, "", "OTA")
}

// entitySwap puts another name or number of the passage in the place of one in the question.
func entitySwap(m *maker, r Row) (Example, bool) {
	inQuestion := spans(r.Question)
	pool := spans(r.Passage)
	m.rng.Shuffle(len(inQuestion), func(i, j int) { inQuestion[i], inQuestion[j] = inQuestion[j], inQuestion[i] })
	for _, old := range inQuestion {
		if !strings.Contains(r.Passage, old) || strings.HasPrefix(r.Question, old) {
			continue
		}
		if s, ok := pickIf(m, pool, func(s string) bool {
			return shape(s) == shape(old) && !shareWord(s, r.Question) && !shareWord(s, r.Answer)
		}); ok {
			return with(r, strings.Replace(r.Question, old, s, 1), r.Answer, "", "Fact")
		}
	}
	return Example{}, false
}

var opposites = map[string]string{
	"more": "less", "less": "more", "most": "least", "least": "most", "first": "last", "last": "first", "before": "after",
	"after": "before", "largest": "smallest", "smallest": "largest", "highest": "lowest", "lowest": "highest",
	"higher": "lower",
	"lower":  "higher", "increase": "decrease", "decrease": "increase", "increased": "decreased", "decreased": "increased",
	"north": "south", "south": "north", "east": "west", "west": "east", "northern": "southern", "southern": "northern",
	"won": "lost", "lost": "won", "best": "worst", "worst": "best", "oldest": "youngest", "youngest": "oldest",
	"earliest": "latest", "latest": "earliest", "began": "ended", "started": "ended", "begin": "end", "start": "end",
	"larger": "smaller", "smaller": "larger", "maximum": "minimum", "minimum": "maximum",
	"allowed": "forbidden", "many": "few",
}

// reversal turns one word of the question into its opposite, which the passage then contradicts.
func reversal(_ *maker, r Row) (Example, bool) {
	q := turnOver(r.Question, opposites, func(_ int, w string) bool {
		return strings.Contains(strings.ToLower(r.Passage), w)
	})
	return with(r, q, r.Answer, "", "Fact")
}

// turnOver puts the opposite in the place of the first word of a question that has one and fits; "" where none does.
// A word behind "how" stays.
func turnOver(question string, opposites map[string]string, fits func(i int, w string) bool) string {
	words := strings.Fields(question)
	for i, w := range words {
		core := strings.TrimRight(w, "?,.")
		o, ok := opposites[core]
		if ok && !(i > 0 && strings.EqualFold(words[i-1], "how")) && fits(i, core) {
			words[i] = o + w[len(core):]
			return strings.Join(words, " ")
		}
	}
	return ""
}

// neighbourPassage asks what another passage of the same document answers.
func neighbourPassage(m *maker, r Row) (Example, bool) {
	s, _ := pickIf(m, m.byTitle[r.Title], func(s Row) bool {
		return s.Passage != r.Passage && !strings.Contains(r.Passage, s.Answer)
	})
	return with(r, s.Question, r.Answer, "", "INM", "OTA")
}

// otherDocument asks what another document of the same source answers.
func otherDocument(m *maker, r Row) (Example, bool) {
	for range attempts {
		s := m.rows[m.rng.IntN(len(m.rows))]
		if s.Title != r.Title && s.Source == r.Source && !strings.Contains(r.Passage, s.Answer) {
			return with(r, s.Question, r.Answer, "", "OTP", "INM", "OTA")
		}
	}
	return Example{}, false
}
