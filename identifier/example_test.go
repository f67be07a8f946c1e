package identifier_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
	"github.com/erreval/erreval/taxonomy"
)

// The default model looks at rows. libraryPath is where ONNX Runtime's shared library lies: the command "erreval setup
// --quiet" fetches it and prints the path.
func Example() {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		log.Fatal(err)
	}
	model, err := models.OpenFS(embedded.Default(), "default", tax) // models.Open reads one from a folder
	if err != nil {
		log.Fatal(err)
	}
	o := ort.DefaultOptions()
	o.Library, o.Inputs, o.Output = libraryPath(), model.Manifest.Inputs, model.Manifest.Output
	runner, err := ort.Open(model, o)
	if err != nil {
		log.Fatal(err)
	}
	defer runner.Close()
	id, err := identifier.New(model, tax, runner, identifier.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}

	const file = `{"id": "q1", "question": "When was the gallery added?", "answer": "1911", "passage": "The wooden gallery was added in 1911."}
{"id": "q2", "question": "Who was she?", "answer": "Margaret Ovens", "passage": "The last keeper, Margaret Ovens, left that autumn."}`
	rows := dataset.NewReader(strings.NewReader(file), "questions.jsonl", dataset.Options{Taxonomy: tax})
	err = id.Identify(context.Background(), rows.Read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		fmt.Println(row.ID, d.Labels)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// q1 [No Error]
	// q2 [Vague]
}

// Whatever computes logits can be a Runner; this one is sure of one label.
func ExampleRunner() {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		log.Fatal(err)
	}
	model, err := models.Open("testdata/bert", tax)
	if err != nil {
		log.Fatal(err)
	}
	runner := fake(func(_ context.Context, _ identifier.Input, logits []float32) error {
		for i := range logits {
			logits[i] = -4
		}
		logits[4] = 2
		return nil
	})
	id, err := identifier.New(model, tax, runner, identifier.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	d, err := id.Tag(context.Background(), "Why did he do it?", "because of the tide", "The pilots waited for the tide.")
	if err != nil {
		log.Fatal(err)
	}
	p, _ := d.Probabilities.Get("Vague")
	fmt.Printf("%s %.2f\n", d.Labels, p)
	// Output: [Vague] 0.88
}
