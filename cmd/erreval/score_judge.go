package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// judges are the models that a run asks, with what they are asked by.
type judges struct {
	*judging.Session
	o        *judgeOptions
	panel    *scorer.Panel    // in score
	labeller *scorer.Labeller // in identify
	taxonomy *taxonomy.Taxonomy
	template *prompt.Template
	first    bool // a row was looked at
}

// newJudges makes the panel, and finds what is wrong with it while there is no journal yet.
func newJudges(o *judgeOptions, t *taxonomy.Taxonomy, output string) (*judges, error) {
	kind := prompt.Judge
	if o.Joint {
		kind = prompt.Joint
	}
	j, err := newModels(o, t, kind, output)
	if err != nil {
		return nil, err
	}
	options := o.Panel
	options.Taxonomy, options.Template = j.taxonomy, j.template
	if j.panel, err = scorer.NewPanel(j.Models(), options); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return j, nil
}

// newModels makes models that are asked by a kind of templates.
func newModels(o *judgeOptions, t *taxonomy.Taxonomy, kind, output string) (j *judges, err error) {
	j = &judges{o: o, taxonomy: t}
	if o.Journal == "" && output != run.Stdio && output != "" {
		o.Journal = filepath.Clean(output) + ".journal"
	}
	if o.Journal == "" && o.calls() {
		return nil, exit.Usagef("the output is no file; say with --journal FILE where replies are kept")
	}
	if j.template, err = prompt.Open(cmp.Or(o.Template, kind)); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if j.template.Kind != kind {
		return nil, exit.Usagef("--template %s is of kind %s; this run needs one of kind %s", o.Template, j.template.Kind, kind)
	}
	if j.Session, err = judging.New(o.Options); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return j, nil
}

// openJournal puts the journal between models and endpoints.
func (j *judges) openJournal() error {
	err := j.Open()
	if _, ok := errors.AsType[*judging.MismatchError](err); ok {
		return exit.With(exit.Usage, err)
	}
	return err
}

// checkPath refuses a journal that would be the input, or one of the files of the output.
func (j *judges) checkPath(input, output string) error {
	for _, other := range []string{input, output, dataset.PartialPath(output), runrecord.Path(output)} {
		if other != run.Stdio && other != "" && dataset.SameFile(j.Path(), other) {
			return exit.Usagef("the journal %s would be the same file as %s; choose another name with --journal", j.Path(), other)
		}
	}
	return nil
}

// record is how rows read by columns are asked about.
func (j *judges) record(columns map[string]string, limit int) judging.Record {
	return j.o.Record(columns, limit, j.template.ID()+" sha256:"+j.template.Hash())
}

// judgeRecord is the options part of OUT.run.json for a run of score with judges.
type judgeRecord struct {
	judging.Record
	Modes        []string `json:"modes"`
	Joint        bool     `json:"joint"`
	Aggregate    string   `json:"aggregate"`
	PaperWording bool     `json:"paper_wording"`
	Plant        float64  `json:"plant"`
	Cascade      float64  `json:"cascade"`
	Audit        float64  `json:"audit"`
}

func (r *scoreRun) judgeRecord() judgeRecord {
	o, p := r.judges.o, r.judges.o.Panel
	return judgeRecord{Record: r.judges.record(r.rows.columns, r.o.Limit), Modes: p.Modes, Joint: o.Joint,
		Aggregate: p.Aggregate, PaperWording: p.PaperWording, Plant: p.Plant, Cascade: p.Cascade.Sure, Audit: p.Cascade.Audit}
}

// describeUsed says in words what was spent.
func (j *judges) describeUsed(u judging.Used) string {
	text := fmt.Sprintf("%s, %d tokens in, %d out", words.Plural(int(u.Calls), "call", "calls"), u.Input, u.Output)
	if len(j.Unpriced()) < len(j.o.Models) {
		text += fmt.Sprintf(", %.4f %s", u.Cost, j.Prices().Currency)
	}
	return text
}

// startOver removes what an earlier run like this one left of its output: every reply in it is in the journal, so the
// rows are made again at once, and those that had no reply are asked about again.
func startOver(out string, like func(*runrecord.Record) bool) error {
	if out == run.Stdio || out == "" {
		return nil
	}
	partial := dataset.PartialPath(out)
	old, err := runrecord.Read(partial)
	if err != nil || !like(old) {
		return nil // not ours to remove: whoever creates the output says what to do
	}
	return errors.Join(removeIfThere(partial), removeIfThere(runrecord.Path(partial)))
}
