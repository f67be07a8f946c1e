package simulate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// May is no month here: it is a verb too.
var (
	months = []string{"January", "February", "March", "April", "June", "July", "August", "September", "October",
		"November", "December"}
	weekdays = []string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	dateForm = regexp.MustCompile(`\b(?:(?:1\d|20)\d\d|` + strings.Join(slices.Concat(months, weekdays), "|") + `)\b`)
)

var numberForm = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// namesIn lists the runs of capitalised words, but for those that only begin a sentence and for dates.
func namesIn(text string) []string {
	return slices.DeleteFunc(names(text), dateForm.MatchString)
}

// numbersIn lists the numbers that are no years.
func numbersIn(text string) []string {
	return numberForm.FindAllString(dateForm.ReplaceAllString(text, ""), -1)
}

// beside lists what a row's other fields have of a kind, and its text has not.
func (e *editor) beside(of int, in func(text string) []string) (out []string) {
	for _, value := range e.rows[of].Values[1:] {
		out = append(out, in(value)...)
	}
	return slices.DeleteFunc(out, func(s string) bool { return strings.Contains(e.texts[of], s) })
}

// exchange puts is in the place of a word or name, wherever it stands by itself.
func exchange(text, was, is string) string {
	form := regexp.MustCompile(`(^|[^\p{L}\p{N}])` + regexp.QuoteMeta(was) + `($|[^\p{L}\p{N}])`)
	return form.ReplaceAllString(text, "${1}"+strings.ReplaceAll(is, "$", "$$")+"${2}")
}

// changeNumber puts another number in the place of one: one of the row's other fields, or one with another first digit.
func changeNumber(e *editor, of int) (string, bool) {
	was, ok := pickOf(e.rng, numbersIn(e.texts[of]))
	if !ok {
		return "", false
	}
	is, ok := pickOf(e.rng, e.beside(of, numbersIn))
	if !ok || e.rng.IntN(2) == 0 {
		at := max(strings.IndexAny(was, "123456789"), 0)
		digit := '1' + (int(was[at]-'0')+e.rng.IntN(8))%9 // any of 1 to 9 but the one that stands there
		is = was[:at] + string(rune(digit)) + was[at+1:]
	}
	return exchange(e.texts[of], was, is), true
}

// changeName puts a name of the row's other fields, or of another group's row, in the place of one.
func changeName(e *editor, of int) (string, bool) {
	was, ok := pickOf(e.rng, namesIn(e.texts[of]))
	if !ok {
		return "", false
	}
	others := e.beside(of, namesIn)
	if i, there := e.ofOther(of); there && (len(others) == 0 || e.rng.IntN(3) == 0) {
		others = namesIn(strings.Join(e.rows[i].Values, " "))
	}
	is, ok := pickOf(e.rng, slices.DeleteFunc(others, func(s string) bool { return shareWord(s, was) }))
	return exchange(e.texts[of], was, is), ok
}

// changeDate puts another month, weekday or year in the place of one.
func changeDate(e *editor, of int) (string, bool) {
	was, ok := pickOf(e.rng, dateForm.FindAllString(e.texts[of], -1))
	if !ok {
		return "", false
	}
	is := ""
	for _, list := range [][]string{months, weekdays} {
		if i := slices.Index(list, was); i >= 0 {
			is = list[(i+1+e.rng.IntN(len(list)-1))%len(list)]
		}
	}
	if year, err := strconv.Atoi(was); err == nil {
		is = strconv.Itoa(year + (1+e.rng.IntN(9))*(1-2*e.rng.IntN(2)))
	}
	return exchange(e.texts[of], was, is), true
}

// copyLead takes the first sentence or two of another field.
func copyLead(e *editor, of int) (string, bool) {
	var leads []string
	for _, value := range e.rows[of].Values[1:] {
		if found := sentenceForm.FindAllStringIndex(value, 2); len(longSentences(value)) > 0 {
			leads = append(leads, strings.TrimSpace(value[:found[e.rng.IntN(len(found))][1]]))
		}
	}
	return pickOf(e.rng, leads)
}

// extend goes on with one to three sentences of another group's row.
func extend(e *editor, of int) (string, bool) {
	i, ok := e.ofOther(of)
	other := e.rows[i].Values[0]
	found := longSentences(other)
	if !ok || len(found) == 0 {
		return "", false
	}
	from := e.rng.IntN(len(found))
	to := min(len(found)-1, from+e.rng.IntN(3))
	return between(strings.TrimSpace(e.texts[of]), other[found[from][0]:found[to][1]], ""), true
}
