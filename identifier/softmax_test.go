package identifier_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// TestSoftmax: a row has the most probable label and no other; probabilities are those of softmax:
// torch.softmax(torch.tensor([1.0] + [0.0] * 8 + [2.0, 1.5]), 0) is 0.120336 at 0, 0.044269 at 1, 0.327108 at 9,
// 0.198401 at 10.
func TestSoftmax(t *testing.T) {
	for name, c := range map[string]struct {
		at         int // of the largest logit
		threshold  float64
		want       []string
		top, other float64
	}{
		"an error":               {9, 0, []string{"Off Target Answer"}, 0.327108, 0.044269},
		"below its threshold":    {9, 0.33, []string{"No Error"}, 0.327108, 0.044269},
		"no error":               {10, 0, []string{"No Error"}, 0.327108, 0.044269},
		"above a low threshold":  {9, 0.05, []string{"Off Target Answer"}, 0.327108, 0.044269},
		"overflows in one's way": {9, 0, []string{"Off Target Answer"}, 1, 0},
	} {
		m := open(t, "bert", models.JoinFields)
		m.Manifest.Activation = models.Softmax
		for label := range m.Manifest.Thresholds {
			m.Manifest.Thresholds[label] = c.threshold
		}
		r := fake(func(_ context.Context, _ identifier.Input, logits []float32) error {
			clear(logits)
			logits[0], logits[19-c.at], logits[c.at] = 1, 1.5, 2
			if c.top == 1 {
				logits[c.at] = 800
			}
			return nil
		})
		id, err := identifier.New(m, questions(t), r, identifier.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		d, err := id.Tag(t.Context(), "Who?", "Oke", "Oke.")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Labels, c.want) {
			t.Errorf("%s: labels are %q, want %q", name, d.Labels, c.want)
		}
		for at, want := range map[int]float64{c.at: c.top, 1: c.other} {
			if got := d.Probabilities[at].P; math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: probability %d is %v, want %v", name, at, got, want)
			}
		}
	}
}

// TestNothingJudged: a model whose only label cannot be judged gives no label of its own.
func TestNothingJudged(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	m.Manifest.Activation = models.Softmax
	task := questions(t)
	for i := range task.Types {
		if !task.Types[i].NoError {
			task.Types[i].Needs = []string{"answer"}
		}
	}
	labels := m.Manifest.Labels
	m.Manifest.Labels, m.Manifest.Probes = labels[:10], nil // all but No Error
	delete(m.Manifest.Thresholds, labels[10])
	r := fake(func(_ context.Context, _ identifier.Input, logits []float32) error { clear(logits); return nil })
	id, err := identifier.New(m, task, r, identifier.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	d, err := id.Tag(t.Context(), "Who?", "", "Oke.")
	if err != nil || len(d.NotJudged) != 10 || !slices.Equal(d.Labels, []string{"No Error"}) {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestNotJudged: without an answer nothing is said of Off Target Answer, whatever its logit, and the other labels are
// as before.
func TestNotJudged(t *testing.T) {
	for _, activation := range []string{models.Sigmoid, models.Softmax} {
		m := open(t, "bert", models.JoinFields)
		m.Manifest.Activation = activation
		for label := range m.Manifest.Thresholds {
			m.Manifest.Thresholds[label] = 0.1
		}
		r := fake(func(_ context.Context, _ identifier.Input, logits []float32) error {
			for i := range logits {
				logits[i] = -4
			}
			logits[9], logits[4] = 3, 2 // Off Target Answer, Vague
			return nil
		})
		id, err := identifier.New(m, questions(t), r, identifier.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []string{"", " \n"} {
			d, err := id.Tag(t.Context(), "Who was she?", answer, "Margaret Ovens kept the light.")
			if err != nil {
				t.Fatal(err)
			}
			if _, given := d.Probabilities.Get("Off Target Answer"); given || !slices.Equal(d.NotJudged,
				[]string{"Off Target Answer"}) ||
				!slices.Equal(d.Labels, []string{"Vague"}) || len(d.Probabilities) != 10 {
				t.Errorf("%s, answer %q: got %+v", activation, answer, d)
			}
		}
		d, err := id.Tag(t.Context(), "Who was she?", "Ovens", "Margaret Ovens kept the light.")
		if err != nil {
			t.Fatal(err)
		}
		if d.NotJudged != nil || !slices.Contains(d.Labels, "Off Target Answer") {
			t.Errorf("%s, with an answer: got %+v", activation, d)
		}
		// What the manifest leaves out stands beside what this row lacks, in the taxonomy's order.
		m.Manifest.NotJudged = []string{"Vague"}
		if id, err = identifier.New(m, questions(t), r, identifier.DefaultOptions()); err != nil {
			t.Fatal(err)
		}
		if d, err = id.Tag(t.Context(), "Who was she?", "", "Margaret Ovens kept the light."); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.NotJudged, []string{"Vague", "Off Target Answer"}) || len(d.Probabilities) != 9 {
			t.Errorf("%s, without Vague: got %+v", activation, d)
		}
		// So does a type that the model does not know.
		task := questions(t)
		task.Types = append(task.Types, taxonomy.Type{Name: "Too Easy", Code: "Easy", Definition: "Anybody can answer it."})
		if id, err = identifier.New(m, task, r, identifier.DefaultOptions()); err != nil {
			t.Fatal(err)
		}
		if d, err = id.Tag(t.Context(), "Who was she?", "Ovens", "Margaret Ovens kept the light."); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.NotJudged, []string{"Vague", "Too Easy"}) {
			t.Errorf("%s, with a new type: got %+v", activation, d)
		}
	}
}

// TestCounts: what is counted in the question is added to the logits of the labels that the manifest says, and weights of
// what is not counted are refused.
func TestCounts(t *testing.T) {
	m := open(t, "bert", models.JoinFields)
	m.Manifest.Counts = map[string]map[string]float64{"Vague": {"logit": 0.5, "bias": -1, "repeated": 8}}
	r := fake(func(_ context.Context, _ identifier.Input, logits []float32) error { clear(logits); return nil })
	id, err := identifier.New(m, questions(t), r, identifier.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{"Who was she?": -1, "who who WHO Who?": 5} { // 3 of 4 words stand before
		d, err := id.Tag(t.Context(), text, "Ovens", "Margaret Ovens kept the light.")
		if err != nil {
			t.Fatal(err)
		}
		vague, _ := d.Probabilities.Get("Vague")
		other, _ := d.Probabilities.Get("Off Topic")
		if math.Abs(vague-1/(1+math.Exp(-want))) > 1e-12 || other != 0.5 {
			t.Errorf("%s: Vague %v, Off Topic %v; want the logits %v and 0", text, vague, other, want)
		}
	}
	m.Manifest.Counts["Vague"]["vowels"] = 1
	if _, err := identifier.New(m, questions(t), r, identifier.DefaultOptions()); err == nil ||
		!strings.Contains(err.Error(), `counts of "Vague": "vowels" is not counted; there are alike`) {
		t.Errorf("got %v", err)
	}
}
