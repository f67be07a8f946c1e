package comparing

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/pairwise"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/taxonomy"
)

const samples = "../../../testdata/samples/"

// TestPairsAndRatings: 3 systems on 20 inputs make 60 pairs, and people's verdicts on them rate the systems.
func TestPairsAndRatings(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	files, err := run.FileOptions{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p := &run.Process{Err: &said}
	m := &MakePairs{Process: p, Rows: run.Rows{Files: files, Taxonomy: task}, Input: samples + "outputs.jsonl",
		Output: filepath.Join(t.TempDir(), "pairs.jsonl"), System: "system", By: task.GroupField(),
		Design: pairwise.DesignOptions{Design: pairwise.All}}
	if n, left, err := m.Run(t.Context()); n != 60 || left != nil || err != nil {
		t.Errorf("%d pairs, %v, %v", n, left, err)
	}
	k := &Rank{Process: p, Taxonomy: task, Rows: run.Rows{Files: files, Taxonomy: run.WithoutFields(task)},
		Inputs: []string{samples + "pairs_rated.jsonl"}, Types: []string{verdicts.Overall}, Columns: OwnColumns(),
		Ratings: RatingOptions{Options: leaderboard.DefaultOptions()}}
	k.Columns.Verdicts = []string{"person_1", "person_2", "person_3"}
	c, faults, err := k.Compute(t.Context())
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	if main := c.Main(); c.Systems != 3 || c.Items != 20 || main.Games == 0 || main.Rows[0].Rank != 1 {
		t.Errorf("%d systems on %d items: %+v", c.Systems, c.Items, main)
	}
}
