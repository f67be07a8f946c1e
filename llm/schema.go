package llm

import "encoding/json"

// Object is the JSON Schema of an object whose properties are all required and in this order: what comes first is
// written first, and reasons written after a verdict only defend it.
type Object struct {
	Type       string     `json:"type"`
	Properties properties `json:"properties"`
	Required   []string   `json:"required"`
	Additional bool       `json:"additionalProperties"`
}

// Property is one key of an Object; Schema marshals to the JSON Schema of its value.
type Property struct {
	Name   string
	Schema any
}

// properties is a JSON object that keeps its order.
type properties []Property

// MarshalJSON writes the properties in order.
func (p properties) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, q := range p {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(q.Name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(q.Schema)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), schema...)
	}
	return append(out, '}'), nil
}

// ObjectOf is the schema of an object with these keys.
func ObjectOf(p ...Property) Object {
	names := make([]string, len(p))
	for i, q := range p {
		names[i] = q.Name
	}
	return Object{"object", p, names, false}
}

// TextSchema is the schema of a string.
func TextSchema() map[string]any { return map[string]any{"type": "string"} }

// ListSchema is the schema of a list whose items have the schema that item marshals to.
func ListSchema(item any) map[string]any { return map[string]any{"type": "array", "items": item} }

// NewSchema makes the Schema of that name; Schema says which names are allowed.
func NewSchema(name string, o Object) (*Schema, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return &Schema{Name: name, JSON: data}, nil
}
