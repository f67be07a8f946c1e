package pairwise

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/internal/stats/rating"
	"github.com/erreval/erreval/pairwise/leaderboard"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/taxonomy"
)

// The whole measurement: go test ./pairwise -run OfflineCoverage -v -seeds 200 -resamples 500
var (
	seeds     = flag.Int("seeds", 60, "samples of TestOfflineCoverage")
	simItems  = flag.Int("items", 80, "items of a sample of TestOfflineCoverage")
	resamples = flag.Int("resamples", 200, "of each sample of TestOfflineCoverage")
)

func instructionFollowing(t testing.TB) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// rowOf makes a row of columns, read as t says.
func rowOf(t testing.TB, tax *taxonomy.Taxonomy, columns map[string]any) *dataset.Row {
	t.Helper()
	row, err := dataset.RowOf(columns)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := columns["id"].(string); ok {
		row.ID = id
	}
	for _, f := range tax.Fields {
		text, _ := columns[f.Name].(string)
		row.Values = append(row.Values, text)
	}
	return row
}

func diagnosis(tax *taxonomy.Taxonomy, labels ...string) *dataset.Diagnosis {
	if labels == nil {
		labels = []string{"No Error"}
	}
	return &dataset.Diagnosis{Labels: labels, Model: "m", Taxonomy: tax.ID()}
}

// TestOverallNotJudged: overall an error counts that both texts were judged for.
func TestOverallNotJudged(t *testing.T) {
	tax := instructionFollowing(t)
	wrong := diagnosis(tax, tax.Types[0].Name)
	bare := diagnosis(tax)
	bare.NotJudged = wrong.Labels
	o := NewOffline(tax, []string{verdicts.Overall})
	for other, want := range map[*dataset.Diagnosis]string{bare: verdicts.BothGood, diagnosis(tax): verdicts.B} {
		p := &pair{values: []string{"x"}, other: "y", a: wrong, b: other}
		if got, _ := o.value(p, verdicts.Overall); got != want {
			t.Errorf("against %v: %s, want %s", other.NotJudged, got, want)
		}
	}
}

// readAsPair gives a row of NewPairs its fields, as a reader of PairTask does.
func readAsPair(t testing.TB, tax *taxonomy.Taxonomy, row *dataset.Row) *dataset.Row {
	t.Helper()
	for _, f := range PairTask(tax).Fields {
		raw, _ := row.Get(f.Name)
		row.Values = append(row.Values, dataset.PlainText(raw))
	}
	return row
}

// TestOffline: the text without the error is better; overall, the one with less severe errors. A refusal is last.
func TestOffline(t *testing.T) {
	tax := instructionFollowing(t)
	untagged := &dataset.Diagnosis{Status: dataset.StatusUntagged, Reason: "no", Taxonomy: tax.ID()}
	notJudged := diagnosis(tax)
	notJudged.NotJudged = []string{"Fluency"}
	for _, c := range []struct {
		a, b             any
		fluency, overall string
	}{
		{diagnosis(tax, "Fluency"), diagnosis(tax), verdicts.B, verdicts.B},
		{diagnosis(tax), diagnosis(tax, "Fluency"), verdicts.A, verdicts.A},
		{diagnosis(tax, "Fluency"), diagnosis(tax, "Fluency"), verdicts.BothBad, verdicts.BothBad},
		{diagnosis(tax), diagnosis(tax), verdicts.BothGood, verdicts.BothGood},
		{diagnosis(tax, "Fluency"), diagnosis(tax, "Fluency", "Repetition"), verdicts.BothBad, verdicts.A},
		{diagnosis(tax, "Refusal"), diagnosis(tax, "Fluency"), verdicts.A, verdicts.B},
		{diagnosis(tax, "Request Following"), diagnosis(tax, "Repetition", "Relevance"), verdicts.BothGood, verdicts.B},
		{diagnosis(tax, "Request Following", "Fluency"), diagnosis(tax, "Refusal"), verdicts.B, verdicts.A},
		{untagged, diagnosis(tax), verdicts.Untagged, verdicts.Untagged},
		{nil, diagnosis(tax), verdicts.Untagged, verdicts.Untagged},
		{notJudged, diagnosis(tax), verdicts.NotJudged, verdicts.BothGood},
	} {
		row := rowOf(t, PairTask(tax), map[string]any{"id": "p", "response_a": "x", "response_b": "y", "instruction": "i",
			verdicts.DiagnosisA: c.a, verdicts.DiagnosisB: c.b})
		set, err := NewOffline(tax, []string{"Fluency", verdicts.Overall}).Compare(row)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"Fluency": c.fluency, verdicts.Overall: c.overall} {
			v := set[name]
			if got := v.Value + v.Reason; got != want || (v.Status == "") != (v.Value != "") || len(v.Runs) != 1 {
				t.Errorf("%v against %v, %s: %+v, want %s", c.a, c.b, name, v, want)
			}
		}
	}
	// An empty text, which no model can judge, loses, whichever it is.
	for texts, want := range map[[2]string]string{{" ", "y"}: verdicts.B, {"x", ""}: verdicts.A,
		{"", ""}: verdicts.Untagged} {
		set, err := NewOffline(tax, []string{verdicts.Overall}).Compare(rowOf(t, PairTask(tax), map[string]any{"id": "e",
			"response_a": texts[0], "response_b": texts[1], "instruction": "i"}))
		if v := set[verdicts.Overall]; err != nil || v.Value+v.Reason != want {
			t.Errorf("%q: %+v, %v, want %s", texts, v, err, want)
		}
	}
	other := diagnosis(tax)
	other.Taxonomy = "question-generation@1.0"
	row := rowOf(t, PairTask(tax), map[string]any{"id": "p7", "response_a": "x", "response_b": "y", "instruction": "i",
		verdicts.DiagnosisA: other, verdicts.DiagnosisB: diagnosis(tax)})
	if _, err := NewOffline(tax, []string{"Fluency"}).Compare(row); err == nil || !strings.Contains(err.Error(), "p7") {
		t.Errorf("labels of another taxonomy: %v", err)
	}
}

// planted are the chances of errors, in log odds, of five systems by type. On each item all chances are moved alike.
var planted = map[string][]float64{
	"Factuality": {-2, -1.4, -0.8, -0.2, 0.4},
	"Repetition": {-0.5, -2.5, -1, -2, -1.5},
	"Fluency":    {0.5, 0, -0.5, -1, -1.5},
}

var plantedTypes = []string{"Factuality", "Repetition", "Fluency"}

// itemSpread is the standard deviation of an item's move.
const itemSpread = 1.2

func outputsOf(t testing.TB, tax *taxonomy.Taxonomy, seed uint64, items int) []Output {
	random := rand.New(rand.NewPCG(seed, 6))
	var outputs []Output
	for item := range items {
		move := map[string]float64{}
		for _, name := range plantedTypes {
			move[name] = itemSpread * random.NormFloat64()
		}
		for s := range 5 {
			var labels []string
			for _, name := range plantedTypes {
				if random.Float64() < chance(planted[name][s]+move[name]) {
					labels = append(labels, name)
				}
			}
			outputs = append(outputs, Output{Item: fmt.Sprint(item), System: fmt.Sprint("s", s), Row: rowOf(t, tax,
				map[string]any{"id": fmt.Sprint(item, "-", s), "response": "x", "instruction": fmt.Sprint(item),
					"diagnosis": diagnosis(tax, labels...)})})
		}
	}
	return outputs
}

func chance(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// truthOf is what a type's planted chances come to in the long run: win rates, and ratings of Bradley-Terry.
func truthOf(name string) (rates, points []float64) {
	const steps = 4000
	errorRate := make([]float64, 5) // of a system
	both := [5][5][3]float64{}      // of two: the first wins, the second, neither
	for k := range steps {
		move := itemSpread * quantile((float64(k)+0.5)/steps)
		for a := range 5 {
			p := chance(planted[name][a] + move)
			errorRate[a] += p / steps
			for b := range a {
				q := chance(planted[name][b] + move)
				both[a][b][0] += (1 - p) * q / steps
				both[a][b][1] += p * (1 - q) / steps
				both[a][b][2] += (p*q + (1-p)*(1-q)) / steps
			}
		}
	}
	mean := 0.0
	for _, p := range errorRate {
		mean += p / 5
	}
	var games []rating.Game
	var weight []int32
	for a := range 5 {
		rates = append(rates, 0.5+(mean-errorRate[a])*5/4/2)
		for b := range a {
			for i, result := range []float64{1, 0, 0.5} {
				games = append(games, rating.Game{A: a, B: b, Item: len(games), Result: result})
				weight = append(weight, int32(both[a][b][i]*1e9))
			}
		}
	}
	return rates, rating.Points(rating.New(5, len(games), games).BradleyTerry(weight).Strength)
}

func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// TestOfflineCoverage: from labels to leaderboards, systems come out in the planted order, and the intervals hold the
// true win rates and ratings in about 95 of 100 samples; those that treat verdicts as independent are too narrow.
func TestOfflineCoverage(t *testing.T) {
	tax := instructionFollowing(t)
	inside, all := map[string]int{}, map[string]int{}
	hold := func(what string, low, high, want float64) {
		if all[what]++; low <= want && want <= high {
			inside[what]++
		}
	}
	ratio, ratios := 0.0, 0.0
	for seed := range *seeds {
		board, games := boardOf(t, tax, uint64(seed), *simItems)
		for _, table := range board.Tables {
			if table.Type == verdicts.Overall {
				continue
			}
			rates, points := truthOf(table.Type)
			for _, row := range table.Rows {
				s := int(row.System[1] - '0')
				hold("win rate", float64(row.WinRate.Low), float64(row.WinRate.High), rates[s])
				hold("rating, bootstrap", float64(row.Rating.Low), float64(row.Rating.High), points[s])
				hold("rating, clustered errors", float64(row.Sandwich.Low), float64(row.Sandwich.High), points[s])
			}
			clustered, independent := games[table.Type][0].BradleyTerry(nil), games[table.Type][1].BradleyTerry(nil)
			for a := range 5 {
				for b := range a {
					scale := float64(rating.Scale) / math.Ln10
					difference := scale * (clustered.Strength[a] - clustered.Strength[b])
					reach := stats.T(*simItems) * scale * clustered.DifferenceError(a, b)
					hold("difference, clustered errors", difference-reach, difference+reach, points[a]-points[b])
					naive := stats.Z * scale * independent.DifferenceError(a, b)
					hold("difference, as if independent", difference-naive, difference+naive, points[a]-points[b])
					ratio, ratios = ratio+reach/naive, ratios+1
				}
			}
		}
	}
	for what, n := range all {
		share := float64(inside[what]) / float64(n)
		t.Logf("%-30s %.4f of %d", what, share, n)
		if what != "difference, as if independent" && (share < 0.92 || share > 0.98) {
			t.Errorf("%s: %.3f of the intervals hold the true value", what, share)
		}
	}
	t.Logf("intervals of differences are %.2f times as wide as those of independent verdicts", ratio/ratios)
}

// boardOf rates a sample; games are, by type, those of the sample with its items, and with an item for each.
func boardOf(t testing.TB, tax *taxonomy.Taxonomy, seed uint64, items int) (*leaderboard.Board,
	map[string][2]*rating.Games) {
	t.Helper()
	pairs, err := NewPairs(tax, outputsOf(t, tax, seed, items), DesignOptions{Design: All, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	types := append(slices.Clone(plantedTypes), verdicts.Overall)
	offline, board := NewOffline(tax, types), leaderboard.NewVerdicts(types)
	own, single := map[string][]rating.Game{}, map[string][]rating.Game{}
	number := map[string]int{}
	for _, row := range pairs {
		set, err := offline.Compare(readAsPair(t, tax, row))
		if err != nil {
			t.Fatal(err)
		}
		a, b, item := text(row, verdicts.SystemA), text(row, verdicts.SystemB), text(row, verdicts.Item)
		if _, ok := number[item]; !ok {
			number[item] = len(number)
		}
		for _, name := range types {
			v := set[name]
			board.Add(name, item, a, b, v.Value, v.Reason)
			g := rating.Game{A: int(a[1] - '0'), B: int(b[1] - '0'), Item: number[item], Result: 0.5}
			switch v.Value {
			case verdicts.A:
				g.Result = 1
			case verdicts.B:
				g.Result = 0
			}
			own[name] = append(own[name], g)
			g.Item = len(single[name])
			single[name] = append(single[name], g)
		}
	}
	o := leaderboard.DefaultOptions()
	o.Resamples, o.Elo.Orders, o.Seed = *resamples, 1, seed
	result, err := board.Compute(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	games := map[string][2]*rating.Games{}
	for _, name := range types {
		games[name] = [2]*rating.Games{rating.New(5, items, own[name]), rating.New(5, len(single[name]), single[name])}
	}
	return result, games
}

func text(row *dataset.Row, column string) string {
	raw, _ := row.Get(column)
	return dataset.PlainText(raw)
}

// TestPlantedOrder: with enough items every type's leaderboard has the planted order.
func TestPlantedOrder(t *testing.T) {
	board, _ := boardOf(t, instructionFollowing(t), 1, 600)
	for _, table := range board.Tables {
		want := []string{"s0", "s1", "s2", "s3", "s4"}
		if table.Type == verdicts.Overall {
			continue
		}
		slices.SortFunc(want, func(a, b string) int {
			if planted[table.Type][a[1]-'0'] < planted[table.Type][b[1]-'0'] {
				return -1
			}
			return 1
		})
		var got []string
		for _, row := range table.Rows {
			got = append(got, row.System)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, planted %v", table.Type, got, want)
		}
	}
}
