package importing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
)

// Verification is the result of the comparison with recorded logits.
type Verification struct {
	Reference string  `json:"reference"` // name of the file
	Rows      int     `json:"rows"`
	Worst     float64 `json:"largest_difference"` // of a logit
	Tolerance float64 `json:"tolerance"`
}

// Tolerances of --verify, in logits: those that fp32 and fp16 are made to keep, and the cost that quantising may have.
var tolerances = map[string]float64{convert.FP32: 1e-4, "": 1e-4, convert.FP16: 2e-2, convert.INT8: 0.5}

// reference is what training/record_logits.py records.
type reference struct {
	Rows []struct {
		ID     string            `json:"id"`
		Fields map[string]string `json:"fields"`
		Logits []float32         `json:"logits"`
	} `json:"rows"`
}

func readReference(file string, m *models.Manifest) (*reference, error) {
	data, err := regularfile.Read(file, regularfile.MaxRows)
	if err != nil {
		return nil, err
	}
	ref := &reference{}
	if err := json.Unmarshal(data, ref); err != nil {
		return nil, models.UnfitErrorf("%s is no reference of training/record_logits.py: %w", file, err)
	}
	var errs []error
	if len(ref.Rows) == 0 {
		errs = append(errs, errors.New("it holds no rows"))
	}
	for i, row := range ref.Rows {
		if len(row.Logits) != len(m.Labels) {
			errs = append(errs, fmt.Errorf("row %d (%s) has %d logits for %d labels",
				i+1, row.ID, len(row.Logits), len(m.Labels)))
		}
		for _, field := range m.Fields {
			if _, ok := row.Fields[field]; !ok {
				errs = append(errs, fmt.Errorf("row %d (%s) lacks the field %q", i+1, row.ID, field))
			}
		}
		if len(errs) > 0 {
			return nil, models.UnfitErrorf("%s: %w; record it from this checkpoint with training/record_logits.py",
				file, errors.Join(errs...))
		}
	}
	return ref, errors.Join(errs...)
}

// compareReference compares the model with logits that were recorded in Python.
func (r *importer) compareReference(ctx context.Context, m *models.Model, id *identifier.Identifier) error {
	if r.o.Verify == "" {
		return nil
	}
	ref, err := readReference(r.o.Verify, &m.Manifest)
	if err != nil {
		return err
	}
	v := &Verification{Reference: filepath.Base(r.o.Verify), Rows: len(ref.Rows),
		Tolerance: cmp.Or(r.o.Tolerance, tolerances[m.Manifest.Precision])}
	worst := ""
	for _, row := range ref.Rows {
		logits, _, err := id.Examine(ctx, row.Fields)
		if err != nil {
			return models.UnfitErrorf("%s: row %s: %w", r.o.Verify, row.ID, err)
		}
		if diff := identifier.LargestDifference(logits, row.Logits); !(diff <= v.Worst) || worst == "" {
			v.Worst, worst = diff, row.ID
		}
	}
	r.report.Verified = v
	if !(v.Worst <= v.Tolerance) {
		return models.UnfitErrorf("%s: a logit of row %s differs by %.2g from the recorded one (tolerance %g), so nothing "+
			"was imported; "+
			"check --join and --segments, or allow it with --tolerance", r.o.Verify, worst, v.Worst, v.Tolerance)
	}
	return nil
}
