package simulate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// moreRules are those that set 2 adds.
var moreRules = []rule{
	{"OK", "no-mark", 0.5, noMark},
	{"OK", "spacing", 0.5, spacing},
	{"OTA", "yes-no", 4, yesNo},
	{"OTA", "excess-answer", 2, excessAnswer},
	{"OTA", "other-choice", 4, otherChoice},
	{"Fact", "number-shift", 2, numberShift},
	{"Fact", "names-exchanged", 2, namesExchanged},
	{"Fact", "comparison", 3, comparison},
	{"INM", "added-detail", 1, addedDetail},
	{"INM", "unasked-attribute", 1, unaskedAttribute},
	{"OTP", "trivia", 0.5, triviaQuestion},
	{"Spell", "keyboard", 1, keyboard},
	{"Spell", "phonetic", 1, phoneticSpelling},
	{"Spell", "homophone", 0.7, homophone},
	{"Spell", "misspelt-name", 0.5, misspeltName},
	{"Gram", "over-regular", 1, overRegular},
	{"Gram", "preposition", 1, preposition},
	{"Gram", "participle", 1, participle},
	{"Inc", "cut-ending", 1, cutEnding},
	{"Inc", "dangling", 1, dangling},
	{"Inc", "cut-word", 0.5, cutWord},
	{"NAQ", "cloze", 2, cloze},
	{"NAQ", "passage-sentence", 1, passageSentence},
	{"Vague", "noun-to-pronoun", 3, nounToPronoun},
	{"Vague", "all-names", 2, allNames},
	{"Vague", "broad", 1, broad},
	{"Copy", "appended", 1, appendedClause},
	{"Copy", "inserted", 1, insertedClause},
}

func noMark(_ *maker, r Row) (Example, bool) {
	q, ok := strings.CutSuffix(r.Question, "?")
	if !ok {
		return Example{}, false
	}
	return with(r, q, r.Answer, r.Answer, "OK")
}

var beforeMark = regexp.MustCompile(`(\w)([?,;:])`)

// spacing sets marks apart, as systems that write tokens do.
func spacing(_ *maker, r Row) (Example, bool) {
	q := beforeMark.ReplaceAllString(r.Question, "$1 $2")
	if q == r.Question {
		return Example{}, false
	}
	return with(r, q, r.Answer, r.Answer, "OK")
}

// yesNo gives the opposite answer.
func yesNo(_ *maker, r Row) (Example, bool) {
	first, rest, _ := strings.Cut(r.Answer, " ")
	core := strings.TrimRight(first, ",.!")
	o := map[string]string{"yes": "no", "no": "yes", "Yes": "No", "No": "Yes", "true": "false", "false": "true",
		"True": "False", "False": "True"}[core]
	if o == "" || rest != "" {
		return Example{}, false // what follows would give the right one away
	}
	return with(r, r.Question, o+first[len(core):], r.Answer, "OTA")
}

// excessAnswer says more than was asked for: another answer of the passage goes with it.
func excessAnswer(m *maker, r Row) (Example, bool) {
	s, ok := m.sibling(r)
	if !ok || len(strings.Fields(s.Answer)) > 8 || len(strings.Fields(r.Answer)) > 8 {
		return Example{}, false
	}
	a, b := r.Answer, s.Answer
	if m.rng.IntN(2) == 0 {
		a, b = b, a
	}
	return with(r, r.Question, strings.TrimRight(a, ".,;")+" and "+b, r.Answer, "OTA")
}

// comparatives are pairs of which a question's one is turned into the other.
var comparatives = pairs(`more less, fewer more, older younger, elder younger, larger smaller, bigger smaller, greater lesser,
	taller shorter, longer shorter, higher lower, faster slower, earlier later, sooner later,
	better worse, stronger weaker, richer poorer, heavier lighter, closer farther, nearer farther,
	wider narrower, deeper shallower, warmer colder, hotter cooler, above below, before after,
	most least, largest smallest, biggest smallest, oldest youngest, tallest shortest, longest shortest,
	highest lowest, fastest slowest, earliest latest, best worst, first last, strongest weakest,
	northernmost southernmost, increase decrease, increased decreased, rise fall, rose fell,
	majority minority, maximum minimum, over under, up down`)

func pairs(list string) map[string]string {
	out := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		w := strings.Fields(pair)
		out[w[0]] = w[1]
		if _, ok := out[w[1]]; !ok {
			out[w[1]] = w[0]
		}
	}
	return out
}

// reversed turns the first comparative of a question over; "" where there is none.
func reversed(question string) string {
	return turnOver(question, comparatives, func(i int, _ string) bool { return i > 0 })
}

// comparison turns a comparison over that the question takes for granted; the passage has it the other way.
func comparison(_ *maker, r Row) (Example, bool) {
	if strings.Contains(r.Question, " or ") || shareWord(r.Answer, r.Question) {
		return Example{}, false
	}
	return with(r, reversed(r.Question), r.Answer, "", "Fact")
}

// otherChoice turns the comparison of a choice over, so that the other thing is the answer: "Which is younger, A or
// B?".
func otherChoice(_ *maker, r Row) (Example, bool) {
	if !strings.Contains(r.Question, " or ") || !shareWord(r.Answer, r.Question) {
		return Example{}, false
	}
	return with(r, reversed(r.Question), r.Answer, "", "OTA")
}

var wholeNumber = regexp.MustCompile(`\b\d{1,4}\b`)

// numberShift makes a number of the question one that the passage does not have.
func numberShift(m *maker, r Row) (Example, bool) {
	for _, at := range wholeNumber.FindAllStringIndex(r.Question, -1) {
		old := r.Question[at[0]:at[1]]
		n, _ := strconv.Atoi(old)
		if !strings.Contains(r.Passage, old) || n == 0 {
			continue
		}
		shift := []int{1, 2, 3, 10}[m.rng.IntN(4)]
		if n > 1000 && m.rng.IntN(2) == 0 || n <= shift {
			shift = -shift // years after 1000 may go either way
		}
		now := strconv.Itoa(n - shift)
		if strings.Contains(r.Passage, now) || strings.Contains(r.Answer, now) {
			continue
		}
		return with(r, r.Question[:at[0]]+now+r.Question[at[1]:], r.Answer, "", "Fact")
	}
	return Example{}, false
}

// namesExchanged lets two names of the question change places: who did it, and to whom.
func namesExchanged(_ *maker, r Row) (Example, bool) {
	var names []string
	for _, s := range spans(r.Question) {
		if shape(s) == "name" && strings.Contains(r.Passage, s) && !slices.ContainsFunc(names,
			func(n string) bool { return shareWord(n, s) }) {
			names = append(names, s)
		}
	}
	if len(names) < 2 {
		return Example{}, false
	}
	_, between, _ := strings.Cut(r.Question, names[0])
	if between, _, _ = strings.Cut(between, names[1]); !slices.ContainsFunc(strings.Fields(between),
		func(w string) bool { return !isFunction(w) }) {
		return Example{}, false // "A and B", "A of B"
	}
	q := strings.NewReplacer(names[0], names[1], names[1], names[0]).Replace(r.Question)
	return with(r, q, r.Answer, "", "Fact")
}

// addedDetail rests the question on a name or number of another document.
func addedDetail(m *maker, r Row) (Example, bool) {
	for range attempts {
		s := m.rows[m.rng.IntN(len(m.rows))]
		detail, ok := pickOf(m.rng, spans(s.Passage))
		if !ok || !plainName.MatchString(detail) || s.Title == r.Title && s.Passage == r.Passage ||
			shareWord(detail, r.Passage) || len(strings.Fields(detail)) > 3 {
			continue
		}
		form := "in " + detail
		if shape(detail) == "name" {
			form = []string{"according to " + detail, "with " + detail, "besides " + detail, "as in " + detail}[m.rng.IntN(4)]
		} else if len(detail) != 4 || strings.Trim(detail, "0123456789") != "" {
			continue // not a year
		}
		return with(r, strings.TrimRight(r.Question, " ?.")+" "+form+"?", r.Answer, "", "INM")
	}
	return Example{}, false
}

var plainName = regexp.MustCompile(`^[\p{L}\d][\p{L}\d .'-]*$`)

// attributes are questions about a named thing, with the stems of words that would show that a passage answers them.
var attributes = []struct{ form, stems string }{
	{"How much did %s cost?", "cost price paid money dolla pound milli"},
	{"Who paid for %s?", "paid fund finan spons donat money"},
	{"How heavy is %s?", "weigh heavy kilog tonne tons pound mass"},
	{"What colour is %s?", "color colou red blue green white black yello brown"},
	{"Who was the first to criticise %s?", "criti oppos objec"},
	{"How many people work for %s?", "emplo staff worke workf"},
	{"What is the nickname of %s?", "nickn known calle"},
	{"Where was %s described for the first time?", "descr first publi menti"},
	{"Which award did %s receive?", "award prize medal honor honou"},
	{"What was the reaction of the neighbours to %s?", "react neigh respo"},
}

// unaskedAttribute asks of a name in the passage what the passage does not say.
func unaskedAttribute(m *maker, r Row) (Example, bool) {
	name, ok := pickOf(m.rng, names(r.Passage))
	a := attributes[m.rng.IntN(len(attributes))]
	if !ok || letters(name) < 4 || slices.ContainsFunc(strings.Fields(a.stems),
		func(s string) bool { return strings.Contains(strings.ToLower(r.Passage), s) }) {
		return Example{}, false
	}
	return with(r, strings.Replace(a.form, "%s", name, 1), r.Answer, "", "INM", "OTA")
}

func names(text string) []string {
	return slices.DeleteFunc(spans(text), func(s string) bool { return shape(s) != "name" })
}

// trivia are questions about anything, with the stem of a word that a passage on the same subject would have.
var trivia = []struct{ question, stem string }{
	{"What is the boiling point of water?", "boil"}, {"How many legs does a spider have?",
		"spider"}, {"Who invented the telephone?", "teleph"},
	{"Which planet is closest to the sun?", "planet"}, {"How many strings does a violin have?",
		"violin"}, {"What do bees make from nectar?", "bee"},
	{"What is the capital of Portugal?", "portug"}, {"How long does it take to boil an egg?",
		"egg"}, {"Which metal is liquid at room temperature?", "metal"},
	{"How many players are on a football team?", "footb"}, {"What is the square root of 81?",
		"square"}, {"Who painted the ceiling of the Sistine Chapel?", "paint"},
	{"In which ocean does the Gulf Stream flow?", "ocean"}, {"What is the fastest land animal?",
		"animal"}, {"Which vitamin do oranges contain?", "vitam"},
	{"How do I reset my password?", "passw"}, {"What time does the next train leave?",
		"train"}, {"Which chess piece moves diagonally only?", "chess"},
	{"What language is spoken in Brazil?", "brazil"}, {"How many minutes are there in a day?", "minut"},
}

func triviaQuestion(m *maker, r Row) (Example, bool) {
	t := trivia[m.rng.IntN(len(trivia))]
	if strings.Contains(strings.ToLower(r.Passage), t.stem) {
		return Example{}, false
	}
	return with(r, t.question, r.Answer, "", "OTP", "INM", "OTA")
}
