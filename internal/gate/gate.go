// Package gate checks counts against limits that the user writes, such as "Factual Error>5%".
package gate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Subjects that are not labels.
const (
	Any       = "any"        // tagged rows with at least one error
	Untagged  = "untagged"   // rows without a diagnosis
	Truncated = "truncated"  // tagged rows that were truncated
	Rejected  = "rejected"   // lines that could not be read
	NotJudged = "not_judged" // tagged rows without what an error needs; of several errors, of the one with most
)

// Gate is one limit: the run fails when the expression holds.
type Gate struct {
	Text    string // as written
	Subject string // a label, or one of the constants
	Op      string // ">", ">=", "<" or "<="
	Share   bool   // Limit is a share, 0 to 1; else a number of rows
	Limit   float64
}

var expression = regexp.MustCompile(`^\s*(.+?)\s*(>=|<=|>|<)\s*([0-9.]+)\s*(%?)\s*$`)

// Parse reads an expression. label turns a label's name or code into its name.
//
// A limit with a percent sign or a decimal point is a share; a whole number counts rows.
func Parse(text string, label func(string) (string, bool)) (Gate, error) {
	m := expression.FindStringSubmatch(text)
	if m == nil {
		return Gate{}, fmt.Errorf(`%q: write it as NAME>LIMIT, as in "Factual Error>5%%", "any>=0.2" or "untagged>0", `+
			`the limit 0 or more`, text)
	}
	g := Gate{Text: text, Op: m[2], Share: m[4] == "%" || strings.Contains(m[3], ".")}
	var err error
	if g.Limit, err = strconv.ParseFloat(m[3], 64); err != nil {
		return Gate{}, fmt.Errorf("%q: %s is no number", text, m[3])
	}
	if m[4] == "%" {
		g.Limit /= 100
	}
	if g.Share && g.Limit > 1 {
		return Gate{}, fmt.Errorf("%q: a share is at most 1, or 100%%; a number of rows has no decimal point", text)
	}
	name, ok := parseSubject(m[1], label)
	if !ok {
		return Gate{}, fmt.Errorf("%q: there is no error type %q; besides error types there are %s, %s, %s, %s and %s",
			text, m[1], Any, Untagged, Truncated, NotJudged, Rejected)
	}
	g.Subject = name
	return g, nil
}

func parseSubject(name string, label func(string) (string, bool)) (string, bool) {
	if found, ok := label(name); ok {
		return found, true
	}
	switch lower := strings.ToLower(name); lower {
	case Any, Untagged, Truncated, NotJudged, Rejected:
		return lower, true
	}
	return "", false
}

// Counts are the numbers that gates check.
type Counts struct {
	Rows         int // tagged or not
	Tagged       int
	Untagged     int
	Truncated    int // of the tagged ones
	WithoutError int // of the tagged ones
	Rejected     int
	// more lines may have been rejected when a file was made, of which nothing tells
	RejectedUnknown bool
	Labels          map[string]int // tagged rows with each label, the label of rows without error included
	NotJudged       map[string]int // tagged rows in which a label could not be judged; absent is 0
	Unit            string         // what Labels count, for messages; "" is "tagged rows"
	NoError         string         // the label of rows without an error
	Named           map[string]Named
}

// Named is what a subject counts that is no row, such as the error types that are more frequent than before.
type Named struct {
	Names     []string
	Of        int      // among so many
	Unit      string   // of these, such as "error types"
	NotJudged []string // of these, such as "Vague (2 of 5 rows)"
	Unknown   bool     // whether one of those not judged is among Names is not known: the gate is missed
	Few       string   // why nothing could be among Names; "" if it could: the gate is missed
}

// Result is the result of a gate.
type Result struct {
	Gate   string `json:"gate"`   // as written
	Missed bool   `json:"missed"` // the expression holds, or cannot be decided
	Rows   int    `json:"rows"`   // that it is about
	Of     int    `json:"of"`     // rows (or lines) among which they were counted
	// tagged rows that lack what the error needs, besides Of; of all errors, among Of, those that lack most
	NotJudged int      `json:"not_judged,omitempty"`
	Share     *float64 `json:"share"`  // Rows/Of; null if Of is 0
	Limit     float64  `json:"limit"`  // share or rows
	Reason    string   `json:"reason"` // a sentence
}

// Check decides a gate. Where there is nothing to count among, nothing is known: the gate is missed.
func (g Gate) Check(c Counts) Result {
	n, of, what := g.countRows(c)
	r := Result{Gate: g.Text, Rows: n, Of: of, NotJudged: c.NotJudged[g.Subject], Limit: g.Limit}
	notJudgedFor := ""
	if g.Subject == Any || g.Subject == c.NoError {
		r.NotJudged, notJudgedFor = c.mostNotJudged()
	}
	if of > 0 {
		share := float64(n) / float64(of)
		r.Share = &share
	}
	if of == 0 {
		r.Missed, r.Reason = true, fmt.Sprintf("%s: there are no %s to count among", g.Subject, what)
		return r
	}
	value := float64(n)
	if g.Share {
		value = *r.Share
	}
	named, ok := c.Named[g.Subject]
	r.Missed = g.isMissedBy(value) || named.Unknown || named.Few != ""
	r.Reason = g.describeResult(r, value, what, notJudgedFor)
	if ok {
		r.Reason = g.describeNamed(r, value, named)
	}
	if g.Subject == Rejected && c.RejectedUnknown && !r.Missed {
		r.Missed = true
		r.Reason += ": missed, as no run record (OUT.run.json) says what was rejected when the file was made"
	}
	return r
}

const (
	taggedRows = "tagged rows"
	judgedRows = "rows that were judged for it"
)

func (g Gate) countRows(c Counts) (n, of int, what string) {
	switch g.Subject {
	case Any:
		return c.Tagged - c.WithoutError, c.Tagged, cmp.Or(c.Unit, taggedRows)
	case Truncated:
		return c.Truncated, c.Tagged, cmp.Or(c.Unit, taggedRows)
	case Untagged:
		return c.Untagged, c.Rows, "rows"
	case NotJudged:
		most, _ := c.mostNotJudged()
		return most, c.Tagged, cmp.Or(c.Unit, taggedRows)
	case Rejected:
		return c.Rejected, c.Rows + c.Rejected, "lines"
	}
	if named, ok := c.Named[g.Subject]; ok && c.Tagged > 0 {
		return len(named.Names), named.Of, named.Unit
	}
	left := c.NotJudged[g.Subject]
	if left > 0 {
		return c.Labels[g.Subject], c.Tagged - left, judgedRows
	}
	return c.Labels[g.Subject], c.Tagged, cmp.Or(c.Unit, taggedRows)
}

// mostNotJudged is the label that could not be judged in most rows, and their number.
func (c *Counts) mostNotJudged() (most int, label string) {
	for _, name := range slices.Sorted(maps.Keys(c.NotJudged)) {
		if n := c.NotJudged[name]; n > most {
			most, label = n, name
		}
	}
	return most, label
}

// nearly is the tolerance for the rounding of decimal limits: 5% of 20 rows is 1 row.
const nearly = 1e-12

func (g Gate) isMissedBy(value float64) bool {
	equal := math.Abs(value-g.Limit) <= nearly
	switch g.Op {
	case ">":
		return value > g.Limit && !equal
	case ">=":
		return value > g.Limit || equal
	case "<":
		return value < g.Limit && !equal
	}
	return value < g.Limit || equal
}

// describeResult is "Vague: 12 of 100 tagged rows (12.0 %), fails if > 5 %: missed by 7 points". notJudgedFor is the
// error that r.NotJudged is about, where it is not the subject.
func (g Gate) describeResult(r Result, value float64, what, notJudgedFor string) string {
	found := fmt.Sprintf("%s: %d of %d %s", g.Subject, r.Rows, r.Of, what)
	if r.Share != nil {
		found += fmt.Sprintf(" (%.1f %%)", 100**r.Share)
	}
	if r.NotJudged > 0 {
		found += fmt.Sprintf(", %d not judged", r.NotJudged)
		if notJudgedFor != "" {
			found += " for " + notJudgedFor
		}
	}
	return found + ", " + g.describeLimit(r, value)
}

// shownNames is how many names a result lists.
const shownNames = 10

// describeNamed is "grown: 2 of 10 error types: Vague, Off Topic; fails if > 0: missed by 2".
func (g Gate) describeNamed(r Result, value float64, n Named) string {
	found := fmt.Sprintf("%s: %d of %d %s", g.Subject, r.Rows, r.Of, n.Unit)
	if len(n.Names) > 0 {
		found += ": " + strings.Join(n.Names[:min(len(n.Names), shownNames)], ", ")
	}
	if more := len(n.Names) - shownNames; more > 0 {
		found += fmt.Sprintf(" and %d more", more)
	}
	if len(n.NotJudged) > 0 {
		found += "; not judged: " + strings.Join(n.NotJudged, ", ")
	}
	if n.Few != "" && !g.isMissedBy(value) {
		return found + "; missed, as that cannot be decided: " + n.Few
	}
	return found + "; " + g.describeLimit(r, value)
}

// describeLimit is "fails if > 5 %: missed by 7 points".
func (g Gate) describeLimit(r Result, value float64) string {
	limit, by, scale := "%.4g", "%.4g", 1.0
	if g.Share {
		limit, by, scale = "%.4g %%", "%.3g points", 100
	}
	text := "fails if " + g.Op + " " + fmt.Sprintf(limit, scale*g.Limit)
	switch {
	case g.isMissedBy(value):
		text += ": missed by " + fmt.Sprintf(by, scale*math.Abs(value-g.Limit))
	case r.Missed:
		text += ": missed, as it is not known of all of them"
	}
	return text
}

// CheckAll decides all gates. Without gates the list is empty, not nil, for JSON.
func CheckAll(gates []Gate, c Counts) []Result {
	results := make([]Result, len(gates))
	for i, g := range gates {
		results[i] = g.Check(c)
	}
	return results
}
