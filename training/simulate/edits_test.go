package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/simulate"
)

const tea = "Boil the water first. Warm the pot with a little of it. Then put in one spoon of leaves for each cup. " +
	"The tea is ready after four minutes."

// responses are right rows: two about tea, one in German.
func responses() []*dataset.Row {
	texts := [][2]string{{tea, "How do I make tea?"},
		{"A bicycle has two wheels. Its frame can be made of steel. The chain was invented long after the wheel.",
			"What is a bicycle?"},
		{"Der Zug nach Leipzig fährt heute von Gleis sieben ab. Bitte steigen Sie schnell ein, denn die Türen schließen " +
			"gleich. Die nächste Verbindung gibt es erst wieder morgen früh.", "Sag auf Deutsch, wo der Zug fährt."}}
	var rows []*dataset.Row
	for i, t := range texts {
		rows = append(rows, &dataset.Row{ID: fmt.Sprint("r", i), Values: t[:]})
	}
	return rows
}

// TestEdits: each edit does to the text what its name says, and the label is that of its type.
func TestEdits(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	rows := responses()
	is := map[string]func(text string, of int) bool{
		"unchanged": func(text string, of int) bool { return text == rows[of].Values[0] },
		"cut": func(text string, of int) bool {
			return strings.HasPrefix(rows[of].Values[0], text) && !strings.HasSuffix(text, ".")
		},
		"repeat": func(text string, of int) bool { return len(text) > len(rows[of].Values[0]) && repeats(text, 2) },
		"loop":   func(text string, _ int) bool { return repeats(text, 3) || strings.Count(text, lastWords(text)) > 3 },
		"foreign": func(text string, of int) bool {
			return of != 2 && slices.ContainsFunc(sentencesOf(rows[2].Values[0]), func(s string) bool {
				return strings.Contains(text, strings.TrimSpace(s))
			})
		},
		"swap": func(text string, of int) bool {
			return text != rows[of].Values[0] && slices.ContainsFunc(rows, func(r *dataset.Row) bool {
				return r.Values[0] == text
			})
		},
		"append": func(text string, of int) bool {
			return strings.HasPrefix(text, rows[of].Values[0]) && slices.ContainsFunc(rows, func(r *dataset.Row) bool {
				return r.ID != rows[of].ID && strings.HasSuffix(text, r.Values[0])
			})
		},
		"scramble": func(text string, of int) bool {
			return text != rows[of].Values[0] && strings.Count(text, ".") >= strings.Count(rows[of].Values[0], ".")-1
		},
		"deny": func(text string, _ int) bool { return strings.Contains(text, " not ") },
		"replace": func(text string, _ int) bool {
			i, _ := task.Index("Ref")
			return slices.Contains(task.Types[i].Simulate.Texts, text)
		},
	}
	o := simulate.Options{Seed: 1, Copies: 200, Mix: simulate.EditMix(task)}
	seen := map[string]int{}
	err = simulate.Edits(rows, task, o, func(x *simulate.Edited) error {
		of := slices.Index(rows, x.Of)
		if seen[x.Mechanism]++; !is[x.Mechanism](x.Text, of) {
			t.Errorf("%s of row %d: %q", x.Mechanism, of, x.Text)
		}
		i, ok := task.Index(x.Labels[0])
		if !ok || x.Mechanism != "unchanged" && !slices.Contains(task.Types[i].Simulate.Edits, x.Mechanism) {
			t.Errorf("%s has the labels %q", x.Mechanism, x.Labels)
		}
		return nil
	})
	if err != nil || len(seen) != len(is) {
		t.Errorf("made %v, %v; want all of %d edits", seen, err, len(is))
	}
}

// TestFactEdits: what changes a fact leaves the rest of the text as it is.
func TestFactEdits(t *testing.T) {
	task := &taxonomy.Taxonomy{Name: "summaries", Version: "1", Fields: []taxonomy.Field{{Name: "summary"},
		{Name: "source", Group: true}}, Types: []taxonomy.Type{{Name: "No Error", Code: "OK", NoError: true}}}
	rows := []*dataset.Row{
		{ID: "a", Values: []string{"On Monday the council of Brno closed 12 pools, as Ada Novak said in 1998.",
			"The council met. Ada Novak and Jan Kos said that 400,000 crowns were saved."}},
		{ID: "b", Values: []string{"The ferry of Captain Lund ran aground in fog. All 48 people on board were taken off.",
			"A ferry ran aground. It was thick fog."}},
	}
	first := rows[0].Values[0]
	without := func(text string, parts ...string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) }) && text != first
	}
	is := map[string]func(text string) bool{
		"number": func(text string) bool { return without(text, " 12 ") && strings.HasSuffix(text, "in 1998.") },
		"name": func(text string) bool {
			return strings.HasPrefix(text, "On Monday the ") && strings.Count(text, "Brno")+strings.Count(text, "Ada Novak") == 1
		},
		"date": func(text string) bool {
			return strings.Count(text, "Monday")+strings.Count(text, "1998") == 1 && strings.Contains(text, " 12 ")
		},
		"lead": func(text string) bool {
			return text == "The council met." || text == rows[0].Values[1]
		},
		"extend": func(text string) bool {
			more, ok := strings.CutPrefix(text, first+" ")
			return ok && more != "" && strings.Contains(rows[1].Values[0], more)
		},
	}
	for edit, holds := range is {
		task.Types = append(task.Types[:1], taxonomy.Type{Name: edit, Code: edit,
			Simulate: &taxonomy.Simulation{Edits: []string{edit}}})
		texts := map[string]bool{}
		o := simulate.Options{Seed: 2, Copies: 60, Mix: map[string]float64{edit: 1}}
		err := simulate.Edits(rows, task, o, func(x *simulate.Edited) error {
			if x.Of == rows[0] {
				texts[x.Text] = true
			}
			return nil
		})
		if err != nil || len(texts) < 2 {
			t.Errorf("%s: %v, %v", edit, texts, err)
		}
		for text := range texts {
			if !holds(text) {
				t.Errorf("%s: %q", edit, text)
			}
		}
	}
}

func sentencesOf(text string) []string { return strings.SplitAfter(text, ". ") }

func lastWords(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[len(words)-2:], " ")
}

// repeats tells whether a sentence stands so many times in text.
func repeats(text string, times int) bool {
	return slices.ContainsFunc(strings.Split(text, "."), func(s string) bool {
		s = strings.TrimSpace(s)
		return len(strings.Fields(s)) > 3 && strings.Count(text, s) >= times
	})
}

// TestEditsAreRepeatable: seed and rows decide, and quotas are kept; a second error has its label.
func TestEditsAreRepeatable(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	made := func() (all []string) {
		o := simulate.Options{Seed: 3, PerError: 4, Combined: 1}
		o.Mix = map[string]float64{"Int": 1, "Rep": 1, "Flu": 1, "OK": 1}
		err := simulate.Edits(responses(), task, o, func(x *simulate.Edited) error {
			all = append(all, fmt.Sprint(x.ID, x.Labels, x.Mechanism, x.Text))
			if x.Labels[0] != "Flu" && (x.Labels[1] != "Flu" || !strings.HasSuffix(x.Mechanism, "+scramble")) {
				t.Errorf("labels %q of %s", x.Labels, x.Mechanism)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	first := made()
	if len(first) != 12 || !slices.Equal(first, made()) {
		t.Errorf("%d examples, the same again %v; want 12", len(first), slices.Equal(first, made()))
	}
}

func TestMixOf(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	mix, err := simulate.MixOf(task, []string{"Repetition=3"}, false)
	if err != nil || mix["Rep"] != 3 || mix["Int"] != 1 || mix["OK"] != 4 {
		t.Errorf("mix %v, %v", mix, err)
	}
	_, err = simulate.MixOf(task, []string{"Fact=1"}, true)
	if err == nil || !strings.Contains(err.Error(), "Code, Con, Flu") {
		t.Errorf("a type without edits: %v", err)
	}
}
