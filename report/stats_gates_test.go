package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/erreval/erreval/internal/gate"
)

// TestGrownOfFiles: limits on growth are about the second of two files on other inputs, whichever is the better one, and
// cannot be decided where rows that were not tagged may turn it, or there are few passages.
func TestGrownOfFiles(t *testing.T) {
	file := func(name string, rows, vague, untagged int) (lines []string) {
		for k := range rows {
			diagnosis := `{"labels":["No Error"]}`
			switch {
			case k < vague:
				diagnosis = `{"labels":["Vague"]}`
			case k >= rows-untagged:
				diagnosis = `{"status":"untagged","reason":"refused"}`
			}
			lines = append(lines, fmt.Sprintf(`{"id":"%s%d","passage":"%[1]s %[3]d","answer":"x","question":"q","diagnosis":%[4]s}`,
				name, k, k/2, diagnosis))
		}
		return lines
	}
	var limits []gate.Gate
	for _, subject := range []string{Grown, Shrunk, Grown + ":Vague", Shrunk + ":No Error", Grown + ":Off Topic"} {
		limits = append(limits, gate.Gate{Text: subject + ">0", Subject: subject, Op: ">"})
	}
	limits = append(limits, gate.Gate{Text: "any>90%", Subject: gate.Any, Op: ">", Share: true, Limit: 0.9})
	few, many := file("old", 100, 10, 0), file("new", 100, 40, 0)
	for name, c := range map[string]struct {
		a, b   []string
		missed string // limits
		reason string // in the first one's
	}{
		"more":     {few, many, "grown>0 grown:Vague>0 shrunk:No Error>0", "grown: 1 of 10 error types: Vague"},
		"less":     {many, few, "shrunk>0", "grown: 0 of 10 error types; fails if > 0"},
		"as many":  {few, file("new", 100, 12, 0), "", "grown: 0 of 10 error types; fails if > 0"},
		"few rows": {few, file("new", 6, 3, 0), "grown>0 grown:Vague>0 shrunk:No Error>0", ""},
		"no rows":  {few, nil, "grown>0 shrunk>0 grown:Vague>0 shrunk:No Error>0 grown:Off Topic>0", "there are not two files with tagged rows"},
		"far less tagged": {few, file("new", 100, 10, 20), "grown>0 shrunk>0 grown:Vague>0 shrunk:No Error>0",
			"20 of 100 rows of b are untagged"},
		"less tagged": {few, file("new", 100, 0, 8), "shrunk>0", "grown: 0 of 10 error types; fails if > 0"},
	} {
		s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, c.a, c.b)
		var missed []string
		results := s.CheckGates(limits, "No Error")
		for _, r := range results {
			if r.Missed {
				missed = append(missed, r.Gate)
			}
		}
		if got := strings.Join(missed, " "); got != c.missed || !strings.Contains(results[0].Reason, c.reason) {
			t.Errorf("%s: %s missed, want %s; %+v", name, got, c.missed, results)
		}
	}
}

// TestRejectedOfFiles: a line that was rejected when a file was made is told to that file alone.
func TestRejectedOfFiles(t *testing.T) {
	row := []string{`{"id":"1","passage":"P","answer":"x","question":"q","diagnosis":{"labels":["Vague"]}}`}
	s := statsOfFiles(t, StatsOptions{By: ByFile, LeftOut: map[string]Lost{"a": {Lines: 1}, "b": {}}}, row, row)
	got := s.CheckGates([]gate.Gate{{Text: "rejected>0", Subject: gate.Rejected, Op: ">"}}, "No Error")
	if len(got) != 2 || !got[0].Missed || got[1].Missed || got[1].Of != 1 || s.LeftOut != 1 {
		t.Errorf("%+v", got)
	}
}

// systemRow is a row of a system with a passage of its own.
func systemRow(system, passage, label string) string {
	return fmt.Sprintf(`{"id":"%s %s","system":%[1]q,"passage":%[2]q,"answer":"x","question":"q","diagnosis":{"labels":[%[3]q]}}`,
		system, passage, label)
}

// TestGrownWithinSystems: where the worse of two systems has more of the second file's rows, no error has grown, but
// where one of them is worse there or the file has a system of its own.
func TestGrownWithinSystems(t *testing.T) {
	file := func(side string, s, vagueInS, other, vagueInOther int, name string) (lines []string) {
		label := map[bool]string{true: "Vague", false: "No Error"}
		for k := range s {
			lines = append(lines, systemRow("s", fmt.Sprint(side, "s", k), label[k < vagueInS]))
		}
		for k := range other {
			lines = append(lines, systemRow(name, fmt.Sprint(side, "t", k), label[k < vagueInOther]))
		}
		return lines
	}
	limits := []gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}}
	const began = "a system that had hardly rows"
	for name, c := range map[string]struct {
		new    []string
		column string // that names systems
		within string // the option
		missed bool
	}{
		"as they were":                        {file("b", 40, 4, 160, 64, "t"), "system", "", false},
		"one of them worse":                   {file("b", 40, 4, 160, 100, "t"), "system", "", true},
		"a worse one in the place of another": {file("b", 20, 2, 160, 80, "u"), "system", "", true},
		"a worse system of b alone":           {file("b", 140, 14, 160, 110, "u"), "system", "", true},
		"one as bad, with more rows":          {file("b", 140, 14, 160, 64, "u"), "system", "", false},
		"a system of a alone":                 {file("b", 160, 16, 0, 0, "t"), "system", "", false},
		"and the others worse":                {file("b", 160, 40, 0, 0, "t"), "system", "", true},
		"a row of another system":             {append(file("b", 40, 4, 160, 64, "t"), systemRow("u", "bu", "Vague")), "system", "", false},
		"one of them has hardly rows":         {file("b", 160, 16, 2, 2, "t"), "system", "", false},
		began:                                 {file("b", 40, 4, 160, 100, "u"), "system", "", true},
		"beside one system for all":           {file("b", 40, 4, 160, 64, "t"), `system":"all","model`, "", false},
		"beside an empty system":              {file("b", 40, 4, 160, 64, "t"), `system":"","model`, "", false},
		"by a column of another name":         {file("b", 40, 4, 160, 64, "t"), `system":"all","variant`, "variant", false},
		"by a column that usually does":       {file("b", 40, 4, 160, 64, "t"), `system":"all","generator`, "", false},
		"which nobody names":                  {file("b", 40, 4, 160, 64, "t"), "variant", "", true},
	} {
		old := file("a", 160, 16, 40, 16, "t")
		if name == "a worse one in the place of another" {
			old = file("a", 20, 2, 160, 30, "t")
		}
		if name == began {
			old = file("a", 195, 16, 5, 0, "u")
		}
		for _, lines := range [][]string{old, c.new} {
			for i := range lines {
				lines[i] = strings.Replace(lines[i], `"system"`, `"`+c.column+`"`, 1)
			}
		}
		s := statsOfFiles(t, StatsOptions{By: ByFile, Within: c.within, Group: "passage"}, old, c.new)
		if got := s.CheckGates(limits, "No Error")[0]; got.Missed != c.missed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestGrownOfRenamed: of two files on the same inputs a system has another name in the second, and is worse there; what
// it shares no name with is in no pair.
func TestGrownOfRenamed(t *testing.T) {
	for _, worse := range []bool{false, true} {
		var files [2][]string
		for side := range files {
			for k := range 80 {
				label := "No Error"
				if k%10 == 0 || worse && side == 1 && k%2 == 0 {
					label = "Vague"
				}
				passage := fmt.Sprint(k)
				files[side] = append(files[side], systemRow("base", passage, "No Error"), systemRow("ref", passage, "No Error"),
					systemRow([]string{"v1", "v2"}[side], passage, label))
			}
		}
		s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, files[:]...)
		got := s.CheckGates([]gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}}, "No Error")[0]
		if of := s.BySystem[len(s.BySystem)-1]; got.Missed != worse || of.Name != "v2 for v1" || of.isSure() != worse {
			t.Errorf("%+v, %+v", got, of)
		}
	}
}

// TestGrownOfNewInputs: half of the inputs of two files are the same, and the others are worse in the second one.
func TestGrownOfNewInputs(t *testing.T) {
	for _, worse := range []bool{false, true} {
		var files [2][]string
		for side := range files {
			for k := range 100 {
				label, passage := "No Error", fmt.Sprint(k)
				if k >= 50 {
					passage = fmt.Sprint(side, k)
				}
				if k%10 == 0 || worse && side == 1 && k >= 50 && k%2 == 0 {
					label = "Vague"
				}
				files[side] = append(files[side], systemRow("s", passage, label))
			}
		}
		s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, files[:]...)
		got := s.CheckGates([]gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}}, "No Error")[0]
		said := strings.Contains(printed(t, s), "many rows have no partner: limits on growth take the surer of two tests")
		if !s.Differences[0].Paired || got.Missed != worse || !said {
			t.Errorf("%+v, paired %v, said %v", got, s.Differences[0].Paired, said)
		}
	}
}

// TestShiftedMix: a column whose values have other shares in the second file is named, of whatever kind; those of several
// columns weigh alike together.
func TestShiftedMix(t *testing.T) {
	for name, values := range map[string][2]string{"of texts": {`"law"`, `"sport"`}, "of numbers": {"1", "2"},
		"of truth": {"true", "false"}, "in some rows": {`"yes"`, "null"}, "of days": {`"2026-11-01"`, `"2026-11-02"`},
		"of prompts": {`"Write one question on what the passage says."`, `"Write one question, and think first of what it says."`}} {
		var files [2][]string
		for side := range files {
			for k := range 100 {
				isLaw := k < 20+60*side
				label := map[bool]string{true: "Vague", false: "No Error"}[isLaw && k%2 == 0]
				more := fmt.Sprintf(`"topic":%s,"tone":"%d x","id"`, values[int(indicator(!isLaw))], k%3)
				row := systemRow([]string{"s", "t"}[k%4/2], fmt.Sprint(side, k), label)
				files[side] = append(files[side], strings.Replace(row, `"id"`, more, 1))
			}
		}
		const note = "another mix of topic, which may be what differs between them: --by file,system,topic takes"
		for _, within := range []string{"", "system,topic"} {
			s := statsOfFiles(t, StatsOptions{By: ByFile, Within: within, Group: "passage"}, files[:]...)
			got := s.CheckGates([]gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}}, "No Error")[0]
			if said := fmt.Sprint(s.Notes); got.Missed != (within == "") || strings.Contains(said, note) != (within == "") {
				t.Errorf("%s by %q: %+v, %s", name, within, got, said)
			}
		}
	}
}

// TestHintsOfMixes: numbers are as tables have them, some values may be replaced, a column may have got another name, and
// one value for all is no mix.
func TestHintsOfMixes(t *testing.T) {
	const renamed = "prompt in the first file and prompt_id in the second have the same values in another mix"
	for name, c := range map[string]struct {
		names  [2]string
		values [2][2]string // of either file
		want   string
	}{
		"a table and JSON": {[2]string{"shot", "shot"}, [2][2]string{{"1", "2"}, {`"1.0"`, `"2"`}}, "another mix of shot"},
		"other case":       {[2]string{"shot", "Shot"}, [2][2]string{{"1", "2"}, {"1", "2"}}, "another mix of shot"},
		"one replaced":     {[2]string{"shot", "shot"}, [2][2]string{{"1", "2"}, {"3", "2"}}, "another mix of shot"},
		"renamed":          {[2]string{"prompt", "prompt_id"}, [2][2]string{{`"p"`, `"q"`}, {`"p"`, `"q"`}}, renamed},
		"constant":         {[2]string{"shot", "shot"}, [2][2]string{{"1", "1"}, {"1", "1"}}, ""},
		"lists":            {[2]string{"tags", "tags"}, [2][2]string{{`["a"]`, `["b"]`}, {`["a"]`, `["b"]`}}, "another mix of tags"},
		"all others":       {[2]string{"day", "day"}, [2][2]string{{`"mon"`, `"tue"`}, {`"wed"`, `"thu"`}}, ""},
	} {
		var files [2][]string
		for side, rows := range []int{110, 70} {
			for k := range rows {
				value := c.values[side][int(indicator(k%10 < 2+6*side))]
				row := systemRow("s", fmt.Sprint(side, k), "No Error")
				files[side] = append(files[side], strings.Replace(row, `"id"`, fmt.Sprintf(`"%s":%s,"id"`, c.names[side], value), 1))
			}
		}
		s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, files[:]...)
		said := strings.TrimPrefix(strings.Join(s.Notes, "|"), "the files have ")
		if !strings.HasPrefix(said, c.want) ||
			(said == "") != (c.want == "") {
			t.Errorf("%s: %s", name, said)
		}
	}
}

// TestHintsOfNumbers: of many numbers others on average are said, but of rows of one passage, which are alike, of times
// and of the same none.
func TestHintsOfNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		add  [2]float64 // to numbers from 0 to 1 of either file
		per  int        // rows of a passage
		want bool
	}{"others": {[2]float64{0, 0.3}, 1, true}, "the same": {[2]float64{}, 1, false}, "times": {[2]float64{0, 5}, 1, false},
		"few passages": {[2]float64{0, 0.3}, 40, false}} {
		var files [2][]string
		for side := range files {
			for k := range 120 {
				row := systemRow("s", fmt.Sprint(side, k/c.per), "No Error")
				value := float64(k*37%120)/120 + c.add[side]
				files[side] = append(files[side], strings.Replace(row, `"id"`, fmt.Sprintf(`"hardness":%g,"id"`, value), 1))
			}
		}
		s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, files[:]...)
		if got := strings.Contains(strings.Join(s.Notes, "|"), "other numbers in hardness ("); got != c.want {
			t.Errorf("%s: %q", name, s.Notes)
		}
	}
}

// TestGrownOfNamed: of two files on other inputs one of two systems is worse in the second, and the other one better.
func TestGrownOfNamed(t *testing.T) {
	var files [2][]string
	for side := range files {
		for k := range 60 {
			for _, system := range []string{"s", "t"} {
				label := "No Error"
				if (system == "t") == (side == 0) && k%2 == 0 {
					label = "Vague"
				}
				files[side] = append(files[side], systemRow(system, fmt.Sprint(side, k), label))
			}
		}
	}
	s := statsOfFiles(t, StatsOptions{By: ByFile, Group: "passage"}, files[:]...)
	limits := []gate.Gate{{Text: "grown>0", Subject: Grown, Op: ">"}, {Text: "shrunk>0", Subject: Shrunk, Op: ">"}}
	for i, want := range []string{"rows with any error of s;", "rows with any error of t;"} {
		if r := s.CheckGates(limits, "No Error")[i]; !r.Missed || !strings.Contains(r.Reason, want) {
			t.Errorf("%+v, want %s", r, want)
		}
	}
	const said = "in both files: 2 systems (by system), which count together; --where system=NAME takes one; without " +
		"error surely changed: s -50.0 points (p <0.001), t +50.0 points (p <0.001)"
	if text := printed(t, s); !strings.Contains(text, said) {
		t.Error(text)
	}
}

// TestUnknownThresholds: of two files without records it is said that other thresholds find other errors.
func TestUnknownThresholds(t *testing.T) {
	for members, want := range map[string]bool{`"labels":["Vague"]`: false,
		`"labels":["Vague"],"probabilities":{"Vague":0.9}`: true} {
		row := []string{line(`"id":"1","diagnosis":{` + members + `}`)}
		s := statsOfFiles(t, StatsOptions{By: ByFile, Thresholds: make([]Thresholds, 2)}, row, row)
		if got := strings.Contains(fmt.Sprint(s.Warnings()), "not all thresholds are known"); got != want {
			t.Errorf("%s: %v", members, s.Warnings())
		}
	}
}
