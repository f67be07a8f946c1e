package scorer_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// Being vague, where that is sure, takes 0.19 of what a scale of 1 to 3 has above 1: its severity in the taxonomy.
func ExampleOffline() {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		log.Fatal(err)
	}
	offline, err := scorer.NewOffline(tax, scorer.OfflineOptions{})
	if err != nil {
		log.Fatal(err)
	}
	found := &dataset.Diagnosis{Labels: []string{"Vague"}}
	for _, label := range tax.Labels() {
		p := 0.0
		if label == "Vague" {
			p = 1
		}
		found.Probabilities = append(found.Probabilities, dataset.Probability{Label: label, P: p})
	}
	scores := offline.Judge(found)
	fmt.Println("clarity", *scores["clarity"].Value)
	fmt.Println("fluency", *scores["fluency"].Value)
	// Output:
	// clarity 2.62
	// fluency 3
}

// A judge is any llm.Client: that of llm/openai, decorated by llm.Retry, llm.Limit and llm/journal, or one of your own,
// as here. It is shown the errors found that bear on the dimension.
func ExamplePanel() {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		log.Fatal(err)
	}
	var client llm.ClientFunc = func(_ context.Context, r *llm.Request) (*llm.Reply, error) {
		verdict := 3
		if strings.Contains(r.Messages[1].Content, "- Vague: ") { // among the errors found
			verdict = 2
		}
		return &llm.Reply{Text: fmt.Sprintf(`{"reason": "As the criteria say.", "score": %d}`, verdict)}, nil
	}
	o := scorer.DefaultPanelOptions()
	o.Taxonomy = tax
	if o.Template, err = prompt.Builtin(prompt.Judge); err != nil {
		log.Fatal(err)
	}
	panel, err := scorer.NewPanel([]llm.Model{{Name: "mine", Model: "mine-1", Client: client, MaxTokens: 500}}, o)
	if err != nil {
		log.Fatal(err)
	}

	const file = `{"id": "q1", "question": "Who was she?", "answer": "Margaret Ovens", "passage": "The last keeper, Margaret Ovens, left.", "diagnosis": {"labels": ["Vague"]}}`
	rows := dataset.NewReader(strings.NewReader(file), "tagged.jsonl", dataset.Options{Taxonomy: tax})
	err = panel.Score(context.Background(), rows.Read, func(row *dataset.Row, scores map[string]*dataset.Score) error {
		fmt.Println(row.ID, "clarity", *scores["clarity"].Value, "fluency", *scores["fluency"].Value)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: q1 clarity 2 fluency 3
}

// A language model as identifier. What it says about the second row is no label of the taxonomy: the row is untagged.
func ExampleLabeller() {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		log.Fatal(err)
	}
	var client llm.ClientFunc = func(_ context.Context, r *llm.Request) (*llm.Reply, error) {
		if strings.Contains(r.Messages[1].Content, "Who was she?") {
			return &llm.Reply{Text: `{"reason": "Nobody is named before.", "labels": ["Vague"]}`}, nil
		}
		return &llm.Reply{Text: `{"reason": "It is dull.", "labels": ["Boring"]}`}, nil
	}
	o := scorer.DefaultLabellerOptions()
	o.Taxonomy = tax
	o.Examples = []prompt.Example{{Values: []string{"Who build it?", "Oke", "Oke built it."},
		Labels: []string{"Grammar Error"}}}
	if o.Template, err = prompt.Builtin(prompt.Identify); err != nil {
		log.Fatal(err)
	}
	labeller, err := scorer.NewLabeller(llm.Model{Name: "mine", Model: "mine-1", Client: client, MaxTokens: 500}, o)
	if err != nil {
		log.Fatal(err)
	}

	const file = `{"id": "q1", "question": "Who was she?", "answer": "Margaret Ovens", "passage": "The last keeper, Margaret Ovens, left."}
{"id": "q2", "question": "When did she leave?", "answer": "that autumn", "passage": "She left that autumn."}`
	rows := dataset.NewReader(strings.NewReader(file), "questions.jsonl", dataset.Options{Taxonomy: tax})
	err = labeller.Identify(context.Background(), rows.Read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		if d.Status == dataset.StatusUntagged {
			reason, details, _ := strings.Cut(d.Reason, ": ")
			fmt.Printf("%s is untagged: %s, %.8s\n", row.ID, reason, details)
			return nil
		}
		fmt.Println(row.ID, d.Labels)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// q1 [Vague]
	// q2 is untagged: unknown_label, "Boring"
}
