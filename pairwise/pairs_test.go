package pairwise

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/taxonomy"
)

// outputs are those of systems on items; the last system lacks the last item.
func outputs(t *testing.T, tax *taxonomy.Taxonomy, items, systems int) []Output {
	t.Helper()
	var out []Output
	for i := range items {
		for s := range systems {
			if i == items-1 && s == systems-1 && systems > 2 {
				continue
			}
			out = append(out, Output{Item: fmt.Sprint("i", i), System: fmt.Sprint("s", s), Row: rowOf(t, tax,
				map[string]any{"id": fmt.Sprint(i, ".", s), "response": fmt.Sprint("text ", i, s), "instruction": fmt.Sprint("do ",
					i)})})
		}
	}
	return out
}

func describe(rows []*dataset.Row) (all []string) {
	for _, r := range rows {
		all = append(all, text(r, verdicts.Item)+":"+text(r, verdicts.SystemA)+text(r, verdicts.SystemB))
	}
	return all
}

func TestDesigns(t *testing.T) {
	tax := instructionFollowing(t)
	all := outputs(t, tax, 40, 4) // 39 items of 4 systems, one of 3
	for _, c := range []struct {
		o    DesignOptions
		want int
	}{
		{DesignOptions{Design: All}, 39*6 + 3}, {DesignOptions{Design: Random}, 40},
		{DesignOptions{Design: Baseline + "s3"}, 39 * 3}, {DesignOptions{Design: Baseline + "s0"}, 39*3 + 2},
		{DesignOptions{Design: All, Pairs: 50}, 50}, {DesignOptions{Design: Random, Pairs: 1000}, 40},
		{DesignOptions{Design: All, Shuffle: true}, 39*6 + 3},
	} {
		c.o.Seed = 5
		rows, err := NewPairs(tax, all, c.o)
		if err != nil || len(rows) != c.want {
			t.Fatalf("%+v: %d pairs, %v; want %d", c.o, len(rows), err, c.want)
		}
		again, err := NewPairs(tax, all, c.o)
		if err != nil || !reflect.DeepEqual(describe(rows), describe(again)) {
			t.Errorf("%+v: other pairs the second time, %v", c.o, err)
		}
		seen, first := map[string]bool{}, 0
		for _, r := range rows {
			a, b := text(r, verdicts.SystemA), text(r, verdicts.SystemB)
			if a < b {
				first++
			}
			key := text(r, verdicts.Item) + min(a, b) + max(a, b)
			if a == b || seen[key] {
				t.Errorf("%+v: pair %s is there twice, or of one system", c.o, key)
			}
			seen[key] = true
			if base, ok := strings.CutPrefix(c.o.Design, Baseline); ok && a != base && b != base {
				t.Errorf("%+v: pair of %s and %s", c.o, a, b)
			}
			item := strings.TrimPrefix(text(r, verdicts.Item), "i")
			if text(r, "response_a") != "text "+item+" "+a[1:] ||
				text(r, "instruction") != "do "+item {
				t.Errorf("%+v: texts of other rows: %s, %s", c.o, text(r, "response_a"), text(r, "instruction"))
			}
		}
		if share := float64(first) / float64(len(rows)); share < 0.25 || share > 0.75 {
			t.Errorf("%+v: the system of the lower number is A in %.2f of the pairs", c.o, share)
		}
	}
	in, _ := NewPairs(tax, all, DesignOptions{Design: Random, Seed: 5})
	shuffled, _ := NewPairs(tax, all, DesignOptions{Design: Random, Seed: 5, Shuffle: true})
	other, _ := NewPairs(tax, all, DesignOptions{Design: Random, Seed: 6})
	if slices.Equal(describe(in), describe(other)) || slices.Equal(describe(in), describe(shuffled)) {
		t.Error("neither the seed nor a drawn order of items changes the pairs")
	}
	if !slices.IsSortedFunc(in, func(a, b *dataset.Row) int {
		return strings.Compare(fmt.Sprintf("%4s", text(a, verdicts.Item)), fmt.Sprintf("%4s", text(b, verdicts.Item)))
	}) {
		t.Errorf("not in the order of the items: %v", describe(in))
	}
}

func TestPairFaults(t *testing.T) {
	tax := instructionFollowing(t)
	all := outputs(t, tax, 2, 2)
	for name, c := range map[string]struct {
		outputs []Output
		design  string
		want    string
	}{
		"twice":       {append(slices.Clone(all), all[3]), All, `rows 1.1 and 1.1: the system "s1" has two outputs`},
		"one system":  {[]Output{all[0], all[2]}, All, "no item has outputs of two systems"},
		"nothing":     {nil, All, "no item has outputs of two systems"},
		"no baseline": {all, Baseline + "s7", `the baseline "s7" is none of the systems; they are s0, s1`},
		"no name":     {all, Baseline, `the baseline "" is none of the systems`},
	} {
		if rows, err := NewPairs(tax, c.outputs, DesignOptions{Design: c.design}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d pairs, %v", name, len(rows), err)
		}
	}
	other := all[1]
	other.Row = rowOf(t, tax, map[string]any{"id": "x", "response": "y", "instruction": "i",
		"diagnosis": map[string]any{"labels": 3}})
	if _, err := NewPairs(tax, []Output{all[0], other}, DesignOptions{Design: All}); err == nil {
		t.Error("a diagnosis that cannot be read is taken")
	}
}

// TestPairRow: what a pair takes over of its rows; a field that one of the rows lacks comes from the other.
func TestPairRow(t *testing.T) {
	tax := instructionFollowing(t)
	a := Output{Item: "i", System: "s0", Row: rowOf(t, tax, map[string]any{"id": "a", "response": "one",
		"diagnosis": diagnosis(tax, "Fluency")})}
	b := Output{Item: "i", System: "s1", Row: rowOf(t, tax, map[string]any{"id": "b", "response": "two",
		"instruction": "do"})}
	rows, err := NewPairs(tax, []Output{a, b}, DesignOptions{Design: All})
	if err != nil {
		t.Fatal(err)
	}
	row := readAsPair(t, tax, rows[0])
	if text(row, "instruction") != "do" {
		t.Errorf("instruction %q", text(row, "instruction"))
	}
	p, err := readPair(tax, row)
	if err != nil {
		t.Fatal(err)
	}
	if text(row, verdicts.SystemA) == "s1" {
		p.a, p.b, p.other, p.values[0] = p.b, p.a, p.values[0], p.other
	}
	if p.values[0] != "one" || p.other != "two" || p.values[1] != "do" || p.a == nil || p.b != nil ||
		!slices.Equal(p.a.Labels, []string{"Fluency"}) {
		t.Errorf("%+v", p)
	}
}

// TestPairOfDifferent: what two outputs may lack, and were written for differently, is null, so that no judge is shown one
// text's answer for the other; what they share stays.
func TestPairOfDifferent(t *testing.T) {
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{"1868": `"1868"`, "1902": "null", "": `"1868"`} {
		var outputs []Output
		for system, own := range map[string]string{"a": "1868", "b": answer} {
			outputs = append(outputs, Output{Item: "i", System: system, Row: rowOf(t, tax, map[string]any{"id": system,
				"question": "When?", "answer": own, "passage": "It was built in 1868, and made automatic in 1902."})})
		}
		rows, err := NewPairs(tax, outputs, DesignOptions{Design: All})
		if err != nil {
			t.Fatal(err)
		}
		if raw, _ := rows[0].Get("answer"); string(raw) != want {
			t.Errorf("1868 and %q: %s, want %s", answer, raw, want)
		}
	}
}

func TestPairTask(t *testing.T) {
	tax := instructionFollowing(t)
	pairs := PairTask(tax)
	if got := pairs.FieldNames()[:3]; !slices.Equal(got, []string{"response_a", "response_b", "instruction"}) {
		t.Errorf("fields %v", got)
	}
	if len(pairs.Dimensions) != 0 || len(pairs.Types) != len(tax.Types) || tax.Fields[0].Name != "response" ||
		len(tax.Dimensions) == 0 || pairs.ID() != tax.ID() {
		t.Errorf("%+v", pairs)
	}
}
