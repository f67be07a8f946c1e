package evaluation

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/report"
)

// scoredRow holds what the figures need of a row of the first file.
type scoredRow struct {
	id            string
	group, system string
	human         []float64 // by dimension of ScoreOptions.Human; NaN is unknown
}

// scoreSet is parallel to the rows of the first file: values by dimension and row, NaN where there is none.
type scoreSet struct {
	file    string
	mode    string // of the runs that give the values; "" takes the scores' own values
	values  [][]float64
	repeats []map[judgeMode][][]float64 // by dimension: the values of each row
	missing int                         // rows of the first file that have no row here with the same id and text
	faults  []error
}

type judgeMode struct{ judge, mode string }

// openSets makes the sets for the rows of a file: one set, or one for each mode.
func (s *Scores) openSets(file string) []*scoreSet {
	modes := []string{""}
	if s.o.ByMode {
		modes = []string{dataset.ModeVanilla, dataset.ModeErrorAware}
	}
	before := len(s.sets)
	for _, mode := range modes {
		set := &scoreSet{file: file, mode: mode, missing: len(s.rows)}
		for range s.o.Human {
			set.values = append(set.values, slices.Repeat([]float64{math.NaN()}, len(s.rows)))
			set.repeats = append(set.repeats, map[judgeMode][][]float64{})
		}
		s.sets = append(s.sets, set)
	}
	return s.sets[before:]
}

// addRow adds a row of the first file.
func (s *Scores) addRow(row *dataset.Row) error {
	r := scoredRow{id: strings.Clone(row.ID)}
	var err error
	if r.group, err = report.GroupOf(row, s.o.Taxonomy, s.o.Intervals.Group); err != nil {
		return err
	}
	known := false
	if r.system, known, err = report.SystemOf(row, s.o.System); err != nil {
		return err
	}
	if !known {
		s.hints.Add(row)
	}
	for d, h := range s.o.Human {
		ratings, err := s.readRatings(&h, row)
		if err != nil {
			return err
		}
		r.human = append(r.human, float64(meanOf(ratings)))
		s.ratings[d] = append(s.ratings[d], ratings)
	}
	s.index.Add(row, len(s.rows))
	s.rows = append(s.rows, r)
	scores, err := row.Scores()
	if err != nil {
		return err
	}
	if s.lift != nil {
		s.lift.AddRow(r.group, scores)
	}
	for _, set := range s.sets {
		for d := range set.values {
			set.values[d] = append(set.values[d], math.NaN())
		}
		set.addScores(len(s.rows)-1, scores, &s.o)
	}
	return nil
}

// joinRow adds the scores of a row of the second file.
func (s *Scores) joinRow(set *scoreSet, row *dataset.Row) error {
	i, same, ok := s.match.Find(row)
	if !ok || !same {
		return nil
	}
	set.missing--
	scores, err := row.Scores()
	if err != nil {
		return err
	}
	set.addScores(i, scores, &s.o)
	return nil
}

func (f *scoreSet) addScores(i int, scores map[string]*dataset.Score, o *ScoreOptions) {
	for d, h := range o.Human {
		s := scores[h.Dimension]
		if s == nil {
			continue
		}
		if v, ok := f.value(s, o.Aggregate); ok {
			f.values[d][i] = v
		}
		runs := map[judgeMode][]float64{}
		for _, r := range s.Runs {
			if r.Value != nil && r.Planted == "" && (f.mode == "" || r.Mode == f.mode) {
				key := judgeMode{r.Judge, r.Mode}
				runs[key] = append(runs[key], *r.Value)
			}
		}
		for key, values := range runs {
			f.repeats[d][key] = append(f.repeats[d][key], values)
		}
	}
}

// value is the score's own value, or that of its runs in one mode.
func (f *scoreSet) value(s *dataset.Score, aggregate Aggregate) (float64, bool) {
	switch {
	case f.mode != "":
		return ModeValue(s.Runs, f.mode, aggregate)
	case s.Value != nil:
		return *s.Value, true
	}
	return 0, false
}

// unrated are the texts, in lower case, of cells in which nobody gave a score.
var unrated = []string{"", "n/a", "na", "-", "null"}

// decimalComma is a number as spreadsheets write it in much of Europe. With three digits behind the comma it might be
// thousands.
var decimalComma = regexp.MustCompile(`^[+-]?\d+,\d{1,2}$`)

// readRating reads a person's score; rated is false of a cell without one.
func readRating(raw json.RawMessage) (x float64, rated bool, err error) {
	text := strings.TrimSpace(dataset.PlainText(raw))
	if slices.Contains(unrated, strings.ToLower(text)) {
		return 0, false, nil
	}
	if decimalComma.MatchString(text) {
		text = strings.Replace(text, ",", ".", 1)
	}
	x, err = strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, false, report.OptionErrorf("is %.40s, not a number; leave the cell empty, or write n/a, where nobody "+
			"rated the row", raw)
	}
	return x, true, nil
}

// CheckRating is an *OptionError, which goes on behind the column's name, for a value that is neither a person's score
// nor says that there is none.
func CheckRating(raw json.RawMessage) error {
	_, _, err := readRating(raw)
	return err
}

// readRatings gives the numbers in the columns. It notes which columns exist, and counts the cells without a score.
func (s *Scores) readRatings(h *HumanScores, row *dataset.Row) (ratings []float64, err error) {
	for _, c := range h.Columns {
		raw, ok := row.Get(c)
		s.columns[c] = s.columns[c] || ok
		if !ok {
			continue
		}
		x, rated, err := readRating(raw)
		switch {
		case err != nil:
			return nil, report.OptionErrorf("--human %s: row %s: column %q %w", h.Dimension, row.ID, c, err)
		case rated:
			ratings = append(ratings, x)
			span, there := s.spans[c]
			if !there {
				span = [2]float64{x, x}
			}
			s.spans[c] = [2]float64{min(span[0], x), max(span[1], x)}
		default:
			s.unrated++
		}
	}
	return ratings, nil
}

// nameFile is the name in reports of a file, or of one mode in it.
func nameFile(file, mode string) string {
	if mode != "" {
		return fmt.Sprintf("%s, %s", file, mode)
	}
	return file
}

// numberRows numbers the groups and systems of the rows that figures use: others say nothing of how sure these are.
func (data *scoreData) numberRows() {
	groups, systems, used := numbering{}, numbering{}, map[int]bool{}
	number := func(i int) {
		data.group[i], data.system[i] = groups.numberOf(data.rows[i].group), noSystem
		if name := data.rows[i].system; name != "" && name != report.Nameless {
			data.system[i] = systems.numberOf(name)
		}
		used[i] = true
	}
	for _, rows := range data.chosen {
		own := map[int]bool{}
		for _, i := range rows {
			number(i)
			own[data.group[i]] = true
		}
		data.ofEach = append(data.ofEach, len(own))
	}
	if len(data.chosen) == 0 { // the lift needs no human scores
		for i := range data.rows {
			number(i)
		}
	}
	data.used, data.groups, data.systems = len(used), len(groups), max(1, len(systems))
}

// describeFewGroups says which dimensions rest on fewer groups than all figures together, and on few.
func (data *scoreData) describeFewGroups() (lines []string) {
	for d, h := range data.o.Human {
		if n := data.ofEach[d]; n < data.groups && len(data.chosen[d]) > 0 {
			for _, line := range report.RoughIntervals(n) {
				lines = append(lines, h.Dimension+" has "+line)
			}
		}
	}
	return lines
}
