package prompt

import (
	"reflect"
	"slices"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// exampleSlots has values in every slot of a kind, so that a template that is executed on it meets all that it names.
func exampleSlots(kind string) *Slots {
	text := slices.Repeat([]Text{{"text", "a text", "[begin]\n[end]"}}, exampleLength)
	labels := slices.Repeat([]LabelSlot{{"Label", "L", "category", "a label"}}, exampleLength)
	d := DimensionSlot{
		Name: "Quality", Key: "quality", Definition: "a quality",
		Criteria: slices.Repeat([]taxonomy.Criterion{{Score: 1, Text: "low"}}, exampleLength),
		Steps: slices.Repeat([]string{"Look."},
			exampleLength), Errors: labels, Elsewhere: true, Low: 1, High: 2, ErrorAware: true,
	}
	return &Slots{
		Title: "Title", Description: "Description", Fields: text, Types: labels, NoError: "No Error",
		ErrorAware: true, JSON: true,
		Fence: "0", kind: kind, dimensions: slices.Repeat([]DimensionSlot{d}, exampleLength),
		examples: []ExampleSlot{{text, []string{"Label"}}},
		about: issueSlots{criteria: slices.Repeat([]Criterion{{"Clarity", "is clear"}}, exampleLength), issues: text,
			statements: text, evidence: labels, most: 2},
		pair: pairSlots{first: text[0], second: text[0], firstErrors: labels, secondErrors: labels, overall: true},
	}
}

// exampleLength is that of the example's lists: a template may name a field by its place.
const exampleLength = 20

// slotsOf lists for a message what stands where a slot was not found; typeName is Go's, "prompt.Text".
func slotsOf(typeName string) string {
	for _, v := range []any{&Slots{}, &Text{}, &LabelSlot{}, &DimensionSlot{}, &ExampleSlot{},
		&taxonomy.Criterion{}, &Criterion{}} {
		t := reflect.TypeOf(v)
		if strings.TrimPrefix(typeName, "*") != t.Elem().String() {
			continue
		}
		var names []string
		for _, f := range reflect.VisibleFields(t.Elem()) {
			if f.IsExported() {
				names = append(names, "."+f.Name)
			}
		}
		for i := range t.NumMethod() {
			names = append(names, "."+t.Method(i).Name)
		}
		return "there are " + strings.Join(names, ", ")
	}
	return "nothing has slots there"
}
