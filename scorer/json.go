package scorer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// Keys that models give to a verdict and its reasons, best first, as fold makes them.
var (
	scoreKeys  = []string{"score", "verdict", "rating", "grade", "value", "finalscore", "overallscore", "overall"}
	reasonKeys = []string{"reason", "reasoning", "explanation", "justification", "rationale", "reasons", "comment"}
	nameKeys   = []string{"dimension", "requirement", "name", "criterion", "quality", "key"}
	listKeys   = []string{"labels", "errors", "errortypes", "errorlabels", "types", "label"}
)

var keyPunctuation = strings.NewReplacer("_", "", " ", "", "-", "")

// fold is a key without case and punctuation.
func fold(key string) string { return keyPunctuation.Replace(strings.ToLower(key)) }

// field looks a key up, the wanted ones in order.
func field(object map[string]any, wanted ...string) (any, bool) {
	for _, w := range wanted {
		var found []string
		for key := range object {
			if fold(key) == w {
				found = append(found, key)
			}
		}
		if len(found) > 0 {
			return object[slices.Max(found)], true // two spellings of one key: always the same one
		}
	}
	return nil, false
}

// jsonVerdict is the verdict of a reply that is JSON and nothing else.
func (r *reading) jsonVerdict(d *taxonomy.Dimension) (mark, bool) {
	if !r.only {
		return mark{}, false
	}
	return r.laterJSON(d)
}

// laterJSON is the verdict of the last object or list in the text that holds one.
func (r *reading) laterJSON(d *taxonomy.Dimension) (mark, bool) {
	for _, v := range slices.Backward(r.json) {
		if m, ok := markOf(v, d, 0); ok {
			return m, true
		}
	}
	return mark{}, false
}

// maxDepth of nesting in which a verdict is looked for: {"evaluation": {"fluency": {"score": 2}}}.
const maxDepth = 3

// markOf finds the verdict on d in a JSON value.
func markOf(v any, d *taxonomy.Dimension, depth int) (mark, bool) {
	if depth > maxDepth {
		return mark{}, false
	}
	switch v := v.(type) {
	case map[string]any:
		if m, ok := findNamed(v, d, depth); ok {
			return m, true
		}
		if named, about := namesDimension(v, d); named && !about && hasScore(v) && depth > 0 {
			return mark{}, false
		}
		if score, ok := field(v, scoreKeys...); ok {
			m, ok := markOfScalar(score)
			if !ok {
				m, ok = markOf(score, d, depth+1)
			}
			m.reason = jsonReason(v, m.reason)
			return m, ok
		}
		return findInner(v, d, depth)
	case []any:
		for _, e := range slices.Backward(v) {
			if m, ok := markOf(e, d, depth+1); ok {
				return m, true
			}
		}
	}
	return mark{}, false
}

// namesDimension tells whether an object names a dimension, as {"dimension": "fluency"} does, and whether that is d.
func namesDimension(v map[string]any, d *taxonomy.Dimension) (named, about bool) {
	value, _ := field(v, nameKeys...)
	name, named := value.(string)
	return named, named && isName(name, d)
}

func isName(text string, d *taxonomy.Dimension) bool {
	return fold(text) == fold(d.Name) || fold(text) == fold(d.Key)
}

func hasScore(v map[string]any) bool { _, ok := field(v, scoreKeys...); return ok }

// findNamed finds {"fluency": 2}, {"fluency": {"score": 2}} and {"dimension": "fluency", "score": 2}.
func findNamed(v map[string]any, d *taxonomy.Dimension, depth int) (mark, bool) {
	if own, ok := field(v, fold(d.Key), fold(d.Name), fold(d.Name)+"score"); ok {
		m, ok := markOfScalar(own)
		if !ok {
			m, ok = markOf(own, d, depth+1)
		}
		m.reason = jsonReason(v, m.reason)
		return m, ok
	}
	return mark{}, false
}

// findInner looks into the only object or list among the values.
func findInner(v map[string]any, d *taxonomy.Dimension, depth int) (mark, bool) {
	var nested []any
	for _, e := range v {
		switch e.(type) {
		case map[string]any, []any:
			nested = append(nested, e)
		}
	}
	if len(nested) != 1 {
		return mark{}, false
	}
	return markOf(nested[0], d, depth+1)
}

// markOfScalar reads 2, "2", "2/3" and "two"; null, true and other texts are no marks.
func markOfScalar(v any) (mark, bool) {
	switch v := v.(type) {
	case json.Number:
		text, minus := strings.CutPrefix(v.String(), "-")
		return mark{number: text, minus: minus}, true
	case string:
		return lastMark(spell.Replace(strings.TrimSpace(v)), bareLine, 1, nil)
	}
	return mark{}, false
}

func jsonReason(v map[string]any, already string) string {
	if already != "" {
		return already
	}
	reason, _ := field(v, reasonKeys...)
	text, _ := reason.(string)
	return strings.TrimSpace(text[:min(len(text), maxExplanation)])
}
