package report

import (
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

// thresholdFacts say them: once where they are the same, else of each file, and that they differ.
func thresholdFacts(of []Thresholds) (facts []string) {
	if len(of) == 0 {
		return nil
	}
	if !thresholdsDiffer(of) {
		return []string{"thresholds: " + of[0].text}
	}
	for _, t := range of {
		facts = append(facts, "thresholds of "+t.File+": "+t.text)
	}
	return append(facts, differingThresholds)
}

const differingThresholds = "the thresholds differ, and with them what is found in the same rows"

func thresholdsDiffer(of []Thresholds) bool {
	return slices.ContainsFunc(of, func(t Thresholds) bool { return t.text != of[0].text })
}
