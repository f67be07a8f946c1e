package importing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/fileerror"
	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
)

// SelfCheck is what an import finds on its sample rows; a manifest keeps it among its quality.
type SelfCheck struct {
	Rows int            `json:"rows"`
	FP32 *PrecisionCost `json:"against_fp32,omitempty"` // nil where there is no other graph to compare with
	// Export is the largest difference of a logit between the rewritten fp32 graph and the export's own.
	Export *float64 `json:"against_export,omitempty"`
}

// PrecisionCost is what another precision than fp32 costs.
type PrecisionCost struct {
	Decisions int     `json:"decisions"`         // labels decided on, over all rows
	Flipped   int     `json:"flipped_decisions"` // of those, decided differently from fp32
	Shift     float64 `json:"largest_shift"`     // of a logit
}

// probeTolerance is how far another machine's logits may differ in the precisions whose rounding depends on the
// processor. If quantising changed a model's logits by more, that larger difference is allowed.
const probeTolerance = 2e-2

// openDraft opens the draft like any model, or its fp32 graph if it has a second one.
func (r *importer) openDraft(ctx context.Context, fp32 bool) (*models.Model, error) {
	m, err := local.UnlessInterrupted(ctx, func() (*models.Model, error) {
		m, err := models.Open(r.draft.Dir, r.o.Taxonomy)
		if err == nil && fp32 && m.HasFallback() {
			m, err = m.Fallback()
		}
		return m, err
	})
	if err != nil {
		return nil, r.hideDraft(err)
	}
	return m, nil
}

// verdict is the result of a graph for a row.
type verdict struct {
	logits []float32
	labels []string
}

// examineDraft opens the draft like any user of it, runs the sample rows and the reference, and completes the manifest.
func (r *importer) examineDraft(ctx context.Context) error {
	m, err := r.openDraft(ctx, false)
	if err != nil {
		return err
	}
	m.Source = r.manifest.Name
	if !r.given {
		r.manifest.Version = m.SHA256[:12]
		m.Manifest.Version = r.manifest.Version
	}
	var want []verdict
	rows := sampleRows(m.Manifest.Fields, m.Manifest.MaxTokens)
	if m.HasFallback() && !r.given {
		if want, err = r.runFallback(ctx, m, rows); err != nil {
			return err
		}
	}
	r.log("checking it on %d sample rows", len(rows))
	return r.withIdentifier(ctx, m, func(id *identifier.Identifier, _ *ort.Runner) error {
		return r.checkDraft(ctx, m, id, rows, want)
	})
}

// checkDraft runs the sample rows and the reference. want is the fp32 graph's result for the sample rows, nil without
// such a graph.
func (r *importer) checkDraft(ctx context.Context, m *models.Model, id *identifier.Identifier, rows []map[string]string,
	want []verdict) error {
	got, err := runRows(ctx, id, rows)
	if err != nil {
		return err
	}
	r.report.Check = compareVerdicts(r.errorTypes(), got, want)
	r.report.Check.Export = r.fromExport
	if r.given {
		if _, err := id.Check(ctx); err != nil {
			return models.UnfitErrorf("model %s: %w", m.Manifest.ID(), err)
		}
	}
	if err := r.compareReference(ctx, m, id); err != nil {
		return err
	}
	if !r.given {
		r.writeProbes(rows, got)
	}
	return nil
}

// runFallback runs the fp32 graph, and then removes it unless the options keep it.
func (r *importer) runFallback(ctx context.Context, m *models.Model, rows []map[string]string) ([]verdict, error) {
	twin, err := local.UnlessInterrupted(ctx, m.Fallback)
	if err != nil {
		return nil, r.hideDraft(err)
	}
	var out []verdict
	err = r.withIdentifier(ctx, twin, func(id *identifier.Identifier, _ *ort.Runner) (err error) {
		out, err = runRows(ctx, id, rows)
		return err
	})
	if err != nil || r.o.KeepFP32 {
		return out, err
	}
	folder := path.Dir(models.FallbackFile)
	for name := range r.manifest.Files {
		if path.Dir(name) == folder {
			delete(r.manifest.Files, name)
		}
	}
	return out, os.RemoveAll(filepath.Join(r.draft.Dir, folder))
}

func (r *importer) withIdentifier(ctx context.Context, m *models.Model,
	f func(*identifier.Identifier, *ort.Runner) error) (err error) {
	id, runner, err := r.o.Machine.NewIdentifier(ctx, m, r.o.Taxonomy, ort.Options{Device: "cpu", Library: r.o.Library},
		identifier.DefaultOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	return f(id, runner)
}

// runRows gives the verdict on each row. A logit that is no finite number is an error.
func runRows(ctx context.Context, id *identifier.Identifier, rows []map[string]string) ([]verdict, error) {
	out := make([]verdict, len(rows))
	for i, row := range rows {
		logits, d, err := id.Examine(ctx, row)
		if err != nil {
			return nil, models.UnfitErrorf("the self-check fails on sample row %d: %w", i+1, err)
		}
		if d.Status == dataset.StatusUntagged {
			return nil, models.UnfitErrorf("the self-check fails on sample row %d: %s; the checkpoint is damaged or its "+
				"training went wrong", i+1, d.Reason)
		}
		out[i] = verdict{logits, d.Labels}
	}
	return out, nil
}

// errorTypes are the labels that the model decides on: all but No Error.
func (r *importer) errorTypes() []string {
	return slices.DeleteFunc(slices.Clone(r.manifest.Labels), func(label string) bool {
		i, ok := r.o.Taxonomy.Index(label)
		return ok && r.o.Taxonomy.Types[i].NoError
	})
}

// compareVerdicts counts the decisions in which two graphs of one model differ.
func compareVerdicts(errorTypes []string, got, want []verdict) SelfCheck {
	if want == nil {
		return SelfCheck{Rows: len(got)}
	}
	c := &PrecisionCost{Decisions: len(got) * len(errorTypes)}
	for i := range got {
		for _, label := range errorTypes {
			if slices.Contains(got[i].labels, label) != slices.Contains(want[i].labels, label) {
				c.Flipped++
			}
		}
		c.Shift = max(c.Shift, identifier.LargestDifference(got[i].logits, want[i].logits))
	}
	return SelfCheck{Rows: len(got), FP32: c}
}

// writeProbes writes the probes and their tolerance into the manifest.
func (r *importer) writeProbes(rows []map[string]string, got []verdict) {
	for i := range probeRows {
		r.manifest.Probes = append(r.manifest.Probes, models.Probe{Fields: rows[i], Logits: got[i].logits})
	}
	if c := r.report.Check.FP32; c != nil {
		r.manifest.ProbeTolerance = max(probeTolerance, c.Shift)
	}
	r.manifest.Quality = map[string]any{"self_check": r.report.Check}
	if r.report.Verified != nil {
		r.manifest.Quality["verified"] = r.report.Verified
	}
}

// hideDraft removes the draft's temporary folder name from a message.
func (r *importer) hideDraft(err error) error {
	return models.UnfitErrorf("%s", strings.ReplaceAll(fileerror.Plain(err).Error(), r.draft.Dir, r.choices.Name))
}

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
