package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// LabelReport compares labels with gold labels. Its JSON keys are stable.
type LabelReport struct {
	Taxonomy   string            `json:"taxonomy"` // name@version
	Gold       string            `json:"gold"`     // file
	Where      map[string]string `json:"where,omitempty"`
	Group      string            `json:"group,omitempty"` // by which intervals resample; "" is by row
	Resamples  int               `json:"resamples"`
	Seed       uint64            `json:"seed"`
	Level      float64           `json:"level"` // of the intervals
	MinSupport int               `json:"min_support"`
	Verdicts   *VerdictCounts    `json:"verdicts,omitempty"` // only with LabelOptions.Verdict
	Rows       GoldCounts        `json:"rows"`
	Scored     int               `json:"scored"` // rows that all figures use
	Groups     int               `json:"groups"` // of the scored rows
	// NotJudged are the types that one of the models judges in no row: they count as absent, in gold labels too.
	NotJudged   []string       `json:"not_judged,omitempty"`
	Baseline    Baseline       `json:"baseline"`
	Predictions []LabelledFile `json:"predictions"` // one for each file
	// Difference is the second file's figures minus the first's; only with two files.
	Difference map[string]report.Figure `json:"difference,omitempty"`

	ByValue []ByValue `json:"by_value,omitempty"` // micro F1; only with LabelOptions.By

	by       string
	noError  string
	metrics  []stats.Metric // the figures, in order
	warnings []report.FileWarning
}

// VerdictCounts say what the column LabelOptions.Verdict holds in the scored rows.
type VerdictCounts struct {
	Column  string `json:"column"`
	Yes     int    `json:"yes"`
	No      int    `json:"no"`
	Unknown int    `json:"unknown"` // absent or null: left out of the area
}

// Baseline is the constant prediction: the most frequent gold label set.
type Baseline struct {
	Labels  []string                 `json:"labels"`
	Metrics map[string]report.Figure `json:"metrics"`
}

// LabelledFile are the figures of one file.
type LabelledFile struct {
	File          string                   `json:"file"`
	Models        []string                 `json:"models"` // as the diagnoses name them
	Counts        PredictionCounts         `json:"counts"`
	Metrics       map[string]report.Figure `json:"metrics"`
	MinusBaseline map[string]report.Figure `json:"minus_baseline"`
	// UnscoredAsWrong are the figures over all gold rows, where rows without prediction count as wrong; absent if every
	// row has one.
	UnscoredAsWrong map[string]report.Number `json:"unscored_as_wrong,omitempty"`
	Labels          []LabelFigures           `json:"labels"` // every label, in the taxonomy's order
	// Same counts the scored rows with the gold labels and no others; Other has the first of the rest, at most
	// LabelOptions.Limit.
	Same      int         `json:"same"`
	Other     []RowLabels `json:"other,omitempty"`
	Confusion []Confusion `json:"confusion,omitempty"` // only with LabelOptions.Confusion
	// Calibration has a curve for all labels together, then one for each label; only with LabelOptions.PerLabel, and
	// where rows have probabilities.
	Calibration []CalibrationCurve `json:"calibration,omitempty"`
}

// RowLabels are the labels of a row, in the taxonomy's order.
type RowLabels struct {
	ID    string   `json:"id"`
	Gold  []string `json:"gold"`
	Found []string `json:"found"`
}

// LabelFigures are those of one label.
type LabelFigures struct {
	Label     string        `json:"label"`
	Support   int           `json:"support"`   // gold rows
	Predicted int           `json:"predicted"` // rows
	Precision report.Number `json:"precision"`
	Recall    report.Number `json:"recall"`
	F1        report.Number `json:"f1"`
	AP        report.Number `json:"average_precision"`
	AUC       report.Number `json:"auc"` // area under the ROC curve
	ECE       report.Number `json:"ece"` // expected calibration error
	Brier     report.Number `json:"brier"`
	InMacro   bool          `json:"in_macro"` // it counts in the macro averages

	Intervals *LabelIntervals `json:"intervals,omitempty"` // only with LabelOptions.PerLabel
}

// LabelIntervals are a label's figures with Wilson's intervals, clustered; where there are no rows they have none.
type LabelIntervals struct {
	Precision report.Figure `json:"precision"`
	Recall    report.Figure `json:"recall"`
	F1        report.Figure `json:"f1"`
}

// CalibrationCurve says how often probabilities were right.
type CalibrationCurve struct {
	Label  string             `json:"label"` // "" is all labels together
	Points []CalibrationPoint `json:"points"`
}

// CalibrationPoint is about the rows whose probability lies in one of equally wide bins.
type CalibrationPoint struct {
	Rows        int           `json:"rows"`
	Probability report.Number `json:"probability"` // their mean
	Share       report.Figure `json:"share"`       // of them that have the label; its interval is Wilson's, clustered
}

// Confusion says what was predicted wrongly in rows where a gold label was missed.
type Confusion struct {
	Label          string      `json:"label"`
	Support        int         `json:"support"`
	Hit            int         `json:"hit"`
	Missed         int         `json:"missed"`
	Instead        []LabelRows `json:"instead"`         // most frequent first
	NothingInstead int         `json:"nothing_instead"` // missed, and nothing was predicted wrongly
	Added          int         `json:"added"`           // predicted wrongly where no gold label was missed
}

// LabelRows is a number of rows with a label.
type LabelRows struct {
	Label string `json:"label"`
	Rows  int    `json:"rows"`
}

// Warnings are one for each file that was read, in order.
func (r *LabelReport) Warnings() []report.FileWarning { return r.warnings }

// IsIncomplete tells whether a gold row has no prediction, or a line is no row.
func (r *LabelReport) IsIncomplete() bool {
	return slices.ContainsFunc(r.warnings, report.FileWarning.IsAny)
}

// Report puts the figures into words and tables.
func (r *LabelReport) Report() *report.Report {
	out := &report.Report{Title: r.Gold + describeWhere(r.Where) + ", taxonomy " + r.Taxonomy, Facts: r.facts()}
	for i := range r.Predictions {
		out.Sections = append(out.Sections, r.sections(&r.Predictions[i])...)
	}
	if r.Difference != nil {
		out.Sections = append(out.Sections, r.difference())
	}
	var files []string
	for _, one := range r.Predictions {
		files = append(files, one.File)
	}
	out.Sections = append(out.Sections, sectionBy(r.ByValue, r.by, "micro F1", files)...)
	for i := range r.Predictions {
		one := &r.Predictions[i]
		out.Result += fmt.Sprintf("%s has the gold labels, and no others, in %d of %s. ", one.File, one.Same,
			words.Plural(r.Scored, "row", "rows"))
	}
	out.Result = strings.TrimSpace(out.Result)
	return out
}

func (r *LabelReport) facts() []string {
	inMacro, labels := 0, 0
	for _, one := range r.Predictions[:min(1, len(r.Predictions))] { // the gold rows decide
		labels = len(one.Labels)
		for _, l := range one.Labels {
			if l.InMacro {
				inMacro++
			}
		}
	}
	lines := []string{
		r.Rows.describe("gold"),
		fmt.Sprintf("figures over %s in %s (%s); macro over the %d of %s with at least %d gold rows",
			words.Plural(r.Scored, "row", "rows"), words.Plural(r.Groups, "group", "groups"), describeGroup(r.Group),
			inMacro, words.Plural(labels, "label", "labels"), r.MinSupport),
		"constant: always " + strings.Join(r.Baseline.Labels, " + "),
	}
	for _, l := range r.Predictions[0].Labels {
		if n := r.Rows.Unlabelled; n > 0 && l.Label == r.noError && l.Support == 0 {
			lines = append(lines, fmt.Sprintf("no gold row is labelled %s, and %s no label: if an empty cell means that "+
				"nothing is wrong, write %[1]s there", l.Label, words.Plural(n, "row has", "rows have")))
		}
	}
	if len(r.NotJudged) > 0 {
		lines = append(lines, fmt.Sprintf("the model does not judge %s: taken as absent, in gold labels too",
			strings.Join(r.NotJudged, ", ")))
	}
	if v := r.Verdicts; v != nil {
		lines = append(lines, fmt.Sprintf("%s: %d yes, %d no, %d unknown", v.Column, v.Yes, v.No, v.Unknown))
	}
	if !r.Baseline.Metrics["macro_f1"].Value.Defined() {
		lines = append(lines, "no label has that many: macro averages are undefined (–); --min-support lowers the bar")
	}
	return append(lines, describeIntervals(r.Groups, r.Resamples, r.Seed)...)
}

func (r *LabelReport) sections(one *LabelledFile) []report.Section {
	title := one.Counts.describe(one.File)
	if len(one.Models) > 0 {
		title += " · " + strings.Join(one.Models, ", ")
	}
	figures := report.NewTable("figure", "better", "value", "constant", "difference")
	for _, m := range r.metrics {
		f := one.Metrics[m.Key]
		figures.Rows = append(figures.Rows, []any{m.Name, f.Better, f.As("%.3f"),
			r.Baseline.Metrics[m.Key].Value.As("%.3f"), one.MinusBaseline[m.Key].As("%+.3f")})
	}
	sections := []report.Section{{Title: title, Notes: r.Unscored(one), Table: figures},
		{Title: "labels in " + one.File, Table: labelTable(one.Labels)}}
	if len(one.Other) > 0 {
		sections = append(sections, one.others(r.Scored))
	}
	if one.Confusion != nil {
		sections = append(sections, report.Section{Notes: confusionLines(one.Confusion),
			Title: "confusion: rows in which a gold label was missed, and what was predicted wrongly in them"})
	}
	return sections
}

// others lists rows in which something else was found.
func (one *LabelledFile) others(scored int) report.Section {
	t := report.Table{Columns: []report.Column{{Title: "id"}, {Title: "gold"}, {Title: "found"}}}
	for _, row := range one.Other {
		t.Rows = append(t.Rows, []any{report.ShortID(row.ID), strings.Join(row.Gold, "; "), strings.Join(row.Found, "; ")})
	}
	title := "rows with other labels in " + one.File
	if n := len(one.Other); n < scored-one.Same {
		title += fmt.Sprintf(" (the first %d of %d; --limit 0 lists all)", n, scored-one.Same)
	}
	return report.Section{Title: title, Table: t}
}

// Unscored says what the figures are where rows without prediction count as wrong; nothing if there are none.
func (r *LabelReport) Unscored(one *LabelledFile) []string {
	if one.UnscoredAsWrong == nil {
		return nil
	}
	var parts []string
	for _, m := range r.metrics {
		if v, ok := one.UnscoredAsWrong[m.Key]; ok {
			parts = append(parts, m.Name+" "+v.Text("%.3f"))
		}
	}
	return []string{fmt.Sprintf("with %s without prediction as wrong: %s",
		words.Plural(one.Counts.unscored(), "row", "rows"), strings.Join(parts, ", "))}
}

func labelTable(labels []LabelFigures) report.Table {
	t := report.NewTable("label", "gold", "predicted", "precision", "recall", "F1", "AP", "AUC", "cal. error", "in macro")
	for _, l := range labels {
		macro := "no"
		if l.InMacro {
			macro = "yes"
		}
		cells := []any{l.Label, l.Support, l.Predicted}
		for _, n := range []report.Number{l.Precision, l.Recall, l.F1, l.AP, l.AUC, l.ECE} {
			cells = append(cells, n.As("%.3f"))
		}
		t.Rows = append(t.Rows, append(cells, macro))
	}
	return t
}

func confusionLines(rows []Confusion) []string {
	lines := make([]string, len(rows))
	for i, c := range rows {
		var parts []string
		for _, l := range c.Instead {
			parts = append(parts, fmt.Sprintf("%s %d", l.Label, l.Rows))
		}
		if c.NothingInstead > 0 {
			parts = append(parts, fmt.Sprintf("nothing instead %d", c.NothingInstead))
		}
		if c.Added > 0 {
			parts = append(parts, fmt.Sprintf("(added where nothing was missed: %d)", c.Added))
		}
		lines[i] = fmt.Sprintf("%s: %d of %d missed", c.Label, c.Missed, c.Support)
		if len(parts) > 0 {
			lines[i] += ": " + strings.Join(parts, ", ")
		}
	}
	return lines
}

func (r *LabelReport) difference() report.Section {
	t := report.NewTable("figure", "better", "first", "second", "difference")
	first, second := &r.Predictions[0], &r.Predictions[1]
	for _, m := range r.metrics {
		d := r.Difference[m.Key]
		t.Rows = append(t.Rows, []any{m.Name, d.Better, first.Metrics[m.Key].Value.As("%.3f"),
			second.Metrics[m.Key].Value.As("%.3f"), d.As("%+.3f")})
	}
	return report.Section{Title: fmt.Sprintf("second (%s) minus first (%s)", second.File, first.File), Table: t}
}
