package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/selection"
)

func verifierFlag() cli.Flag {
	return &cli.StringFlag{Name: "verifier",
		Usage: "also ask this `MODEL` (one that refine train made) whether the labels found are right; its answer goes to the column verification"}
}

// verifier is a second model, which is shown a row beside the labels that the first one found.
type verifier struct {
	model      *models.Model
	taxonomy   *taxonomy.Taxonomy // of the rows
	identifier *identifier.Identifier
}

// openVerifier opens the model for rows of t.
func (r *identifyRun) openVerifier(ctx context.Context, o identifier.Options) (closeRunner func() error, err error) {
	v := &verifier{taxonomy: r.taxonomy}
	task := refine.VerifierTask(r.taxonomy)
	if v.model, err = r.e.openModel(ctx, r.o.Verifier, "", task); err != nil {
		return nil, fmt.Errorf("--verifier %s cannot be used (erreval refine train makes verifiers): %w", r.o.Verifier, err)
	}
	o.Thresholds, o.LabelsOnly = nil, false
	id, runner, err := r.e.openIdentifier(ctx, v.model, task, r.o.Device, r.o.Library, o, r.e.Warn)
	if err != nil {
		return nil, err
	}
	v.identifier, r.verifier = id, v
	return runner.Close, nil
}

// record names the verifier, or is nil.
func (v *verifier) record() *runrecord.Artefact {
	if v == nil {
		return nil
	}
	return &runrecord.Artefact{ID: v.model.Manifest.ID(), SHA256: v.model.SHA256}
}

// tag finds the errors in rows, and verifies them where there is a verifier.
func (r *identifyRun) tag(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row, *dataset.Diagnosis) error) error {
	if r.verifier == nil {
		return r.identifier.Identify(ctx, next, emit)
	}
	return r.verifier.follow(ctx, r.identifier, next, emit)
}

// tagged is a row on its way from one model to the other.
type tagged struct {
	row       *dataset.Row
	diagnosis *dataset.Diagnosis
}

// follow runs the verifier behind first; both keep the order of the rows.
func (v *verifier) follow(ctx context.Context, first *identifier.Identifier, next func() (*dataset.Row, error),
	emit func(*dataset.Row, *dataset.Diagnosis) error) error {
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
	var under waiting
	err := v.identifier.Identify(ctx, func() (*dataset.Row, error) {
		t, ok := <-found
		if !ok {
			return nil, io.EOF
		}
		under.push(t)
		return &dataset.Row{ID: t.row.ID, Values: refine.VerifierValues(v.taxonomy, t.diagnosis.Labels, t.row.Values)}, nil
	}, func(_ *dataset.Row, answer *dataset.Diagnosis) error {
		t := under.pop()
		return errors.Join(v.note(t, answer), emit(t.row, t.diagnosis))
	})
	cancel()
	firstErr := g.Wait()
	if err != nil {
		return err
	}
	return firstErr
}

// note sets the row's columns; labels that nobody gave cannot be verified.
func (v *verifier) note(t tagged, answer *dataset.Diagnosis) error {
	p, ok := answer.Probabilities.Get(refine.RightLabels)
	if !ok || t.diagnosis.Status != "" {
		return nil
	}
	return errors.Join(t.row.SetDiagnosis(t.diagnosis),
		t.row.Set(selection.ColumnVerification, selection.Verification{Probability: p, Model: answer.Model}))
}

// waiting are the rows that the verifier is at, in order.
type waiting struct {
	mu   sync.Mutex
	rows []tagged
}

func (w *waiting) push(t tagged) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rows = append(w.rows, t)
}

func (w *waiting) pop() tagged {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.rows[0]
	w.rows = w.rows[1:]
	return t
}
