package scorer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm/reply"
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

// fields are the values of the wanted keys, in whatever spelling, the most wanted one last.
func fields(object reply.Object, wanted ...string) []any {
	var found []any
	for _, w := range slices.Backward(wanted) {
		for _, m := range object {
			if fold(m.Key) == w {
				found = append(found, m.Value)
			}
		}
	}
	return found
}

// field is the value of the most wanted key.
func field(object reply.Object, wanted ...string) (any, bool) {
	found := fields(object, wanted...)
	if len(found) == 0 {
		return nil, false
	}
	return found[len(found)-1], true
}

// jsonMarks are the verdicts of the objects and lists in the text.
func (r *reading) jsonMarks(d *taxonomy.Dimension) []mark {
	var found []mark
	for _, v := range r.JSON {
		found = append(found, marksOf(v, d, 0)...)
	}
	return found
}

func last(found []mark) (mark, bool) {
	if len(found) == 0 {
		return mark{}, false
	}
	return found[len(found)-1], true
}

// maxDepth of nesting in which a verdict is looked for: {"evaluation": {"fluency": {"score": 2}}}.
const maxDepth = 3

// marksOf finds the verdicts on d in a JSON value; that which counts is the last one.
func marksOf(v any, d *taxonomy.Dimension, depth int) []mark {
	if depth > maxDepth {
		return nil
	}
	var found []mark
	switch v := v.(type) {
	case reply.Object:
		if own := namedFields(v, d); own != nil {
			return marksOfFields(v, own, d, depth)
		}
		scores := fields(v, scoreKeys...)
		if named, about := namesDimension(v, d); named && !about && scores != nil && depth > 0 {
			return nil
		}
		if scores != nil {
			return marksOfFields(v, scores, d, depth)
		}
		return findInner(v, d, depth)
	case []any:
		for _, e := range v {
			found = append(found, marksOf(e, d, depth+1)...)
		}
	}
	return found
}

// marksOfFields are the verdicts that some of object's values are or hold.
func marksOfFields(object reply.Object, values []any, d *taxonomy.Dimension, depth int) []mark {
	var found []mark
	for _, v := range values {
		if m, ok := markOfScalar(v); ok {
			found = append(found, m)
		} else {
			found = append(found, marksOf(v, d, depth+1)...)
		}
	}
	for i := range found {
		found[i].reason = jsonReason(object, found[i].reason)
	}
	return found
}

// namesDimension tells whether an object names a dimension, as {"dimension": "fluency"} does, and whether that is d.
func namesDimension(v reply.Object, d *taxonomy.Dimension) (named, about bool) {
	value, _ := field(v, nameKeys...)
	name, named := value.(string)
	return named, named && isName(name, d)
}

func isName(text string, d *taxonomy.Dimension) bool {
	return fold(text) == fold(d.Name) || fold(text) == fold(d.Key)
}

// namedFields are the values of {"fluency": 2} and {"fluency": {"score": 2}}.
func namedFields(v reply.Object, d *taxonomy.Dimension) []any {
	wanted := []string{fold(d.Key), fold(d.Name), fold(d.Name) + "score"}
	slices.Sort(wanted)
	return fields(v, slices.Compact(wanted)...)
}

// findInner looks into the only object or list among the values.
func findInner(v reply.Object, d *taxonomy.Dimension, depth int) []mark {
	var nested []any
	for _, m := range v {
		switch m.Value.(type) {
		case reply.Object, []any:
			nested = append(nested, m.Value)
		}
	}
	if len(nested) != 1 {
		return nil
	}
	return marksOf(nested[0], d, depth+1)
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

func jsonReason(v reply.Object, already string) string {
	if already != "" {
		return already
	}
	reason, _ := field(v, reasonKeys...)
	text, _ := reason.(string)
	return strings.TrimSpace(text[:min(len(text), maxExplanation)])
}
