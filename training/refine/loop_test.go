package refine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/review/exchange"
)

// tagger stands in for a model: it finds Wrong in every row, with a probability of its own.
type tagger struct {
	t     *testing.T
	jobs  []TagJob
	stale bool // the first file is said to be of another pool
}

func (g *tagger) tag(_ context.Context, job TagJob) error {
	g.jobs = append(g.jobs, job)
	if g.stale {
		g.stale = false
		return ErrTaggedOtherwise
	}
	var rows []*dataset.Row
	err := eachRow(g.t.Context(), job.Pool, notesTaxonomy(g.t), func(row *dataset.Row) error {
		rows = append(rows, row)
		return row.Set(dataset.ColumnDiagnosis, dataset.Diagnosis{
			Labels: []string{"Wrong"}, Model: "m@1", Taxonomy: "notes@1.0",
			Probabilities: dataset.Probabilities{{Label: "Wrong", P: 0.6}, {Label: "Long", P: 0.3}, {Label: "Fine", P: 0.4}}})
	})
	return errors.Join(err, os.WriteFile(job.Out, rowsText(rows), 0o666))
}

// TestLoop goes once around without the command line: what a step gives says what was done, and the next one finds it.
func TestLoop(t *testing.T) {
	w := newWorkspace(t)
	w.Config.Start = StartDefault
	var warned []string
	g := &tagger{t: t, stale: true}
	size := 2
	o := SelectOptions{Size: &size, Seed: 1, Command: "select", Tag: g.tag,
		Thresholds: func(context.Context, string) (string, map[string]float64, error) {
			return "m@1", map[string]float64{"Wrong": 0.5, "Long": 0.5}, nil
		},
		Warn: func(format string, _ ...any) { warned = append(warned, format) }}
	chosen, err := w.Select(t.Context(), o)
	if err != nil || chosen.Batch != "B001" || chosen.Items == 0 || chosen.Labels["Wrong"] != chosen.Items {
		t.Fatalf("%+v, %v", chosen, err)
	}
	if len(g.jobs) != 2 || g.jobs[0].Model != StartDefault || len(warned) != 1 || !strings.Contains(warned[0], "anew") {
		t.Errorf("%+v, %q", g.jobs, warned)
	}
	var waiting *WaitingError
	if _, err := w.Select(t.Context(), o); !errors.As(err, &waiting) || waiting.Batch != "B001" {
		t.Errorf("a second batch: %v", err)
	}
	if x, err := w.Explain(t.Context(), "a1", o); err != nil || !strings.Contains(x.Verdict, "not in the pool") {
		t.Errorf("%+v, %v", x, err)
	}
	var option *OptionError
	if _, err := w.Export(ExportOptions{Format: "docx"}); !errors.As(err, &option) {
		t.Errorf("docx: %v", err)
	}
	dir := t.TempDir()
	files, err := w.Export(ExportOptions{Format: exchange.JSONL, Dir: dir})
	if err != nil || len(files) != 1 || files[0].Items != chosen.Items {
		t.Fatalf("%+v, %v", files, err)
	}
	text, err := os.ReadFile(files[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "filled.jsonl"), strings.ReplaceAll(string(text), `"labels":null`, `"labels":["Long"]`))
	merged, err := w.Merge(MergeOptions{Files: []string{"anna=" + filepath.Join(dir, "filled.jsonl")}, Command: "merge"})
	if err != nil || !merged.New || merged.Train+merged.Random == 0 || len(merged.Conflicts) > 0 {
		t.Fatalf("%+v, %v", merged, err)
	}
	if _, err := w.RankQuality(t.Context(), QualityOptions{Method: "chance"}); !errors.As(err, &option) {
		t.Errorf("an unknown method: %v", err)
	}
	h, err := w.History()
	if err != nil || len(h.Batches) != 1 || !h.Batches[0].Merged || h.Report().Facts[0] != noIteration {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := h.Draw("svg"); err == nil {
		t.Error("a learning curve of nothing")
	}
	undone, err := w.Undo()
	if err != nil || undone.Step != StepMerge+"B001" || !slices.Contains(undone.Made, "batches/B001/merge.json") {
		t.Errorf("%+v, %v", undone, err)
	}
}
