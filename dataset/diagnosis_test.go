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
