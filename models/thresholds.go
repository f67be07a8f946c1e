package models

import (
	"maps"
	"strconv"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// ParseThresholds reads the values of an option, such as "--threshold": a number in 0..1 for every error type among
// labels, or LABEL=NUMBER for one, which wins. The keys of the result are the taxonomy's names. A fault is an
// *OptionError.
func ParseThresholds(option string, given []string, t *taxonomy.Taxonomy, labels []string) (map[string]float64, error) {
	all, byLabel := map[string]float64{}, map[string]float64{}
	for _, text := range given {
		name, number, named := strings.Cut(text, "=")
		if !named {
			name, number = "", text
		}
		p, err := strconv.ParseFloat(number, 64)
		if err != nil || !(p >= 0 && p <= 1) {
			return nil, OptionErrorf("%s %q: write a number in 0..1, as in 0.4, or LABEL=NUMBER, as in \"Vague=0.3\"",
				option, text)
		}
		if !named {
			setAll(all, t, labels, p)
			continue
		}
		i, ok := t.Index(name)
		if !ok {
			return nil, OptionErrorf("%s %q: the taxonomy has no error type %q; its types are %s",
				option, text, name, strings.Join(t.Labels(), ", "))
		}
		if t.Types[i].NoError {
			return nil, OptionErrorf("%s %q: %s is what is left when no error is found; it has no threshold", option,
				text, name)
		}
		byLabel[t.Types[i].Name] = p
	}
	maps.Copy(all, byLabel)
	return all, nil
}

func setAll(thresholds map[string]float64, t *taxonomy.Taxonomy, labels []string, p float64) {
	for _, label := range labels {
		if i, ok := t.Index(label); ok && !t.Types[i].NoError {
			thresholds[t.Types[i].Name] = p
		}
	}
}
