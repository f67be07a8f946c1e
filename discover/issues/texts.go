package issues

import (
	"cmp"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// fieldReference is the field of a task that holds a response known to be right.
const fieldReference = "reference"

// Texts are the columns that hold a row's texts, for programs that know an input, a response and a reference.
type Texts struct {
	Response  string
	Reference string // "" where the task has none
	Inputs    []Input
}

// Input is a text that the system was given.
type Input struct{ Field, Column string }

// NewTexts tells them from a task's fields, of which the first is the response; columns are those of fields that are
// read from one of another name.
func NewTexts(t *taxonomy.Taxonomy, columns map[string]string) Texts {
	var all Texts
	for i, field := range t.FieldNames() {
		column := cmp.Or(columns[field], field)
		switch {
		case i == 0:
			all.Response = column
		case field == fieldReference:
			all.Reference = column
		default:
			all.Inputs = append(all.Inputs, Input{field, column})
		}
	}
	return all
}

// Input is what the system was given in a row; of several texts each has its field's name in front.
func (t *Texts) Input(row *dataset.Row) string {
	var names, texts []string
	for _, in := range t.Inputs {
		if text := CellText(row, in.Column); text != "" {
			names, texts = append(names, in.Field), append(texts, text)
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	for i := range texts {
		texts[i] = names[i] + ": " + texts[i]
	}
	return strings.Join(texts, "\n\n")
}

// TextColumns are the columns of fields: of those that may hold one, the first in which the row has a text.
func TextColumns(row *dataset.Row, candidates map[string][]string) map[string]string {
	columns := map[string]string{}
	for field, names := range candidates {
		for _, name := range names {
			raw, there := row.Get(name)
			if there && raw[0] == '"' && columns[field] == "" {
				columns[field] = name
			}
		}
	}
	return columns
}

// CellText is the text in a column, or its JSON where it is none; "" where it is absent or null.
func CellText(row *dataset.Row, column string) string {
	raw, ok := row.Get(column)
	if !ok || string(raw) == "null" {
		return ""
	}
	return dataset.PlainText(raw)
}
