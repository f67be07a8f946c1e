package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/verdicts"
)

const (
	maxText = 200 // code points of RowSummary.Text
	maxWord = 64  // code points of a word that count
)

// foldRune is a code point without case.
func foldRune(r rune) rune {
	if r = unicode.ToLower(r); r == 'ς' {
		return 'σ'
	}
	return r
}

// eachWord calls f for every word of a text, folded and cut.
func eachWord(text string, f func(word string)) {
	var word []byte
	n := 0
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsNumber(r):
			if n > 0 {
				f(string(word))
			}
			word, n = word[:0], 0
		case n < maxWord:
			word, n = utf8.AppendRune(word, foldRune(r)), n+1
		}
	}
	if n > 0 {
		f(string(word))
	}
}

// wordsOf are the words of texts, each once, sorted.
func wordsOf(texts ...string) []string {
	var all []string
	for _, text := range texts {
		eachWord(text, func(word string) { all = append(all, word) })
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fieldTexts are the texts of a field in a row (see Field); nil where the row has no such column.
func fieldTexts(row *dataset.Row, field, column string) (texts []string) {
	if raw, ok := row.Get(column); ok {
		return []string{valueText(raw)}
	}
	for _, side := range []string{"_a", "_b"} {
		if raw, ok := row.Get(field + side); ok {
			texts = append(texts, valueText(raw))
		}
	}
	return texts
}

// valueText is the text in a value: see Field.
func valueText(raw json.RawMessage) string {
	for range 4 {
		var object struct {
			Text json.RawMessage `json:"text"`
		}
		var list []json.RawMessage
		switch {
		case raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' || raw[0] == 't' || raw[0] == 'f':
			return dataset.PlainText(raw)
		case raw[0] == '{' && json.Unmarshal(raw, &object) == nil && object.Text != nil:
			raw = object.Text
		case raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 0:
			raw = list[0]
		default:
			return ""
		}
	}
	return ""
}

// beginningOf is the beginning of texts beside each other, as of a pair.
func beginningOf(texts []string) string { return words.First(strings.Join(texts, " | "), maxText) }

// setTexts sets what follows from the task's fields.
func (p *preparer) setTexts(r *prepared, row *dataset.Row) {
	r.idHash = hashOf("id", r.id)
	r.groupHash, r.inputHash = r.idHash, hashOf("row", strconv.Itoa(p.run), r.id)
	r.fields = map[string]string{}
	all := []string{r.id}
	if p.task == nil {
		r.words = wordsOf(all...)
		return
	}
	var inputs []string
	judged, said := false, false
	for i, field := range p.task.Fields {
		texts := fieldTexts(row, field.Name, cmp.Or(p.columns[field.Name], field.Name))
		all = append(all, texts...)
		joined := strings.Join(texts, "")
		given := joined // as it was read, such as a conversation without the response
		if len(row.Values) == len(p.task.Fields) {
			given = row.Values[i]
		}
		if field.Group && len(texts) == 1 && given != "" {
			r.groupHash = hashOf("group", given)
		}
		if i == 0 {
			judged, r.text = len(texts) == 1, beginningOf(texts)
			continue
		}
		if said = said || given != ""; joined != "" {
			r.fields[field.Name] = beginningOf(texts)
		}
		inputs = append(inputs, given)
	}
	if judged && said {
		r.inputHash = hashOf("input", inputs...)
	}
	if item, ok := row.Get(verdicts.Item); ok && !judged && r.groupHash == r.idHash {
		if text := valueText(item); text != "" {
			r.groupHash = hashOf("group", text)
		}
	}
	r.words = wordsOf(all...)
}
