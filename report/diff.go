package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/gate"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// Examples is how many changed rows of a kind a report lists where nobody says it.
const Examples = 3

// keptText is how many characters of a row's text are kept, to show where it changed; shownText how many are shown.
const (
	keptText  = 200
	shownText = 60
)

// Diff is what changed between two tagged files, A and B, whose rows were paired. Its JSON keys are stable. Shares are
// of the rows that are tagged in both files, and in both judged for the error; differences are B minus A.
type Diff struct {
	Taxonomy      string       `json:"taxonomy"`
	A             Side         `json:"a"`
	B             Side         `json:"b"`
	Pairing       Pairing      `json:"pairing"`
	Both          int          `json:"both"`         // rows with a partner in the other file
	ChangedText   int          `json:"changed_text"` // of these, rows whose fields are not the same
	SameTextOnly  bool         `json:"same_text_only"`
	Compared      int          `json:"compared"`             // rows tagged in both: the shares are of these
	ChangedLabels int          `json:"changed_labels"`       // compared rows with other errors in B
	Thresholds    []Thresholds `json:"thresholds,omitempty"` // of the files whose records say them
	Interval      Interval     `json:"interval"`
	WithoutError  LabelDiff    `json:"without_error"`
	Labels        []LabelDiff  `json:"labels"` // every error type, in the taxonomy's order
	// the rows without error of each system that rows name, where a file has several
	Systems []SystemDiff `json:"systems,omitempty"`
	systems *systems     // by the column that names several; nil where none does
	by      string       // DiffOptions.By
	hints   Hints        // of what may name them else
	// the first rows whose text under evaluation has another beginning, in B's order
	ChangedTexts []TextChange  `json:"changed_texts"`
	Gates        []gate.Result `json:"gates"` // results of --fail-on, see CheckGates

	untagged int // of Both, in A or in B
	stale    int // of ChangedText, rows of which the model said the very same
	tested   int // error types whose p-values are corrected together
	// some row has probabilities, of which thresholds chose
	decided bool
	cleanB  int // compared rows without error in B
	// see DiffOptions
	unrecorded bool
	limit      int // see DiffOptions
	warnings   []FileWarning
}

// TextChange is what became of a row's text: its beginning in both files, from a little before the first difference.
type TextChange struct {
	ID string `json:"id"` // in B
	A  string `json:"a"`
	B  string `json:"b"`
}

// Side is one of the files.
type Side struct {
	File         string   `json:"file"`
	Models       []string `json:"models"` // as the diagnoses name them
	Rows         int      `json:"rows"`
	Untagged     int      `json:"untagged"` // of the rows with a partner
	Only         int      `json:"only"`     // rows without a partner
	OnlyExamples []string `json:"only_examples"`
	Rejected     int      `json:"rejected"` // lines that are no rows
	LeftOut      int      `json:"left_out"` // lines that the runs which made the file rejected, as far as records say it

	id                   []string // columns that the user named for ids
	untagged, unlabelled int      // rows that are so, with a partner or not; the latter lack even the label for no error
}

// LabelDiff is what changed for one error type, or for the rows without any.
type LabelDiff struct {
	Label      string   `json:"label"`
	Code       string   `json:"code,omitempty"`
	NotJudged  int      `json:"not_judged,omitempty"` // compared rows that were not judged for it in A, or in B
	A          Share    `json:"a"`
	B          Share    `json:"b"`
	Difference Number   `json:"difference"` // of the shares, B minus A
	Low        Number   `json:"low"`        // of the paired interval
	High       Number   `json:"high"`
	P          Number   `json:"p"`          // two-sided, that the difference is not 0
	PHolm      Number   `json:"p_holm"`     // corrected for the number of error types found; of WithoutError P itself
	Gained     int      `json:"gained"`     // rows that have it in B alone
	Lost       int      `json:"lost"`       // rows that have it in A alone
	GainedIDs  []string `json:"gained_ids"` // the first, as B has them, in its order
	LostIDs    []string `json:"lost_ids"`

	judgedOnce bool   // a compared row was judged for it in one of the files alone
	far        bool   // unsure as of far more rows of one file it is not known
	unsure     string // why the difference is no evidence, whatever its p; see Contrast.Unknown
}

type diffRow struct {
	*dataset.Row
	group     string             // see DiffOptions.Group
	diagnosis *dataset.Diagnosis // nil if there is none
}

// DiffOptions say what to compare.
type DiffOptions struct {
	Taxonomy     *taxonomy.Taxonomy
	Where        map[string]string // column to the value that rows must have there; nil chooses all
	ID           []string          // columns that the user named for ids, see dataset.NewPairing
	By           string            // column that names systems; "" takes one of dataset.SystemColumns
	Group        string            // by which rows stand and fall together, for intervals; "" if each row is its own
	SameTextOnly bool              // leave rows with changed text out of the shares
	Thresholds   []Thresholds      // of the files
	LeftOut      [2]int            // Side.LeftOut of both
	Unrecorded   bool              // no record says that of B
	Limit        int               // how many rows of each kind are listed, such as Examples; 0 lists all
}

// Comparison collects rows for Diff: first all of A, then all of B. It keeps about 350 bytes for each row, the first
// characters of its text, and 8 bytes for each of its columns.
type Comparison struct {
	tagged  Tagged
	scheme  scheme
	options DiffOptions
	diff    Diff
	pairing *dataset.Pairing
	rows    [2][]sideRow // of A and B
	sums    *sums        // by group, of rows without error and with each error type: rows judged, found in A, in B
	systems []*pairSums  // by DiffOptions.By, or each of dataset.SystemColumns
}

type sideRow struct {
	id      string
	group   groupHash
	systems [2]int    // places in Comparison.systems
	text    string    // the beginning
	found   []finding // nil if untagged
	model   groupHash // of what the model said; zero where it gave no probabilities
}

// NewComparison starts without rows.
func NewComparison(o DiffOptions) *Comparison {
	s := newScheme(o.Taxonomy)
	c := &Comparison{tagged: Tagged{Taxonomy: o.Taxonomy, Where: o.Where}, scheme: s, options: o,
		pairing: dataset.NewPairing(o.Taxonomy, o.ID), sums: newSums(diffCells * (1 + len(s.labels)))}
	columns := dataset.SystemColumns
	if o.By != "" {
		c.pairing.System, columns = o.By, []string{o.By}
	}
	for _, column := range columns {
		c.systems = append(c.systems, &pairSums{newSystems(column), newSums(4), map[[2]int]int{}, nil})
	}
	c.diff = Diff{Taxonomy: s.taxonomy, by: o.By, SameTextOnly: o.SameTextOnly, Thresholds: o.Thresholds,
		ChangedTexts: []TextChange{}, limit: o.Limit}
	for _, side := range []*Side{&c.diff.A, &c.diff.B} {
		side.Models, side.OnlyExamples, side.id = []string{}, []string{}, o.ID
	}
	c.diff.WithoutError = newLabelDiff("without error", "")
	for _, y := range s.labels {
		c.diff.Labels = append(c.diff.Labels, newLabelDiff(y.Name, y.Code))
	}
	return c
}

func newLabelDiff(name, code string) LabelDiff {
	return LabelDiff{Label: name, Code: code, GainedIDs: []string{}, LostIDs: []string{}}
}

// ReadA reads the first file. read gives its rows until io.EOF, as a dataset.Reader does; file is its name in the
// report and in errors. A row of another taxonomy is an ErrUnfit, one without the group's column an *OptionError.
func (c *Comparison) ReadA(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	return c.readSide(ctx, file, read, &c.diff.A, 0)
}

// ReadB reads the second file, as ReadA reads the first. Call it after ReadA.
func (c *Comparison) ReadB(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	return c.readSide(ctx, file, read, &c.diff.B, 1)
}

func (c *Comparison) readSide(ctx context.Context, file string, read func() (*dataset.Row, error), s *Side,
	side int) error {
	before := len(c.tagged.faults)
	err := c.tagged.Each(ctx, file, read, func(row *dataset.Row, d *dataset.Diagnosis) error {
		group, err := GroupOf(row, c.options.Taxonomy, c.options.Group)
		if err != nil {
			return err
		}
		return c.add(side, diffRow{Row: row, group: group, diagnosis: d})
	})
	s.File, s.Rejected = file, len(c.tagged.faults)-before
	return err
}

func (c *Comparison) add(side int, r diffRow) error {
	count, add := &c.diff.A, c.pairing.AddA
	if side == 1 {
		count, add = &c.diff.B, c.pairing.AddB
	}
	found, err := c.countRow(count, r.diagnosis)
	if err != nil {
		return err
	}
	add(r.Row)
	c.diff.hints.file = side
	c.diff.hints.Add(r.Row)
	kept := sideRow{id: strings.Clone(r.ID), group: newGroupHash(r.group), found: found}
	for i, by := range c.systems {
		kept.systems[i] = by.place(side, by.nameOf(r.Row))
	}
	if r.diagnosis != nil && len(r.diagnosis.Probabilities) > 0 {
		kept.model = newGroupHash(fmt.Sprint(r.diagnosis.Probabilities))
	}
	if len(r.Values) > 0 {
		kept.text = strings.Clone(words.First(r.Values[0], keptText))
	}
	c.rows[side] = append(c.rows[side], kept)
	return nil
}

// countRow counts a row of a file, and gives its errors; nil if it is untagged.
func (c *Comparison) countRow(s *Side, d *dataset.Diagnosis) ([]finding, error) {
	s.Rows++
	if d == nil || d.Status == dataset.StatusUntagged {
		s.untagged++
		return nil, nil
	}
	s.Models = dataset.AppendName(s.Models, d.Model)
	if len(d.Labels) == 0 && c.options.Taxonomy.NoError() != "" {
		s.unlabelled++
	}
	c.diff.decided = c.diff.decided || len(d.Probabilities) > 0
	return c.scheme.errorsOf(d)
}

// compareRows compares a row of A with its partner in B.
func (c *Comparison) compareRows(a, b *sideRow, sameText bool) {
	d := &c.diff
	d.Both++
	if !sameText {
		d.ChangedText++
		d.stale += int(indicator(isStale(a, b)))
	}
	if !sameText && !d.SameTextOnly {
		d.addTexts(a, b)
	}
	if a.found == nil {
		d.A.Untagged++
	}
	if b.found == nil {
		d.B.Untagged++
	}
	switch {
	case a.found == nil || b.found == nil:
		d.untagged++
	case sameText || !c.options.SameTextOnly:
		c.compareErrors(a, b)
	}
}

// comparePairs compares all rows that have a partner, and counts the others.
func (c *Comparison) comparePairs() {
	pairs := c.pairing.Match()
	c.diff.Pairing = NewPairing(pairs, len(c.rows[0]), len(c.rows[1]))
	paired := make([]bool, len(c.rows[0]))
	for j, i := range pairs.Of {
		if i < 0 {
			c.diff.B.addOnly(c.rows[1][j].id)
			continue
		}
		paired[i] = true
		c.compareRows(&c.rows[0][i], &c.rows[1][j], pairs.Same[j])
	}
	for i, there := range paired {
		if !there {
			c.diff.A.addOnly(c.rows[0][i].id)
		}
	}
}

// addTexts lists a row with both texts, if their beginnings differ.
func (d *Diff) addTexts(a, b *sideRow) {
	if a.text != b.text && d.hasRoom(len(d.ChangedTexts)) {
		one, other := fromDifference(a.text, b.text)
		d.ChangedTexts = append(d.ChangedTexts, TextChange{b.id, one, other})
	}
}

// hasRoom tells whether one more is listed behind so many.
func (d *Diff) hasRoom(listed int) bool { return d.limit == 0 || listed < d.limit }

func (s *Side) addOnly(id string) {
	s.Only++
	if len(s.OnlyExamples) < Examples { // in one line, whatever the limit
		s.OnlyExamples = append(s.OnlyExamples, id)
	}
}

// diffCells is how many sums a group has of an error type.
const diffCells = 3

func (c *Comparison) compareErrors(a, b *sideRow) {
	d, cells, changed := &c.diff, c.sums.of(a.group, 0), false
	d.Compared++
	d.eachLabel(func(place int, l *LabelDiff) {
		inA, inB := !slices.Contains(a.found, present), !slices.Contains(b.found, present)
		if place == 0 {
			d.cleanB += int(indicator(inB))
			if !judgedAlike(a.found, b.found) {
				l.NotJudged++
				return
			}
			for i, by := range c.systems {
				by.add(a.systems[i], b.systems[i], b.group, inA, inB)
			}
		}
		if place > 0 {
			one, two := a.found[place-1], b.found[place-1]
			if one == notJudged || two == notJudged {
				l.NotJudged++
				l.judgedOnce = l.judgedOnce || one != two
				return
			}
			inA, inB = one == present, two == present
		}
		d.addRow(l, b.id, inA, inB)
		changed = changed || inA != inB
		for i, x := range []bool{true, inA, inB} {
			cells[diffCells*place+i] += indicator(x)
		}
	})
	if changed {
		d.ChangedLabels++
	}
}

func (d *Diff) addRow(l *LabelDiff, id string, a, b bool) {
	switch {
	case b && !a:
		l.Gained++
		d.addExample(&l.GainedIDs, id)
	case a && !b:
		l.Lost++
		d.addExample(&l.LostIDs, id)
	}
}

func (d *Diff) addExample(ids *[]string, id string) {
	if d.hasRoom(len(*ids)) {
		*ids = append(*ids, id)
	}
}

// ComputeDiff computes shares and intervals. It is an error if no row can be compared, or a file lacks DiffOptions.By.
func (c *Comparison) ComputeDiff() (*Diff, error) {
	d := &c.diff
	if err := c.checkBy(); err != nil {
		return nil, err
	}
	c.comparePairs()
	d.A.LeftOut, d.B.LeftOut, d.unrecorded = c.options.LeftOut[0], c.options.LeftOut[1], c.options.Unrecorded
	d.Interval = Interval{Level: stats.Level, Group: c.options.Group, Groups: len(c.sums.groups)}
	d.warnings = append(c.tagged.warnings(),
		FileWarning{Notes: append(d.Pairing.Notes(d.A.File, d.B.File), d.untaggedNotes()...)})
	if text := differingThresholds(c.options.Thresholds); text != "" && (d.decided || isAnyKnown(d.Thresholds)) {
		d.warnings = append(d.warnings, FileWarning{Notes: []string{text}})
	}
	if d.stale > 0 {
		d.warnings = append(d.warnings, FileWarning{Notes: []string{d.staleText()}})
	}
	if d.Compared == 0 {
		return nil, c.nothingCompared()
	}
	d.eachLabel(c.computeShares)
	d.correct()
	if i := slices.IndexFunc(c.systems, func(s *pairSums) bool { return s.areSeveral() }); i >= 0 {
		d.systems, d.Systems = c.systems[i].systems, c.systems[i].diffs(d.WithoutError.P)
	}
	return d, nil
}

// computeShares computes the shares of rows without error (0), or with an error type, and their difference.
func (c *Comparison) computeShares(place int, l *LabelDiff) {
	var a, b, change stats.GroupSums
	for _, cells := range c.sums.values {
		rows, foundA, foundB := cells[diffCells*place], cells[diffCells*place+1], cells[diffCells*place+2]
		a.AddGroup(foundA, rows)
		b.AddGroup(foundB, rows)
		change.AddGroup(foundB-foundA, rows)
	}
	l.A, l.B = newShare(&a), newShare(&b)
	difference := DifferenceOf(stats.PairedShares(float64(l.Lost), &change))
	l.Difference, l.Low, l.High, l.P = difference.Value, difference.Low, difference.High, difference.P
}
