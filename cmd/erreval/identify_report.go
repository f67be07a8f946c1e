package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm/judging"
	"github.com/erreval/erreval/report"
)

// identifySummary is what a run found, counted.
type identifySummary struct {
	Rows          int            `json:"rows"`          // read and given out
	Tagged        int            `json:"tagged"`        // rows in which errors could be looked for
	Untagged      int            `json:"untagged"`      // the other ones
	Rejected      int            `json:"rejected"`      // lines that are no rows
	Truncated     int            `json:"truncated"`     // tagged rows of which tokens were cut
	WithoutError  int            `json:"without_error"` // tagged rows in which no error was found
	Resumed       int            `json:"resumed"`       // rows that an earlier run tagged
	Labels        []labelCount   `json:"labels"`        // error types, in the taxonomy's order
	Seconds       float64        `json:"seconds"`
	RowsPerSecond float64        `json:"rows_per_second"` // of those tagged now
	Model         string         `json:"model"`
	Taxonomy      string         `json:"taxonomy"`
	Gates         []gate.Result  `json:"gates"`             // what came of --fail-on
	Reasons       map[string]int `json:"reasons,omitempty"` // of the untagged rows, with a language model
	Usage         *judging.Usage `json:"usage,omitempty"`   // of a language model; nil where the output was finished already

	spent string // Usage in words, or ""
	start time.Time
	index map[string]int // label to its place in Labels
}

// labelCount is the number of tagged rows with an error, and of those in which it could not be judged.
type labelCount struct {
	Label     string `json:"label"`
	Rows      int    `json:"rows"`
	NotJudged int    `json:"not_judged,omitempty"`
}

func newSummary(r *identifyRun) *identifySummary {
	s := &identifySummary{Model: r.modelRecord().ID, Taxonomy: r.taxonomy.ID(), start: time.Now(), index: map[string]int{}}
	if r.judges != nil {
		s.Reasons = map[string]int{}
	}
	for _, t := range r.taxonomy.Types {
		if !t.NoError {
			s.index[t.Name] = len(s.Labels)
			s.Labels = append(s.Labels, labelCount{Label: t.Name})
		}
	}
	return s
}

func (s *identifySummary) add(d *dataset.Diagnosis) {
	s.Rows++
	if d.Status == dataset.StatusUntagged {
		s.Untagged++
		if s.Reasons != nil {
			reason, _, _ := strings.Cut(d.Reason, ":")
			s.Reasons[reason]++
		}
		return
	}
	s.Tagged++
	if len(d.Truncated) > 0 {
		s.Truncated++
	}
	errors := 0
	for _, label := range d.Labels {
		if i, ok := s.index[label]; ok {
			s.Labels[i].Rows++
			errors++
		}
	}
	if errors == 0 {
		s.WithoutError++
	}
	for _, label := range d.NotJudged {
		if i, ok := s.index[label]; ok {
			s.Labels[i].NotJudged++
		}
	}
}

func (s *identifySummary) merge(o *identifySummary) {
	s.Rows += o.Rows
	s.Tagged += o.Tagged
	s.Untagged += o.Untagged
	s.Rejected += o.Rejected
	s.Truncated += o.Truncated
	s.WithoutError += o.WithoutError
	s.Resumed += o.Resumed
	for i := range s.Labels {
		s.Labels[i].Rows += o.Labels[i].Rows
		s.Labels[i].NotJudged += o.Labels[i].NotJudged
	}
	for reason, n := range o.Reasons {
		s.Reasons[reason] += n
	}
}

func (s *identifySummary) finish() {
	s.Seconds = time.Since(s.start).Seconds()
	s.RowsPerSecond = float64(s.Rows-s.Resumed) / max(s.Seconds, 1e-9)
}

// restore takes the counts of a run record.
func (s *identifySummary) restore(counts map[string]int) {
	s.Rows, s.Resumed, s.Tagged, s.Untagged = counts["rows"], counts["rows"], counts["tagged"], counts["untagged"]
	s.Rejected, s.Truncated, s.WithoutError = counts["rejected"], counts["truncated"], counts["without_error"]
	for i := range s.Labels {
		s.Labels[i].Rows = counts["label."+s.Labels[i].Label]
		s.Labels[i].NotJudged = counts["not_judged."+s.Labels[i].Label]
	}
	for name, n := range counts {
		if reason, ok := strings.CutPrefix(name, "reason."); ok && s.Reasons != nil {
			s.Reasons[reason] = n
		}
	}
}

// print writes the summary: a table to standard error, or JSON to where no rows go.
func (s *identifySummary) print(e *env, o *identifyOptions) error {
	if o.JSON {
		if o.Output == run.Stdio || o.Table {
			return writeJSON(e.Err, s)
		}
		return writeJSON(e.Out, s)
	}
	if o.Quiet {
		return nil
	}
	if s.Resumed > 0 {
		fmt.Fprintf(e.Err, "%s tagged by an earlier run\n", words.Plural(s.Resumed, "row was", "rows were"))
	}
	fmt.Fprintf(e.Err, "%s in %.1f s (%.1f a second) with %s: %d without error (%s), %d truncated, %d untagged; %s rejected\n",
		words.Plural(s.Rows, "row", "rows"), s.Seconds, s.RowsPerSecond, s.Model, s.WithoutError,
		report.Percent(s.WithoutError, s.Tagged), s.Truncated, s.Untagged, words.Plural(s.Rejected, "line", "lines"))
	if len(s.Reasons) > 0 {
		fmt.Fprintf(e.Err, "untagged: %s\n", words.Counts(s.Reasons))
	}
	if s.spent != "" {
		fmt.Fprintln(e.Err, s.spent)
	}
	w := tabwriter.NewWriter(e.Err, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, l := range s.Labels {
		notJudged := ""
		if l.NotJudged > 0 {
			notJudged = fmt.Sprintf("  not judged in %s", words.Plural(l.NotJudged, "row", "rows"))
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", l.Label, l.Rows, report.Percent(l.Rows, s.Tagged-l.NotJudged), notJudged)
	}
	return w.Flush()
}

// identifyRecord is the options part of OUT.run.json: as they took effect, without names of folders.
type identifyRecord struct {
	Device     string                `json:"device"`
	Join       string                `json:"join"`
	Map        map[string]string     `json:"map"` // field to column
	Thresholds dataset.Probabilities `json:"thresholds"`
	Limit      int                   `json:"limit"`
	Workers    int                   `json:"workers"`
	LabelsOnly bool                  `json:"labels_only"`
	Verifier   *runrecord.Artefact   `json:"verifier,omitempty"`
}

func (r *identifyRun) newRecord() *runrecord.Record {
	var options any
	if r.judges != nil {
		options = labellerRecord{Identifier: identifierLLM, Record: r.judges.record(r.columns, r.o.Limit), Examples: r.examples}
	} else {
		options = identifyRecord{Device: r.o.Device, Join: r.model.Manifest.Join, Map: r.columns,
			Thresholds: r.identifier.Thresholds(), Limit: r.o.Limit, Workers: r.workers, LabelsOnly: r.o.LabelsOnly, Verifier: r.verifier.record()}
	}
	rec := runrecord.New("identify", options)
	rec.Shard, rec.Model = r.shard, r.modelRecord()
	rec.Taxonomy = &runrecord.Artefact{ID: r.taxonomy.ID(), SHA256: r.taxonomy.Hash()}
	return rec
}

// modelRecord names who finds the errors. A language model has no file to hash.
func (r *identifyRun) modelRecord() *runrecord.Artefact {
	if r.judges != nil {
		return &runrecord.Artefact{ID: r.judges.o.Models[0].Name}
	}
	return &runrecord.Artefact{ID: r.model.Manifest.ID(), SHA256: r.model.SHA256}
}

// writeRecord puts the run record beside the output.
func (f *identifyFile) writeRecord() error {
	if f.run.judges != nil {
		usage, err := f.usage()
		if err != nil {
			return err
		}
		f.record.Usage = usage
	}
	input := f.input.Input()
	input.Changed = f.changed
	f.record.Columns, f.record.Notes = f.reader.Columns(), slices.Sorted(maps.Keys(f.noted))
	f.record.Inputs = []runrecord.Input{input}
	f.record.Counts = f.summary.recordCounts()
	return f.record.Write(f.path)
}

// recordCounts are those of the run record.
func (s *identifySummary) recordCounts() map[string]int {
	counts := map[string]int{"rows": s.Rows, "tagged": s.Tagged, "untagged": s.Untagged, "rejected": s.Rejected,
		"truncated": s.Truncated, "without_error": s.WithoutError}
	for _, l := range s.Labels {
		counts["label."+l.Label] = l.Rows
		if l.NotJudged > 0 {
			counts["not_judged."+l.Label] = l.NotJudged
		}
	}
	for reason, n := range s.Reasons {
		counts["reason."+reason] = n
	}
	return counts
}
