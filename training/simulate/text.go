package simulate

import (
	"regexp"
	"strings"
	"unicode"
)

var function = map[string]bool{}

func init() {
	for w := range strings.FieldsSeq(`a an the of in on at to for from by with and or but nor as is are was were be been being has have
	had do does did will would can could shall should may might must not no it its he his him she her
	they their them this that these those which who whom whose what when where why how there here than
	then so if into over under about after before between during through also such both each other some
	any all`) {
		function[w] = true
	}
}

func isFunction(w string) bool { return function[strings.ToLower(strings.Trim(w, ".,;:!?\"'()"))] }

// shareWord tells whether a and b have a content word in common, by its first five letters.
func shareWord(a, b string) bool {
	in := map[string]bool{}
	for w := range strings.FieldsSeq(a) {
		in[stem(w)] = true
	}
	for w := range strings.FieldsSeq(b) {
		if s := stem(w); s != "" && !isFunction(w) && in[s] {
			return true
		}
	}
	return false
}

func stem(w string) string {
	r := []rune(strings.ToLower(strings.TrimFunc(w, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})))
	return string(r[:min(5, len(r))])
}

// shape is "number", "name" or "" for anything else.
func shape(s string) string {
	words := strings.Fields(s)
	if len(words) == 0 || len(words) > 5 {
		return ""
	}
	if first := []rune(strings.TrimLeft(words[0], "$£€(\"")); len(first) > 0 && unicode.IsDigit(first[0]) {
		return "number"
	}
	last := []rune(words[len(words)-1])
	if unicode.IsUpper([]rune(words[0])[0]) && unicode.IsUpper(last[0]) {
		return "name"
	}
	return ""
}

// spans lists the numbers and the runs of capitalised words in s, those that begin a sentence with a common word left
// out.
func spans(s string) []string {
	var out []string
	start := true
	words := strings.Fields(s)
	for i := 0; i < len(words); i++ {
		w := strings.Trim(words[i], "\"'().,;:!?[]")
		r := []rune(w)
		switch {
		case len(r) == 0:
		case unicode.IsDigit(r[0]):
			out = append(out, w)
		case unicode.IsUpper(r[0]) && !isFunction(w) && (!start || len(r) > 4):
			run := []string{w}
			for !endsClause(words[i]) && i+1 < len(words) && len(run) < 4 {
				n := strings.Trim(words[i+1], "\"'().,;:!?[]")
				if n == "" || !unicode.IsUpper([]rune(n)[0]) {
					break
				}
				run = append(run, n)
				i++
			}
			if !start || len(run) > 1 {
				out = append(out, strings.TrimSuffix(strings.Join(run, " "), "'s"))
			}
		}
		start = strings.ContainsAny(words[i][len(words[i])-1:], ".!?")
	}
	return out
}

func endsClause(w string) bool { return strings.ContainsAny(w[len(w)-1:], ".,;:!?)\"") }

// sentences splits at full stops followed by a space; good enough to drag a clause along.
func sentences(s string) []string {
	return strings.Split(strings.Join(strings.Fields(s), " "), ". ")
}

var clauseEnd = regexp.MustCompile(`[,;:] +|\.$| +(?:and|but|which|while|where|who|whose|when|because|after|before|although|so that) +`)

// clauses cuts a sentence at punctuation and conjunctions.
func clauses(s string) []string {
	var out []string
	for _, c := range clauseEnd.Split(s, -1) {
		if c = strings.Trim(c, " ,.;:"); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// widest is the number of words of the longest answer that widen makes; the answers that real systems are given are
// clauses.
const widest = 25

// widen returns the answer with the words around it that belong to its clause, to either side or both, as a naive
// splitter cuts answers; the answer itself where it is not in the passage or nothing fits.
func (m *maker) widen(passage, answer string) string {
	for _, s := range sentences(passage) {
		at := strings.Index(s, answer)
		if at < 0 {
			continue
		}
		left, right := 0, len(s)
		for _, c := range clauseEnd.FindAllStringIndex(s, -1) {
			if c[1] <= at {
				left = c[1]
			} else if c[0] >= at+len(answer) {
				right = c[0]
				break
			}
		}
		switch m.rng.IntN(5) {
		case 0:
			left = at
		case 1:
			right = at + len(answer)
		case 2:
			left, right = 0, len(s)
		}
		if w := strings.Trim(s[left:right], " ,.;:"); len(w) > len(answer) && len(strings.Fields(w)) <= widest {
			return w
		}
		return answer
	}
	return answer
}

func letters(w string) int {
	n := 0
	for _, r := range w {
		if !unicode.IsLetter(r) {
			return n
		}
		n++
	}
	return n
}

func lowerFirst(s string) string {
	r := []rune(s)
	if len(r) > 1 && unicode.IsUpper(r[0]) && !unicode.IsUpper(r[1]) && isFunction(strings.Fields(s)[0]) {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}
