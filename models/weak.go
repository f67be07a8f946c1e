package models

import (
	"fmt"
	"slices"

	"github.com/erreval/erreval/internal/words"
)

// Keys of a label's figures in Manifest.Quality.
const (
	qualityF1     = "test_f1"        // where the model was measured
	qualityAlways = "test_always_f1" // of saying the label of every row there
	qualityLimit  = "limit"          // what the label's figures do not show, for people
)

// leastGain is by how much a label's F1 has to exceed that of saying it of every row for the label to say something.
const leastGain = 0.05

// WeakLabels says in a sentence each which of the labels that the model judges are not to be relied on: they are found
// hardly better than by saying them of every row, or the maker of the model knows a limit. Where the manifest has no
// figures of a label, nothing is known of it.
func (m *Manifest) WeakLabels() []string {
	var said []string
	for _, label := range m.Labels {
		figures, _ := m.Quality[label].(map[string]any)
		f1, measured := figures[qualityF1].(float64)
		always, compared := figures[qualityAlways].(float64)
		limit, _ := figures[qualityLimit].(string)
		measured = measured && compared
		if slices.Contains(m.NotJudged, label) || limit == "" && !(measured && f1 < always+leastGain) {
			continue
		}
		text := words.Clip(limit, longestLimit)
		if measured {
			text = fmt.Sprintf("F1 %.2f where the model was measured (always saying it: %.2f)", f1, always) +
				words.Prefixed("; ", text)
		}
		said = append(said, words.NotReliedOn(label)+words.Printable(text))
	}
	return said
}

const longestLimit = 120 // characters
