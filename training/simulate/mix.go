package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// ParseMix is the usual relative weights of labels, nothing with only, in which values such as "Vague=2,OTA=1" replace
// some. find gives what stands for a label, and known are the labels that a message suggests.
func ParseMix[K comparable](usual map[K]float64, values []string, only bool, find func(label string) (K, bool),
	known []string) (map[K]float64, error) {
	mix, given := map[K]float64{}, map[K]float64{}
	if !only {
		mix = maps.Clone(usual)
	}
	for _, value := range values {
		for pair := range strings.SplitSeq(value, ",") {
			label, text, ok := strings.Cut(strings.TrimSpace(pair), "=")
			weight, err := strconv.ParseFloat(text, 64)
			if !ok || err != nil {
				return mix, fmt.Errorf("--mix %q: give CODE=WEIGHT, such as OTA=30", pair)
			}
			key, ok := find(label)
			if !ok {
				return mix, fmt.Errorf("mix names %q: choose among %s", label, strings.Join(known, ", "))
			}
			given[key] = weight
		}
	}
	maps.Copy(mix, given)
	return mix, nil
}

// FormatMix is a mix of the rules' labels in words, in the rules' order.
func FormatMix(mix map[string]float64) string {
	var parts []string
	for _, code := range Codes() {
		parts = append(parts, fmt.Sprintf("%s=%g", code, mix[code]))
	}
	return strings.Join(parts, " ")
}

// IsRight tells whether a row has no labels, or no errors among them; where nobody labelled it, whether a model found
// none. Labels that t does not have are an error.
func IsRight(r *dataset.Row, t *taxonomy.Taxonomy) (bool, error) {
	raw, ok := r.Get(dataset.ColumnLabels)
	if !ok || string(raw) == "null" || string(raw) == `""` || string(raw) == "[]" {
		d, err := r.Diagnosis()
		if err != nil || d == nil || d.Status != "" { // nobody said anything of it
			return err == nil, err
		}
		isNone := func(label string) bool { return label == "No Error" || label == t.NoError() }
		return !slices.ContainsFunc(d.Labels, func(l string) bool { return !isNone(l) }), nil
	}
	labels, err := r.Labels(t)
	if err != nil {
		return false, err
	}
	no := t.NoErrorIndex()
	return len(labels) == 0 || no >= 0 && labels[0] == t.Types[no].Name, nil
}
