package local

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// Lines says a line of each model.
func (l List) Lines() *report.Lines {
	lines := &report.Lines{}
	for _, m := range l {
		lines.Add(m.Model, "%s, %s, %s, %.1f MB%s", m.ID, m.Taxonomy, models.PrecisionText(m.Precision), float64(m.Size)/1e6,
			words.Prefixed(", from ", m.Source))
	}
	return lines
}

// Describe says what a model's manifest says, for people. The thresholds are those of the error types of t.
func Describe(model *models.Model, t *taxonomy.Taxonomy) *report.Lines {
	m, lines := &model.Manifest, &report.Lines{}
	lines.Add("model", "%s (%s)", m.ID(), model.Source)
	if m.Source != "" {
		lines.Add("imported", "from %s", m.Source)
	}
	lines.Add("encoder", "%s, %s", m.EncoderText(), models.PrecisionText(m.Precision))
	lines.Add("taxonomy", "%s", m.Taxonomy)
	lines.Add("input", "%s", m.InputText())
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		lines.Add("file", "%s, %d bytes, SHA-256 %s", name, m.Files[name].Size, m.Files[name].SHA256)
	}
	lines.Add("licence", "%s", cmp.Or(m.Licence, "not stated"))
	for _, d := range m.TrainingData {
		lines.Add("trained on", "%s, %d rows, %s", d.Name, d.Rows, d.Licence)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Quality)) {
		lines.Add("measured", "%s: %s", name, compact(m.Quality[name]))
	}
	lines.Add("probe rows", "%d (erreval doctor runs them)", len(m.Probes))
	for _, label := range m.Labels {
		if i, ok := t.Index(label); ok && !t.Types[i].NoError {
			lines.Add("threshold", "%.3f %s", m.Thresholds[label], label)
		}
	}
	return lines
}

// compact is a figure, or a group of figures, on one line.
func compact(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
