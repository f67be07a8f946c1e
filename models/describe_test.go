package models_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/models"
)

// eleven is a checkpoint as the paper's are: labels without names.
func eleven() *models.Classifier {
	c := &models.Classifier{Architecture: "roberta", Problem: "multi_label_classification", MaxTokens: 512,
		Inputs: []string{"input_ids", "attention_mask"}, Output: "logits"}
	for i := range 11 {
		c.Labels = append(c.Labels, fmt.Sprintf("LABEL_%d", i))
	}
	return c
}

func named(labels ...string) *models.Classifier {
	c := eleven()
	c.Labels = labels
	return c
}

func TestDescribeLabels(t *testing.T) {
	for name, c := range map[string]struct {
		classifier *models.Classifier
		spec       string
		want       []string
	}{
		"the taxonomy's order": {eleven(), "taxonomy", questions(t).Labels()},
		"names as they are":    {named("Vague", "Off Topic"), "", []string{"Vague", "Off Topic"}},
		"a list": {named("a", "b", "c"), "No Error, Vague,Off Topic",
			[]string{"No Error", "Vague", "Off Topic"}},
		"pairs": {named("a", "Vague", "c"), "c = No Error,a=Off Topic", []string{"Off Topic", "Vague", "No Error"}},
	} {
		m, err := models.Describe(c.classifier, questions(t), models.Choices{Name: "x", Version: "1", Labels: c.spec})
		if err != nil || !slices.Equal(m.Labels, c.want) {
			t.Errorf("%s: got %v, %v; want %v", name, m, err, c.want)
		}
	}
}

func TestDescribeRefuses(t *testing.T) {
	with := func(problem, architecture string) *models.Classifier {
		c := named("Vague")
		c.Problem, c.Architecture = problem, architecture
		return c
	}
	multi := "multi_label_classification"
	for name, c := range map[string]struct {
		classifier *models.Classifier
		spec, want string
	}{
		"placeholders":        {eleven(), "", `"LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3", and 7 more`},
		"placeholders, order": {eleven(), "", "import the model with --labels taxonomy"},
		"too many":            {named("a", "b"), "taxonomy", "names 11 error types, but the model has 2 labels (a, b)"},
		"too few":             {eleven(), "Vague,Off Topic", "names 2 error types, but the model has 11 labels"},
		"twice":               {named("a", "b"), "Vague,Vague", "each once"},
		"a pair of nothing": {named("a", "b"), "c=Vague",
			`"c=Vague": write it as LABEL=NAME with one of the model's labels (a, b)`},
		"a pair and a name": {named("a", "b"), "a=Vague,Off Topic", `"Off Topic": write it as LABEL=NAME`},
		"half a mapping":    {named("a", "b"), "a=Vague", `no error type "b"`},
		"unknown type":      {named("a"), "Rude", `no error type "Rude"; its types are`},
		"one unknown name":  {named("Vague", "rude"), "", `--labels "rude=Incomplete"`},
		"no problem_type":   {with("", "bert"), "", "--activation sigmoid"},
		"regression":        {with("regression", "bert"), "", "gives no labels"},
		"architecture":      {with(multi, "t5"), "", `model_type "t5"`},
	} {
		_, err := models.Describe(c.classifier, questions(t), models.Choices{Name: "x", Version: "1", Labels: c.spec})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}

// TestDescribeFamilies: special tokens as transformers gives them, and what a softmax starts from.
func TestDescribeFamilies(t *testing.T) {
	for architecture, want := range map[string]string{
		"bert": "[CLS] [SEP] [SEP] [PAD]", "distilbert": "[CLS] [SEP] [SEP] [PAD]", "deberta-v2": "[CLS] [SEP] [SEP] [PAD]",
		"roberta": "<s> </s> </s> <pad>", "xlm-roberta": "<s> </s> </s> <pad>",
	} {
		c := named("Vague", "No Error")
		c.Architecture, c.Problem = architecture, "single_label_classification"
		m, err := models.Describe(c, questions(t), models.Choices{Name: "x", Version: "1",
			Thresholds: map[string]float64{"Vague": 0.3}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join([]string{m.Start, m.Separator, m.End, m.Pad}, " "); got != want {
			t.Errorf("%s: special tokens are %s, want %s", architecture, got, want)
		}
		if m.Activation != models.Softmax || m.Join != models.JoinFields || m.Thresholds["Vague"] != 0.3 ||
			m.Thresholds["No Error"] != 0 {
			t.Errorf("%s: got %+v", architecture, m)
		}
	}
}
