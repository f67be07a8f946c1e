package evaluation_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/evaluation"
	"github.com/erreval/erreval/taxonomy"
)

// Labels found against gold labels in the same file. By hand: four of five rows are right, so over all labels there are
// 4 true positives, 1 false one and 1 miss, and the micro-F1 is 2·4 ÷ (2·4 + 1 + 1). Always saying No Error is right in
// 3 rows.
func Example() {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		log.Fatal(err)
	}
	const file = `
{"id":"1","question":"When?","answer":"x","passage":"A","labels":["Vague"],"diagnosis":{"labels":["Vague"]}}
{"id":"2","question":"Who?","answer":"x","passage":"A","labels":["Vague"],"diagnosis":{"labels":["Vague"]}}
{"id":"3","question":"Where is it?","answer":"x","passage":"B","labels":["No Error"],"diagnosis":{"labels":["Vague"]}}
{"id":"4","question":"What is it?","answer":"x","passage":"B","labels":["No Error"],"diagnosis":{"labels":["No Error"]}}
{"id":"5","question":"Whose?","answer":"x","passage":"C","labels":["No Error"],"diagnosis":{"labels":["No Error"]}}`
	rows := func() func() (*dataset.Row, error) { // dataset.Open reads a file of any format
		return dataset.NewReader(strings.NewReader(file[1:]), "tagged.jsonl", dataset.Options{Taxonomy: tax}).Read
	}

	o := evaluation.DefaultLabelOptions(tax)
	o.Intervals.Resamples = 0 // three passages tell too little
	labels, err := evaluation.NewLabels(o)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := labels.ReadGold(ctx, "tagged.jsonl", rows()); err != nil {
		log.Fatal(err)
	}
	if err := labels.ReadPredictions(ctx, "tagged.jsonl", rows()); err != nil {
		log.Fatal(err)
	}
	r, err := labels.ComputeReport(ctx) // r.Report().Text(os.Stdout, 0) would print all of it
	if err != nil {
		log.Fatal(err)
	}
	found := r.Predictions[0]
	fmt.Println("micro-F1", found.Metrics["micro_f1"].Text("%.2f"))
	fmt.Println("always", r.Baseline.Labels, r.Baseline.Metrics["micro_f1"].Text("%.2f"))
	fmt.Println("difference", found.MinusBaseline["micro_f1"].Text("%+.2f"))
	fmt.Println("exact match", found.Metrics["exact_match"].Text("%.2f"))
	// Output:
	// micro-F1 0.80
	// always [No Error] 0.60
	// difference +0.20
	// exact match 0.80
}
