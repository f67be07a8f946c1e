package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/words"
)

const (
	mostHinted    = 60      // values that a column has at most that is taken for one of systems
	leastHinted   = 5       // rows that each value has on average, in a column of an unusual name
	longestHinted = 40      // bytes of its values
	longestPrompt = 1 << 10 // of those of which it is looked whether their mix is another
	mostNamed     = 3       // columns of unusual names that are named
	mostLookedAt  = 64      // columns of unusual names: each costs a look at every row
	firstRows     = 20      // in which columns are looked for
)

// Hints find columns that may tell systems apart where none is called "system": one of another usual name with some
// values, else those with few short ones.
type Hints struct {
	// of the first rows, and parts of their objects by path, to the rows of each value in two files, of one more than
	// mostHinted at most; nil is one that holds something else
	columns map[string]map[string][2]int
	long    map[string]bool                // columns with longer values, as of prompts
	numbers map[string]*[2]stats.GroupSums // of columns in the files: a row each
	rows    int
	groups  int    // of rows that stand and fall together; 0 is not known
	width   int    // columns of the widest row
	of      [2]int // rows of the files
	file    int    // of the row: 0 or 1
}

// Add looks at a row.
func (h *Hints) Add(row *dataset.Row) {
	if h.columns == nil {
		h.columns, h.long = map[string]map[string][2]int{}, map[string]bool{}
		h.numbers = map[string]*[2]stats.GroupSums{}
	}
	h.of[h.file]++
	width := len(row.Columns())
	if h.rows++; h.of[h.file] <= firstRows || width > h.width { // a row has more than those before
		h.addColumns(row)
	}
	h.width = max(h.width, width)
	for name, values := range h.columns {
		raw, ok := row.FindAnyCase(name)
		if len(raw) <= longestHinted { // longer texts, as passages, are no numbers
			h.addNumber(name, raw)
		}
		switch {
		case !ok || values == nil || len(values) > mostHinted || string(raw) == "null" || string(raw) == `""`:
		case len(raw) > longestPrompt && !MayNameSystems(name), raw[0] == '{':
			h.columns[name] = nil
		default:
			h.long[name] = h.long[name] || len(raw) > longestHinted || raw[0] == '['
			value := plainValue(raw)
			rows := values[value]
			rows[h.file]++
			values[value] = rows
		}
	}
}

// addNumber adds a value that is a number.
func (h *Hints) addNumber(name string, raw json.RawMessage) {
	x, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return
	}
	if h.numbers[name] == nil {
		h.numbers[name] = new([2]stats.GroupSums)
	}
	h.numbers[name][h.file].AddGroup(x, 1)
}

// addColumns adds those of a row that are new.
func (h *Hints) addColumns(row *dataset.Row) {
	names := row.Columns()
	for _, name := range row.Columns() {
		raw, _ := row.Get(name)
		var parts map[string]json.RawMessage
		if raw[0] == '{' && !slices.Contains(ownObjects, name) && json.Unmarshal(raw, &parts) == nil {
			for _, part := range slices.Sorted(maps.Keys(parts)) {
				names = append(names, name+"."+part)
			}
		}
	}
	for _, name := range names {
		isSame := func(other string) bool { return strings.EqualFold(other, name) }
		isKnown := slices.ContainsFunc(slices.Collect(maps.Keys(h.columns)), isSame)
		if !isKnown && (len(h.columns) < mostLookedAt || MayNameSystems(name)) {
			h.columns[name] = map[string][2]int{}
		}
	}
}

// ownObjects are columns that erreval writes.
var ownObjects = []string{dataset.ColumnDiagnosis, "scores", "issues", dataset.ColumnVerdicts}

// MayNameSystems tells whether a column has a usual name of those that name systems.
func MayNameSystems(column string) bool {
	last := strings.ToLower(column[strings.LastIndexByte(column, '.')+1:]) // of a path
	usual := strings.TrimSuffix(strings.TrimSuffix(last, "_name"), "_id")
	return slices.Contains([]string{"model", "system", "generator", "engine", "llm", "run"}, usual)
}

// Usual is the column of a usual name with the most values; "" without any.
func (h *Hints) Usual() (column string) {
	for _, name := range slices.Sorted(maps.Keys(h.columns)) {
		if n := len(h.columns[name]); MayNameSystems(name) && 2 <= n && n <= mostHinted && n > len(h.columns[column]) {
			column = name
		}
	}
	return column
}

// Note names the columns that may tell systems apart, behind what stands before them in --by; "" is none.
func (h *Hints) Note(before string) string {
	columns := h.find()
	if len(columns) == 0 {
		return ""
	}
	for i, c := range columns {
		columns[i] = "--by " + words.Quote(before+c)
	}
	return "rows may be told apart by " + strings.Join(columns, " or ")
}

// find gives that column, else a few others in which most rows have a value, those of few values first; none without.
func (h *Hints) find() (columns []string) {
	if usual := h.Usual(); usual != "" {
		return []string{usual}
	}
	for _, name := range slices.Sorted(maps.Keys(h.columns)) {
		n, filled := len(h.columns[name]), sumOf(h.columns[name])
		some := 2 <= n && n <= mostHinted && n*leastHinted <= h.rows && 2*(filled[0]+filled[1]) > h.rows
		if some && !h.long[name] && !hasNumbers(h.columns[name]) && !MayNameSystems(name) {
			columns = append(columns, name)
		}
	}
	slices.SortStableFunc(columns, func(a, b string) int { return len(h.columns[a]) - len(h.columns[b]) })
	return columns[:min(len(columns), mostNamed)]
}

// plainValue is a value as one file has it in JSON and another one in a table: a number as a text.
func plainValue(raw json.RawMessage) string {
	text := dataset.PlainText(raw)
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(x, 'g', -1, 64)
	} else if string(raw) == "true" || string(raw) == "false" {
		return string(raw)
	}
	return strconv.Quote(text)
}

// leastShared is the share of the rows of each file with values that both have from which their mix can be compared: of
// days it is none.
const leastShared = 0.1

// shifted are columns but some that have another mix of values in the second file than in the first.
func (h *Hints) shifted(but []string) (columns []string) {
	for _, name := range slices.Sorted(maps.Keys(h.columns)) {
		isBut := slices.ContainsFunc(but, func(other string) bool { return strings.EqualFold(other, name) })
		if values := h.columns[name]; !isBut && values != nil && h.isShifted(values) {
			columns = append(columns, name)
		}
	}
	return columns
}

// isShifted tells whether the mix of values is another in the second file, by more than chance explains: chi-square is
// four standard deviations above its mean. Rows without a value have one, too.
func (h *Hints) isShifted(values map[string][2]int) bool {
	if values = maps.Clone(values); len(values) > mostHinted {
		return false
	}
	if filled := sumOf(values); filled != h.of {
		values[""] = [2]int{h.of[0] - filled[0], h.of[1] - filled[1]}
	}
	shared := maps.Clone(values)
	maps.DeleteFunc(shared, func(_ string, rows [2]int) bool { return min(rows[0], rows[1]) == 0 })
	chi2, a, b := 0.0, math.Sqrt(float64(h.of[1])/float64(h.of[0])), math.Sqrt(float64(h.of[0])/float64(h.of[1]))
	for _, rows := range values {
		d := float64(rows[0])*a - float64(rows[1])*b
		chi2 += d * d / float64(rows[0]+rows[1])
	}
	both, df := sumOf(shared), float64(len(values)-1)
	isShared := float64(both[0]) >= leastShared*float64(h.of[0]) && float64(both[1]) >= leastShared*float64(h.of[1])
	return df > 0 && isShared && chi2 > h.effect()*(df+4*math.Sqrt(2*df))
}

// effect is that of groups on variances, if all rows of one are alike.
func (h *Hints) effect() float64 { return float64(h.rows) / float64(cmp.Or(h.groups, h.rows)) }

// shiftedNumbers says which columns of many numbers have others in the second file by more than four standard errors;
// of those that hardly overlap, as times do not, none.
func (h *Hints) shiftedNumbers() (texts []string) {
	for _, name := range slices.Sorted(maps.Keys(h.numbers)) {
		a, b := &h.numbers[name][0], &h.numbers[name][1]
		if len(h.columns[name]) <= mostHinted || a.Groups+b.Groups < h.rows || dataset.LikelyID([]string{name}) != "" {
			continue
		}
		d, spread := stats.ApartMeans(a, b), 0.0
		for _, s := range []*stats.GroupSums{a, b} {
			spread += math.Sqrt(max(0, s.SumSquares/s.Rows-s.Mean()*s.Mean()))
		}
		if size := math.Abs(d.Value); size > (d.High-d.Low)*math.Sqrt(h.effect()) && size < 2*spread {
			texts = append(texts, fmt.Sprintf("%s (%.3g and %.3g on average)", words.Printable(name), a.Mean(), b.Mean()))
		}
	}
	return texts
}

// sumOf adds the rows of values.
func sumOf(values map[string][2]int) (sum [2]int) {
	for _, rows := range values {
		sum[0], sum[1] = sum[0]+rows[0], sum[1]+rows[1]
	}
	return sum
}

// renamed are a column of the first file alone and one of the second alone that have the same values in another mix; ""
// is none.
func (h *Hints) renamed() (first, second string) {
	for _, a := range slices.Sorted(maps.Keys(h.columns)) {
		for _, b := range slices.Sorted(maps.Keys(h.columns)) {
			of, other := h.columns[a], h.columns[b]
			if len(of) < 2 || len(other) < 2 || sumOf(of)[1] > 0 || sumOf(other)[0] > 0 {
				continue
			}
			both := maps.Clone(of)
			for value, rows := range other {
				both[value] = [2]int{of[value][0], rows[1]}
			}
			if len(both) == max(len(of), len(other)) && h.isShifted(both) {
				return a, b
			}
		}
	}
	return "", ""
}

// shiftedText says which columns are shifted, and the flag that weighs them alike, which begins with by.
func (h *Hints) shiftedText(but []string, by string) []string {
	shifted := h.shifted(but)
	if a, b := h.renamed(); len(shifted) == 0 && a != "" {
		return []string{fmt.Sprintf("%s in the first file and %s in the second have the same values in another mix, which "+
			"may be what differs between them: call these columns alike, if they are one",
			words.Printable(a), words.Printable(b))}
	}
	if numbers := h.shiftedNumbers(); len(shifted) == 0 && len(numbers) > 0 {
		return []string{fmt.Sprintf("the files have other numbers in %s, which may be what differs between them: --by takes "+
			"columns of a few values, as of classes of such numbers", someOf(numbers))}
	}
	if len(shifted) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the files have another mix of %s, which may be what differs between them: %s takes each "+
		"value with the same weight in both", someOf(shifted), by+","+words.Quote(shifted[0]))}
}

// dayOf begins a time, which names no system.
var dayOf = regexp.MustCompile(`^"\d{4}-\d\d-\d\d`)

// hasNumbers tells whether a value is a number, such as a rating, true or false, or a time.
func hasNumbers(values map[string][2]int) bool {
	for v := range values {
		if _, err := strconv.ParseFloat(strings.Trim(v, `"`), 64); err == nil || v[0] != '"' || dayOf.MatchString(v) {
			return true
		}
	}
	return false
}

func (s *Stats) names() (names []string) {
	for i := range s.Systems {
		names = append(names, s.Systems[i].Name)
	}
	return names
}

// AlikeSystems names systems whose names differ in case and space alone; "" where there are none.
func AlikeSystems(names []string) string {
	seen := map[string]string{}
	var pairs []string
	for _, name := range names {
		plain := strings.Join(strings.Fields(strings.ToLower(name)), " ")
		if other, ok := seen[plain]; ok {
			pairs = append(pairs, words.Printable(other)+" and "+words.Printable(name))
		}
		seen[plain] = name
	}
	if len(pairs) == 0 {
		return ""
	}
	return fmt.Sprintf("the systems %s differ in case or space alone: if they are one, give it one name in the file",
		someOf(pairs))
}
