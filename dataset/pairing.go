package dataset

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// FewUnpaired is the share of a file's rows that may lack a partner in the other file before figures of pairs say
// little about the file.
const FewUnpaired = 0.05

// Of so many rows and columns of a file, values are kept to find columns that would pair them: hashes of 8 bytes.
const (
	adviceRows    = 100_000
	adviceColumns = 64
)

// maxKeyColumns bounds the columns of which Pairing looks for two that would pair the rows.
const maxKeyColumns = 12

// Pairing finds the rows of two files, A and B, that belong together: by their ids, where both files have some that are
// not made of texts, and not almost all differ; else by what the system was given and its name. Rows that share a key
// are told apart by their texts; those of one system and input, as many in A as in B, by their order. What is then left
// of a group, such as a passage, is paired by the judged text, or likewise by its order: the rest of what a system was
// given may be of its own making, as the answer that a question is for.
type Pairing struct {
	// column that names systems, or several with commas between them; NewPairing sets ColumnSystem. Rows without it may
	// name theirs otherwise
	System string

	byID       bool // whatever the ids are
	group      int  // place of the taxonomy's group field in Row.Values; -1 if there is none
	names      []string
	empty      []bool            // by field: no row has a text there
	withSystem bool              // a row has a system
	column     string            // in which the first of these names it
	called     map[uint64]string // names of systems by their hash; "" is none
	seed       maphash.Seed
	sides      [2]pairSide
	lines      int // rows without an id and texts
}

// pairSide are the rows of a file; all slices but columns go by row.
type pairSide struct {
	given            bool // a row has an id of its own, not made of its texts
	id, text, judged []uint64
	pairGiven
	asked pairGiven // by what users said alone, see AsAsked
	pairSystems
	models  pairSystems // what stands in the second of SystemColumns
	columns []string
	values  map[string][]uint64 // by column; 0 is no text or whole number
	rows    int
}

// pairSystems are the names of systems in a column of a file, by row, and each once.
type pairSystems struct {
	system []uint64
	named  map[uint64]bool
}

func (s *pairSystems) add(key uint64, name string) {
	if s.named == nil {
		s.named = map[uint64]bool{}
	}
	if name != "" {
		s.named[key] = true
	}
	s.system = append(s.system, key)
}

// Pairs say which rows of A and B belong together.
type Pairs struct {
	Of        []int         // by row of B: its row of A, or -1
	Same      []bool        // by row of B: the texts are the same
	Both      int           // pairs
	By        []string      // what pairs them: columns or fields; "id" for ids
	InOrder   int           // pairs of rows that share By with others: the first with the first, and so on
	FewIDs    bool          // By is not "id" because hardly any id is in both files
	Mixed     bool          // By is not "id" because many pairs by given ids would be of other rows
	Other     int           // pairs of rows on other inputs, as far as the group field says, or of other systems
	AsAsked   bool          // inputs are what users said alone: systems were told different things
	Moved     int           // other pairs of which A has B's text in another row; of pairs by ids alone
	Systems   []SystemPairs // of systems with other names, the most first; nil where no file names several
	Column    string        // that names systems
	Would     []string      // columns that would pair almost all rows, where By alone does not; nil if there are none
	WouldBoth int           // pairs by Would
}

// SystemPairs are the pairs of two systems; "" is a row that names none.
type SystemPairs struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Pairs int    `json:"pairs"`
}

// NewPairing starts without rows. id are the columns that the user named for ids, nil if none: rows are paired by these
// alone, unless they are NoID.
func NewPairing(t *taxonomy.Taxonomy, id []string) *Pairing {
	p := &Pairing{System: ColumnSystem, byID: id != nil && !IsNoID(id), names: t.FieldNames(), seed: maphash.MakeSeed(),
		called: map[uint64]string{}}
	p.group = slices.Index(p.names, t.GroupField())
	p.empty = slices.Repeat([]bool{true}, len(p.names))
	return p
}

// AddA adds the next row of A.
func (p *Pairing) AddA(row *Row) { p.sides[0].keepValues(row, p.add(&p.sides[0], row)) }

// AddB adds the next row of B.
func (p *Pairing) AddB(row *Row) { p.sides[1].keepValues(row, p.add(&p.sides[1], row)) }

func (p *Pairing) add(s *pairSide, row *Row) (hash func(texts ...string) uint64) {
	hash = func(texts ...string) uint64 {
		var h maphash.Hash
		h.SetSeed(p.seed)
		for _, text := range texts {
			maphash.WriteComparable(&h, text)
		}
		return h.Sum64() | 1 // 0 is no value
	}
	s.given = s.given || !row.HasTextID()
	id := row.indexID()
	if len(row.Values) == 0 && row.given == "" && strings.HasPrefix(row.ID, row.TextHash()) {
		// nothing says which row of another file it belongs to
		p.lines++
		id = fmt.Sprint("\x00", p.lines)
	}
	texts := make([]string, len(row.Values))
	for i, text := range row.Values {
		if texts[i] = FoldSpace(text); i < len(p.empty) {
			p.empty[i] = p.empty[i] && text == ""
		}
	}
	first := min(1, len(texts))
	s.id, s.text = append(s.id, hash(FoldSpace(id))), append(s.text, hash(texts...))
	s.judged = append(s.judged, hash(texts[:first]...))
	s.pairGiven.add(texts, p.group, hash)
	if p.group > 0 && p.group < len(texts) {
		texts[p.group] = FoldSpace(AsAsked(row.Values[p.group]))
	}
	s.asked.add(texts, p.group, hash)
	system := SystemName{column: p.System}
	raw, named := row.FindAnyCase(p.System)
	switch system.name = NameIn(raw); {
	case strings.Contains(p.System, ","):
		system.name = row.NamesBy(p.System)
	case !named:
		system = row.SystemName()
	}
	if system.column != "" && !p.withSystem {
		p.withSystem, p.column = true, system.column
	}
	model := row.NameBy(SystemColumns[1])
	for _, name := range []string{system.name, model} {
		p.called[hash(name)] = name
	}
	s.pairSystems.add(hash(system.name), system.name)
	s.models.add(hash(model), model)
	s.rows++
	return hash
}

// Match pairs the rows.
func (p *Pairing) Match() *Pairs {
	pairs := p.pair()
	if p.isToldApart() {
		p.swapAsked()
		if asked := p.pair(); asked.Both-asked.Other-asked.Moved > pairs.Both-pairs.Other-pairs.Moved {
			pairs, asked.AsAsked = asked, true
		} else {
			p.swapAsked()
		}
	}
	pairs.Mixed = pairs.Mixed && p.sides[0].given && p.sides[1].given // else there are none
	if i := slices.Index(pairs.By, ColumnSystem); i >= 0 {
		pairs.By[i] = p.column
	}
	pairs.Systems, pairs.Column = p.systemPairs(pairs), p.column
	if rows := max(p.sides[0].rows, p.sides[1].rows); !isMost(pairs.Both-pairs.InOrder, rows) {
		pairs.Would, pairs.WouldBoth = p.wouldPair(pairs.Both - pairs.InOrder)
	}
	return pairs
}

func (p *Pairing) pair() *Pairs {
	a, b := &p.sides[0], &p.sides[1]
	// one system of several models, where nobody said what a system is
	one := p.System == ColumnSystem && max(len(a.named), len(b.named)) < 2
	if one && max(len(a.models.named), len(b.models.named)) > 1 {
		a.pairSystems, b.pairSystems, p.withSystem, p.column = a.models, b.models, true, SystemColumns[1]
	}
	pairs := p.matchIDs()
	fewIDs := a.given && b.given && float64(pairs.Both) <= FewUnpaired*float64(min(a.rows, b.rows))
	p.countOther(pairs)
	strange := pairs.Other + pairs.Moved
	mixed := !fewIDs && float64(strange) > FewUnpaired*float64(pairs.Both) // as where ids are the numbers of lines
	if !p.byID && (!a.given || !b.given || fewIDs || mixed) {
		best := pairs.Both
		if mixed {
			best -= strange
		}
		if !a.given || !b.given { // ids made of texts pair the rows alone that did not change
			best = 0
		}
		var inputs []string
		for i, name := range p.names {
			if i > 0 && !p.empty[i] {
				inputs = append(inputs, name)
			}
		}
		withSystem := func(names ...string) []string {
			if p.withSystem {
				return append(slices.Clone(names), ColumnSystem)
			}
			return names
		}
		try := func(keyA, keyB []uint64, by []string, inOrder bool) {
			if more := p.match(keyA, keyB, by, inOrder); more.Both > best && len(inputs) > 0 {
				pairs, best, more.FewIDs, more.Mixed = more, more.Both, fewIDs, mixed
			}
		}
		try(join(a.inputs, a.system), join(b.inputs, b.system), withSystem(inputs...), true)
		if p.group >= 0 {
			try(join(a.groups, a.system), join(b.groups, b.system), withSystem(p.names[p.group]), false)
		}
		ways := [][]string{withSystem(p.groupNames()...)}
		if !p.shareSystems() { // else rows would be paired with those of another system
			try(a.inputs, b.inputs, inputs, false)
			if p.group >= 0 {
				try(a.groups, b.groups, []string{p.names[p.group]}, false)
			}
			ways = append(ways, p.groupNames())
		}
		for _, by := range ways { // several rows of each, all changed
			none := &Pairs{Of: slices.Repeat([]int{-1}, b.rows), Same: make([]bool, b.rows), By: by, FewIDs: fewIDs,
				Mixed: mixed}
			least := min(a.rows, b.rows)
			if float64(best) > FewUnpaired*float64(least) && !(mixed && !isMost(best, least)) || p.group < 0 {
				break
			}
			if p.pairRest(none); none.Both > best {
				pairs, best = none, none.Both
			}
		}
	}
	if mixed && !p.byID && !pairs.Mixed { // nothing pairs more of them
		p.dropStrange(pairs)
	}
	p.pairRest(pairs)
	return pairs
}

// matchIDs pairs rows by their ids, and where one id is that of several systems' rows, by these as well.
func (p *Pairing) matchIDs() *Pairs {
	a, b := &p.sides[0], &p.sides[1]
	pairs := p.match(a.id, b.id, []string{ColumnID}, true)
	if p.byID || !p.withSystem || allDistinct(a.id) && allDistinct(b.id) {
		return pairs
	}
	more := p.match(join(a.id, a.system), join(b.id, b.system), []string{ColumnID, ColumnSystem}, true)
	if more.Both-more.InOrder >= pairs.Both-pairs.InOrder { // two systems may have written the same
		return more
	}
	return pairs
}

// isMost tells whether so many pairs leave few rows without a partner.
func isMost(pairs, rows int) bool { return float64(rows-pairs) <= FewUnpaired*float64(rows) }

// match pairs rows of the same key: first those of the same text; then a row of A whose key no other row of A has with
// the one row of B that is left, be there copies of either; with inOrder also what is left of one input and a key that
// as many rows of A have as of B, in order.
func (p *Pairing) match(keyA, keyB []uint64, by []string, inOrder bool) *Pairs {
	a, b := &p.sides[0], &p.sides[1]
	pairs := &Pairs{Of: make([]int, len(keyB)), Same: make([]bool, len(keyB)), By: by}
	type keyed struct{ key, text uint64 }
	rows, rowsB, texts, equal := map[uint64]int{}, map[uint64]int{}, map[uint64]int{}, map[keyed][]int{}
	used := make([]bool, len(keyA))
	for i, key := range keyA {
		rows[key]++
		at := keyed{key, a.text[i]}
		if equal[at] = append(equal[at], i); len(equal[at]) == 1 {
			texts[key]++
		}
	}
	left, copies := map[uint64]int{}, map[keyed]bool{}
	isCopy := make([]bool, len(keyB))
	for j, key := range keyB {
		rowsB[key]++
		at := keyed{key, b.text[j]}
		if same := equal[at]; len(same) > 0 {
			pairs.Of[j], pairs.Same[j], equal[at] = same[0], true, same[1:]
			used[same[0]] = true
			pairs.Both++
			continue
		}
		pairs.Of[j], isCopy[j] = -1, copies[at]
		if copies[at] = true; !isCopy[j] {
			left[key]++
		}
	}
	free := map[[2]uint64][]int{} // rows of A by key, and by key and input
	for i, key := range keyA {
		if used[i] || left[key] == 0 || key == 0 {
			continue
		}
		for _, at := range [][2]uint64{{key, 0}, {key, a.inputs[i]}} {
			free[at] = append(free[at], i)
		}
	}
	for j, key := range keyB {
		at, alone := [2]uint64{key, 0}, left[key] == 1 && texts[key] == 1 && !isCopy[j]
		if !alone {
			at[1] = b.inputs[j]
		}
		for len(free[at]) > 0 && used[free[at][0]] {
			free[at] = free[at][1:]
		}
		if pairs.Of[j] >= 0 || len(free[at]) == 0 || !alone && !(inOrder && rows[key] == rowsB[key]) {
			continue
		}
		pairs.Of[j], used[free[at][0]] = free[at][0], true
		pairs.Both++
		if !alone {
			pairs.InOrder++
		}
	}
	return pairs
}

// groupNames is the group field; nil if there is none.
func (p *Pairing) groupNames() []string {
	if p.group < 0 {
		return nil
	}
	return []string{p.names[p.group]}
}

// pairRest pairs what is left of a group: rows of the same judged text, then as many of A as of B, in order.
func (p *Pairing) pairRest(pairs *Pairs) {
	a, b := &p.sides[0], &p.sides[1]
	keyA, keyB := a.groups, b.groups
	switch {
	case pairs.By[0] == ColumnID:
		keyA, keyB = join(a.id, a.groups), join(b.id, b.groups)
	case slices.Contains(pairs.By, ColumnSystem):
		keyA, keyB = join(a.groups, a.system), join(b.groups, b.system)
	}
	used := make([]bool, len(keyA))
	for _, i := range pairs.Of {
		if i >= 0 {
			used[i] = true
		}
	}
	pairBy := func(keyA, keyB []uint64, all bool) {
		free, left := map[uint64][]int{}, map[uint64]int{}
		for i, key := range keyA {
			if !used[i] && key != 0 {
				free[key] = append(free[key], i)
			}
		}
		for j, key := range keyB {
			if pairs.Of[j] < 0 {
				left[key]++
			}
		}
		for j, key := range keyB {
			same := free[key]
			if pairs.Of[j] >= 0 || len(same) == 0 || !all && len(same) != left[key] {
				continue
			}
			pairs.Of[j], used[same[0]], free[key] = same[0], true, same[1:]
			pairs.Same[j] = a.text[same[0]] == b.text[j]
			left[key]--
			pairs.Both++
			if !all {
				pairs.InOrder++
			}
		}
	}
	pairBy(join(keyA, a.judged), join(keyB, b.judged), true)
	pairBy(keyA, keyB, false)
}
