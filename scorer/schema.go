package scorer

import (
	"encoding/json"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
)

// object is a JSON Schema whose properties are all required and in this order: what comes first is written first, and
// reasons written after a verdict only defend it.
type object struct {
	Type       string     `json:"type"`
	Properties properties `json:"properties"`
	Required   []string   `json:"required"`
	Additional bool       `json:"additionalProperties"`
}

type property struct {
	name   string
	schema any
}

// properties is a JSON object that keeps its order.
type properties []property

// MarshalJSON writes the properties in order.
func (p properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, q := range p {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(q.name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(q.schema)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, '}'), nil
}

func objectOf(p ...property) object {
	names := make([]string, len(p))
	for i, q := range p {
		names[i] = q.name
	}
	return object{"object", p, names, false}
}

// VerdictSchema is the form of a reply to a prompt of kind judge with JSON set: reason, then score.
func VerdictSchema(d *taxonomy.Dimension) (*llm.Schema, error) {
	return schema("verdict", verdictOf(d))
}

// JointSchema is the form of a reply to a prompt of kind joint: reason and score under each dimension's key.
func JointSchema(ds []taxonomy.Dimension) (*llm.Schema, error) {
	p := make([]property, len(ds))
	for i := range ds {
		p[i] = property{ds[i].Key, verdictOf(&ds[i])}
	}
	return schema("verdicts", objectOf(p...))
}

// LabelsSchema is the form of a reply to a prompt of kind identify: reason, then the labels' names.
func LabelsSchema(t *taxonomy.Taxonomy) (*llm.Schema, error) {
	labels := map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": t.Labels()}}
	return schema("labels", objectOf(property{"reason", anyText}, property{"labels", labels}))
}

// anyText is the schema of a string.
var anyText = map[string]any{"type": "string"}

// verdictOf lists the scores: not every endpoint takes minimum and maximum, and nothing lies between scores.
func verdictOf(d *taxonomy.Dimension) object {
	scores := make([]int, len(d.Criteria))
	for i, c := range d.Criteria {
		scores[i] = c.Score
	}
	return objectOf(property{"reason", anyText}, property{"score", map[string]any{"type": "integer", "enum": scores}})
}

func schema(name string, o object) (*llm.Schema, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return &llm.Schema{Name: name, JSON: data}, nil
}
