package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every pair of systems is tested as scipy and statsmodels do (testdata/make_tests.py), paired where the systems wrote
// for the same inputs, although each has two questions on a passage.
func TestTestsOfWitness(t *testing.T) {
	data, err := os.ReadFile("testdata/tests.json")
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Tests []struct {
			Of, System, Than    string
			Value, Low, High, P float64
			PHolm               float64 `json:"p_holm"`
			Paired              bool
			Rows                int
		}
		Rows []json.RawMessage
	}
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range w.Rows {
		lines = append(lines, string(row))
	}
	s := testedStats(t, lines...)
	if len(s.Tests) != len(w.Tests) || len(w.Tests) != 12 {
		t.Fatalf("%d tests, want %d", len(s.Tests), len(w.Tests))
	}
	found := map[string]Test{}
	for _, d := range s.Tests {
		found[d.Of+d.System+d.Than] = d
	}
	for _, want := range w.Tests {
		d := found[want.Of+want.System+want.Than]
		if !near(d.Value, want.Value, 1e-9) || !near(d.Low, want.Low, 1e-8) || !near(d.High, want.High, 1e-8) ||
			!near(d.P, want.P, 1e-8) || !near(d.PHolm, want.PHolm, 1e-8) || d.Paired != want.Paired || d.Rows != want.Rows ||
			(d.Better == Higher) != (want.Of == "without error" || want.Of == "fluency") {
			t.Errorf("%+v, want %+v", d, want)
		}
	}
	if text := printed(t, s); !strings.Contains(text, "by Holm's correction for 9 tests; rows without error by") ||
		strings.Count(text, "not paired\n") != 8 {
		t.Error(text)
	}
}

// testedStats has the tests of rows.
func testedStats(t *testing.T, lines ...string) *Stats {
	t.Helper()
	s, err := statsOfLines(t, true, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func statsOfLines(t *testing.T, tests bool, lines ...string) (*Stats, error) {
	t.Helper()
	tax, read := readLines(t, lines...)
	tally := NewTally(StatsOptions{Taxonomy: tax, Group: tax.GroupField(), Tests: tests})
	if err := tally.ReadRows(t.Context(), "f", read); err != nil {
		t.Fatal(err)
	}
	return tally.ComputeStats()
}

// figuresOf are those without tests of each pair.
func figuresOf(t *testing.T, lines ...string) *Stats {
	t.Helper()
	s, err := statsOfLines(t, false, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func printed(t *testing.T, s *Stats) string {
	t.Helper()
	var text strings.Builder
	if err := s.Report().Text(&text, 0); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// A system with one row a passage is compared with the others by passage, whatever the answers; rows that were not
// tagged, and scores of one row alone, tell nothing.
func TestTestsPairByPassage(t *testing.T) {
	var lines []string
	for g := range 3 {
		for _, system := range []string{"a", "b"} {
			row := fmt.Sprintf(`{"id":"%s%d","system":"%s","passage":"P%d","answer":"%s","question":"q"`, system, g, system,
				g, system)
			if g < 2 {
				row += fmt.Sprintf(`,"scores":{"fluency":{"value":%d}}`, g+len(system))
			}
			if g == 0 {
				row += `,"diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1","labels":["Vague"]}`
			}
			lines = append(lines, row+"}")
		}
	}
	s := testedStats(t, lines...)
	if len(s.Tests) != 3 { // without error, Vague, fluency
		t.Fatalf("%+v", s.Tests)
	}
	for i, rows := range []int{1, 1, 2} {
		d := s.Tests[i]
		if !d.Paired || d.Rows != rows || d.Value != 0 || (d.Of == "fluency") != math.IsNaN(float64(d.P)) {
			t.Errorf("%+v", d)
		}
	}
}

// TestChanges: of several rows for one input those of one id are compared, else the first with the first; rows that say nothing of their input
// are compared by id, and those of different ones are not. Where a row was searched, an issue not found is none.
func TestChanges(t *testing.T) {
	const bare = `,"question":"q","passage":"","answer":`
	for name, c := range map[string]struct {
		a, b                string
		rows, changed, less float64
	}{
		"in turn": {line(`"id":"1","found":["x"]`) + line(`"id":"2","found":[]`),
			line(`"id":"3","found":["x"]`) + line(`"id":"4","found":[]`), 2, 0, 0},
		"by id": {`{"id":"1"` + bare + `"","found":["x"]}{"id":"2"` + bare + `"","found":[]}`,
			`{"id":"2"` + bare + `"","found":[]}{"id":"1"` + bare + `"","found":["x"]}`, 2, 0, 0},
		"by id, not in turn": {line(`"id":"1","found":["x"]`) + line(`"id":"2","found":[]`) + line(`"id":"3","found":[]`),
			line(`"id":"3","found":[]`) + line(`"id":"4","found":[]`) + line(`"id":"1","found":["x"]`), 3, 0, 0},
		"different inputs": {`{"id":"1"` + bare + `"A","found":["x"]}`, `{"id":"1"` + bare + `"B","found":["x"]}`, 0, 0, 0},
		"not found":        {line(`"id":"1","found":[]`), line(`"id":"2","found":["x"]`), 1, 1, 1},
		"not searched":     {line(`"id":"1"`), line(`"id":"2","found":["x"]`), 0, 0, 0},
	} {
		tax, _ := readLines(t)
		tally := NewTally(StatsOptions{Taxonomy: tax, Tests: true, Issues: foundIssues})
		for file, rows := range map[string]string{"a": c.a, "b": c.b} {
			_, read := readLines(t, strings.SplitAfter(rows, "}")...)
			if err := tally.ReadRows(t.Context(), file, read); err != nil {
				t.Fatal(err)
			}
		}
		tally.pairOutputs()
		got := tally.changes(tally.systems["a"], tally.systems["b"], []int{tally.columnOf(kindIssue, "x")})[0]
		if got.Rows != c.rows || got.SumSquares != c.changed || got.less != c.less {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUnevenPairs: a system of which far more rows lack the answer is no better by the pairs that are judged alike.
func TestUnevenPairs(t *testing.T) {
	var lines []string
	for g := range 60 {
		for _, system := range []string{"a", "b"} {
			answer, label := "x", "No Error"
			if system == "a" && g%2 == 0 {
				answer = ""
			}
			if system == "b" && g%3 == 0 {
				label = "Vague"
			}
			notJudged := map[bool]string{true: `,"not_judged":["Off Target Answer"]`}[answer == ""]
			lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":%[3]q,`+
				`"question":"q","diagnosis":{"labels":[%[4]q]%s}}`, system, g, answer, label, notJudged))
		}
	}
	lines[3] = strings.Replace(lines[3], "No Error", "Off Target Answer", 1) // which rows have
	const want = "not surely more than b, as rows were not judged alike for Off Target Answer"
	if text := printed(t, figuresOf(t, lines...)); !strings.Contains(text, want) {
		t.Error(text)
	}
}

// TestRestIsPaired: of two questions on each passage, which the systems ask for answers of their own, those in the order
// of their ids are compared, as by erreval diff; of one and two questions the means.
func TestRestIsPaired(t *testing.T) {
	for _, questions := range []int{1, 2} {
		var lines []string
		for g := range 40 {
			for k := range 2 {
				for system, vague := range map[string]bool{"a": g%4 == 0, "b": g%4 == 0 || g%8 == k} {
					if system == "b" && k >= questions {
						continue
					}
					label := map[bool]string{true: "Vague", false: "No Error"}[vague]
					lines = append(lines, fmt.Sprintf(`{"id":"%s%d.%d","system":%[1]q,"passage":"P%[2]d","answer":"%[1]s%[3]d","question":"q",`+
						`"diagnosis":{"labels":[%[4]q]}}`, system, g, k, label))
				}
			}
		}
		d := figuresOf(t, lines...).Differences[0]
		if want := map[int]int{1: 40, 2: 80}[questions]; d.pairs != want || d.byMeans != (questions == 1) {
			t.Errorf("%d questions: %+v", questions, d)
		}
	}
}

func TestTestsOfTooManySystems(t *testing.T) {
	var lines []string
	for i := range MostTested + 1 {
		lines = append(lines, line(fmt.Sprintf(`"id":"%d","system":"s%d","scores":{"fluency":{"value":1}}`, i, i)))
	}
	for n, fits := range map[int]bool{MostTested: true, MostTested + 1: false} {
		var option *OptionError
		if _, err := statsOfLines(t, true, lines[:n]...); errors.As(err, &option) == fits {
			t.Errorf("%d systems: %v", n, err)
		}
	}
}

// TestBestIsPaired: of 40 passages a alone is without error in 9, b alone in 1, so that a is surely better (Bonett and
// Price's p is 0.020), though it is not of rows taken as different ones.
func TestBestIsPaired(t *testing.T) {
	for _, c := range []struct {
		paired bool // the systems have the same passages
		said   string
	}{{true, "a has most rows without error, 77.5 % (61.8 to 88.0), surely more than b by the model's labels (p 0.020); "},
		{false, "not surely more than b"}} {
		var lines []string
		for g := range 40 {
			for system, clean := range map[string]bool{"a": g < 31, "b": g < 22 || g == 39} {
				labels := `["Vague"]`
				if clean {
					labels = `[]`
				}
				passage := fmt.Sprint("P", g)
				if !c.paired {
					passage += system
				}
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%q,"passage":%q,"answer":"x","question":"q",`+
					`"diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1","labels":%s}}`, system, g, system, passage, labels))
			}
		}
		s := figuresOf(t, lines...)
		if d := s.Differences[0]; d.Paired != c.paired || d.PHolm != d.P || !strings.Contains(printed(t, s), c.said) {
			t.Errorf("%+v\n%s", d, printed(t, s))
		}
	}
}

// TestPairsAgainst: a system is not surely better where rows for the same input say the contrary. Of 100 passages x is
// without error in 94, in 9 of them as it was not judged for what z has there, and z in 91: of the others z is better
// (Bonett and Price by scipy, of the effective 90 of 91 pairs: t 2.160 with 90 degrees of freedom, p 0.0334).
func TestPairsAgainst(t *testing.T) {
	var lines []string
	for g := range 100 {
		for system, found := range map[string]string{"x": `"labels":[]`, "z": `"labels":[]`} {
			switch {
			case g < 9 && system == "x":
				found = `"labels":[],"not_judged":["Off Target Answer"]`
			case g < 9:
				found = `"labels":["Off Target Answer"]`
			case g < 15 && system == "x":
				found = `"labels":["Vague"]`
			}
			lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%q,"passage":"P%d","answer":"x","question":"q",`+
				`"diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1",%s}}`, system, g, system, g, found))
		}
	}
	s := figuresOf(t, lines...)
	const want = "x has most rows without error, 94.0 % (87.4 to 97.3), but of rows for the same input, judged for the " +
		"same errors, z has more (p 0.033; rows in no pair: 9 of x, 9 of z)"
	if text := printed(t, s); !strings.Contains(text, want) {
		t.Error(text)
	}
}

// TestPairsBesideRepeats: that a third system has two rows for each input does not part the rows of two others.
func TestPairsBesideRepeats(t *testing.T) {
	var lines []string
	for i := range 8 {
		for k, system := range []string{"a", "b", "c", "c"} {
			lines = append(lines, fmt.Sprintf(`{"id":"%d-%d","system":%q,"passage":"P%[1]d","answer":"answer %[2]d",`+
				`"question":"q","diagnosis":{"labels":[%[4]q]}}`, i, k, system, []string{"No Error", "Vague"}[min(1, k*i%3)]))
		}
	}
	s := testedStats(t, lines...)
	for i := range s.Tests {
		one := &s.Tests[i]
		withC := one.System == "c" || one.Than == "c"
		if s.isClean(&one.Contrast) && (one.byMeans != withC || one.Rows != 8) {
			t.Errorf("%s and %s: paired %v, %d rows", one.System, one.Than, one.Paired, one.Rows)
		}
	}
}

// TestSilentSystem: b answers none of the 20 hard passages of 60, on which a errs; on the others both are alike, and in
// no column is b better. That they share 15 passages alone is said.
func TestSilentSystem(t *testing.T) {
	row := func(system string, g int, label string) string {
		return fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
			`"diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1","labels":[%q]}}`, system, g, label)
	}
	for shift, said := range map[int]string{0: "not surely more than a (p 1.000)",
		45: "as they share only 15 of their 40 and 60 inputs"} {
		var lines []string
		for g := range 60 {
			label := "No Error"
			if g >= 40 {
				label = "Off Topic"
			} else {
				lines = append(lines, row("b", g+shift, label))
			}
			lines = append(lines, row("a", g, label))
		}
		s := figuresOf(t, lines...)
		if text := printed(t, s); !strings.Contains(text, said) {
			t.Errorf("%s is not in\n%s", said, text)
		}
		for _, d := range s.Differences {
			if shift == 0 && d.isSettled() {
				t.Errorf("%+v", d)
			}
		}
	}
}

// TestOrderDecidesNothing: a has three rows for each input, of which one has an error, and b one: the order of the rows
// does not pair those that suit a system.
func TestOrderDecidesNothing(t *testing.T) {
	row := func(system string, g, k int, label string) string {
		return fmt.Sprintf(`{"id":"%s%d-%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
			`"diagnosis":{"labels":[%[4]q]}}`, system, g, k, label)
	}
	var lines []string
	for g := range 30 {
		lines = append(lines, row("a", g, 0, "No Error"), row("a", g, 1, "No Error"), row("a", g, 2, "Vague"),
			row("b", g, 0, []string{"No Error", "No Error", "Vague"}[g%3]))
	}
	s := figuresOf(t, lines...)
	if d := s.Differences[0]; !d.byMeans || d.pairs != 30 || math.Abs(float64(d.Value)) > 1e-12 || d.isSettled() {
		t.Errorf("%+v", d)
	}
	lines = nil // two of each, of which the first of a file would be paired
	for g := range 30 {
		lines = append(lines, row("a", g, 0, []string{"No Error", "Vague"}[g%2]), row("a", g, 1, "No Error"),
			row("b", g, 0, "Vague"), row("b", g, 1, []string{"No Error", "Vague"}[g%3/2]))
	}
	s = figuresOf(t, lines...)
	for g := range 20 {
		slices.Reverse(lines[4*g+2:][:2])
	}
	turned := figuresOf(t, lines...)
	if d, of := s.Differences[0], turned.Differences[0]; d.byMeans || d.Low != of.Low || d.P != of.P {
		t.Errorf("%+v, in another order %+v", d, of)
	}
}

// TestThirdIsBetter: a has rows for the 50 easy inputs alone, where c is better; of all rows it has the most without
// error, and b, which is worse, is the second best by these.
func TestThirdIsBetter(t *testing.T) {
	var lines []string
	for g := range 100 {
		for system, clean := range map[string]bool{"a": g < 42, "b": g%10 < 6 || g%20 == 7, "c": g < 60} {
			if label := map[bool]string{true: "No Error", false: "Vague"}[clean]; system != "a" || g < 50 {
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
					`"diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1","labels":[%[3]q]}}`, system, g, label))
			}
		}
	}
	s := figuresOf(t, lines...)
	const want = "a has most rows without error, 84.0 % (71.0 to 91.9), but of rows for the same input, judged for the " +
		"same errors, c has more (-16.0 points"
	if text := printed(t, s); !strings.Contains(text, want) || strings.Contains(text, "*84") {
		t.Error(text)
	}
}

// TestMeansByItem: of 60 passages b has 18 twice, as after a retry. Differences of passages by statsmodels' WLS of these
// on a constant, with weights 2ab/(a+b) and clustered errors: 0.0606, -0.10784 to 0.22905, p 0.47439.
func TestMeansByItem(t *testing.T) {
	row := func(system string, g, k int, clean bool) string {
		return fmt.Sprintf(`{"id":"%s%d-%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
			`"diagnosis":{"labels":[%[4]q]}}`, system, g, k, map[bool]string{true: "No Error", false: "Vague"}[clean])
	}
	var lines []string
	for g := range 60 {
		lines = append(lines, row("a", g, 0, g < 42), row("b", g, 0, g >= 18))
		if g < 18 {
			lines = append(lines, row("b", g, 1, g < 15))
		}
	}
	s := figuresOf(t, lines...)
	d := s.Differences[0]
	for _, c := range [][2]float64{{float64(d.Value), 0.0606060606}, {float64(d.Low), -0.1078357266},
		{float64(d.High), 0.2290478478}, {float64(d.P), 0.4743882053}} {
		if math.Abs(c[0]-c[1]) > 1e-9 || d.pairs != 60 {
			t.Errorf("%v, want %v, of %d pairs", c[0], c[1], d.pairs)
		}
	}
}

// TestPartsOfItems: in each passage b is better by its ten rows with an answer, and worse by the one without.
func TestPartsOfItems(t *testing.T) {
	var lines []string
	add := func(system string, g, rows, clean int, left string) {
		for k := range rows {
			label := map[bool]string{true: "No Error", false: "Vague"}[k < clean]
			lines = append(lines, fmt.Sprintf(`{"id":"%s%d-%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
				`"diagnosis":{"labels":[%[4]q],"not_judged":[%[5]s]}}`, system, g, len(lines), label, left))
		}
	}
	for g := range 12 {
		add("a", g, 9, 3+g%2, "")
		add("b", g, 10, 6, "")
		add("a", g, 1, 1, `"Off Target Answer"`)
		add("b", g, 1, 0, `"Off Target Answer"`)
	}
	s := figuresOf(t, lines...)
	weight := 2 * 9 * 10 / 19.0
	want := (weight*(0.6-3.5/9) - 1) / (weight + 1)
	if d := s.Differences[0]; !near(d.Value, want, 1e-12) || s.Systems[d.system].Name != "b" {
		t.Errorf("%+v, want %v", d, want)
	}
}

// TestTwoOfFewGroups: of two systems none is set aside, though a has 15 passages and b 40 others: a is the better one.
func TestTwoOfFewGroups(t *testing.T) {
	var lines []string
	for g := range 55 {
		system, label := "b", []string{"No Error", "Vague"}[g%2]
		if g < 15 {
			system, label = "a", "No Error"
		}
		lines = append(lines, fmt.Sprintf(`{"id":"%d","system":%q,"passage":"P%[1]d","answer":"x","question":"q",`+
			`"diagnosis":{"labels":[%[3]q]}}`, g, system, label))
	}
	s := figuresOf(t, lines...)
	if text := printed(t, s); !strings.Contains(text, "a has most rows without error, 100 %") ||
		!strings.Contains(text, "surely more than b by the model's labels (p 0.004; rows are not paired)") {
		t.Error(text)
	}
}

// TestPairsOfFiles: in each of two files two systems have a question on each passage; of one system some got worse. Rows
// of the same system are compared, whatever their order, so that no other difference hides that.
func TestPairsOfFiles(t *testing.T) {
	file := func(name string) (lines []string) {
		for g := range 80 {
			for _, system := range []string{"a", "b"} {
				label := "No Error"
				if system == "b" && g%2 == 0 || system == "a" && name == "new" && g%10 == 5 {
					label = "Vague"
				}
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d","model":%q,"passage":"P%d","answer":"x","question":"q",`+
					`"diagnosis":{"labels":[%q]}}`, name, (g*37+len(system)+len(lines)*11)%997, system, g, label))
			}
		}
		return lines
	}
	s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, file("old"), file("new"))
	if d := s.Differences[0]; d.byMeans || d.pairs != 160 || !near(d.Value, 0.05, 1e-12) || !d.isSettled() {
		t.Errorf("%+v", d)
	}
}

// TestAskedAlike: systems that were told different things are compared by what users said, but not where one was told
// different things.
func TestAskedAlike(t *testing.T) {
	lines := func(tell func(system string, k int) string) (lines []string) {
		for k := range 30 {
			for _, system := range []string{"a", "b"} {
				label := map[bool]string{true: "No Error", false: "Vague"}[system == "a" || k%3 == 0]
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"Hi %[2]d\n\nThe whole conversation:\n`+
					`system: %[3]s\nuser: Hi %[2]d","answer":"x","question":"q","diagnosis":{"labels":[%[4]q]}}`, system, k,
					tell(system, k), label))
			}
		}
		return lines
	}
	for want, tell := range map[bool]func(string, int) string{true: func(system string, _ int) string { return system },
		false: func(system string, k int) string { return fmt.Sprint(system, k%2) }} {
		all := lines(tell)
		if !want { // a is told both on one input
			all = append(all, lines(func(system string, k int) string { return fmt.Sprint(system, 1-k%2) })...)
		}
		s := figuresOf(t, all...)
		if d := s.Differences[0]; d.Paired != want || want && d.pairs != 30 {
			t.Errorf("%v: %+v", want, d)
		}
	}
}

// TestRareErrors: a has one question a passage and none with an error, b three and six with one. That is no evidence:
// six errors in as many places as a has rows leave a out with a probability of 0.18.
func TestRareErrors(t *testing.T) {
	var lines []string
	for g := range 40 {
		for k, system := range []string{"a", "b", "b", "b"} {
			label := map[bool]string{true: "Vague", false: "No Error"}[k == 1 && g%6 == 0 && g < 36]
			lines = append(lines, fmt.Sprintf(`{"id":"%d-%d","system":%q,"passage":"P%[1]d","answer":"x","question":"q",`+
				`"diagnosis":{"labels":[%[4]q]}}`, g, k, system, label))
		}
	}
	s := figuresOf(t, lines...)
	if d := s.Differences[0]; !d.byMeans || d.isSettled() || d.Low > 0 || !near(d.Value, 0.05, 1e-12) {
		t.Errorf("%+v", d)
	}
}

// TestRowsInNoPair: where a system lacks rows for inputs of the other, as of failed calls, the closing line says so.
func TestRowsInNoPair(t *testing.T) {
	for lacks, want := range map[int]string{0: "(p <0.001)", 10: "(p <0.001; rows in no pair: 0 of a, 10 of b)"} {
		var lines []string
		for g := range 50 {
			for system, clean := range map[string]bool{"a": g < 45, "b": g%2 == 0} {
				labels := map[bool]string{true: "[]", false: `["Vague"]`}[clean]
				if system == "a" && g >= 50-lacks {
					continue
				}
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d","system":%[1]q,"passage":"P%[2]d","answer":"x","question":"q",`+
					`"diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1","labels":%[3]s}}`, system, g, labels))
			}
		}
		if text := printed(t, figuresOf(t, lines...)); !strings.Contains(text, want) {
			t.Errorf("%d lacking: no %q in\n%s", lacks, want, text)
		}
	}
}

// TestMostlyPaired: where most rows have a partner, a difference is as sure as those are of it, however alike the means
// are. a lacks one row in 25 of 30 passages, where b has its error.
func TestMostlyPaired(t *testing.T) {
	var lines []string
	for g := range 30 {
		for k := range 5 {
			for _, system := range []string{"a", "b"} {
				labels := map[bool]string{true: `["Vague"]`, false: "[]"}[k == 0 && system == "b"]
				if system == "a" && k == 0 && g < 25 {
					continue
				}
				lines = append(lines, fmt.Sprintf(`{"id":"%s%d-%d","system":%[1]q,"passage":"P%[2]d","answer":"x%[3]d","question":`+
					`"q","diagnosis":{"model":"m@1","taxonomy":"question-generation@1.1","labels":%[4]s}}`, system, g, k, labels))
			}
		}
	}
	s := figuresOf(t, lines...)
	if d := s.Differences[0]; !d.byMeans || d.isSettled() || d.P < 0.05 || d.P > 0.2 {
		t.Errorf("%+v", d)
	}
}
