package scoring

import (
	"testing"

	"github.com/erreval/erreval/dataset"
)

// TestAgreementIsOfTheValues: with both modes, judges agree or not in the one that makes the score's value.
func TestAgreementIsOfTheValues(t *testing.T) {
	run := func(judge, mode string, v float64) dataset.Run {
		return dataset.Run{Judge: judge, Mode: mode, Value: &v}
	}
	vanilla, aware := dataset.ModeVanilla, dataset.ModeErrorAware
	for _, c := range []struct {
		score  dataset.Score
		differ int
	}{
		// means: 2 and 2
		{dataset.Score{Runs: []dataset.Run{run("a", vanilla, 1), run("a", aware, 3), run("b", vanilla, 2),
			run("b", aware, 2)}}, 1},
		// means: 2 and 3
		{dataset.Score{Runs: []dataset.Run{run("a", vanilla, 1), run("a", aware, 3), run("b", vanilla, 3),
			run("b", aware, 3)}}, 0},
	} {
		a := &agreement{}
		if a.add(&c.score, aware); *a != (agreement{Scores: 1, Differ: c.differ}) {
			t.Errorf("%+v: %+v", c.score, *a)
		}
	}
}
