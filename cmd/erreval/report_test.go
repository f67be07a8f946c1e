package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const samples = "../../testdata/samples/"

// shownSection is a section of a report's JSON.
type shownSection struct {
	View, Title, Run string
	Notes            []string
	Table            struct {
		Columns []struct{ Title, Kind string }
		Rows    [][]any
	}
	Chart struct {
		Kind   string
		Points []struct {
			Group, Name      string
			Value, Low, High *float64
		}
		Cells  []any
		Series []struct {
			Name   string
			Points [][4]float64
		}
	}
}

// printed is what a command prints.
func printed(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := command(t, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("erreval %s: %v: %s", strings.Join(args, " "), err, &stderr)
	}
	return out
}

// asJSON reads what a command prints.
func asJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	if out := printed(t, args...); json.Unmarshal(out, v) != nil {
		t.Fatalf("erreval %s: %v: %s", strings.Join(args, " "), json.Unmarshal(out, v), out)
	}
}

// shownSections are those of a report, by title.
func shownSections(t *testing.T, args ...string) map[string]*shownSection {
	t.Helper()
	var r struct {
		Catalog struct{ Sections []*shownSection }
	}
	asJSON(t, &r, append([]string{"report", "--format", "json"}, args...)...)
	all := map[string]*shownSection{}
	for _, s := range r.Catalog.Sections {
		if all[s.Title] != nil {
			t.Errorf("two sections have the title %q", s.Title)
		}
		all[s.Title] = s
	}
	return all
}

// want compares the cells of a section's table, from a column on, with other figures: by what their JSON is.
func (s *shownSection) want(t *testing.T, title string, row int, from int, figures ...any) {
	t.Helper()
	if s == nil || row >= len(s.Table.Rows) {
		t.Fatalf("%s: there is no row %d", title, row)
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if len(s.Table.Rows[row]) != len(s.Table.Columns) {
		t.Errorf("%s, row %d: %d cells in %d columns", title, row, len(s.Table.Rows[row]), len(s.Table.Columns))
	}
	if got := s.Table.Rows[row][from : from+len(figures)]; text(got) != text(figures) {
		t.Errorf("%s, row %d: %s, want %s", title, row, text(got), text(figures))
	}
}

type shownFigure struct{ Value, Low, High *float64 }

func (f shownFigure) cells() []any { return []any{f.Value, f.Low, f.High} }

// compared are pairs with verdicts, offline, and people's.
func compared(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "compared.jsonl")
	printed(t, "compare", samples+"pairs_rated.jsonl", "-o", out, "--taxonomy", "instruction-following", "--quiet")
	return out
}

// TestReportIsRank: leaderboards and audits of a report are those that rank prints.
func TestReportIsRank(t *testing.T) {
	judged := filepath.Join(t.TempDir(), "judged.jsonl")
	printed(t, "compare", samples+"pairs_rated.jsonl", "-o", judged, "--taxonomy", "instruction-following", "--types",
		"Factuality,Overall", "--judge", "swayed", "--base-url", newJudge(t, compareModels), "--prompts", "2", "--quiet")
	for _, file := range []string{compared(t), judged} {
		var rank struct {
			Tables []struct {
				Type string
				Rows []struct {
					System        string
					Rank          int
					BradleyTerry  shownFigure `json:"bradley_terry"`
					Won, Lost     float64
					Tied          float64
					WinRate       shownFigure `json:"win_rate"`
					BothBad       shownFigure `json:"both_bad"`
					Davidson, Elo *float64
					Glicko2       *float64
					Borda         float64
				}
				Wins [][]*float64
			}
			Audits []struct {
				Judge, Type       string
				Changed, Reversed shownFigure
				FirstWins         shownFigure `json:"first_wins"`
				LongWins          shownFigure `json:"long_wins"`
				Position, Length  shownFigure
				Decided           int
			}
		}
		asJSON(t, &rank, "rank", file, "--json")
		shown := shownSections(t, file)
		if len(rank.Tables) < 2 {
			t.Fatalf("%d tables", len(rank.Tables))
		}
		for _, table := range rank.Tables {
			title := "Leaderboard: " + table.Type
			for i, r := range table.Rows {
				var place any
				if r.Rank > 0 {
					place = r.Rank
				}
				shown[title].want(t, title, i, 0, r.System, place, r.BradleyTerry.Value)
				if r.BradleyTerry.Low != nil { // else that of the clustered errors takes its place
					shown[title].want(t, title, i, 2, r.BradleyTerry.cells()...)
				}
				shown[title].want(t, title, i, 5, r.Won, r.Lost, r.Tied, r.WinRate.Value, r.WinRate.Low, r.WinRate.High,
					r.BothBad.Value)
				others, at := title, 12
				if table.Type == "Overall" { // which comes first, with one rating
					others, at = "Other ratings: Overall", 1
				}
				shown[others].want(t, others, i, at, r.Davidson, r.Elo, r.Glicko2, r.Borda)
			}
			if cells := shown["How often the row wins against the column: "+table.Type].Chart.Cells; len(cells) !=
				len(table.Rows)*len(table.Rows) {
				t.Errorf("%s: %d cells of a matrix of %d systems", table.Type, len(cells), len(table.Rows))
			}
		}
		at := 0
		for _, a := range rank.Audits {
			if a.Type != "Overall" {
				continue
			}
			const shares, slopes = "What the judges go by besides quality",
				"What the judges go by, with the systems held constant"
			for i, f := range []shownFigure{a.Changed, a.Reversed, a.FirstWins, a.LongWins} {
				shown[shares].want(t, shares, 5*at+i, 3, f.cells()...)
			}
			shown[shares].want(t, shares, 5*at+2, 7, a.Decided)
			for i, f := range []shownFigure{a.Position, a.Length} {
				shown[slopes].want(t, slopes, 3*at+i, 3, f.cells()...)
			}
			at++
		}
		if file == judged && at != 1 {
			t.Errorf("%d audits", at)
		}
	}
}

// TestReportIsMeta: what is measured in a report is what meta prints.
func TestReportIsMeta(t *testing.T) {
	dir := t.TempDir()
	tagged, rated := filepath.Join(dir, "tagged.jsonl"), filepath.Join(dir, "rated.jsonl")
	scored := filepath.Join(dir, "scored.jsonl")
	printed(t, "identify", samples+"questions_gold.jsonl", "-o", tagged, "--quiet")
	printed(t, "identify", samples+"questions_rated.jsonl", "-o", rated, "--quiet")
	printed(t, "score", rated, "-o", scored, "--quiet")
	t.Run("labels", func(t *testing.T) {
		var meta struct {
			Baseline    struct{ Metrics map[string]shownFigure }
			Predictions []struct {
				Metrics map[string]shownFigure
				Minus   map[string]shownFigure `json:"minus_baseline"`
				Labels  []struct {
					Label                 string
					Support, Predicted    int
					Precision, Recall, F1 *float64
					AP                    *float64 `json:"average_precision"`
					ECE                   *float64
				}
				Confusion []struct {
					Label                string
					Support, Hit, Missed int
					Nothing              int `json:"nothing_instead"`
					Added                int
				}
			}
		}
		asJSON(t, &meta, "meta", "labels", tagged, "--confusion", "--json")
		shown := shownSections(t, tagged)
		const all, each, instead = "Labels against gold labels", "Each label", "Which label instead of which"
		one := meta.Predictions[0]
		for i, key := range []string{"micro_precision", "micro_recall", "micro_f1", "macro_f1", "weighted_f1",
			"exact_match"} {
			figures := append(one.Metrics[key].cells(), meta.Baseline.Metrics[key].Value)
			shown[all].want(t, all, i, 2, append(figures, one.Minus[key].cells()...)...)
		}
		for i, l := range one.Labels {
			shown[each].want(t, each, i, 0, l.Label, l.Support, l.Predicted, l.Precision)
			shown[each].want(t, each, i, 6, l.Recall)
			shown[each].want(t, each, i, 9, l.F1)
			shown[each].want(t, each, i, 12, l.AP, l.ECE)
		}
		for i, c := range one.Confusion {
			shown[instead].want(t, instead, i, 0, c.Label, c.Support, c.Hit, c.Missed)
			shown[instead].want(t, instead, i, 5, c.Nothing, c.Added)
		}
		const curve = "Calibration: how often a probability was right"
		if s := shown[curve]; s == nil || len(s.Chart.Series) != 1 || len(s.Chart.Series[0].Points) != len(s.Table.Rows) {
			t.Errorf("%s: %+v", curve, s)
		}
	})
	t.Run("scores", func(t *testing.T) {
		human := []string{"--human", "fluency=fluency_1,fluency_2", "--human", "clarity=clarity"}
		var meta struct {
			Files []struct {
				Dimensions []struct {
					Dimension string
					Metrics   map[string]shownFigure
				}
			}
		}
		asJSON(t, &meta, append([]string{"meta", "scores", scored, "--json"}, human...)...)
		const title = "Scores against people's"
		shown := shownSections(t, append(human, scored)...)
		at := 0
		for _, d := range meta.Files[0].Dimensions {
			for _, key := range []string{"pearson", "spearman", "kendall", "overestimation"} {
				shown[title].want(t, title, at, 6, d.Metrics[key].cells()...)
				at++
			}
		}
		if at != len(shown[title].Table.Rows) {
			t.Errorf("%d rows, want %d", len(shown[title].Table.Rows), at)
		}
	})
	t.Run("pairs", func(t *testing.T) {
		file := compared(t)
		var meta struct {
			With struct{ Accuracy shownFigure } `json:"with_ties"`
		}
		asJSON(t, &meta, "meta", "pairs", file, "--human", "person_1,person_2,person_3", "--json")
		s := shownSections(t, file, "--human", "person_1,person_2,person_3")["The judge's verdicts against people's "+
			"majority (Overall)"]
		if s == nil || len(s.Chart.Points) == 0 {
			t.Fatal("no accuracy")
		}
		p := s.Chart.Points[0]
		if *p.Value != *meta.With.Accuracy.Value || *p.Low != *meta.With.Accuracy.Low || *p.High != *meta.With.Accuracy.High {
			t.Errorf("%v, want %v", p, meta.With.Accuracy)
		}
	})
}

// TestReportMarkdown compares a printed report with testdata/report.md; -update rewrites it.
func TestReportMarkdown(t *testing.T) {
	const golden = "testdata/report.md"
	runs := "../../report/view/testdata/runs/"
	out := printed(t, "report", runs+"tagged.jsonl", runs+"found.jsonl", runs+"scored.jsonl", runs+"pairs.jsonl",
		"--format", "markdown", "--title", "Four runs")
	out = bytes.Replace(out, []byte("- task "+questions(t).ID()), []byte("- task $TAXONOMY"), 1)
	if *update {
		if err := os.WriteFile(golden, out, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != string(want) {
		t.Errorf("the report is not %s (rewrite it with -update):\n%s", golden, out)
	}
}

var reportRows = flag.Int("report-rows", 20_000, "rows of BenchmarkReport")

// BenchmarkReport writes a report of rows as score leaves them: tagged, with scores and explanations.
func BenchmarkReport(b *testing.B) {
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	in, out := filepath.Join(dir, "scored.jsonl"), filepath.Join(dir, "report.html")
	size := writeScored(b, in, *reportRows)
	var took, cpu time.Duration
	var peak int64
	for range b.N {
		cmd := exec.CommandContext(b.Context(), exe)
		cmd.Args = []string{"erreval", "report", in, "-o", out, "--overwrite", "--quiet", "--sample",
			strconv.Itoa(max(20_000, *reportRows))}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		start := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatalf("%v: %s", err, &stderr)
		}
		state := cmd.ProcessState
		took, cpu = took+time.Since(start), cpu+state.UserTime()+state.SystemTime()
		peak = max(peak, state.SysUsage().(*syscall.Rusage).Maxrss)
	}
	info, err := os.Stat(out)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds()/float64(b.N), "s/report")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/report")
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	b.ReportMetric(float64(size)/1e6, "MB-of-rows")
	b.ReportMetric(float64(peak)/1024, "MiB")
}

// writeScored writes rows of some 2,000 bytes, five on a passage, of four systems. Their words are drawn from a
// vocabulary of 4,000, so that they pack no better than texts do.
func writeScored(b *testing.B, path string, rows int) (size int64) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	state := uint64(1)
	draw := func(n int) int {
		state = state*6364136223846793005 + 1442695040888963407
		return int(state>>33) % n
	}
	words := func(n int) string {
		var s []string
		for range n {
			i := draw(1 + draw(4000)) // few words are frequent
			s = append(s, fmt.Sprintf("%c%c%s", 'a'+i%26, 'a'+i/26%26, strconv.FormatInt(int64(i*7919), 36)))
		}
		return strings.Join(s, " ")
	}
	types := []string{"Incomplete", "Not A Question", "Spell Error", "Grammar Error", "Vague",
		"Unnecessary Copy from Passage", "Off Topic", "Factual Error", "Information Not Mentioned", "Off Target Answer", "No Error"}
	passage := ""
	for i := range rows {
		if i%5 == 0 {
			passage = words(60)
		}
		probabilities := map[string]float64{}
		for _, name := range types {
			probabilities[name] = float64(draw(10_000)) / 10_000
		}
		label := types[draw(len(types))]
		scores := map[string]any{}
		for _, d := range []string{"fluency", "clarity", "conciseness", "relevance", "consistency", "answerability",
			"answer_consistency"} {
			value := 1 + float64(draw(2_000_000))/1e6
			scores[d] = map[string]any{"value": value, "runs": []any{map[string]any{"judge": "offline", "mode": "error-aware",
				"value": value, "uncertainty": float64(draw(1_000_000)) / 1e6, "errors_shown": []string{label}}}}
		}
		row := map[string]any{"id": fmt.Sprintf("row-%06d", i), "system": fmt.Sprintf("system-%d", i%4), "passage": passage,
			"answer": words(3), "question": words(10), "diagnosis": map[string]any{"labels": []string{label},
				"probabilities": probabilities, "model": "bench@1", "taxonomy": "question-generation@1.1"}, "scores": scores}
		data, err := json.Marshal(row)
		if err != nil {
			b.Fatal(err)
		}
		n, err := f.Write(append(data, '\n'))
		if err != nil {
			b.Fatal(err)
		}
		size += int64(n)
	}
	return size
}
