package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Thresholds are those of error types in the run that tagged a file.
type Thresholds struct {
	File  string                `json:"file"`
	Types dataset.Probabilities `json:"types"`

	text string
}

// NewThresholds are those of a file whose rows are of a task.
func NewThresholds(file string, types dataset.Probabilities, t *taxonomy.Taxonomy) Thresholds {
	var parts []string
	for _, y := range t.Types {
		if p, ok := types.Get(y.Name); ok && !y.NoError {
			parts = append(parts, fmt.Sprintf("%s %g", y.Code, p))
		}
	}
	return Thresholds{file, types, strings.Join(parts, ", ")}
}

// addThresholds says them: once where they are the same, else of each file, and what follows.
func (r *Report) addThresholds(of []Thresholds) {
	differ := differingThresholds(of)
	switch {
	case !isAnyKnown(of):
		return
	case differ == "":
		r.Method = append(r.Method, "thresholds: "+of[0].text)
		return
	}
	for _, t := range of {
		r.Facts = append(r.Facts, "thresholds of "+t.File+": "+cmp.Or(t.text, "not known"))
	}
	r.Facts = append(r.Facts, differ)
}

func doDiffer(of []Thresholds) bool {
	return slices.ContainsFunc(of, func(t Thresholds) bool { return t.text != of[0].text })
}

func isAnyKnown(of []Thresholds) bool {
	return slices.ContainsFunc(of, func(t Thresholds) bool { return t.text != "" })
}

// differingThresholds says what follows where they differ, or where those of a file are not known; "" where they are
// the same.
func differingThresholds(of []Thresholds) string {
	switch is := func(text string) bool {
		return slices.ContainsFunc(of, func(t Thresholds) bool { return t.text == text })
	}; {
	case is(""):
		return "not all thresholds are known: where they differ, so does what is found in the same rows"
	case doDiffer(of):
		return "the thresholds differ, and with them what is found in the same rows"
	}
	return ""
}
