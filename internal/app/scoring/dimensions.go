package scoring

import (
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/spelling"
	"github.com/erreval/erreval/scorer"
	"github.com/erreval/erreval/taxonomy"
)

// chooseDimensions gives the taxonomy with the dimensions of these names or keys alone, and their keys; both are in the
// taxonomy's order. No name chooses all, for which keys is nil. The error has the code exit.Usage.
func chooseDimensions(t *taxonomy.Taxonomy, names []string) (chosen *taxonomy.Taxonomy, keys []string, err error) {
	if len(names) == 0 {
		return t, nil, nil
	}
	wanted := make([]bool, len(t.Dimensions))
	for _, name := range names {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(t.Dimensions, func(d taxonomy.Dimension) bool {
			return strings.EqualFold(d.Key, name) || strings.EqualFold(d.Name, name)
		})
		switch {
		case i < 0:
			return nil, nil, unknownDimension(t, name)
		case wanted[i]:
			return nil, nil, exit.Usagef("--dimensions: %s is given twice", t.Dimensions[i].Key)
		}
		wanted[i] = true
	}
	narrow := *t
	narrow.Dimensions = nil
	for i, d := range t.Dimensions {
		if wanted[i] {
			narrow.Dimensions, keys = append(narrow.Dimensions, d), append(keys, d.Key)
		}
	}
	if len(keys) == len(t.Dimensions) {
		return t, nil, nil
	}
	return &narrow, keys, nil
}

func unknownDimension(t *taxonomy.Taxonomy, name string) error {
	var keys, all []string
	for _, d := range t.Dimensions {
		keys, all = append(keys, d.Key), append(all, d.Key, d.Name)
	}
	hint := ""
	if meant := spelling.Meant(name, all); meant != "" {
		hint = "; did you mean " + strconv.Quote(meant) + "?"
	}
	return exit.Usagef("--dimensions: %s has no dimension %q%s (its dimensions are %s)", t.ID(), name, hint,
		strings.Join(keys, ", "))
}

// RecordedAggregate is how the run that wrote file put judgements together, or "".
func RecordedAggregate(file string) string {
	var o struct {
		Aggregate string `json:"aggregate"`
	}
	if runrecord.ReadOptions(file, &o) == nil || !slices.Contains(scorer.Aggregates(), o.Aggregate) {
		return ""
	}
	return o.Aggregate
}
