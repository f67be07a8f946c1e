package pairwise

import (
	"context"
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/pairwise/verdicts"
)

// BenchmarkPanel is what a question costs but for its call: the prompt, the reply, the verdict.
func BenchmarkPanel(b *testing.B) {
	o := options(b)
	o.Types = nil
	for _, y := range o.Taxonomy.Types {
		if !y.NoError {
			o.Types = append(o.Types, y.Name)
		}
	}
	o.Types = append(o.Types, verdicts.Overall)
	instant := llm.ClientFunc(func(context.Context, *llm.Request) (*llm.Reply, error) {
		return &llm.Reply{Text: `{"reason": "So.", "verdict": "first"}`}, nil
	})
	questions := 0
	for b.Loop() {
		if _, err := judgePairs(b, []llm.Model{judge("m", instant)}, o, 20); err != nil {
			b.Fatal(err)
		}
		questions += 20 * 2 * len(o.Types)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(questions), "µs/question")
}
