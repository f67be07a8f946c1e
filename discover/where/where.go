// Package where chooses rows by conditions that people write: score.fluency<2, label=Vague, system=B.
package where

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
)

// Condition is one that a row meets or does not.
type Condition struct {
	Text string // as written

	subject, key string
	op           string
	value        string
	number       float64
	isNumber     bool
}

// Subjects besides columns.
const (
	label       = "label"       // a label of the diagnosis
	issue       = "issue"       // id of an issue that was discovered
	score       = "score"       // score.DIMENSION
	probability = "probability" // probability.LABEL
)

var expression = regexp.MustCompile(`^\s*([^=<>!]+?)\s*(!=|<=|>=|=|<|>)\s*(.*?)\s*$`)

// Parse reads conditions, all of which rows have to meet.
func Parse(texts []string) ([]Condition, error) {
	var out []Condition
	for _, text := range texts {
		c, err := parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func parse(text string) (Condition, error) {
	m := expression.FindStringSubmatch(text)
	if m == nil {
		return Condition{}, fmt.Errorf("%q: write it as COLUMN=VALUE, label=NAME, issue=ID, score.DIMENSION<NUMBER or "+
			"probability.LABEL>=NUMBER", text)
	}
	c := Condition{Text: text, op: m[2], value: m[3], subject: m[1]}
	if name, key, ok := strings.Cut(m[1], "."); ok && (name == score || name == probability) {
		c.subject, c.key = name, key
	}
	number, err := strconv.ParseFloat(c.value, 64)
	c.number, c.isNumber = number, err == nil
	switch {
	case (c.subject == label || c.subject == issue) && c.op != "=" && c.op != "!=":
		return c, fmt.Errorf("%q: a row has the %s or it has not; write %s=%s or %s!=%s", text, c.subject, c.subject,
			c.value, c.subject, c.value)
	case !c.isNumber && (strings.ContainsAny(c.op, "<>") || c.key != ""):
		return c, fmt.Errorf("%q: %q is no number", text, c.value)
	}
	return c, nil
}

// Match tells whether the row meets all conditions. What a row does not say meets none, not even !=.
func Match(conditions []Condition, row *dataset.Row) (bool, error) {
	for i := range conditions {
		ok, err := conditions[i].match(row)
		if !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *Condition) match(row *dataset.Row) (bool, error) {
	switch c.subject {
	case label:
		d, err := row.Diagnosis()
		if err != nil || d == nil || d.Status != "" {
			return false, err
		}
		has := slices.ContainsFunc(d.Labels, func(name string) bool { return strings.EqualFold(name, c.value) })
		return has == (c.op == "="), nil
	case issue:
		f, err := issues.Of(row)
		if err != nil || f == nil || !f.IsKnown() {
			return false, err
		}
		return slices.Contains(f.IDs, c.value) == (c.op == "="), nil
	case score:
		scores, err := row.Scores()
		if err != nil || scores[c.key] == nil || scores[c.key].Value == nil {
			return false, err
		}
		return c.compare(*scores[c.key].Value), nil
	case probability:
		d, err := row.Diagnosis()
		if err != nil || d == nil {
			return false, err
		}
		p, ok := d.Probabilities.Get(c.key)
		return ok && c.compare(p), nil
	}
	return c.matchColumn(row), nil
}

func (c *Condition) matchColumn(row *dataset.Row) bool {
	raw, ok := row.Get(c.subject)
	if !ok {
		return false
	}
	text := dataset.PlainText(raw)
	if number, err := strconv.ParseFloat(text, 64); err == nil && c.isNumber {
		return c.compare(number)
	}
	return !strings.ContainsAny(c.op, "<>") && (dataset.CleanName(text) == dataset.CleanName(c.value)) == (c.op == "=")
}

func (c *Condition) compare(x float64) bool {
	switch c.op {
	case "<":
		return x < c.number
	case "<=":
		return x <= c.number
	case ">":
		return x > c.number
	case ">=":
		return x >= c.number
	case "!=":
		return x != c.number
	}
	return x == c.number
}
