package stages

import (
	"context"
	"errors"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/selection"
)

// Local is a model on this machine that finds errors.
type Local struct {
	Model      *models.Model
	Identifier *identifier.Identifier
	Verifier   *Verifier // a second model, or nil
	Device     string
	Workers    int
	LabelsOnly bool
}

// Verifier is a model that is shown a row beside the labels that the first one found.
type Verifier struct {
	Model      *models.Model
	Identifier *identifier.Identifier // by refine.VerifierTask
}

// localOptions is the options part of OUT.run.json: as they took effect, without names of folders.
type localOptions struct {
	Device     string                `json:"device"`
	Join       string                `json:"join"`
	Map        map[string]string     `json:"map"` // field to column
	Thresholds dataset.Probabilities `json:"thresholds"`
	Limit      int                   `json:"limit"`
	Workers    int                   `json:"workers"`
	LabelsOnly bool                  `json:"labels_only"`
	Verifier   *runrecord.Artefact   `json:"verifier,omitempty"`
}

// Local tags the rows of all inputs with a local model.
func (i *Identify) Local(ctx context.Context, l *Local) error {
	r, s := i.Run, i.stage()
	s.Model = &runrecord.Artefact{ID: l.Model.Manifest.ID(), SHA256: l.Model.SHA256}
	options := localOptions{Device: l.Device, Join: l.Model.Manifest.Join, Map: r.Columns,
		Thresholds: l.Identifier.Thresholds(), Limit: r.Limit, Workers: l.Workers, LabelsOnly: l.LabelsOnly}
	if v := l.Verifier; v != nil {
		options.Verifier = &runrecord.Artefact{ID: v.Model.Manifest.ID(), SHA256: v.Model.SHA256}
	}
	s.Options = options
	s.Work = func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		// The first interruption ends the reading; what is in flight is finished and kept.
		ctx = context.WithoutCancel(ctx)
		if l.Verifier != nil {
			return l.Verifier.follow(ctx, i.Taxonomy, l.Identifier, next, emit)
		}
		return l.Identifier.Identify(ctx, next, func(row *dataset.Row, d *dataset.Diagnosis) error {
			return emitWith(row, d, emit)
		})
	}
	return i.all(r.All(ctx, s), s, nil)
}

// tagged is a row on its way from one model to the other.
type tagged struct {
	row       *dataset.Row
	diagnosis *dataset.Diagnosis
}

// follow runs the verifier behind first; both keep the order of the rows.
func (v *Verifier) follow(ctx context.Context, t *taxonomy.Taxonomy, first *identifier.Identifier,
	next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan tagged)
	var g errgroup.Group
	g.Go(func() error {
		defer close(found)
		return first.Identify(ctx, next, func(row *dataset.Row, d *dataset.Diagnosis) error {
			select {
			case found <- tagged{row, d}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	var pending queue
	err := v.Identifier.Identify(ctx, func() (*dataset.Row, error) {
		f, ok := <-found
		if !ok {
			return nil, io.EOF
		}
		pending.push(f)
		return &dataset.Row{ID: f.row.ID, Values: refine.VerifierValues(t, f.diagnosis.Labels, f.row.Values)}, nil
	}, func(_ *dataset.Row, answer *dataset.Diagnosis) error {
		f := pending.pop()
		if err := f.verify(answer); err != nil {
			return err
		}
		return emitWith(f.row, f.diagnosis, emit)
	})
	cancel()
	firstErr := g.Wait()
	if err != nil {
		return err
	}
	return firstErr
}

// verify sets the verifier's answer; labels that nobody gave cannot be verified.
func (f tagged) verify(answer *dataset.Diagnosis) error {
	p, ok := answer.Probabilities.Get(refine.RightLabels)
	if !ok || f.diagnosis.Status != "" {
		return nil
	}
	return errors.Join(f.row.SetDiagnosis(f.diagnosis), // the column before
		f.row.Set(selection.ColumnVerification, selection.Verification{Probability: p, Model: answer.Model}))
}

// emitWith emits a row with its diagnosis.
func emitWith(row *dataset.Row, d *dataset.Diagnosis, emit func(*dataset.Row) error) error {
	if err := row.SetDiagnosis(d); err != nil {
		return err
	}
	return emit(row)
}

// queue are the rows that the verifier is at, in order.
type queue struct {
	mu   sync.Mutex
	rows []tagged
}

func (q *queue) push(t tagged) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rows = append(q.rows, t)
}

func (q *queue) pop() tagged {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := q.rows[0]
	q.rows = q.rows[1:]
	return t
}
