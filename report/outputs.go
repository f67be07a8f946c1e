package report

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// output is a row as tests pair it with those of other systems.
type output struct {
	group  groupHash // by which rows stand and fall together
	id     string
	input  inputKey
	asked  inputKey // of a conversation: what its users said
	rows   int      // of its system for the input
	system int
	file   int      // place in the files that were read
	names  []string // of its system, by Tally.inFiles, where files are systems
	values []value
	left   string // the errors that it was not judged for
}

// inputKey says what a row was written for. Several rows of a system for one input are compared with those of others
// that have the same number: the same id, else the same place.
type inputKey struct {
	item, part groupHash
	nth        int
}

// itemOf is an item that a system has rows for.
type itemOf struct {
	item   groupHash
	system int
}

// addOutput keeps a row for the tests. Its values are those of addRow.
func (t *Tally) addOutput(row *dataset.Row, d *dataset.Diagnosis, group groupHash, system, file string,
	values []value) {
	at := slices.Index(t.o.Taxonomy.FieldNames(), t.o.Taxonomy.GroupField())
	keyOf := func(values []string) inputKey {
		rest := strings.Join(values[1:], "\n") // all fields but the judged one
		if strings.TrimSpace(rest) == "" {
			rest = row.ID
		}
		item := rest
		if at >= 0 {
			item = cmp.Or(values[at], rest)
		}
		return inputKey{item: newGroupHash(item), part: newGroupHash(rest)}
	}
	input := keyOf(row.Values)
	asked := input
	if at > 0 {
		if text := dataset.AsAsked(row.Values[at]); text != row.Values[at] {
			values := slices.Clone(row.Values)
			values[at] = text
			asked = keyOf(values)
		}
	}
	var names []string
	if system == file {
		for _, in := range t.inFiles {
			names = append(names, in.nameOf(row))
		}
	}
	t.outputs = append(t.outputs, &output{group: group, id: row.ID, names: names, file: len(t.rows.files),
		input: input, asked: asked, system: t.systems[system], values: values, left: d.Unjudged()})
}

// pairOutputs numbers the rows of a system for one input, and puts rows in the order of their groups.
func (t *Tally) pairOutputs() {
	if t.isAsked() {
		for _, o := range t.outputs {
			o.input = o.asked
		}
	}
	t.partByNames()
	inputs := map[inputKey][]*output{}
	t.bySystem = make([][]*output, len(t.stats.Systems))
	for _, o := range t.outputs {
		inputs[o.input] = append(inputs[o.input], o)
	}
	for _, outputs := range inputs {
		number(outputs)
	}
	slices.SortStableFunc(t.outputs, func(a, b *output) int { return bytes.Compare(a.group[:], b.group[:]) })
	for _, o := range t.outputs {
		t.bySystem[o.system] = append(t.bySystem[o.system], o)
	}
}

// isAsked tells whether systems share more inputs by what users said, as where each was told something else, and none
// was told different things for one of them, which may be different tasks.
func (t *Tally) isAsked() bool {
	told := map[itemOf]groupHash{}
	for _, o := range t.outputs {
		k := itemOf{o.asked.item, o.system}
		if first, before := told[k]; before && first != o.input.item {
			return false
		}
		told[k] = o.input.item
	}
	shared := func(keyOf func(*output) inputKey) int {
		items, of := map[groupHash]bool{}, map[itemOf]bool{}
		for _, o := range t.outputs {
			item := keyOf(o).item
			items[item], of[itemOf{item, o.system}] = true, true
		}
		return len(of) - len(items)
	}
	return shared(func(o *output) inputKey { return o.asked }) > shared(func(o *output) inputKey { return o.input })
}

// partByNames parts items by the systems that rows name, where files are compared of which one has several: the rows
// of one are compared with those of the same.
func (t *Tally) partByNames() {
	for k := range t.inFiles {
		first, several := map[int]string{}, false
		for _, o := range t.outputs {
			if o.names == nil {
				return
			}
			name, before := first[o.system]
			if several = several || before && name != o.names[k]; !before {
				first[o.system] = o.names[k]
			}
		}
		if !several {
			continue
		}
		for _, o := range t.outputs {
			o.input.item = newGroupHash(fmt.Sprintf("%x %s", o.input.item, o.names[k]))
		}
		return
	}
}

// number numbers each system's rows for one input: as one that has the same id in a system before it, else with what
// is free, in the order of the ids: that of the file would make figures of its own.
func number(outputs []*output) {
	slices.SortStableFunc(outputs, func(a, b *output) int {
		return cmp.Or(cmp.Compare(a.system, b.system), cmp.Compare(a.id, b.id))
	})
	known := map[string]int{} // by id
	for len(outputs) > 0 {
		end := slices.IndexFunc(outputs, func(o *output) bool { return o.system != outputs[0].system })
		if end < 0 {
			end = len(outputs)
		}
		taken, left := map[int]bool{}, []*output{}
		for _, o := range outputs[:end] {
			o.rows = end
			nth, ok := known[o.id]
			if !ok || taken[nth] {
				left = append(left, o)
				continue
			}
			o.input.nth, taken[nth] = nth, true
		}
		nth := 0
		for _, o := range left {
			for taken[nth] {
				nth++
			}
			o.input.nth, taken[nth] = nth, true
			if _, ok := known[o.id]; !ok {
				known[o.id] = nth
			}
		}
		outputs = outputs[end:]
	}
}

// partners are, for each row of a system, that of another one for the same input, or nil. What is then left of an item
// is paired in the order of ids, where both have as many: the rest of an input may be the system's own, as the answer
// that a question is for. whole tells whether no row of an item that both have lacks a partner: those that do may be
// unlike the others.
func partners(rows, others []*output) (out []*output, whole bool) {
	by, taken := map[inputKey]*output{}, map[*output]bool{}
	for _, o := range others {
		by[o.input] = o
	}
	out, whole = make([]*output, len(rows)), true
	left, free := map[groupHash][]int{}, map[groupHash][]*output{} // what is left of each item: places of rows, and others
	for i, o := range rows {
		rest := left[o.input.item]
		// of more rows for an input than the other has, chance would choose
		if p := by[o.input]; p != nil && (o.id == p.id || o.rows == p.rows) {
			out[i], taken[p] = p, true
		} else {
			rest = append(rest, i)
		}
		left[o.input.item] = rest // empty: has the item
	}
	for _, o := range others {
		rest := free[o.input.item]
		if !taken[o] {
			rest = append(rest, o)
		}
		free[o.input.item] = rest
	}
	for item, places := range left {
		rest, both := free[item]
		if len(rest) != len(places) {
			whole = whole && !both
			continue
		}
		slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(rows[i].id, rows[j].id) })
		slices.SortStableFunc(rest, func(a, b *output) int { return cmp.Compare(a.id, b.id) })
		for k, i := range places {
			out[i] = rest[k]
		}
	}
	return out, whole
}
