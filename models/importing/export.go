package importing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/tokenfile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
)

// copyExport copies a plain ONNX export, and rewrites its graph if the options ask for it.
func (r *importer) copyExport(ctx context.Context) error {
	if r.o.Precision != "" && !r.o.Optimize {
		return models.OptionErrorf("--precision %s: %s is an ONNX export, which is taken as it is; add --optimize, "+
			"leave the flag out, or give the checkpoint it was made from", r.o.Precision, r.o.Source)
	}
	c, err := models.ReadExport(r.source)
	if err != nil {
		return models.UnfitErrorf("%s: %w", r.o.Source, err)
	}
	for _, name := range c.Files {
		if err := r.copyFile(name); err != nil {
			return err
		}
	}
	r.report.Notes = []string{"a plain ONNX export: its graph is taken as it is"}
	if err := r.describeDraft(ctx, c); err != nil || !r.o.Optimize {
		return err
	}
	return r.optimizeGraph(ctx, *c)
}

// optimizeGraph replaces the export's graph by a rewritten one, if it recognises the graph and both give the same
// logits.
func (r *importer) optimizeGraph(ctx context.Context, c models.Classifier) (err error) {
	fused := *r
	if fused.draft, err = models.NewDraft(r.to, r.o.Overwrite); err != nil {
		return err
	}
	spare := fused.draft
	defer func() { err = errors.Join(err, spare.Discard()) }()
	err = fused.writeGraphs(ctx, c, func(to string, o convert.Options) (*convert.Result, error) {
		return convert.Optimize(ctx, r.source, c.Files[0], to, o)
	})
	if err == nil {
		err = fused.compareGraphs(ctx, r)
	}
	if not, ok := errors.AsType[*convert.NotRecognized](err); ok {
		r.report.Notes = []string{not.Error() + "; the graph is used as it is"}
		return nil
	}
	if err != nil {
		return err
	}
	fused.report.Notes = append(fused.report.Notes, "a plain ONNX export, whose graph was rewritten")
	spare, *r = r.draft, fused
	return nil
}

// compareGraphs compares the rewritten graph, in fp32 and in fp16, with the export's on the sample rows. If they
// differ, the graph counts as not recognised.
func (r *importer) compareGraphs(ctx context.Context, plain *importer) error {
	r.log("comparing it with the export's own graph")
	want, err := plain.runSamples(ctx, convert.FP32)
	if err != nil {
		return err
	}
	for _, precision := range slices.Compact([]string{convert.FP32, r.choices.Precision}) {
		if precision == convert.INT8 {
			continue // int8 may differ: the self-check says how much
		}
		got, err := r.runSamples(ctx, precision)
		if err != nil {
			return err
		}
		shift := identifier.LargestDifference(got, want)
		if !(shift <= tolerances[precision]) {
			return &convert.NotRecognized{Reason: fmt.Errorf("a logit of the rewritten graph in %s differs by %.2g from the "+
				"export's (at most %g is allowed)", precision, shift, tolerances[precision])}
		}
		if precision == convert.FP32 {
			r.fromExport = &shift
		}
	}
	return nil
}

// runSamples gives the logits of the draft for the sample rows, one after the other, and for a row with padding.
func (r *importer) runSamples(ctx context.Context, precision string) (out []float32, err error) {
	m, err := r.openDraft(ctx, precision == convert.FP32)
	if err != nil {
		return nil, err
	}
	err = r.withIdentifier(ctx, m, func(id *identifier.Identifier, runner *ort.Runner) error {
		rows, err := runRows(ctx, id, sampleRows(m.Manifest.Fields, m.Manifest.MaxTokens))
		if err != nil {
			return err
		}
		for _, row := range rows {
			out = append(out, row.logits...)
		}
		in, err := paddedRow(m)
		if err != nil {
			return err
		}
		padded := make([]float32, len(m.Manifest.Labels))
		err = runner.Run(ctx, in, padded)
		out = append(out, padded...)
		return err
	})
	return out, err
}

// paddedRow is a row whose second half is padding: rows of exact length do not use the mask.
func paddedRow(m *models.Model) (identifier.Input, error) {
	tokens, err := tokenfile.Load(m.FS)
	if err != nil {
		return identifier.Input{}, err
	}
	ids, err := tokens.NewEncoder().Append(nil, sampleTexts[0][2], false)
	if err != nil {
		return identifier.Input{}, err
	}
	n := min(len(ids), m.Manifest.MaxTokens/2)
	pad, _ := tokens.ID(m.Manifest.Pad)
	in := identifier.Input{Width: 2 * n, Mask: make([]int64, 2*n), Types: make([]int64, 2*n)}
	for i := range n {
		in.IDs, in.Mask[i] = append(in.IDs, int64(ids[i])), 1
	}
	in.IDs = append(in.IDs, slices.Repeat([]int64{int64(pad)}, n)...)
	return in, nil
}
