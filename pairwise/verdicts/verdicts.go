// Package verdicts is what "erreval compare" finds, as it stands in files. It says for each pair of texts, by error
// type and overall, which of the two is better, in the column "verdicts".
package verdicts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// Columns of a pair.
const (
	Column  = dataset.ColumnVerdicts // a Set
	Item    = "item"                 // what both texts were written for; pairs of one item stand and fall together
	SystemA = "system_a"
	SystemB = "system_b"
	// DiagnosisA and DiagnosisB are what an identifier found in either text.
	DiagnosisA = "diagnosis_a"
	DiagnosisB = "diagnosis_b"
)

// Overall is the name under which texts are compared as wholes, beside the names of error types.
const Overall = "Overall"

// Values of a verdict.
const (
	A        = "A"         // the first system's text is better
	B        = "B"         // the second one's is
	BothGood = "both_good" // neither does badly
	BothBad  = "both_bad"  // both do
)

// Values are all of them.
func Values() []string { return []string{A, B, BothGood, BothBad} }

// Unjudged marks a verdict without a value. It is never a tie.
const Unjudged = "unjudged"

// Reasons for Unjudged, besides those of replies that cannot be read (see package reply).
const (
	Inconsistent = "inconsistent" // the runs do not agree, as Reconcile demands
	NotJudged    = "not_judged"   // the texts lack a field without which nobody can say
	Untagged     = "untagged"     // offline: there are no labels to go by
	NoVerdict    = "no_verdict"   // of people: nobody gave one
	Settled      = "settled"      // it was not asked about: the order of the systems is known already
	Unread       = "unread"       // of others' verdicts: it is in no known notation, such as "error"
)

// Ways to make one verdict of several runs.
const (
	Agree    = "agree"    // all runs that have a value say the same
	Majority = "majority" // more runs say so than say anything else
)

// Orders in which two texts are shown.
const (
	OrderAB = "ab"
	OrderBA = "ba"
)

// Set is a pair's verdicts by error type and Overall.
type Set map[string]*Verdict

// Verdict is that on a pair by one error type, or overall.
type Verdict struct {
	Value  string `json:"value,omitempty"`  // one of Values; empty where Status is set
	Status string `json:"status,omitempty"` // Unjudged, or empty
	Reason string `json:"reason,omitempty"` // why unjudged
	Runs   []Run  `json:"runs,omitempty"`   // one a call
	// Offline is what the labels of both texts say where a model judged, for comparison; empty is not known.
	Offline string `json:"offline,omitempty"`
}

// Run is one judgement.
type Run struct {
	Judge       string `json:"judge"`            // name of the model; "offline" for labels
	Mode        string `json:"mode"`             // vanilla or error-aware
	Order       string `json:"order,omitempty"`  // OrderAB or OrderBA: which text was shown first
	Prompt      string `json:"prompt,omitempty"` // template, by its place: "1", "2"
	Repeat      int    `json:"repeat,omitempty"` // of equal judgements, from 0
	Value       string `json:"value,omitempty"`  // in terms of A and B, whichever was shown first
	Status      string `json:"status,omitempty"` // Unjudged, or empty
	Reason      string `json:"reason,omitempty"`
	Explanation string `json:"explanation,omitempty"` // the judge's own words
}

// Reconcile sets the verdict by its runs.
func (v *Verdict) Reconcile(how string) {
	count := map[string]int{}
	judged := 0
	for _, r := range v.Runs {
		if r.Value != "" {
			count[r.Value]++
			judged++
		}
	}
	v.Value, v.Status, v.Reason = "", "", ""
	if judged == 0 {
		v.Status = Unjudged
		if len(v.Runs) > 0 {
			v.Reason = v.Runs[0].Reason
		}
		return
	}
	best, most, shared := "", 0, false
	for _, value := range Values() {
		switch n := count[value]; {
		case n > most:
			best, most, shared = value, n, false
		case n == most && n > 0:
			shared = true
		}
	}
	if shared || how == Agree && most < judged {
		v.Status, v.Reason = Unjudged, Inconsistent
		return
	}
	v.Value = best
}

// ByMode are the verdicts by the runs of each mode alone, by majority; modes without a verdict are left out.
func (v *Verdict) ByMode() map[string]string {
	runs := map[string]*Verdict{}
	for _, r := range v.Runs {
		if runs[r.Mode] == nil {
			runs[r.Mode] = &Verdict{}
		}
		runs[r.Mode].Runs = append(runs[r.Mode].Runs, r)
	}
	out := map[string]string{}
	for mode, of := range runs {
		if of.Reconcile(Majority); of.Value != "" {
			out[mode] = of.Value
		}
	}
	return out
}

// Lost counts the runs that gave no value.
func (v *Verdict) Lost() (n int) {
	for _, r := range v.Runs {
		if r.Value == "" {
			n++
		}
	}
	return n
}

// HasOneOrder tells whether a judgement was asked for in both orders and answered in one alone, on which the verdict
// then stands.
func (v *Verdict) HasOneOrder() bool {
	type question struct {
		judge, mode, prompt string
		repeat              int
	}
	asked, answered := map[question]int{}, map[question]int{}
	for _, r := range v.Runs {
		q := question{r.Judge, r.Mode, r.Prompt, r.Repeat}
		if asked[q]++; r.Value != "" {
			answered[q]++
		}
	}
	for q, n := range asked {
		if n == 2 && answered[q] == 1 && v.Value != "" {
			return true
		}
	}
	return false
}

// Swapped is a value where the two texts change places.
func Swapped(value string) string {
	switch value {
	case A:
		return B
	case B:
		return A
	}
	return value
}

// Of reads a pair's verdicts; nil without an error if the column is absent or null.
func Of(row *dataset.Row) (Set, error) {
	raw, err := row.Object(Column)
	if raw == nil || err != nil {
		return nil, err
	}
	var s Set
	err = json.Unmarshal(raw, &s)
	for name, v := range s {
		if err == nil {
			err = v.validate(name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("row %s: column %q: %w", row.ID, Column, err)
	}
	return s, nil
}

func (v *Verdict) validate(name string) error {
	switch {
	case v == nil:
		return fmt.Errorf("%q is null", name)
	case v.Status != "" && v.Status != Unjudged:
		return fmt.Errorf("%q: unknown status %q; it is %q or absent", name, v.Status, Unjudged)
	case (v.Value == "") == (v.Status == ""):
		return fmt.Errorf("%q: either a value or the status %q is expected", name, Unjudged)
	case v.Value != "" && !slices.Contains(Values(), v.Value):
		return fmt.Errorf("%q: the value %q is none of %v", name, v.Value, Values())
	}
	if v.Offline != "" && !slices.Contains(Values(), v.Offline) {
		return fmt.Errorf("%q: the value %q by the labels is none of %v", name, v.Offline, Values())
	}
	for _, r := range v.Runs {
		if r.Value != "" && !slices.Contains(Values(), r.Value) {
			return fmt.Errorf("%q: a run's value %q is none of %v", name, r.Value, Values())
		}
	}
	return nil
}

// ErrInconsistent says that a verdict differed between two orders, as FastChat writes it.
var ErrInconsistent = errors.New("the verdict is inconsistent")

// Parse reads a verdict as people and other programs write it: A, B, both_good, both_bad; 1 and 2 for the first and the
// second; 0 and tie for a tie, which is taken for both good; FastChat's model_1, [[A]], [[C]] (a tie) and tie
// (inconsistent), which is ErrInconsistent; or the name of the better system. Empty is none.
func Parse(text, systemA, systemB string) (string, error) {
	text = strings.TrimSpace(text)
	folded := strings.ToLower(text)
	switch systemA, systemB := strings.TrimSpace(systemA), strings.TrimSpace(systemB); {
	case folded == "" || folded == "null":
		return "", nil
	case text == systemA && text != systemB:
		return A, nil
	case text == systemB && text != systemA:
		return B, nil
	}
	switch strings.NewReplacer(" ", "_", "-", "_").Replace(folded) {
	case "a", "1", "1.0", "first", "[[a]]", "model_1", "model_a", "system_a", "response_a", "assistant_a",
		"a_is_better":
		return A, nil
	case "b", "2", "2.0", "second", "[[b]]", "model_2", "model_b", "system_b", "response_b", "assistant_b",
		"b_is_better":
		return B, nil
	case "0", "0.0", "[[c]]", "tie", "both", "equal", "both_good", "both_are_good":
		return BothGood, nil
	case "both_bad", "both_are_bad", "bothbad", "tie_(bothbad)", "neither":
		return BothBad, nil
	case "tie_(inconsistent)", "inconsistent":
		return "", ErrInconsistent
	}
	return "", fmt.Errorf("%.40q is no verdict; write A, B, both_good or both_bad, 1, 2 or 0, or a system's name", text)
}
