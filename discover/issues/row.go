package issues

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/erreval/erreval/dataset"
)

// RowWithout is a row's columns, without an id, but for those of these names.
func RowWithout(row *dataset.Row, names ...string) (*dataset.Row, error) {
	object := []byte{'{'}
	for _, name := range row.Columns() {
		if slices.Contains(names, name) {
			continue
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		value, _ := row.Get(name)
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = append(append(append(object, quoted...), ':'), value...)
	}
	out, err := dataset.RowOf(json.RawMessage(append(object, '}')))
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", row.ID, err)
	}
	return out, nil
}
