package comparing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/pairwise"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

const samples = "../../../testdata/samples/"

// openRows says how rows of a built-in task are read.
func openRows(t *testing.T, task string) run.Rows {
	t.Helper()
	tax, err := taxonomy.Builtin(task)
	if err != nil {
		t.Fatal(err)
	}
	files, err := run.FileOptions{}.Open()
	if err != nil {
		t.Fatal(err)
	}
	return run.Rows{Files: files, Taxonomy: tax}
}

// pairsOf are the pairs that are made of rows, each an item with the ids of its outputs, and what is said.
func pairsOf(t *testing.T, rows ...string) (got []string, said string) {
	t.Helper()
	input, output := filepath.Join(t.TempDir(), "rows.jsonl"), filepath.Join(t.TempDir(), "pairs.jsonl")
	if err := os.WriteFile(input, []byte(strings.Join(rows, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	m := &MakePairs{Process: &run.Process{Err: &notes}, Rows: openRows(t, "question-generation"), Inputs: []string{input},
		Output: output, System: "system", Design: pairwise.DesignOptions{Design: pairwise.All}}
	if _, _, err := m.Run(t.Context()); err != nil {
		return []string{err.Error()}, notes.String()
	}
	data, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var pair struct{ ID, Item string }
		if err := json.Unmarshal([]byte(line), &pair); err != nil {
			t.Fatal(err)
		}
		ids := strings.Split(pair.ID, " | ")
		slices.Sort(ids)
		got = append(got, pair.Item+strings.Join(ids, ""))
	}
	return got, notes.String()
}

// TestPairsOfOnePassage: on P each system has one question, so that they are a pair though their answers differ; on Q the
// system a has two, so that those with the same answer are a pair; both pairs on Q are of one item.
func TestPairsOfOnePassage(t *testing.T) {
	var rows []string
	for _, row := range [][4]string{{"1", "a", "P", "Ann"}, {"2", "b", "P", "Bob"}, {"3", "a", "Q", "Ann"},
		{"4", "a", "Q", "Bob"}, {"5", "b", "Q", "Bob"}, {"6", "b", "Q", "Ann"}, {"7", "b", "Q", "Eve"}} {
		rows = append(rows, fmt.Sprintf(`{"id":%q,"system":%q,"passage":%q,"answer":%q,"question":"Who is %[4]s?"}`, row[0],
			row[1], row[2], row[3]))
	}
	got, said := pairsOf(t, rows...)
	if want := []string{"P12", "Q36", "Q45"}; !slices.Equal(got, want) || !strings.Contains(said, "1 of 7 rows are") {
		t.Errorf("%v, want %v; said %s", got, want, said)
	}
}

// TestPairsOfRequests: three requests have the same texts, so that a column tells their outputs apart, of which one comes
// twice. Where none does, they are paired in their order, and not by what came of them.
func TestPairsOfRequests(t *testing.T) {
	rows := func(column string) (rows []string) {
		for _, row := range [][4]string{{"1", "a", "r1", "Who?"}, {"2", "b", "r1", "When?"}, {"3", "b", "r2", "Why?"},
			{"4", "a", "r2", "How?"}, {"5", "a", "r2", "How?"}, {"6", "a", "r3", "Who?"}, {"7", "b", "r3", "What?"}} {
			rows = append(rows, fmt.Sprintf(`{"id":%q,"system":%q,%q:%q,"passage":"P","question":%q}`, row[0], row[1], column,
				row[2], row[3]))
		}
		return append(rows, fmt.Sprintf(`{"id":"8","system":"a",%q:"r4","passage":"Q","question":"Who?"}`, column))
	}
	got, said := pairsOf(t, rows("request")...)
	if want := []string{"P12", "P34", "P67"}; !slices.Equal(got, want) ||
		!strings.Contains(said, `those with the same "request" are paired`) || !strings.Contains(said, "1 row is left out") {
		t.Errorf("%v, want %v; said %s", got, want, said)
	}
	got, said = pairsOf(t, append(rows("day"), `{"id":"9","system":"b","day":"r1","passage":"P","question":"Which?"}`)...)
	if want := []string{"P12", "P34"}; !slices.Equal(got, want) || !strings.Contains(said, "are paired in their order") ||
		!strings.Contains(said, "3 of 7 rows are left out") {
		t.Errorf("a column that repeats: %v, want %v; said %s", got, want, said)
	}
	var ended, want []string
	for i := range 8 {
		for k, how := range []string{"stop", "filter", "stop"} { // b's first output is refused, its second is not
			ended = append(ended, fmt.Sprintf(`{"id":"%d%d","system":%q,"ended":%q,"code":%d,"of":{"as":%[4]q},"passage":"P%[1]d",`+
				`"question":"%[2]d?"}`, i, k, string("abb"[k]), how, 200+len(how)))
		}
		want = append(want, fmt.Sprintf("P%d%[1]d0%[1]d1", i))
	}
	if got, said = pairsOf(t, ended...); !slices.Equal(got, want) || !strings.Contains(said, "are paired in their order") {
		t.Errorf("a column of outcomes: %v, want %v; said %s", got, want, said)
	}
}

// TestPairsWithoutInput: outputs for nothing are not taken for several outputs for one input.
func TestPairsWithoutInput(t *testing.T) {
	got, _ := pairsOf(t, `{"id":"1","system":"a","passage":" ","question":"Who?"}`,
		`{"id":"2","system":"a","passage":" ","question":"Why?"}`, `{"id":"3","system":"b","passage":" ","question":"How?"}`)
	if len(got) != 1 || !strings.Contains(got[0], "has two outputs for the same item; say with --pair-by") {
		t.Errorf("%v", got)
	}
}

// TestPairsOfSamples: a number of samples, which begins anew with each input, pairs those of an input.
func TestPairsOfSamples(t *testing.T) {
	var rows []string
	for i, row := range [][3]string{{"a", "P", "0"}, {"a", "P", "1"}, {"b", "P", "1"}, {"b", "P", "0"}, {"a", "Q", "0"},
		{"a", "Q", "1"}, {"b", "Q", "1"}, {"b", "Q", "0"}} {
		rows = append(rows, fmt.Sprintf(`{"id":"%d","system":%q,"passage":%q,"sample":%q,"question":"Who, %[1]d?"}`, i, row[0],
			row[1], row[2]))
	}
	got, said := pairsOf(t, rows...)
	if want := []string{"P03", "P12", "Q47", "Q56"}; !slices.Equal(got, want) ||
		!strings.Contains(said, `those with the same "sample" are paired`) {
		t.Errorf("%v, want %v; said %s", got, want, said)
	}
}

// TestPairsOfSystems: systems that were told different things, of which one has several outputs for an item, are paired by
// what users said; not where one system was told different things, which may be different tasks.
func TestPairsOfSystems(t *testing.T) {
	rows := func(outputs ...[3]string) (rows []string) {
		for i, x := range outputs {
			rows = append(rows, fmt.Sprintf(`{"id":"%d","system":%q,"passage":"Hi\n\nThe whole conversation:\n`+
				`system: %s\nuser: Hi","question":%q}`, i, x[0], x[1], x[2]))
		}
		return rows
	}
	const brief, kind, told = "Be brief.", "Be kind.", "were told different things"
	got, said := pairsOf(t, rows([3]string{"a", brief, "Who?"}, [3]string{"a", brief, "Why?"},
		[3]string{"b", kind, "How?"}, [3]string{"b", kind, "When?"}, [3]string{"a", brief, "Why?"})...)
	if want := []string{"Hi02", "Hi13"}; !slices.Equal(got, want) || !strings.Contains(said, told) {
		t.Errorf("%v, want %v; said %s", got, want, said)
	}
	tasks := rows([3]string{"a", brief, "Who?"}, [3]string{"a", kind, "Why?"}, [3]string{"b", kind, "How?"})
	got, said = pairsOf(t, tasks...)
	if len(got) != 1 || strings.Contains(said, told) || !strings.Contains(said, "1 of 3 rows are left out") {
		t.Errorf("%v; said %s", got, said)
	}
}

// TestPairsAndRatings: 3 systems on 20 inputs make 60 pairs, and people's verdicts on them rate the systems.
func TestPairsAndRatings(t *testing.T) {
	rows := openRows(t, "instruction-following")
	var said bytes.Buffer
	p := &run.Process{Err: &said}
	m := &MakePairs{Process: p, Rows: rows, Inputs: []string{samples + "outputs.jsonl"},
		Output: filepath.Join(t.TempDir(), "pairs.jsonl"), System: "system",
		Design: pairwise.DesignOptions{Design: pairwise.All}}
	if n, left, err := m.Run(t.Context()); n != 60 || left != nil || err != nil {
		t.Errorf("%d pairs, %v, %v", n, left, err)
	}
	texts := rows.Taxonomy
	rows.Taxonomy = run.WithoutFields(texts)
	k := &Rank{Process: p, Taxonomy: texts, Rows: rows, Inputs: []string{samples + "pairs_rated.jsonl"},
		Types: []string{verdicts.Overall}, Columns: OwnColumns(),
		Ratings: RatingOptions{Options: leaderboard.DefaultOptions()}}
	k.Columns.Verdicts = []string{"person_1", "person_2", "person_3"}
	c, faults, err := k.Compute(t.Context())
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	if main := c.Main(); c.Systems != 3 || c.Items != 20 || main.Games == 0 || main.Rows[0].Rank != 1 {
		t.Errorf("%d systems on %d items: %+v", c.Systems, c.Items, main)
	}
}

// TestSummaries: what all types together say is weighted by their pairs. By hand: 2 of 3 and 1 of 1 are 75 %, 1 of 4 and
// 3 of 3 are 57 %.
func TestSummaries(t *testing.T) {
	c := &Comparison{Board: &leaderboard.Board{},
		Agreement: []Agreement{{Type: "Vague", Pairs: 3, Same: 2. / 3}, {Type: "Overall", Pairs: 1, Same: 1}},
		Modes:     []ModeChange{{Type: "Vague", Pairs: 4, Changed: 0.25}, {Type: "Overall", Pairs: 3, Changed: 1}}}
	var said []string
	for _, s := range c.Comparisons() {
		said = append(said, s.Summary)
	}
	want := []string{"Judges and labels agree in 75 % of 4 verdicts.", "57 % of 7 verdicts change."}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestResultOfFewDecided: four pairs with a winner are no evidence, however many ties stand beside them.
func TestResultOfFewDecided(t *testing.T) {
	for won, said := range map[int]string{4: "so few pairs have a winner, that is not sure", 12: "surely more than half"} {
		rate := report.Figure{Value: 0.53, Low: 0.505, High: 0.57}
		c := &Comparison{Board: &leaderboard.Board{Tables: []leaderboard.Table{{Type: verdicts.Overall,
			Verdicts: map[string]int{verdicts.A: won, verdicts.BothGood: 56}, Rows: []leaderboard.Row{
				{System: "x", Rank: 1, Won: float64(won), Tied: 56, WinRate: rate},
				{System: "y", Rank: 2, Lost: float64(won), Tied: 56}}}}}}
		if text := c.result(); !strings.Contains(text, said) {
			t.Errorf("%d won: %s", won, text)
		}
	}
}

// TestResultByRatings: who wins more of its pairs against a weak system than another one against that winner is not the
// best, and neither is one that has more pairs.
func TestResultByRatings(t *testing.T) {
	row := func(system string, rank int, won, lost, low float64) leaderboard.Row {
		rate := report.Number(won / (won + lost))
		return leaderboard.Row{System: system, Rank: rank, Won: won, Lost: lost,
			WinRate: report.Figure{Value: rate, Low: report.Number(low), High: 1}}
	}
	for want, rows := range map[string][]leaderboard.Row{
		"By Overall, pro comes first by the ratings, and wins 60 [54, 100] % of its pairs, surely more than half.": {
			row("pro", 1, 180, 120, 0.54), row("mini", 2, 390, 210, 0.61), row("base", 3, 30, 270, 0.07)},
		"By Overall, pro wins the largest share of its pairs, 80 [59, 100] %, surely more than half.": {
			row("pro", 1, 20, 5, 0.59), row("mini", 2, 59, 26, 0.59), row("base", 3, 6, 54, 0.05)},
		"By Overall, pro wins the largest share of its pairs, 100 [57, 100] %; as so few pairs have a winner, that is not sure.": {
			row("pro", 1, 5, 0, 0.57), row("mini", 2, 59, 31, 0.55), row("base", 3, 26, 54, 0.2)}} {
		c := &Comparison{Board: &leaderboard.Board{Tables: []leaderboard.Table{{Type: verdicts.Overall, Rows: rows}}}}
		if got := c.result(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestResultOfUnjudged: pairs that a judge refused may be those that the other system wins; judgements that could not be
// used are counted.
func TestResultOfUnjudged(t *testing.T) {
	table := leaderboard.Table{Type: verdicts.Overall, Verdicts: map[string]int{verdicts.A: 30, verdicts.B: 4},
		Unjudged: map[string]int{"refused": 66, verdicts.Settled: 9}, Lost: 20, Asked: 60,
		Rows: []leaderboard.Row{{System: "x", Rank: 1, Won: 30, Lost: 4, WinRate: report.Figure{Value: 0.88, Low: 0.73,
			High: 0.95}}, {System: "y", Rank: 2, Won: 4, Lost: 30}}}
	c := &Comparison{Board: &leaderboard.Board{Tables: []leaderboard.Table{table}}}
	if got := c.result(); !strings.HasSuffix(got, "; as 66 of 100 pairs have no verdict, that is not sure.") {
		t.Error(got)
	}
	if got := tableNotes(&table); !slices.Contains(got, "20 of 60 judgements of the other pairs could not be used") {
		t.Errorf("%q", got)
	}
	table.Unjudged["refused"] = 3
	for low, want := range map[report.Number]string{0.73: "surely more than half.",
		0.54: "; as 3 of 37 pairs have no verdict, that is not sure."} { // 0.54 of 34 is less than half of 37
		table.Rows[0].WinRate.Low = low
		c.Tables[0] = table
		if got := c.result(); !strings.HasSuffix(got, want) {
			t.Errorf("%v: %s", low, got)
		}
	}
}
