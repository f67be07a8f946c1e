package identifier_test

import (
	"context"
	"fmt"
	"log"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// Any Runner will do; identifier/ort has the one that runs ONNX graphs:
//
//	o := ort.DefaultOptions()
//	o.Library, o.Inputs, o.Output = "/path/to/libonnxruntime.so", model.Manifest.Inputs, model.Manifest.Output
//	runner, err := ort.New(model.Graph, o)
func Example() {
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
