package tagging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/local"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/refine"
	"github.com/erreval/erreval/training/selection"
)

// LocalOptions say which model of this machine finds errors, and how.
type LocalOptions struct {
	Model       string        // name or folder
	Verifier    string        // the same, of a second model; "" is none
	Join        string        // how a plain export's fields become one input
	Thresholds  []string      // P or LABEL=P
	Workers     int           // rows at a time; 0 is one a core
	RowTimeout  time.Duration // the longest that the model may take for a row; 0 is no limit
	LabelsOnly  bool
	ReadWords   int            // as identifier.Options.ReadWords
	Prompt      bool           // diagnoses are waited for, row by row
	AnyLanguage bool           // also rows in languages that the model does not read
	On          ort.Options    // device, library and memory
	Ran         func(rows int) // called after each run of the model, as identifier.Options.Ran; or nil
}

// Local is a model on this machine that finds errors.
type Local struct {
	Model      *models.Model
	Identifier *identifier.Identifier
	Verifier   *Verifier // a second model, or nil

	o       LocalOptions // Workers in force
	runners []*ort.Runner
}

// Verifier is a model that is shown a row beside the labels that the first one found.
type Verifier struct {
	Model      *models.Model
	Identifier *identifier.Identifier // by refine.VerifierTask
}

// OpenLocal loads the models for rows of t. warn is told what a user must know.
func OpenLocal(ctx context.Context, m *local.Machine, o LocalOptions, t *taxonomy.Taxonomy,
	warn func(format string, args ...any)) (l *Local, err error) {
	l = &Local{}
	if l.Model, err = m.OpenModel(ctx, o.Model, o.Join, t); err != nil {
		return nil, err
	}
	schedule := local.Schedule(o.On.Device, o.Workers)
	schedule.LabelsOnly, schedule.RowTimeout = o.LabelsOnly, o.RowTimeout
	schedule.ReadWords, schedule.AnyLanguage = o.ReadWords, o.AnyLanguage
	schedule.Prompt, schedule.Ran = o.Prompt, o.Ran
	own := l.Model.Manifest.Thresholds
	if schedule.Thresholds, err = models.ParseThresholds("--threshold", o.Thresholds, t,
		l.Model.Manifest.Judged(), own); err != nil {
		return nil, err
	}
	warnRaised(o.Thresholds, schedule.Thresholds, own, warn)
	o.Workers = schedule.Workers
	l.o = o
	if l.Identifier, err = l.open(ctx, m, l.Model, t, schedule, warn); err != nil || o.Verifier == "" {
		return l, err
	}
	v, task := &Verifier{}, refine.VerifierTask(t)
	if v.Model, err = m.OpenModel(ctx, o.Verifier, "", task); err != nil {
		err = fmt.Errorf("--verifier %s cannot be used (erreval refine train makes verifiers): %w", o.Verifier, err)
		return nil, errors.Join(err, l.Close())
	}
	schedule.Thresholds, schedule.LabelsOnly = nil, false
	if v.Identifier, err = l.open(ctx, m, v.Model, task, schedule, warn); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	l.Verifier = v
	return l, nil
}

// warnRaised says where one threshold for all finds less than the model's own, although it finds more elsewhere.
func warnRaised(given []string, now, own map[string]float64, warn func(format string, args ...any)) {
	var raised []string
	lowered := false
	for _, label := range slices.Sorted(maps.Keys(now)) {
		if p, ok := own[label]; ok && now[label] > p {
			raised = append(raised, fmt.Sprintf("%s (%.2g)", label, p))
		}
		lowered = lowered || now[label] < own[label]
	}
	forAll := slices.ContainsFunc(given, func(text string) bool { return !strings.Contains(text, "=") })
	if forAll && lowered && raised != nil {
		warn("--threshold %s finds less than the model's own thresholds of %s, and more of the other errors; "+
			"x2 finds fewer of all, x0.5 more",
			strings.Join(given, " "), strings.Join(raised, ", "))
	}
}

func (l *Local) open(ctx context.Context, m *local.Machine, model *models.Model, t *taxonomy.Taxonomy,
	o identifier.Options,
	warn func(format string, args ...any)) (*identifier.Identifier, error) {
	id, runner, err := m.OpenIdentifier(ctx, model, t, l.o.On, o, warn)
	if err == nil {
		l.runners = append(l.runners, runner)
	}
	return id, err
}

// Close frees the models; no row may be under way.
func (l *Local) Close() error {
	var errs []error
	for _, r := range l.runners {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// localOptions is the options part of OUT.run.json: as they took effect, without names of folders.
type localOptions struct {
	Device      string                `json:"device"`
	Join        string                `json:"join"`
	Map         map[string]string     `json:"map"` // this and limit stand before those of Reading, as in older records
	Thresholds  dataset.Probabilities `json:"thresholds"`
	Limit       int                   `json:"limit"`
	Workers     int                   `json:"workers"`
	LabelsOnly  bool                  `json:"labels_only"`
	Window      int                   `json:"window,omitempty"` // words of --window, or -1 for off
	AnyLanguage bool                  `json:"any_language,omitempty"`
	Verifier    *runrecord.Artefact   `json:"verifier,omitempty"`
	runrecord.Reading
}

// Local tags the rows of all inputs with a local model.
func (i *Identify) Local(ctx context.Context, l *Local) error {
	r, s := i.Run, i.stage()
	s.Model = &runrecord.Artefact{ID: l.Model.Manifest.ID(), SHA256: l.Model.SHA256}
	options := localOptions{Device: l.o.On.Device, Join: l.Model.Manifest.Join, Map: r.Columns,
		Thresholds: l.Identifier.Thresholds(), Limit: r.Limit, Workers: l.o.Workers, LabelsOnly: l.o.LabelsOnly,
		Window: l.o.ReadWords, AnyLanguage: l.o.AnyLanguage, Reading: r.Reading}
	if v := l.Verifier; v != nil {
		options.Verifier = &runrecord.Artefact{ID: v.Model.Manifest.ID(), SHA256: v.Model.SHA256}
	}
	s.Options = options
	for _, text := range l.Model.Manifest.WeakLabels() {
		s.Weak = append(s.Weak, fmt.Sprintf("%s; see erreval models info %s --taxonomy %s", text, words.Quote(l.o.Model),
			i.Taxonomy.Name))
	}
	if m := &l.Model.Manifest; l.o.AnyLanguage && len(m.Languages) > 0 {
		s.Weak = append(s.Weak, "do not rely on labels of rows in other languages than "+m.LanguagesText()+
			", which --any-language tags all the same")
	}
	s.Work = func(ctx context.Context, next func() (*dataset.Row, error), emit func(*dataset.Row) error) error {
		// The first interruption ends the reading; what is in flight is finished and kept.
		ctx = context.WithoutCancel(ctx)
		if l.Verifier != nil {
			return l.Verifier.follow(ctx, i.Taxonomy, l.Identifier, next, emit)
		}
		return l.Identifier.Identify(ctx, next, emitting(emit))
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
	var pending sync.Map // rows that the verifier is at, to what the first model found
	err := v.Identifier.Identify(ctx, func() (*dataset.Row, error) {
		f, ok := <-found
		if !ok {
			return nil, io.EOF
		}
		row := &dataset.Row{ID: f.row.ID, Values: refine.VerifierValues(t, f.diagnosis.Labels, f.row.Values)}
		pending.Store(row, f)
		return row, nil
	}, func(row *dataset.Row, answer *dataset.Diagnosis) error {
		found, _ := pending.LoadAndDelete(row)
		f := found.(tagged)
		if err := f.verify(answer); err != nil {
			return err
		}
		return emitting(emit)(f.row, f.diagnosis)
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

// emitting emits a row with its diagnosis.
func emitting(emit func(*dataset.Row) error) func(*dataset.Row, *dataset.Diagnosis) error {
	return func(row *dataset.Row, d *dataset.Diagnosis) error {
		if err := row.SetDiagnosis(d); err != nil {
			return err
		}
		return emit(row)
	}
}
