// Package identifier finds errors in rows. It encodes a row's fields as a model wants them, runs the model and turns
// its logits into a diagnosis.
//
// Four things make an [Identifier]: a taxonomy (package taxonomy), a model that fits it (package models: the embedded
// default, an imported one, or a folder), a [Runner] that computes logits, and [Options]. The Runner that ships is that
// of identifier/ort, which needs ONNX Runtime's shared library. [Identifier.Identify] takes a stream of rows, in order
// and in flat memory; [Identifier.Tag] takes one. A row that cannot be looked at has a diagnosis that says why: it is
// never one without error.
//
// A language model as identifier is scorer.Labeller; its records are the same.
package identifier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier/counts"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// Runner computes logits. Run may be called from several goroutines at a time.
type Runner interface {
	// Run computes in.Rows() × labels logits, row by row. When ctx ends, it stops what it has begun, waits until that
	// has stopped, and returns ctx's error. Any other error concerns these rows alone.
	Run(ctx context.Context, in Input, logits []float32) error
}

// Input is one batch: Rows() rows of Width tokens each, one after the other.
type Input struct {
	IDs   []int64 // token ids
	Mask  []int64 // 1 for a token, 0 for padding
	Types []int64 // segment ids
	Width int     // tokens a row
}

// Rows is the number of rows.
func (in Input) Rows() int {
	if in.Width == 0 {
		return 0
	}
	return len(in.IDs) / in.Width
}

// Options change how rows are tagged.
type Options struct {
	Workers    int                // rows computed at a time, at least 1
	Window     int                // rows read but not yet given out that are held, at least 1
	Thresholds map[string]float64 // label, or its code, to a probability in 0..1; replaces the model's
	LabelsOnly bool               // leave probabilities out of diagnoses
	// ReadWords replaces the words of the model's window: 0 leaves it, WholeField reads the field from its beginning on.
	ReadWords int

	// BatchTokens is the most tokens in a Run, padding included, for rows sorted by length within half a Window; Workers
	// is then the number of Runs in flight. 0 runs one row at a time at its exact length, which is faster on a CPU.
	BatchTokens int

	// Prompt gives rows out as soon as no more come, for callers that wait for an answer before they send the next row: a
	// batch then does not wait for a whole Window, and which rows share one depends on when they came.
	Prompt bool

	// RowTimeout is the longest that the model may take for one row; what takes longer is untagged. 0 is no limit. A
	// stranger's graph may have a loop that does not end.
	RowTimeout time.Duration

	// AnyLanguage also tags rows in languages that the model's manifest does not list.
	AnyLanguage bool

	// Ran is called after each Run of the model that succeeds, with the number of its rows, from several goroutines; or
	// nil.
	Ran func(rows int)
}

// defaultRowTimeout is some hundred times what a large encoder takes for a long row on one slow core.
const defaultRowTimeout = 2 * time.Minute

// WholeField is the ReadWords of an identifier that reads no window, but all that fits the model.
const WholeField = -1

// MaxWorkers is far above the threads that any machine runs at a time.
const MaxWorkers = 4096

// DefaultOptions is one worker a core, and thresholds as the model has them.
func DefaultOptions() Options {
	n := runtime.GOMAXPROCS(0)
	return Options{Workers: n, Window: 4 * n, RowTimeout: defaultRowTimeout}
}

// Validate reports every fault of o.
func (o Options) Validate() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	require(o.Workers >= 1, "workers is %d; give at least 1", o.Workers)
	require(o.Workers <= MaxWorkers, "workers is %d; give at most %d", o.Workers, MaxWorkers)
	w := o.ReadWords
	require(w == 0 || w == WholeField || w >= models.MinWindow && w <= models.MaxWindow,
		"read words is %d; give %d to %d, or %d for the whole field", w, models.MinWindow, models.MaxWindow, WholeField)
	require(o.RowTimeout >= 0, "row timeout is %v; give a time, or 0 for no limit", o.RowTimeout)
	require(o.Window >= 1, "window is %d; give at least 1", o.Window)
	require(o.BatchTokens >= 0, "batch tokens is %d; give 0 for one row at a time, or the tokens of a batch",
		o.BatchTokens)
	for _, label := range slices.Sorted(maps.Keys(o.Thresholds)) {
		p := o.Thresholds[label]
		require(p >= 0 && p <= 1, "threshold of %q is %v; it must lie in 0..1", label, p)
	}
	return errors.Join(errs...)
}

// Identifier tags rows with one model. Its methods may be called from several goroutines.
type Identifier struct {
	manifest *models.Manifest
	taxonomy *taxonomy.Taxonomy
	layout   *layout
	language *languages // nil looks at no language
	runner   Runner
	options  Options
	labels   []label  // in the taxonomy's order
	never    []string // types of which the model says nothing, as those that are new in the taxonomy
}

// label is one error type that the model knows.
type label struct {
	name      string
	logit     int // its place in the model's output
	threshold float64
	noError   bool
}

// New makes an identifier of a model that fits t. The caller closes the runner.
func New(m *models.Model, t *taxonomy.Taxonomy, r Runner, o Options) (*Identifier, error) {
	if err := errors.Join(o.Validate(), m.Manifest.Validate(), m.Manifest.Fits(t)); err != nil {
		return nil, err
	}
	l, err := newLayout(m, t)
	if err != nil {
		return nil, err
	}
	for label, w := range m.Manifest.Counts {
		if err := counts.Weights(w).Check(); err != nil {
			return nil, fmt.Errorf("model %s: counts of %q: %w", m.Source, label, err)
		}
	}
	if err := l.setWindow(o.ReadWords); err != nil {
		return nil, fmt.Errorf("model %s: %w", m.Source, err)
	}
	id := &Identifier{manifest: &m.Manifest, taxonomy: t, layout: l, runner: r, options: o}
	if !o.AnyLanguage {
		id.language = newLanguages(&m.Manifest, t)
	}
	if id.labels, err = labelsOf(&m.Manifest, t, o.Thresholds); err != nil {
		return nil, err
	}
	for _, y := range t.Types {
		if !y.NoError && !slices.ContainsFunc(id.labels, func(l label) bool { return l.name == y.Name }) {
			id.never = append(id.never, y.Name)
		}
	}
	return id, nil
}

// labelsOf merges the model's labels and thresholds with the taxonomy's order and the user's thresholds.
func labelsOf(m *models.Manifest, t *taxonomy.Taxonomy, thresholds map[string]float64) ([]label, error) {
	judged := m.Judged()
	given := make(map[string]float64, len(thresholds))
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		i, ok := t.Index(name)
		if !ok || !slices.ContainsFunc(judged, func(l string) bool { return isType(t, l, i) }) {
			return nil, fmt.Errorf("threshold for %q: the model %s gives no such label; its labels are %q", name, m.ID(), judged)
		}
		given[t.Types[i].Name] = thresholds[name]
	}
	var labels []label
	for i, typ := range t.Types {
		at := slices.IndexFunc(m.Labels, func(l string) bool { return isType(t, l, i) })
		if at < 0 || slices.Contains(m.NotJudged, m.Labels[at]) {
			continue
		}
		l := label{name: typ.Name, logit: at, threshold: m.Thresholds[m.Labels[at]], noError: typ.NoError}
		if p, ok := given[typ.Name]; ok {
			l.threshold = p
		}
		labels = append(labels, l)
	}
	return labels, nil
}

// isType tells whether a model's label is the type at index i.
func isType(t *taxonomy.Taxonomy, label string, i int) bool {
	at, ok := t.Index(label)
	return ok && at == i
}

// Thresholds are the probabilities from which each error type is given.
func (id *Identifier) Thresholds() dataset.Probabilities {
	var out dataset.Probabilities
	for _, l := range id.labels {
		if !l.noError {
			out = append(out, dataset.Probability{Label: l.name, P: l.threshold})
		}
	}
	return out
}

// diagnose turns one row's logits into its diagnosis. A logit that is no number leaves the row untagged.
func (id *Identifier) diagnose(logits []float32, seen Extent, values []string) *dataset.Diagnosis {
	for i, x := range logits {
		if x := float64(x); math.IsNaN(x) || math.IsInf(x, 0) {
			return id.untagged(fmt.Errorf("the model's logit for %q is %v", id.manifest.Labels[i], x))
		}
	}
	d := &dataset.Diagnosis{Model: id.manifest.ID(), Taxonomy: id.taxonomy.ID(), Labels: []string{},
		NotJudged: id.notJudged(values),
		Truncated: id.layout.truncated(seen), Read: id.layout.read(seen)}
	all := probabilities(id.manifest.Activation, id.addCounts(logits, values[0]))
	var judged dataset.Probabilities
	for _, l := range id.labels {
		if !slices.Contains(d.NotJudged, l.name) {
			judged = append(judged, dataset.Probability{Label: l.name, P: all[l.logit]})
		}
	}
	d.Labels = id.decide(id.labels, judged)
	if !id.options.LabelsOnly {
		d.Probabilities = judged
	}
	return d
}

// addCounts gives the logits, with what the manifest adds to them for what is counted in the text.
func (id *Identifier) addCounts(logits []float32, text string) []float32 {
	if len(id.manifest.Counts) == 0 {
		return logits
	}
	counted, out := counts.Of(text), slices.Clone(logits)
	for i, label := range id.manifest.Labels {
		if w := id.manifest.Counts[label]; w != nil {
			out[i] = float32(counts.Weights(w).Add(float64(logits[i]), counted))
		}
	}
	return out
}

// notJudged are the types of which the model says nothing in a row with these values, in the taxonomy's order: those
// that it never gives, as ones that are new in the taxonomy, and those for which the row lacks a field.
func (id *Identifier) notJudged(values []string) (out []string) {
	lacking := id.taxonomy.NotJudged(values)
	if len(id.never) == 0 {
		return lacking
	}
	for _, y := range id.taxonomy.Types {
		if slices.Contains(lacking, y.Name) || slices.Contains(id.never, y.Name) {
			out = append(out, y.Name)
		}
	}
	return out
}

// decide gives the labels of a row whose judged errors have these probabilities.
func (id *Identifier) decide(labels []label, judged dataset.Probabilities) []string {
	given, only := []string{}, ""
	if id.manifest.Activation == models.Softmax && len(judged) > 0 { // its labels exclude each other
		only = slices.MaxFunc(judged, func(a, b dataset.Probability) int { return cmp.Compare(a.P, b.P) }).Label
	}
	for _, l := range labels {
		p, ok := judged.Get(l.name)
		if ok && !l.noError && p >= l.threshold && (only == "" || only == l.name) {
			given = append(given, l.name)
		}
	}
	if i := id.taxonomy.NoErrorIndex(); len(given) == 0 && i >= 0 {
		given = append(given, id.taxonomy.Types[i].Name)
	}
	return given
}

// Relabel gives a function that changes the labels of this identifier's diagnoses to those of other thresholds; labels
// without one in the map keep theirs. Diagnoses without probabilities stay as they are.
func (id *Identifier) Relabel(thresholds map[string]float64) (func(*dataset.Diagnosis), error) {
	all := maps.Clone(thresholds)
	for _, t := range id.Thresholds() {
		if _, ok := all[t.Label]; !ok {
			all[t.Label] = t.P
		}
	}
	labels, err := labelsOf(id.manifest, id.taxonomy, all)
	if err != nil {
		return nil, err
	}
	return func(d *dataset.Diagnosis) {
		if d.Probabilities != nil {
			d.Labels = id.decide(labels, d.Probabilities)
		}
	}, nil
}

// readable says that a field which every row needs is empty, or in a language that the model does not read. What the
// text under evaluation is judged by needs a word too: in tables people write " for what stands above.
func (id *Identifier) readable(values []string) error {
	for i, f := range id.taxonomy.Fields {
		switch text := strings.TrimSpace(values[i]); {
		case f.Optional:
		case text == "":
			return fmt.Errorf("empty: the %s is empty", f.Name)
		case i > 0 && utf8.ValidString(text) && !strings.ContainsFunc(text, isWordPart):
			return fmt.Errorf("empty: the %s has no word: %.20q", f.Name, text)
		}
	}
	return id.language.check(values)
}

func isWordPart(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

func (id *Identifier) untagged(why error) *dataset.Diagnosis {
	return &dataset.Diagnosis{Model: id.manifest.ID(), Taxonomy: id.taxonomy.ID(), Status: dataset.StatusUntagged,
		Reason: why.Error()}
}

// probabilities turns a row's logits into probabilities.
func probabilities(activation string, logits []float32) []float64 {
	p := make([]float64, len(logits))
	if activation != models.Softmax {
		for i, x := range logits {
			p[i] = 1 / (1 + math.Exp(-float64(x)))
		}
		return p
	}
	largest := float64(slices.Max(logits))
	sum := 0.0
	for i, x := range logits {
		p[i] = math.Exp(float64(x) - largest)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
