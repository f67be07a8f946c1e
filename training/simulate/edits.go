package simulate

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/abadojack/whatlanggo"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/taxonomy"
)

// Edited is a right row whose first field an edit has changed.
type Edited struct {
	Of        *dataset.Row
	ID        string   // that of the row, with ~N
	Text      string   // of the first field
	Labels    []string // codes
	Mechanism string   // the edits, joined by "+"
}

// Row is the example as a row for a trainer: id, origin, the taxonomy's fields, labels and mechanism.
func (x *Edited) Row(t *taxonomy.Taxonomy) (*dataset.Row, error) {
	out, err := madeOf(x.Of, t, x.ID)
	if err != nil {
		return nil, err
	}
	return out, errors.Join(out.Set(t.Fields[0].Name, x.Text), out.Set(dataset.ColumnLabels, x.Labels),
		out.Set("mechanism", x.Mechanism))
}

// edit changes the text of a row; ok is false where the row does not lend itself to it.
type edit func(e *editor, of int) (text string, ok bool)

// edits are those that a taxonomy can name (taxonomy.Edits).
var edits = map[string]edit{
	taxonomy.EditCut: cutOff, taxonomy.EditRepeat: repeatSentence, taxonomy.EditLoop: loop,
	taxonomy.EditForeign: foreign, taxonomy.EditSwap: swapText, taxonomy.EditAppend: appendOther,
	taxonomy.EditExtend: extend, taxonomy.EditScramble: scramble, taxonomy.EditDeny: deny,
	taxonomy.EditNumber: changeNumber, taxonomy.EditName: changeName, taxonomy.EditDate: changeDate,
	taxonomy.EditLead: copyLead,
}

// gentle is the edit that leaves a planted error in the text: a second error is of it.
const gentle = taxonomy.EditScramble

// editor holds the rows and the random source.
type editor struct {
	rng      *rand.Rand
	taxonomy *taxonomy.Taxonomy
	rows     []*dataset.Row
	texts    []string // the first field of each row
	group    []string // of each row: one that is not shared is of another request
	others   []int    // rows in another language than most
}

// Edits makes examples of right rows by the edits that t's types name, as Generate does by its rules; Options.Mix is by
// the codes of t, and Rules is not looked at. Only the first field changes. A second error is one that scramble makes.
func Edits(rows []*dataset.Row, t *taxonomy.Taxonomy, o Options, emit func(*Edited) error) error {
	e := newEditor(rows, t, o.Seed)
	all := e.all(o)
	slices.SortStableFunc(all, func(a, b made) int { return a.row - b.row })
	nth := map[int]int{}
	for _, m := range all {
		nth[m.row]++
		m.ID = fmt.Sprintf("%s~%d", m.Of.ID, nth[m.row])
		if err := emit(m.Edited); err != nil {
			return err
		}
	}
	return nil
}

// made is an example with the number of its row.
type made struct {
	*Edited
	row int
}

// all makes the examples that the options ask for, equal ones of a row once.
func (e *editor) all(o Options) (all []made) {
	type example struct {
		row  int
		text string
	}
	seen := map[example]bool{}
	add := func(row int, code string) bool {
		x := e.try(row, code, o)
		if x == nil || seen[example{row, x.Text}] {
			return false
		}
		seen[example{row, x.Text}] = true
		all = append(all, made{x, row})
		return true
	}
	codes := make([]string, len(e.taxonomy.Types))
	for i, y := range e.taxonomy.Types {
		codes[i] = y.Code
	}
	if quotas := o.quotas(codes, e.noError()); quotas != nil {
		for _, q := range quotas {
			order := e.rng.Perm(len(e.rows))
			for tries := 0; q.n > 0 && tries < passes*len(order); tries++ {
				if add(order[tries%len(order)], q.code) {
					q.n--
				}
			}
		}
		return all
	}
	for i := range len(e.rows) * o.Copies {
		add(i/o.Copies, e.draw(codes, o.Mix))
	}
	return all
}

// draw draws one of the codes by their weights.
func (e *editor) draw(codes []string, mix map[string]float64) string {
	return codes[max(0, Draw(e.rng, codes, func(code string) float64 { return mix[code] }))]
}

func newEditor(rows []*dataset.Row, t *taxonomy.Taxonomy, seed uint64) *editor {
	e := &editor{rng: rand.New(rand.NewPCG(seed, 0xed17)), taxonomy: t, rows: rows}
	at := slices.Index(t.FieldNames(), t.GroupField())
	languages, count, most := make([]whatlanggo.Lang, len(rows)), map[whatlanggo.Lang]int{}, whatlanggo.Lang(-1)
	for i, row := range rows {
		e.texts = append(e.texts, row.Values[0])
		e.group = append(e.group, row.Values[max(at, 0)])
		found := whatlanggo.Detect(row.Values[0])
		if languages[i] = -1; found.IsReliable() {
			languages[i] = found.Lang
			if count[found.Lang]++; count[found.Lang] > count[most] {
				most = found.Lang
			}
		}
	}
	for i, lang := range languages {
		if lang >= 0 && lang != most {
			e.others = append(e.others, i)
		}
	}
	return e
}

// EditMix is the default mix of a taxonomy with edits, by code: all its errors alike, and half as many rows without.
func EditMix(t *taxonomy.Taxonomy) map[string]float64 {
	mix := map[string]float64{}
	for _, y := range t.Types {
		if y.Simulate != nil {
			mix[y.Code] = 1
		}
	}
	if i := t.NoErrorIndex(); i >= 0 && len(mix) > 0 {
		mix[t.Types[i].Code] = float64(len(mix)) / 2
	}
	return mix
}

// MixOf is EditMix, nothing with only, in which values such as "Repetition=2,Int=1" replace weights.
func MixOf(t *taxonomy.Taxonomy, values []string, only bool) (map[string]float64, error) {
	all := EditMix(t)
	return ParseMix(all, values, only, func(label string) (string, bool) {
		i, ok := t.Index(label)
		if !ok {
			return "", false
		}
		_, ok = all[t.Types[i].Code]
		return t.Types[i].Code, ok
	}, slices.Sorted(maps.Keys(all)))
}

func (e *editor) noError() string {
	if i := e.taxonomy.NoErrorIndex(); i >= 0 {
		return e.taxonomy.Types[i].Code
	}
	return ""
}

// try makes an example of a code, with a share of them a second error; nil where the row does not lend itself to it.
func (e *editor) try(row int, code string, o Options) *Edited {
	x := &Edited{Of: e.rows[row], Text: e.texts[row], Labels: []string{code}, Mechanism: "unchanged"}
	if code == e.noError() {
		return x
	}
	i, _ := e.taxonomy.Index(code)
	s := e.taxonomy.Types[i].Simulate
	if s == nil {
		return nil
	}
	x.Mechanism, _ = pickOf(e.rng, s.Edits)
	ok := false
	if x.Mechanism == taxonomy.EditReplace {
		x.Text, ok = pickOf(e.rng, s.Texts)
	} else {
		x.Text, ok = edits[x.Mechanism](e, row)
	}
	if !ok || x.Text == e.texts[row] {
		return nil
	}
	if e.rng.Float64() < o.Combined {
		e.addSecond(x, o.Mix)
	}
	return x
}

// addSecond gives an example the error that the gentle edit plants, if it is wanted and not there yet.
func (e *editor) addSecond(x *Edited, mix map[string]float64) {
	i := slices.IndexFunc(e.taxonomy.Types, func(y taxonomy.Type) bool {
		return y.Simulate != nil && mix[y.Code] > 0 && slices.Contains(y.Simulate.Edits, gentle)
	})
	if i < 0 || x.Labels[0] == e.taxonomy.Types[i].Code {
		return
	}
	if text, ok := e.scramble(x.Text); ok && text != x.Text {
		x.Text, x.Mechanism = text, x.Mechanism+"+"+gentle
		x.Labels = append(x.Labels, e.taxonomy.Types[i].Code)
	}
}

func pickOf[T any](rng *rand.Rand, xs []T) (x T, ok bool) {
	if len(xs) == 0 {
		return x, false
	}
	return xs[rng.IntN(len(xs))], true
}
