package scorer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// How the values of several judgements become one. An unscored judgement has no part in it.
const (
	Mean     = "mean"     // of the judges' means over their repeats
	Median   = "median"   // of the judges' means over their repeats; of an even number, the mean of the middle two
	Majority = "majority" // the value given most often; where several are, their mean
)

// Aggregates are the ways that there are, the default first.
func Aggregates() []string { return []string{Mean, Median, Majority} }

// PanelOptions say how rows are judged.
type PanelOptions struct {
	Taxonomy *taxonomy.Taxonomy
	Template *prompt.Template // of kind prompt.Judge: a call for each dimension; of kind prompt.Joint: one for all
	// Modes are dataset.ModeVanilla, dataset.ModeErrorAware or both. A score is that of the error-aware judgements
	// where there are any; the others stand beside it.
	Modes        []string
	Repeats      int     // judgements of each kind, 1 to 1000
	Attempts     int     // calls for one judgement while replies hold no verdict, >= 1
	Aggregate    string  // one of Aggregates
	PaperWording bool    // see prompt.Input
	Workers      int     // judgements under way at once, 1 to 65536; how many calls are in flight is the clients' to limit
	Plant        float64 // share of error-aware judgements, 0 to 1, that are made a second time with a wrong label shown
	PlantSeed    uint64  // chooses where, and which label
	Cascade      Cascade
}

// Cascade leaves to the offline scorer what the identifier is sure of.
type Cascade struct {
	// Sure is the least certainty, max(p, 1−p) over the errors that bear on a dimension, from which on it is scored
	// offline: 0.5 to 1. 0 asks the judges about everything. With prompt.Joint it holds for all dimensions of a row
	// together.
	Sure  float64
	Audit float64 // share of those, 0 to 1, that the judges are asked about as well; values stay the offline ones
	Seed  uint64  // chooses them
}

// DefaultPanelOptions are one error-aware judgement of each dimension, with up to three calls, 16 under way. Taxonomy
// and Template are missing.
func DefaultPanelOptions() PanelOptions {
	return PanelOptions{Modes: []string{dataset.ModeErrorAware}, Repeats: 1, Attempts: 3, Aggregate: Mean, Workers: 16}
}

// Limits of what a row and a run hold in memory. A larger number is a typing error.
const (
	maxRepeats = 1000
	maxWorkers = 1 << 16
)

// Validate joins all faults of o.
func (o *PanelOptions) Validate() error {
	faults := faults.List{About: "judging: "}
	faults.Check(o.Taxonomy != nil && len(o.Taxonomy.Dimensions) > 0, "the taxonomy has no dimensions")
	faults.Check(o.Template != nil && (o.Template.Kind == prompt.Judge || o.Template.Kind == prompt.Joint),
		"the template is of kind %s or %s", prompt.Judge, prompt.Joint)
	faults.Check(len(o.Modes) > 0, "no mode; give %s, %s or both", dataset.ModeVanilla, dataset.ModeErrorAware)
	for i, m := range o.Modes {
		faults.Check((m == dataset.ModeVanilla || m == dataset.ModeErrorAware) && !slices.Contains(o.Modes[:i], m),
			"mode %q is unknown, or given twice; there are %s and %s", m, dataset.ModeVanilla, dataset.ModeErrorAware)
	}
	faults.Check(o.Repeats >= 1 && o.Repeats <= maxRepeats, "%d repeats; give 1 to %d", o.Repeats, maxRepeats)
	faults.Check(o.Attempts >= 1, "%d attempts; at least 1 is needed", o.Attempts)
	faults.Check(o.Workers >= 1 && o.Workers <= maxWorkers, "%d workers; give 1 to %d", o.Workers, maxWorkers)
	faults.Check(slices.Contains(Aggregates(), o.Aggregate), "%q is no way to put judgements together; there are %s",
		o.Aggregate, strings.Join(Aggregates(), ", "))
	faults.Check(o.Plant >= 0 && o.Plant <= 1, "labels are planted in a share of 0 to 1; got %v", o.Plant)
	faults.Check(o.Plant == 0 || slices.Contains(o.Modes, dataset.ModeErrorAware),
		"only error-aware judgements show labels, so only there can wrong ones be planted")
	faults.Check(o.Plant == 0 || o.Template == nil || o.Template.Kind == prompt.Judge,
		"a planted label bears on one dimension; ask for one dimension a call")
	faults.Check(o.Cascade.Sure == 0 || o.Cascade.Sure >= 0.5 && o.Cascade.Sure <= 1,
		"a certainty is 0.5 to 1; got %v", o.Cascade.Sure)
	faults.Check(o.Cascade.Audit >= 0 && o.Cascade.Audit <= 1, "a share to audit is 0 to 1; got %v", o.Cascade.Audit)
	return faults.Err()
}

// DecisiveMode is that of the judgements that make the values.
func (o *PanelOptions) DecisiveMode() string {
	if slices.Contains(o.Modes, dataset.ModeErrorAware) {
		return dataset.ModeErrorAware
	}
	return dataset.ModeVanilla
}

// validate says why j cannot judge.
func validate(j *llm.Model) error {
	if j.Name == "" || j.Name == dataset.JudgeOffline {
		return fmt.Errorf("judge %q needs another name", j.Name)
	}
	return j.Validate()
}

// Panel asks judges about rows. Safe for concurrent use.
type Panel struct {
	o       PanelOptions
	judges  []*ask.Asker
	offline *Offline      // nil without a cascade
	schemas []*llm.Schema // one a dimension, or one for all
}

// NewPanel checks judges and options. No two judges have the same name, and none is called dataset.JudgeOffline.
func NewPanel(judges []llm.Model, o PanelOptions) (*Panel, error) {
	faults := []error{o.Validate()}
	p := &Panel{o: o}
	for i := range judges {
		faults = append(faults, validate(&judges[i]))
		if slices.ContainsFunc(p.judges, func(m *ask.Asker) bool { return m.Name == judges[i].Name }) {
			faults = append(faults, fmt.Errorf("judge %s is on the panel twice", judges[i].Name))
		}
		p.judges = append(p.judges, ask.New(judges[i]))
	}
	if len(judges) == 0 {
		faults = append(faults, errors.New("no judge"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	p.setSchemas()
	if o.Cascade.Sure > 0 {
		offline, err := NewOffline(o.Taxonomy, OfflineOptions{})
		if err != nil {
			return nil, err
		}
		p.offline = offline
	}
	return p, nil
}

func (p *Panel) joint() bool { return p.o.Template.Kind == prompt.Joint }

func (p *Panel) setSchemas() {
	ds := p.o.Taxonomy.Dimensions
	if p.joint() {
		p.schemas = []*llm.Schema{JointSchema(ds)}
		return
	}
	for i := range ds {
		p.schemas = append(p.schemas, VerdictSchema(&ds[i]))
	}
}

// VerdictSchema is the form of a reply to a prompt of kind judge with JSON set: reason, then score.
func VerdictSchema(d *taxonomy.Dimension) *llm.Schema {
	return llm.NewSchema("verdict", verdictOf(d))
}

// JointSchema is the form of a reply to a prompt of kind joint: reason and score under each dimension's key.
func JointSchema(ds []taxonomy.Dimension) *llm.Schema {
	p := make([]llm.Property, len(ds))
	for i := range ds {
		p[i] = llm.Property{Name: ds[i].Key, Schema: verdictOf(&ds[i])}
	}
	return llm.NewSchema("verdicts", llm.ObjectOf(p...))
}

// LabelsSchema is the form of a reply to a prompt of kind identify: reason, then the labels' names.
func LabelsSchema(t *taxonomy.Taxonomy) *llm.Schema {
	labels := llm.ListSchema(map[string]any{"type": "string", "enum": t.Labels()})
	return llm.NewSchema("labels", llm.ObjectOf(reason, llm.Property{Name: "labels", Schema: labels}))
}

// reason comes before what it is for.
var reason = llm.Property{Name: "reason", Schema: llm.TextSchema()}

// verdictOf lists the scores: not every endpoint takes minimum and maximum, and nothing lies between scores.
func verdictOf(d *taxonomy.Dimension) llm.Object {
	scores := make([]int, len(d.Criteria))
	for i, c := range d.Criteria {
		scores[i] = c.Score
	}
	return llm.ObjectOf(reason, llm.Property{Name: "score", Schema: map[string]any{"type": "integer", "enum": scores}})
}
