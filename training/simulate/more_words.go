package simulate

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// fitting are the places of the words that fit.
func fitting(words []string, fits func(i int, w string) bool) (at []int) {
	for i, w := range words {
		if fits(i, w) {
			at = append(at, i)
		}
	}
	return at
}

// respell gives one word of the question, among those that fit, another spelling; "" leaves the word out.
func respell(m *maker, r Row, code string, fits func(i int, w string) bool, spell func(string) string) (Example, bool) {
	words := strings.Fields(r.Question)
	i, ok := pickOf(m.rng, fitting(words, fits))
	if !ok {
		return Example{}, false
	}
	was := words[i]
	words[i] = spell(was)
	ex, ok := with(r, strings.Join(strings.Fields(strings.Join(words, " ")), " "), r.Answer, r.Answer, code)
	return ex, ok && words[i] != was
}

// exchangeWord puts what a table has for it in the place of one word behind the question's first ones; marks may stand
// at its end.
func exchangeWord(m *maker, r Row, code string, table map[string]string, first int, marks string) (Example, bool) {
	core := func(w string) string { return strings.TrimRight(w, marks) }
	return respell(m, r, code, func(i int, w string) bool { return i >= first && table[core(w)] != "" },
		func(w string) string { return table[core(w)] + w[len(core(w)):] })
}

func longLower(_ int, w string) bool { return letters(w) >= 5 && unicode.IsLower([]rune(w)[0]) }

// keyboard hits the key beside, above or below.
func keyboard(m *maker, r Row) (Example, bool) {
	return respell(m, r, "Spell", longLower, func(w string) string {
		rs := []rune(w)
		i := 1 + m.rng.IntN(letters(w)-2)
		for k, row := range keys {
			at := strings.IndexRune(row, rs[i])
			if at < 0 {
				continue
			}
			beside, _ := pickIf(m, []int{at - 1, at + 1}, func(n int) bool { return n >= 0 && n < len(row) })
			rs[i] = rune(row[beside])
			if k > 0 && m.rng.IntN(3) == 0 && at < len(keys[k-1]) {
				rs[i] = rune(keys[k-1][at])
			}
			break
		}
		return string(rs)
	})
}

// sounds are spellings that sound alike, for those who write by ear.
var sounds = [][2]string{{"ie", "ei"}, {"ei", "ie"}, {"ance", "ence"}, {"ence", "ance"}, {"tion", "sion"},
	{"sion", "tion"}, {"ph", "f"}, {"able", "ible"}, {"ible", "able"},
	{"ary", "ery"}, {"ough", "uff"}, {"ight", "ite"}, {"ck", "k"}, {"mm", "m"}, {"cc", "c"}, {"ll", "l"}, {"ss",
		"s"}, {"nn", "n"}, {"pp", "p"}, {"rr", "r"}, {"tt", "t"},
	{"wh", "w"}, {"kn", "n"}, {"mb", "m"}, {"sc", "s"}, {"que", "k"}, {"ea", "ee"}, {"ee", "ea"}, {"ai", "ay"}, {"er",
		"ar"}, {"or", "er"}, {"ur", "er"}, {"ci", "si"}, {"ge", "je"}}

func phoneticSpelling(m *maker, r Row) (Example, bool) {
	return respell(m, r, "Spell", longLower, func(w string) string {
		s, _ := pickIf(m, sounds, func(s [2]string) bool { return strings.Index(w, s[0]) >= 1 })
		return w[:1] + strings.Replace(w[1:], s[0], s[1], 1) // a first letter is seldom wrong
	})
}

var homophones = map[string]string{"their": "there", "there": "their", "its": "it's", "whose": "who's", "where": "were",
	"were": "where", "than": "then", "then": "than",
	"which": "witch", "write": "right", "right": "write", "weather": "whether", "whether": "weather", "lead": "led",
	"peace": "piece", "piece": "peace", "principal": "principle",
	"principle": "principal", "effect": "affect", "affect": "effect", "through": "threw", "whole": "hole", "know": "no",
	"new": "knew", "hear": "here", "here": "hear",
	"passed": "past", "past": "passed", "course": "coarse", "role": "roll", "site": "sight", "seen": "scene",
	"scene": "seen", "weak": "week", "week": "weak",
	"Whose": "Who's", "Where": "Were", "of": "off", "to": "too", "by": "buy"}

func homophone(m *maker, r Row) (Example, bool) {
	return exchangeWord(m, r, "Spell", homophones, 0, "?,.")
}

// misspeltName misspells a name that the passage spells right.
func misspeltName(m *maker, r Row) (Example, bool) {
	return respell(m, r, "Spell", func(i int, w string) bool {
		return i > 0 && letters(w) >= 5 && unicode.IsUpper([]rune(w)[0]) && !unicode.IsUpper([]rune(w)[1]) &&
			strings.Contains(r.Passage, strings.TrimRight(w, "?,.'s"))
	}, m.misspell)
}

// regular is a verb's past form by rule, where the right one is another.
var regular = func() map[string]string {
	out := map[string]string{}
	for base, irregular := range past {
		if !strings.HasSuffix(irregular, "ed") && !strings.HasSuffix(irregular, "s") {
			out[irregular] = strings.TrimSuffix(base, "e") + "ed"
		}
	}
	return out
}()

// overRegular bends a verb as if it were regular: "Who writed …".
func overRegular(m *maker, r Row) (Example, bool) {
	return exchangeWord(m, r, "Gram", regular, 1, "?,")
}

var wrongPreposition = map[string][]string{"in": {"at", "on"}, "on": {"in", "at"}, "at": {"in", "on"},
	"of": {"from", "for"}, "for": {"to", "of"}, "from": {"of", "by"},
	"by": {"from", "with"}, "with": {"by", "of"}, "to": {"at", "for"}, "about": {"of",
		"on"}, "into": {"at"}, "during": {"on"}}

// preposition takes a wrong one.
func preposition(m *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	return respell(m, r, "Gram", func(i int, w string) bool {
		// in or at a place: both may be right
		return i > 0 && i+1 < len(words) && wrongPreposition[w] != nil && !unicode.IsUpper([]rune(words[i+1])[0])
	}, func(w string) string {
		p, _ := pickOf(m.rng, wrongPreposition[w])
		return p
	})
}

// bases are past forms with the verb that they are of.
var bases = func() map[string]string {
	out := map[string]string{}
	for base, form := range past {
		if !strings.HasSuffix(form, "s") {
			out[form] = base
		}
	}
	return out
}()

var auxiliaries = regexp.MustCompile(`\b(was|were|is|are|been|being|has|have|had)\b`)

// participle takes the bare verb where an auxiliary asks for its participle: "When was it build?".
func participle(m *maker, r Row) (Example, bool) {
	if !auxiliaries.MatchString(r.Question) {
		return Example{}, false
	}
	return exchangeWord(m, r, "Gram", bases, 2, "?,")
}

// cutEnding leaves the last words out.
func cutEnding(m *maker, r Row) (Example, bool) {
	words := strings.Fields(strings.TrimRight(r.Question, "? "))
	if len(words) < 6 {
		return Example{}, false
	}
	words = words[:len(words)-1-m.rng.IntN(2)]
	if last := words[len(words)-1]; !isFunction(last) {
		return Example{}, false // the rest may be whole
	}
	return with(r, strings.Join(words, " ")+m.mark(), r.Answer, "", "Inc")
}

// mark is what a broken question ends with.
func (m *maker) mark() string { return []string{"", "", "?"}[m.rng.IntN(3)] }

// dangling breaks off behind a word that asks for another.
func dangling(m *maker, r Row) (Example, bool) {
	words := strings.Fields(strings.TrimRight(r.Question, "? "))
	i, ok := pickOf(m.rng, fitting(words, func(i int, w string) bool {
		return i > 2 && i < len(words)-1 && slices.Contains([]string{"the", "a", "an", "of", "and", "from", "with", "for",
			"by", "his", "her", "its", "their"}, w)
	}))
	if !ok {
		return Example{}, false
	}
	return with(r, strings.Join(words[:i+1], " ")+m.mark(), r.Answer, "", "Inc")
}

// cutWord stops within a word.
func cutWord(m *maker, r Row) (Example, bool) {
	words := strings.Fields(strings.TrimRight(r.Question, "? "))
	i, ok := pickOf(m.rng, fitting(words, func(i int, w string) bool { return i > 2 && letters(w) >= 6 }))
	if !ok {
		return Example{}, false
	}
	rs := []rune(words[i])
	words[i] = string(rs[:2+m.rng.IntN(letters(words[i])-4)])
	return with(r, strings.Join(words[:i+1], " "), r.Answer, "", "Inc")
}

// answered is the passage's sentence that has the answer.
func answered(r Row) (string, bool) {
	for _, s := range sentences(r.Passage) {
		if n := len(strings.Fields(s)); n >= 5 && n <= 40 && strings.Contains(s, r.Answer) && len(s) > len(r.Answer)+15 {
			return strings.TrimRight(s, ".!? "), true
		}
	}
	return "", false
}

// cloze is the passage's sentence with a gap for the answer.
func cloze(m *maker, r Row) (Example, bool) {
	s, ok := answered(r)
	if !ok {
		return Example{}, false
	}
	gap := []string{"____", "_____", "...", "[blank]"}[m.rng.IntN(4)]
	return with(r, strings.Replace(s, r.Answer, gap, 1)+[]string{".", "?", ""}[m.rng.IntN(3)], r.Answer, "", "NAQ")
}

// passageSentence is the passage's sentence itself, with or without a question mark.
func passageSentence(m *maker, r Row) (Example, bool) {
	s, ok := answered(r)
	if !ok {
		return Example{}, false
	}
	return with(r, s+[]string{".", "?"}[m.rng.IntN(2)], r.Answer, "", "NAQ")
}

// nounPhrase finds "the lower quay", with what "of", "in" and the like add to it, behind the question's first two
// words.
func nounPhrase(words []string) (from, to int, ok bool) {
	plain := func(i int) bool { return i < len(words) && ending.MatchString(words[i]) && !isFunction(words[i]) }
	for from = 2; from < len(words); from++ {
		if words[from] != "the" {
			continue
		}
		to = from + 1
		for plain(to) && to < from+4 {
			to++
		}
		if n := to - from - 1; n == 0 || n > 2 || to < len(words) && !isFunction(words[to]) ||
			strings.HasSuffix(strings.TrimRight(words[to-1], "?"), "ed") {
			continue // what is left would not be a whole phrase
		}
		for to+1 < len(words) && slices.Contains([]string{"of", "in", "at", "from", "for"}, words[to]) {
			next := to + 1
			if words[next] == "the" {
				next++
			}
			if next >= len(words) || isFunction(words[next]) {
				break
			}
			if to = next + 1; to < len(words) && !isFunction(words[to]) {
				return 0, 0, false // "of the largest reservoir", "of Ostvik junior"
			}
		}
		return from, to, true
	}
	return 0, 0, false
}

var ending = regexp.MustCompile(`^[a-z]{3,}\??$`)

// nounToPronoun takes the thing away that the question is about: "the harbour bridge in Ostvik" becomes "it".
func nounToPronoun(m *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	from, to, ok := nounPhrase(words)
	if !ok {
		return Example{}, false
	}
	p, _ := pickOf(m.rng, []string{"it", "this", "that"})
	if to == len(words) {
		p += "?"
	}
	q := strings.Join(slices.Replace(words, from, to, p), " ")
	if len(names(q)) > 0 || len(strings.Fields(q)) > 8 {
		return Example{}, false // what is left may say it all the same
	}
	return with(r, q, r.Answer, "", "Vague")
}

// allNames puts pronouns for every name.
func allNames(m *maker, r Row) (Example, bool) {
	q, any := r.Question, false
	all := names(r.Question)
	for _, s := range all {
		// a part of a longer name
		if strings.HasPrefix(q, s) || len(all) > 2 ||
			regexp.MustCompile(regexp.QuoteMeta(s)+` (of|for|and) \p{Lu}`).MatchString(q) {
			return Example{}, false
		}
		p := []string{"it", "this", "that"}[m.rng.IntN(3)] // the same as subject and as object
		q, any = strings.NewReplacer("the "+s, p, "The "+s, "It", s, p).Replace(q), true
	}
	if !any || wholeNumber.MatchString(q) {
		return Example{}, false
	}
	return with(r, q, r.Answer, "", "Vague")
}

// broad asks about a name of the question so widely that anything would do.
func broad(m *maker, r Row) (Example, bool) {
	name, ok := pickOf(m.rng, names(r.Question))
	if !ok {
		return Example{}, false
	}
	form := []string{"What about %s?", "What is said about %s?", "What is special about %s?", "What happened with %s?",
		"How is it with %s?", "What can be said about %s?", "What is important for %s?"}[m.rng.IntN(7)]
	return with(r, strings.Replace(form, "%s", name, 1), r.Answer, "", "Vague")
}

var leadIn = regexp.MustCompile(`^(?:and|but|or|so|while|when|which|who|as|then) `)

// needless is a clause of the passage that neither asks for nor holds the answer.
func (m *maker) needless(r Row, least, most int) (string, bool) {
	var fit []string
	for _, s := range sentences(r.Passage) {
		for _, c := range clauses(s) {
			c = leadIn.ReplaceAllString(c, "")
			if n := len(strings.Fields(c)); n >= least && n <= most && !strings.ContainsAny(c, `"()[]`) &&
				!strings.Contains(c, r.Answer) && !strings.Contains(r.Question, c) {
				fit = append(fit, lowerOpening(c))
			}
		}
	}
	return pickOf(m.rng, fit)
}

var openings = regexp.MustCompile(`^(?:Because|Although|Since|However|Despite|Later|Once|Upon|Until|Today|Many|Most|Several|One|Two|[A-Z][a-z]+ly) `)

// lowerOpening is a clause as it stands within a sentence.
func lowerOpening(c string) string {
	return openings.ReplaceAllStringFunc(lowerFirst(c), strings.ToLower)
}

// appendedClause puts copied matter behind the question.
func appendedClause(m *maker, r Row) (Example, bool) {
	c, ok := m.needless(r, 7, 30)
	if !ok {
		return Example{}, false
	}
	join := []string{", given that ", ", when ", ", while ", " and "}[m.rng.IntN(4)]
	return with(r, strings.TrimRight(r.Question, " ?")+join+c+"?", r.Answer, r.Answer, "Copy")
}

// insertedClause puts copied matter behind a name in the question.
func insertedClause(m *maker, r Row) (Example, bool) {
	name, ok := pickIf(m, names(r.Question), func(n string) bool { return strings.Contains(r.Question, n+" ") })
	if !ok {
		return Example{}, false
	}
	c, ok := m.needless(r, 6, 20)
	if !ok {
		return Example{}, false
	}
	return with(r, strings.Replace(r.Question, name+" ", name+", "+c+", ", 1), r.Answer, r.Answer, "Copy")
}
