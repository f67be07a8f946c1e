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
	taxonomy.EditScramble: scramble, taxonomy.EditDeny: deny, taxonomy.EditReplace: nil,
}

// editor holds the rows and the random source.
type editor struct {
	rng      *rand.Rand
	taxonomy *taxonomy.Taxonomy
	rows     []*dataset.Row
	texts    []string // the first field of each row, as it is at the moment
	group    []string // of each row: one that is not shared is of another request
	others   []int    // rows in another language than most
}

// Edits makes examples of right rows by the edits that t's types name, as Generate does by its rules; Options.Mix is by
// the codes of t, and Rules is not looked at. Only the first field changes.
func Edits(rows []*dataset.Row, t *taxonomy.Taxonomy, o Options, emit func(*Edited) error) error {
	e := newEditor(rows, t, o.Seed)
	jobs, nth := e.plan(o), map[int]int{}
	for _, j := range jobs {
		made := e.try(j, o)
		if made == nil {
			continue
		}
		nth[j.row]++
		made.ID = fmt.Sprintf("%s~%d", made.Of.ID, nth[j.row])
		if err := emit(made); err != nil {
			return err
		}
	}
	return nil
}

func newEditor(rows []*dataset.Row, t *taxonomy.Taxonomy, seed uint64) *editor {
	e := &editor{rng: rand.New(rand.NewPCG(seed, 0xed17)), taxonomy: t, rows: rows}
	at := slices.Index(t.FieldNames(), t.GroupField())
	languages, count := make([]whatlanggo.Lang, len(rows)), map[whatlanggo.Lang]int{}
	for i, row := range rows {
		e.texts = append(e.texts, row.Values[0])
		e.group = append(e.group, row.Values[max(at, 0)])
		found := whatlanggo.Detect(row.Values[0])
		if languages[i] = -1; found.IsReliable() {
			languages[i] = found.Lang
			count[found.Lang]++
		}
	}
	most := whatlanggo.Lang(-1)
	for lang, n := range count {
		if n > count[most] {
			most = lang
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
	given, err := ParseMix(values, func(label string) (string, bool) {
		i, ok := t.Index(label)
		if !ok {
			return "", false
		}
		_, ok = all[t.Types[i].Code]
		return t.Types[i].Code, ok
	}, slices.Sorted(maps.Keys(all)))
	if only {
		return given, err
	}
	maps.Copy(all, given)
	return all, err
}

// job is an example to make: an error, by its code, planted into a row.
type job struct {
	row  int
	code string
}

// plan lists the examples that the options ask for, in the rows' order.
func (e *editor) plan(o Options) (jobs []job) {
	codes := make([]string, len(e.taxonomy.Types))
	sum := 0.0
	for i, y := range e.taxonomy.Types {
		codes[i] = y.Code
		sum += o.Mix[y.Code]
	}
	for _, q := range o.quotas(codes, e.noError()) {
		order := e.rng.Perm(len(e.rows))
		for i := range q.n {
			jobs = append(jobs, job{order[i%len(order)], q.code})
		}
	}
	for i := 0; o.Total+o.PerError == 0 && i < len(e.rows)*o.Copies; i++ {
		x := e.rng.Float64() * sum
		k := slices.IndexFunc(codes, func(code string) bool { x -= o.Mix[code]; return x < 0 })
		jobs = append(jobs, job{i / o.Copies, codes[max(k, 0)]})
	}
	slices.SortStableFunc(jobs, func(a, b job) int { return a.row - b.row })
	return jobs
}

func (e *editor) noError() string {
	if i := e.taxonomy.NoErrorIndex(); i >= 0 {
		return e.taxonomy.Types[i].Code
	}
	return ""
}

// try makes an example, with a share of them a second error; nil where the row does not lend itself to it.
func (e *editor) try(j job, o Options) *Edited {
	row := e.rows[j.row]
	made := &Edited{Of: row, Text: row.Values[0], Labels: []string{j.code}, Mechanism: "unchanged"}
	if j.code == e.noError() {
		return made
	}
	mechanism, text, ok := e.apply(j)
	if !ok {
		return nil
	}
	made.Text, made.Mechanism = text, mechanism
	if e.rng.Float64() >= o.Combined {
		return made
	}
	var more []string
	for code, weight := range o.Mix {
		if weight > 0 && code != j.code && code != e.noError() {
			more = append(more, code)
		}
	}
	slices.Sort(more)
	if second, ok := pickOf(e.rng, more); ok {
		e.texts[j.row] = text
		if mechanism, text, ok := e.apply(job{j.row, second}); ok {
			made.Text, made.Mechanism = text, made.Mechanism+"+"+mechanism
			made.Labels = append(made.Labels, second)
		}
		e.texts[j.row] = row.Values[0]
	}
	return made
}

// apply makes one of the edits of a code.
func (e *editor) apply(j job) (name, text string, ok bool) {
	i, _ := e.taxonomy.Index(j.code)
	s := e.taxonomy.Types[i].Simulate
	if s == nil {
		return "", "", false
	}
	name, _ = pickOf(e.rng, s.Edits)
	if name == taxonomy.EditReplace {
		text, ok = pickOf(e.rng, s.Texts)
		return name, text, ok
	}
	text, ok = edits[name](e, j.row)
	return name, text, ok && text != e.texts[j.row]
}

func pickOf[T any](rng *rand.Rand, xs []T) (x T, ok bool) {
	if len(xs) == 0 {
		return x, false
	}
	return xs[rng.IntN(len(xs))], true
}
