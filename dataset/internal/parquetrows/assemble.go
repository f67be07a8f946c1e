package parquetrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// assembler makes JSON of one row's values, as described in Dremel's section 4.3
// (https://research.google/pubs/pub36632/): each leaf's values in order, with their levels.
type assembler struct {
	leaves [][]parquet.Value
	max    int // bytes that the JSON may take
	left   int // bytes that it may still take
}

// charge takes n bytes of those that the row may take.
func (a *assembler) charge(n int) error {
	if a.left -= n; a.left < 0 {
		return &bounded.TooLongError{Max: a.max}
	}
	return nil
}

// node gives the JSON of a column at definition level def and repetition level rep.
func (a *assembler) node(c Column, rep, def int) (json.RawMessage, error) {
	if c.Node.Optional() {
		if a.level(c) <= def {
			return json.RawMessage("null"), a.skip(c)
		}
		return a.required(c, rep, def+1)
	}
	if c.Node.Repeated() {
		return a.repeated(c, rep, def, func(rep, def int) (json.RawMessage, error) { return a.required(c, rep, def) })
	}
	return a.required(c, rep, def)
}

func (a *assembler) required(c Column, rep, def int) (json.RawMessage, error) {
	switch {
	case c.Node.Leaf():
		v, err := a.pop(c.leaf)
		if err != nil {
			return nil, err
		}
		return a.leaf(v, c.Node)
	case logical(c.Node) == "LIST" && len(c.parts) == 1 && c.parts[0].Node.Repeated():
		inner := c.parts[0]
		return a.repeated(inner, rep, def, func(rep, def int) (json.RawMessage, error) {
			if !inner.Node.Leaf() && len(inner.parts) == 1 && inner.Name != "array" && inner.Name != c.Name+"_tuple" {
				return a.node(inner.parts[0], rep, def)
			}
			return a.required(inner, rep, def)
		})
	case logical(c.Node) == "MAP" && len(c.parts) == 1 && len(c.parts[0].parts) == 2:
		return a.object(c.parts[0], rep, def)
	}
	out := []byte{'{'}
	for i, part := range c.parts {
		v, err := a.node(part, rep, def)
		if err == nil {
			err = a.charge(len(part.Name))
		}
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = appendMember(out, part.Name, v)
	}
	return append(out, '}'), nil
}

// leaf gives the JSON of a value. A text of control characters, which take six bytes each there, is looked at first.
func (a *assembler) leaf(v parquet.Value, node parquet.Node) (json.RawMessage, error) {
	if k := v.Kind(); (k == parquet.ByteArray || k == parquet.FixedLenByteArray) && 6*len(v.ByteArray()) > a.left {
		n := 0
		for _, b := range v.ByteArray() {
			if n++; b < ' ' && b != '\n' && b != '\r' && b != '\t' {
				n += len("\\u000")
			}
		}
		if n > a.left {
			return nil, &bounded.TooLongError{Max: a.max}
		}
	}
	raw, err := leafJSON(v, node)
	if err != nil {
		return nil, err
	}
	return raw, a.charge(len(raw))
}

// repeated gives a list of what item gives.
func (a *assembler) repeated(c Column, rep, def int, item func(rep, def int) (json.RawMessage,
	error)) (json.RawMessage, error) {
	out := []byte{'['}
	if a.level(c) <= def {
		return json.RawMessage("[]"), a.skip(c)
	}
	for first := true; first || a.again(c, rep+1); first = false {
		v, err := item(rep+1, def+1)
		if err != nil {
			return nil, err
		}
		if !first {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']'), nil
}

// object gives the object of a map's keys and values.
func (a *assembler) object(c Column, rep, def int) (json.RawMessage, error) {
	var names []string
	out := []byte{'{'}
	_, err := a.repeated(c, rep, def, func(rep, def int) (json.RawMessage, error) {
		k, err := a.node(c.parts[0], rep, def)
		if err != nil {
			return nil, err
		}
		v, err := a.node(c.parts[1], rep, def)
		name, ok := jsontext.Unquote(k)
		if !ok {
			name = string(k)
		}
		if slices.Contains(names, name) {
			return nil, errors.Join(err, fmt.Errorf("the key %q is there twice", name))
		}
		if len(names) > 0 {
			out = append(out, ',')
		}
		names, out = append(names, name), appendMember(out, name, v)
		return nil, err
	})
	return append(out, '}'), err
}

// appendMember appends a member of an object.
func appendMember(out []byte, name string, value json.RawMessage) []byte {
	return append(append(append(out, jsontext.Quote(name)...), ':'), value...)
}

// level is the definition level of the next value under c.
func (a *assembler) level(c Column) int {
	if values := a.leaves[c.leaf]; len(values) > 0 {
		return values[0].DefinitionLevel()
	}
	return -1
}

// again tells whether the next value under c is one more item of the list that is being read.
func (a *assembler) again(c Column, rep int) bool {
	values := a.leaves[c.leaf]
	return len(values) > 0 && values[0].RepetitionLevel() == rep
}

// skip takes one value from each leaf under c.
func (a *assembler) skip(c Column) error {
	if c.Node.Leaf() {
		_, err := a.pop(c.leaf)
		return err
	}
	for _, part := range c.parts {
		if err := a.skip(part); err != nil {
			return err
		}
	}
	return nil
}

func (a *assembler) pop(leaf int) (parquet.Value, error) {
	values := a.leaves[leaf]
	if len(values) == 0 {
		return parquet.Value{}, errors.New("a value is missing; the file is damaged")
	}
	a.leaves[leaf] = values[1:]
	return values[0], nil
}

// logical is the name of a node's logical type, or of the older converted type, without parameters.
func logical(node parquet.Node) string {
	t := node.Type()
	if l := t.LogicalType(); l != nil {
		name, _, _ := strings.Cut(l.String(), "(")
		return name
	}
	return ""
}
