package refine

import (
	"context"
	"errors"
	"fmt"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/training/simulate"
)

// threshold chooses the identifier's thresholds, and gives what it finds with them in the rows that chose.
func (t *training) threshold(ctx context.Context, model string) ([]*dataset.Diagnosis, error) {
	rows := t.choosing()
	found, id, err := t.o.Identify(ctx, model, t.w.Taxonomy, rows.rows)
	if err != nil {
		return nil, err
	}
	t.metrics.Model = id
	t.metrics.Thresholds = chooseThresholds(t.w.Taxonomy, rows, found, t.w.Config.Promote.MinSupport)
	if err := t.o.SetThresholds(model, t.metrics.Thresholds); err != nil {
		return nil, err
	}
	found, _, err = t.o.Identify(ctx, model, t.w.Taxonomy, rows.rows)
	return found, err
}

// verifier trains and measures the verifier. The mistakes that the identifier makes on rows it was not trained on are among
// those that the verifier learns to see.
func (t *training) verifier(ctx context.Context, found []*dataset.Diagnosis) error {
	known, wanted := judged(t.choosing(), found), judged(&t.train, nil)
	train, err := t.w.verifierRows(wanted, known)
	if err != nil {
		return err
	}
	dev, err := t.w.verifierRows(known, nil)
	if err != nil {
		return err
	}
	trainFile, devFile := t.rowsFile("verifier-train"), t.rowsFile("verifier-dev")
	if err := errors.Join(wholefile.Write(trainFile, rowsText(train)), wholefile.Write(devFile, rowsText(dev))); err != nil {
		return err
	}
	task := VerifierTask(t.w.Taxonomy)
	model, err := t.make(ctx, TaskVerifier, "verifier", task, trainFile, devFile)
	if err != nil {
		return err
	}
	t.metrics.Verifier, err = measureVerifier(ctx, t.o, model, task, dev)
	return err
}

func judged(l *labelled, found []*dataset.Diagnosis) []simulate.Judged {
	out := make([]simulate.Judged, len(l.rows))
	for i, row := range l.rows {
		out[i] = simulate.Judged{Row: row, Labels: l.labels[i]}
		if found != nil {
			out[i].Diagnosis = found[i]
		}
	}
	return out
}

// measure compares the new model with the one in use, on the same rows. What it finds in the rows that chose is known.
func (t *training) measure(ctx context.Context, model string, chosen []*dataset.Diagnosis) error {
	before := t.w.ModelOf(t.before)
	for _, part := range []struct {
		rows *labelled
		to   **Evaluation
	}{{&t.dev, &t.metrics.Dev}, {&t.random, &t.metrics.Random}} {
		if len(part.rows.rows) == 0 {
			continue
		}
		found, err := chosen, error(nil)
		if part.rows != t.choosing() {
			if found, _, err = t.o.Identify(ctx, model, t.w.Taxonomy, part.rows.rows); err != nil {
				return err
			}
		}
		var earlier []*dataset.Diagnosis
		if before != "" {
			if earlier, t.metrics.Before, err = t.o.Identify(ctx, before, t.w.Taxonomy, part.rows.rows); err != nil {
				return fmt.Errorf("the model in use, %s: %w", before, err)
			}
		}
		e, err := t.w.evaluate(ctx, part.rows, found, earlier, t.groups)
		if err != nil {
			return err
		}
		*part.to = e
	}
	if t.metrics.Dev == nil {
		t.metrics.Random.SameAsDev = true
	}
	return nil
}

// decide promotes by the rule of the settings, on the rows of Measured.
func (t *training) decide() {
	m, p := &t.metrics, t.w.Config.Promote
	f := m.Measured().Figures[p.Metric]
	switch {
	case f == nil:
		m.Promoted, m.Why = t.before < 0 && m.Before == "", fmt.Sprintf("%s is not defined on these rows: too few of each label", p.Metric)
	case f.Difference == nil:
		m.Promoted, m.Why = true, fmt.Sprintf("it is the first model: %s %.3f", p.Metric, float64(f.Value))
	default:
		d := f.Difference
		better := d.Value > 0
		if p.Rule == RuleInterval {
			better = d.Low > 0
		}
		m.Promoted = better
		m.Why = fmt.Sprintf("%s %.3f against %.3f of %s on the same %d rows, %+.3f [%+.3f, %+.3f]; by the rule %q it is %s", p.Metric,
			float64(f.Value), float64(d.Before), m.Before, m.Measured().Rows, float64(d.Value), float64(d.Low), float64(d.High), p.Rule,
			map[bool]string{true: "promoted", false: "not promoted, and the one before stays in use"}[better])
		if t.before < 0 { // a model trained here had its thresholds chosen on these rows, too
			m.Why += "; its thresholds and epoch were chosen on these rows and those of the model to start from were not, which favours it"
		}
	}
}
