package dataset

import (
	"slices"
	"strings"
	"testing"
)

// TestNameLabels: what somebody typed is a label however it is spelt, or a fault that names the nearest.
func TestNameLabels(t *testing.T) {
	task := questions(t)
	d := &Diagnosis{Labels: []string{"grammar error", " Vague", "copy"}}
	if err := d.NameLabels(task); err != nil ||
		!slices.Equal(d.Labels, []string{"Grammar Error", "Vague", "Unnecessary Copy from Passage"}) {
		t.Errorf("%q, %v", d.Labels, err)
	}
	d = &Diagnosis{Labels: []string{"Gramar Error", "Unklar", "vague"}}
	err := d.NameLabels(task)
	if err == nil || !strings.Contains(err.Error(), `no label "Gramar Error"; did you mean "Grammar Error"`) ||
		!slices.Equal(d.Labels, []string{"Gramar Error", "Unklar", "Vague"}) {
		t.Errorf("%q, %v", d.Labels, err)
	}
}

// TestNewTypes: a row that another version of the taxonomy was for, and that has probabilities, was not judged for the
// types without one.
func TestNewTypes(t *testing.T) {
	task := questions(t)
	for made, want := range map[string][]string{"question-generation@1.0": {"Vague"}, task.ID(): nil, "": nil} {
		d := Diagnosis{Taxonomy: made, Labels: []string{"Off Topic"}}
		for _, y := range task.Types {
			if y.Name != "Vague" && y.Name != "Off Topic" {
				d.Probabilities = append(d.Probabilities, Probability{y.Name, 0.1})
			}
		}
		if err := d.NameLabels(task); err != nil || !slices.Equal(d.NotJudged, want) {
			t.Errorf("%q: not judged %q, %v", made, d.NotJudged, err)
		}
	}
}
