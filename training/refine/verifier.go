package refine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/simulate"
)

// RightLabels is a verifier's only label: the set that it was shown is right for the row.
const RightLabels = "Right Labels"

// labelsField is the field before the task's own in which a verifier reads the label set.
const labelsField = "labels"

// VerifierTask is the task of a verifier for rows of t: the label set and the row's fields in, RightLabels out.
func VerifierTask(t *taxonomy.Taxonomy) *taxonomy.Taxonomy {
	return &taxonomy.Taxonomy{
		Name: t.Name + "-verifier", Version: t.Version, Title: "Label sets of " + t.Title,
		Fields: append([]taxonomy.Field{{Name: labelsField,
			Definition: "the labels that were given, in the taxonomy's order"}}, t.Fields...),
		Types: []taxonomy.Type{{Name: RightLabels, Code: "Right", Category: "Labels",
			Definition: "The label set is right for the row."}},
	}
}

// VerifierValues are the texts of a row and a label set, in the order of VerifierTask's fields.
func VerifierValues(t *taxonomy.Taxonomy, labels, values []string) []string {
	var names []string
	for _, name := range t.Labels() {
		if slices.Contains(labels, name) {
			names = append(names, name)
		}
	}
	return append([]string{strings.Join(names, ", ")}, values...)
}

// verifierRows are the rows that a verifier learns from or is measured on. What the identifier found in known rows
// teaches which mistakes it makes; of them only those in wanted are given.
func (w *Workspace) verifierRows(wanted, known []simulate.Judged) ([]*dataset.Row, error) {
	k := float64(w.Config.Train.Negatives)
	o := simulate.VerifierOptions{Taxonomy: w.Taxonomy, Seed: uint64(w.Config.Train.Seed), Negatives: k / (k + 1)}
	keep := map[*dataset.Row]bool{}
	for _, j := range wanted {
		keep[j.Row] = true
	}
	var out []*dataset.Row
	err := simulate.Verifier(append(slices.Clone(wanted), known...), o, func(v simulate.VerifierRow) error {
		if !keep[v.Row] {
			return nil
		}
		row, err := v.Record(w.Taxonomy, len(out))
		if err != nil {
			return err
		}
		row.ID, row.Values = fmt.Sprintf("%s~v%d", v.Row.ID, len(out)), VerifierValues(w.Taxonomy, v.Labels, v.Row.Values)
		out = append(out, row)
		return nil
	})
	return out, err
}

// measureVerifier asks the verifier about label sets of which it is known whether they are right.
func measureVerifier(ctx context.Context, o *TrainOptions, dir string, task *taxonomy.Taxonomy,
	rows []*dataset.Row) (*VerifierScores, error) {
	found, id, err := o.Identify(ctx, dir, task, rows)
	if err != nil {
		return nil, err
	}
	s, hit, said, agree := &VerifierScores{Model: id, Rows: len(rows)}, 0, 0, 0
	for i, row := range rows {
		raw, _ := row.Get("right")
		right, yes := string(raw) == "1", slices.Contains(found[i].Labels, RightLabels)
		s.Right += count(right)
		said += count(yes)
		hit += count(right && yes)
		agree += count(right == yes)
	}
	s.Accuracy, s.Precision, s.Recall = ratio(agree, s.Rows), ratio(hit, said), ratio(hit, s.Right)
	s.F1 = ratio(2*hit, said+s.Right)
	return s, nil
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// ratio is 0 where there is nothing to divide by, as in internal/stats.
func ratio(a, b int) report.Number {
	if b == 0 {
		return 0
	}
	return report.Number(float64(a) / float64(b))
}
