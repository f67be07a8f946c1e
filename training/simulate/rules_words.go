package simulate

import (
	"slices"
	"strings"
	"unicode"
)

// typo misspells one or two words in the ways of fingers: a letter swapped, dropped, doubled or hit beside.
func typo(m *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	fit := fitting(words, func(_ int, w string) bool { return letters(w) >= 5 && !unicode.IsUpper([]rune(w)[0]) })
	i, ok := pickOf(m.rng, fit)
	if !ok {
		return Example{}, false
	}
	words[i] = m.misspell(words[i])
	if j, _ := pickOf(m.rng, fit); j != i && m.rng.IntN(4) == 0 {
		words[j] = m.misspell(words[j])
	}
	q := strings.Join(words, " ")
	e, ok := with(r, q, r.Answer, r.Answer, "Spell")
	return e, ok && q != r.Question
}

var phonetic = [][2]string{{"ie", "ei"}, {"ei", "ie"}, {"ance", "ence"}, {"ence", "ance"}, {"tion", "sion"},
	{"ph", "f"}, {"ll", "l"}, {"ss", "s"}, {"able", "ible"}, {"ary", "ery"}, {"ou", "u"}}

var keys = []string{"qwertyuiop", "asdfghjkl", "zxcvbnm"}

func (m *maker) misspell(w string) string {
	if m.rng.IntN(3) == 0 {
		p := phonetic[m.rng.IntN(len(phonetic))]
		if strings.Contains(w, p[0]) {
			return strings.Replace(w, p[0], p[1], 1)
		}
	}
	rs := []rune(w)
	i := 1 + m.rng.IntN(letters(w)-2)
	switch m.rng.IntN(4) {
	case 0:
		rs[i], rs[i+1] = rs[i+1], rs[i]
	case 1:
		rs = slices.Delete(rs, i, i+1)
	case 2:
		rs = slices.Insert(rs, i, rs[i])
	default:
		for _, row := range keys {
			if k := strings.IndexRune(row, rs[i]); k > 0 {
				rs[i] = rune(row[k-1])
			}
		}
	}
	return string(rs)
}

var disagree = map[string][]string{
	"does": {"do"}, "do": {"does"}, "is": {"are"}, "are": {"is"}, "was": {"were"}, "were": {"was"}, "has": {"have"},
	"have": {"has"},
	"did":  {"was", ""}, "can": {"can to"}, "would": {""}, "will": {""}, "a": {"an"}, "an": {"a"},
}

// auxiliary breaks the agreement or drops the auxiliary.
func auxiliary(m *maker, r Row) (Example, bool) {
	return respell(m, r, "Gram", func(_ int, w string) bool { return disagree[w] != nil }, func(w string) string {
		other, _ := pickOf(m.rng, disagree[w])
		return other
	})
}

// wordOrder moves the auxiliary behind the subject's first word: "What he did say?".
func wordOrder(_ *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	for i := 1; i+2 < len(words); i++ {
		if slices.Contains([]string{"did", "does", "do", "was", "were", "is", "are", "can"}, words[i]) {
			j := i + 1
			if strings.EqualFold(words[j], "the") {
				j++
			}
			w := words[i]
			words = slices.Insert(slices.Delete(words, i, i+1), j, w)
			return with(r, strings.Join(words, " "), r.Answer, r.Answer, "Gram")
		}
	}
	return Example{}, false
}

func doubledWord(m *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	if len(words) < 5 {
		return Example{}, false
	}
	i := 1 + m.rng.IntN(len(words)-2)
	n := 1 + m.rng.IntN(min(2, len(words)-1-i))
	words = slices.Insert(words, i, slices.Clone(words[i:i+n])...)
	return with(r, strings.Join(words, " "), r.Answer, r.Answer, "Gram")
}

func droppedWord(m *maker, r Row) (Example, bool) {
	return respell(m, r, "Gram", func(i int, w string) bool {
		return i > 0 && slices.Contains([]string{"to", "of", "by", "from", "with", "be", "been", "the"}, w)
	}, func(string) string { return "" })
}

// past holds verbs whose past form after an auxiliary is the slip of small generators: "When did the war began?".
var past = map[string]string{
	"begin": "began", "become": "became", "write": "wrote", "make": "made", "take": "took", "give": "gave", "go": "went",
	"find":  "found",
	"build": "built", "win": "won", "lose": "lost", "come": "came", "leave": "left", "say": "said", "see": "saw",
	"get": "got", "have": "had",
	"know": "knew", "think": "thought", "feel": "felt", "tell": "told", "fall": "fell", "hold": "held",
	"keep": "kept", "lead": "led",
	"bring": "brought", "run": "ran", "rise": "rose", "grow": "grew", "sell": "sold", "send": "sent",
	"speak": "spoke", "meet": "met",
	"happen": "happened", "start": "started", "die": "died", "end": "ended", "use": "used", "want": "wanted",
	"call": "called", "move": "moved",
	"live": "lived", "play": "played", "create": "created", "decide": "decided", "receive": "received",
	"return": "returned", "believe": "believed",
	"cause": "caused", "open": "opened", "join": "joined", "ask": "asked", "occur": "occurred", "include": "included",
	"allow":   "allowed",
	"provide": "provided", "release": "released", "marry": "married", "need": "needed", "help": "helped",
	"require": "required", "appear": "appeared",
	"contain": "contains", "represent": "represents", "mean": "means", "produce": "produces", "show": "shows",
	"collect": "collects", "share": "shares",
}

// tense bends the verb that an auxiliary already bends, or drops that auxiliary: "When did it began", "When it begin".
func tense(m *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	aux := slices.IndexFunc(words, func(w string) bool { return w == "did" || w == "does" || w == "do" })
	if aux < 1 {
		return Example{}, false
	}
	for i := aux + 2; i < len(words); i++ {
		verb := strings.TrimRight(words[i], "?,")
		bent, ok := past[verb]
		if !ok {
			continue
		}
		if words[aux] == "does" && m.rng.IntN(2) == 0 {
			bent = verb + "s"
		}
		words[i] = bent + words[i][len(verb):]
		return with(r, strings.Join(words, " "), r.Answer, r.Answer, "Gram")
	}
	return Example{}, false
}

// number takes the plural away after "how many", or lets one thing be many.
func number(_ *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	for i := 1; i+1 < len(words); i++ {
		w := words[i+1]
		switch {
		case strings.EqualFold(words[i-1], "how") && words[i] == "many" && len(w) > 4 && strings.HasSuffix(w, "s"):
			words[i+1] = strings.TrimSuffix(w, "s")
		case strings.EqualFold(words[i-1], "what") && (words[i] == "is" || words[i] == "was") && w == "the":
			words[i] = map[string]string{"is": "are", "was": "were"}[words[i]]
		default:
			continue
		}
		return with(r, strings.Join(words, " "), r.Answer, r.Answer, "Gram")
	}
	return Example{}, false
}

// cut breaks the question off.
func cut(m *maker, r Row) (Example, bool) {
	words := strings.Fields(r.Question)
	if len(words) < 6 {
		return Example{}, false
	}
	words = words[:2+m.rng.IntN(len(words)-4)]
	q := strings.TrimRight(strings.Join(words, " "), ",?")
	if m.rng.IntN(3) == 0 {
		q += "?"
	}
	return with(r, q, r.Answer, "", "Inc")
}

// statement fills the answer in: "Who wrote X?" becomes "Mary wrote X.".
func statement(m *maker, r Row) (Example, bool) {
	words := strings.Fields(strings.TrimRight(r.Question, "?"))
	if len(words) < 4 || !(strings.EqualFold(words[0], "who") || strings.EqualFold(words[0], "what")) ||
		!slices.Contains([]string{"is", "was", "are", "were", "has", "had"}, words[1]) {
		return Example{}, false
	}
	subject := r.Answer
	if m.rng.IntN(2) == 0 {
		subject = "This"
	}
	end := []string{".", "", "?"}[m.rng.IntN(3)]
	return with(r, subject+" "+strings.Join(words[1:], " ")+end, r.Answer, "", "NAQ")
}

// barePhrase keeps a phrase of the question or the answer itself.
func barePhrase(m *maker, r Row) (Example, bool) {
	words := strings.Fields(strings.TrimRight(r.Question, "?"))
	if len(words) < 6 || m.rng.IntN(3) == 0 {
		return with(r, r.Answer, r.Answer, "", "NAQ")
	}
	return with(r, strings.Join(words[len(words)-3-m.rng.IntN(2):], " "), r.Answer, "", "NAQ")
}

// pronoun takes the name away that says which thing is meant.
func pronoun(m *maker, r Row) (Example, bool) {
	for _, s := range spans(r.Question) {
		if strings.HasPrefix(r.Question, s) || shape(s) != "name" {
			continue
		}
		p := []string{"it", "they", "this", "he", "that one"}[m.rng.IntN(5)]
		q := strings.Replace(strings.Replace(r.Question, "the "+s, s, 1), s, p, 1)
		return with(r, q, r.Answer, "", "Vague")
	}
	return Example{}, false
}

func generic(m *maker, r Row) (Example, bool) {
	q := []string{"What is it?", "What happened?", "What did they do?", "What is said about it?", "What was the thing?",
		"Who was it?", "Why?", "What is the name of it?", "What about this?", "How did it go?"}
	return with(r, q[m.rng.IntN(len(q))], r.Answer, "", "Vague")
}

// copyClause drags a sentence of the passage into the question.
func copyClause(m *maker, r Row) (Example, bool) {
	s, ok := pickIf(m, sentences(r.Passage), func(s string) bool {
		n := len(strings.Fields(s))
		return n >= 9 && n <= 40 && !strings.Contains(s, r.Answer)
	})
	if !ok {
		return Example{}, false
	}
	s = strings.TrimRight(s, ".!? ")
	q := lowerFirst(r.Question)
	switch m.rng.IntN(3) {
	case 0:
		q = "Given that " + lowerFirst(s) + ", " + q
	case 1:
		q = s + ", " + q
	default:
		q = s + ". " + r.Question
	}
	return with(r, q, r.Answer, r.Answer, "Copy")
}
