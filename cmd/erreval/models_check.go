package main

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
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/fileerror"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/convert"
)

// selfCheck is what an import finds on its sample rows; a manifest keeps it among its quality.
type selfCheck struct {
	Rows int        `json:"rows"`
	FP32 *precision `json:"against_fp32,omitempty"` // nil where there is no other graph to compare with
	// Export is the largest difference of a logit between the rewritten fp32 graph and the export's own.
	Export *float64 `json:"against_export,omitempty"`
}

// precision is what another precision than fp32 costs.
type precision struct {
	Decisions int     `json:"decisions"`         // labels decided on, over all rows
	Flipped   int     `json:"flipped_decisions"` // of those, decided otherwise than by fp32
	Shift     float64 `json:"largest_shift"`     // of a logit
}

// verification is what came of --verify.
type verification struct {
	Reference string  `json:"reference"` // file's name
	Rows      int     `json:"rows"`
	Worst     float64 `json:"largest_difference"` // of a logit
	Tolerance float64 `json:"tolerance"`
}

// Tolerances of --verify, in logits: what fp32 and fp16 were built to keep, and what quantising may cost.
var tolerances = map[string]float64{convert.FP32: 1e-4, "": 1e-4, convert.FP16: 2e-2, convert.INT8: 0.5}

// probeTolerance is how far another machine's logits may lie off in the precisions that round differently from one
// processor to the next. A model that quantising moved further may be moved as far again.
const probeTolerance = 2e-2

// probeRows is how many sample rows a manifest keeps as probes.
const probeRows = 4

// sampleTexts are the rows of the self-check: questions with their answers and passages. A taxonomy with other fields
// sees the same texts, by position: what is checked is arithmetic, not meaning.
var sampleTexts = [][3]string{
	{"When was the harbour of Eskmouth dredged for the first time?", "in 1887", "The harbour of Eskmouth silted up within forty years of its building. It was dredged for the first time in 1887, by two steam barges hired from the canal company, and every third winter after that."},
	{"Who who keeped the bees?", "Sister Odile", "Behind the infirmary stood nine hives. Sister Odile kept the bees until her ninetieth year; the honey paid for the lamp oil of the whole convent."},
	{"What is the boiling point of the solvent", "78 °C", "Ethanol boils at 78 °C at sea level, water at 100 °C. A mixture of 95.6 per cent ethanol boils lower than either."},
	{"Why did it happen?", "because the valve had frozen", "At 4:12 a.m. the pressure fell to zero because the valve had frozen. Nobody was hurt, but the line stood still until noon."},
	{"The museum opened in which year, 1994 or 1995?", "1995", "Although the building was finished in 1994, the museum opened only in 1995, after a dispute over the roof."},
	{"How many moons does the planet have?", "the rings", "Its rings were seen in 1977, when a star dimmed nine times before the planet passed in front of it. Twenty-seven moons are known."},
	{"What did Amara say to Jonas about the letter that she had found under the stairs of the old mill?", "that it was hers", "Jonas asked nothing. \"It is mine,\" said Amara, \"my grandmother wrote it,\" and she folded the letter that she had found under the stairs of the old mill."},
	{"which rivers ?", "Aare, Reuss", "Three rivers meet near the town: the Aare, the Reuss and, a little downstream, the Limmat."},
	{"Translate the sentence into English.", "The cat sleeps.", "Die Katze schläft. Le chat dort. 猫は眠っている。"},
	{"", "none", "An empty question stands here on purpose."},
	{"What does the author recommend?", "resting twenty minutes", "For a firm crumb the author recommends resting the dough for twenty minutes, folding it twice, and baking it on a stone at 240 degrees."},
	{"Is the capital of the province older than its university, which was founded in 1409, and by how much?", "yes, by some three hundred years", "The town received its charter in 1105. Its university was founded in 1409; the province was named after the town only in 1790."},
}

// samples are rows for the fields given, and one that is longer than maxTokens.
func samples(fields []string, maxTokens int) []map[string]string {
	var rows []map[string]string
	for _, texts := range sampleTexts {
		row := map[string]string{}
		for i, field := range fields {
			row[field] = texts[i%len(texts)]
		}
		rows = append(rows, row)
	}
	long := map[string]string{}
	for field, text := range rows[0] {
		long[field] = text
	}
	last := fields[len(fields)-1]
	for utf8.RuneCountInString(long[last]) < 6*maxTokens { // English has some 4 letters a token
		for _, texts := range sampleTexts {
			long[last] += " " + texts[2]
		}
	}
	return append(rows, long)
}

// openDraft opens the draft as any model.
func (r *importRun) openDraft(ctx context.Context) (*models.Model, error) {
	return unlessInterrupted(ctx, func() (*models.Model, error) { return models.Open(r.draft.Dir, r.taxonomy) })
}

// verdict is what a graph says of a row.
type verdict struct {
	logits []float32
	labels []string
}

// examine opens the draft as it will be used, runs the sample rows and the reference, and completes the manifest.
func (r *importRun) examine(ctx context.Context) error {
	m, err := r.openDraft(ctx)
	if err != nil {
		return exit.With(exit.Unfit, r.hideDraft(err))
	}
	m.Source = r.manifest.Name
	if !r.given {
		r.manifest.Version = m.SHA256[:12]
		m.Manifest.Version = r.manifest.Version
	}
	if err := r.selfCheck(ctx, m); err != nil {
		return err
	}
	r.report.Precision, r.report.Size = r.manifest.Precision, r.manifest.Size()
	return nil
}

func (r *importRun) selfCheck(ctx context.Context, m *models.Model) (err error) {
	var want []verdict
	rows := samples(m.Manifest.Fields, m.Manifest.MaxTokens)
	if m.HasFallback() && !r.given {
		if want, err = r.runFallback(ctx, m, rows); err != nil {
			return err
		}
	}
	r.say("checking it on %d sample rows", len(rows))
	id, runner, err := r.e.newIdentifier(ctx, m, r.taxonomy, "cpu", r.o.Library, identifier.DefaultOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	got, err := runRows(ctx, id, rows)
	if err != nil {
		return err
	}
	r.report.Check = compareVerdicts(r.errorTypes(), got, want)
	r.report.Check.Export = r.fromExport
	if r.given {
		if _, err := id.Check(ctx); err != nil {
			return exit.With(exit.Unfit, fmt.Errorf("model %s: %w", m.Manifest.ID(), err))
		}
	}
	if err := r.verify(ctx, m, id); err != nil {
		return err
	}
	if !r.given {
		r.keepProbes(rows, got)
	}
	return nil
}

// runFallback runs the fp32 graph, which is removed again unless it is to be kept.
func (r *importRun) runFallback(ctx context.Context, m *models.Model, rows []map[string]string) ([]verdict, error) {
	twin, err := unlessInterrupted(ctx, m.Fallback)
	if err != nil {
		return nil, exit.With(exit.Unfit, r.hideDraft(err))
	}
	var out []verdict
	err = r.running(ctx, twin, func(id *identifier.Identifier, _ *ort.Runner) (err error) {
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

// running opens m on the CPU for f.
func (r *importRun) running(ctx context.Context, m *models.Model, f func(*identifier.Identifier, *ort.Runner) error) (err error) {
	id, runner, err := r.e.newIdentifier(ctx, m, r.taxonomy, "cpu", r.o.Library, identifier.DefaultOptions())
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
			return nil, exit.With(exit.Unfit, fmt.Errorf("the self-check fails on sample row %d: %w", i+1, err))
		}
		if d.Status == dataset.StatusUntagged {
			return nil, exit.With(exit.Unfit, fmt.Errorf("the self-check fails on sample row %d: %s; the checkpoint is damaged or its training went wrong", i+1, d.Reason))
		}
		out[i] = verdict{logits, d.Labels}
	}
	return out, nil
}

// errorTypes are the labels that are decided on: not No Error, which is what is left.
func (r *importRun) errorTypes() []string {
	return slices.DeleteFunc(slices.Clone(r.manifest.Labels), func(label string) bool {
		i, ok := r.taxonomy.Index(label)
		return ok && r.taxonomy.Types[i].NoError
	})
}

// compareVerdicts counts the decisions that two graphs of one model take differently.
func compareVerdicts(errorTypes []string, got, want []verdict) selfCheck {
	if want == nil {
		return selfCheck{Rows: len(got)}
	}
	c := &precision{Decisions: len(got) * len(errorTypes)}
	for i := range got {
		for _, label := range errorTypes {
			if slices.Contains(got[i].labels, label) != slices.Contains(want[i].labels, label) {
				c.Flipped++
			}
		}
		c.Shift = max(c.Shift, identifier.LargestDifference(got[i].logits, want[i].logits))
	}
	return selfCheck{Rows: len(got), FP32: c}
}

// keepProbes writes what was found into the manifest.
func (r *importRun) keepProbes(rows []map[string]string, got []verdict) {
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

// reference is what training/record_logits.py records.
type reference struct {
	Labels []string `json:"labels"` // id2label; may be left out
	Rows   []struct {
		ID     string            `json:"id"`
		Fields map[string]string `json:"fields"`
		Logits []float32         `json:"logits"`
	} `json:"rows"`
}

func readReference(file string, m *models.Manifest) (*reference, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	ref := &reference{}
	if err := json.Unmarshal(data, ref); err != nil {
		return nil, exit.With(exit.Unfit, fmt.Errorf("%s is no reference of training/record_logits.py: %w", file, err))
	}
	var errs []error
	if len(ref.Rows) == 0 {
		errs = append(errs, errors.New("it holds no rows"))
	}
	for i, row := range ref.Rows {
		if len(row.Logits) != len(m.Labels) {
			errs = append(errs, fmt.Errorf("row %d (%s) has %d logits for %d labels", i+1, row.ID, len(row.Logits), len(m.Labels)))
		}
		for _, field := range m.Fields {
			if _, ok := row.Fields[field]; !ok {
				errs = append(errs, fmt.Errorf("row %d (%s) lacks the field %q", i+1, row.ID, field))
			}
		}
		if len(errs) > 0 {
			return nil, exit.With(exit.Unfit, fmt.Errorf("%s: %w; record it from this checkpoint with training/record_logits.py", file, errors.Join(errs...)))
		}
	}
	return ref, errors.Join(errs...)
}

// verify compares the model with logits that were recorded in Python.
func (r *importRun) verify(ctx context.Context, m *models.Model, id *identifier.Identifier) error {
	if r.o.Verify == "" {
		return nil
	}
	ref, err := readReference(r.o.Verify, &m.Manifest)
	if err != nil {
		return err
	}
	v := &verification{Reference: filepath.Base(r.o.Verify), Rows: len(ref.Rows), Tolerance: cmp.Or(r.o.Tolerance, tolerances[m.Manifest.Precision])}
	worst := ""
	for _, row := range ref.Rows {
		logits, _, err := id.Examine(ctx, row.Fields)
		if err != nil {
			return exit.With(exit.Unfit, fmt.Errorf("%s: row %s: %w", r.o.Verify, row.ID, err))
		}
		if diff := identifier.LargestDifference(logits, row.Logits); !(diff <= v.Worst) || worst == "" {
			v.Worst, worst = diff, row.ID
		}
	}
	r.report.Verified = v
	if !(v.Worst <= v.Tolerance) {
		return exit.With(exit.Unfit, fmt.Errorf("%s: a logit of row %s differs by %.2g from the recorded one (tolerance %g), so nothing was imported; "+
			"check --join and --segments, or allow it with --tolerance", r.o.Verify, worst, v.Worst, v.Tolerance))
	}
	return nil
}

// hideDraft takes the folder's passing name out of a message.
func (r *importRun) hideDraft(err error) error {
	return errors.New(strings.ReplaceAll(fileerror.Plain(err).Error(), r.draft.Dir, r.choices.Name))
}
