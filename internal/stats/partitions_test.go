package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// partitionWitness is what scikit-learn, scipy and statsmodels give: testdata/make_partitions.py.
type partitionWitness struct {
	Partitions []struct {
		A, B                         []int
		ARI                          *float64
		Homogeneity, Completeness, V *float64
		Contingency                  [][]int // by the groups' names, sorted
		Jaccard                      map[string]*float64
	}
	Assignments []struct {
		Score   [][]float64
		Total   float64
		Columns []int // only where one assignment is best
	}
	Tables []struct {
		Both, OnlyA, OnlyB, Neither int
		Phi, Lift                   *float64
	}
	Holm []struct{ P, Corrected []float64 }
}

func readPartitions(t *testing.T) *partitionWitness {
	t.Helper()
	data, err := os.ReadFile("testdata/partitions.json")
	if err != nil {
		t.Fatal(err)
	}
	w := &partitionWitness{}
	if err := json.Unmarshal(data, w); err != nil {
		t.Fatal(err)
	}
	if len(w.Partitions) < 16 || len(w.Assignments) < 9 || len(w.Tables) < 11 || len(w.Holm) < 7 {
		t.Fatal("the witness is not whole")
	}
	return w
}

func TestPartitionsEqualScikitLearn(t *testing.T) {
	for i, w := range readPartitions(t).Partitions {
		c, what := NewContingency(w.A, w.B), fmt.Sprintf("case %d: ", i)
		near9(t, what+"ARI", c.AdjustedRand(), w.ARI)
		v := c.VMeasure()
		near9(t, what+"homogeneity", v.Homogeneity, w.Homogeneity)
		near9(t, what+"completeness", v.Completeness, w.Completeness)
		near9(t, what+"V", v.V, w.V)
		back := NewContingency(w.B, w.A)
		near9(t, what+"ARI turned round", back.AdjustedRand(), w.ARI)
		near9(t, what+"completeness turned round", back.VMeasure().Homogeneity, w.Completeness)
		best, stable := c.BestJaccard(), MeanBestJaccard(w.A, [][]int{w.B, w.A})
		for k, name := range c.A {
			want := w.Jaccard[strconv.Itoa(name)]
			near9(t, what+"Jaccard", best[k], want)
			half := (*want + 1) / 2 // the mean with the partition itself
			near9(t, what+"mean Jaccard", stable[name], &half)
		}
		for i, row := range w.Contingency {
			for j, n := range row {
				if got := c.Count[placeOf(c.A, i)][placeOf(c.B, j)]; got != n {
					t.Errorf("%scell %d, %d: %d, want %d", what, i, j, got, n)
				}
			}
		}
	}
	if got := MeanBestJaccard([]int{4}, nil); !math.IsNaN(got[4]) {
		t.Errorf("without another partition: %v", got)
	}
}

// placeOf is the place of the name that is the i-th when sorted.
func placeOf(names []int, i int) int {
	return slices.Index(names, slices.Sorted(slices.Values(names))[i])
}

func TestAssignEqualsScipy(t *testing.T) {
	for i, w := range readPartitions(t).Assignments {
		got, total := Assign(w.Score), 0.0
		seen := map[int]bool{}
		for row, column := range got {
			if column < 0 {
				continue
			}
			if seen[column] {
				t.Errorf("case %d: column %d twice", i, column)
			}
			seen[column] = true
			total += w.Score[row][column]
		}
		if len(seen) != min(len(w.Score), len(w.Score[0])) || math.Abs(total-w.Total) > 1e-9 {
			t.Errorf("case %d: %d pairs of %v together, want %v", i, len(seen), total, w.Total)
		}
		if w.Columns != nil && !reflect.DeepEqual(got, w.Columns) {
			t.Errorf("case %d: %v, want %v", i, got, w.Columns)
		}
	}
	if got := Assign(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	if got := Assign([][]float64{{}, {}}); !reflect.DeepEqual(got, []int{-1, -1}) {
		t.Errorf("without columns: %v", got)
	}
}

func TestCrossTablesEqualScipyAndStatsmodels(t *testing.T) {
	w := readPartitions(t)
	for _, c := range w.Tables {
		table := CrossTable{c.Both, c.OnlyA, c.OnlyB, c.Neither}
		what := fmt.Sprintf("%+v: ", table)
		near9(t, what+"phi", table.Phi(), c.Phi)
		near9(t, what+"lift", table.Lift(), c.Lift)
	}
	for _, c := range w.Holm {
		got := Holm(append([]float64{math.NaN()}, c.P...))
		if !math.IsNaN(got[0]) {
			t.Errorf("a value that is none became %v", got[0])
		}
		for i, want := range c.Corrected {
			near9(t, "Holm", got[i+1], &want)
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	score := make([][]float64, 300)
	for i := range score {
		score[i] = make([]float64, 400)
		for j := range score[i] {
			score[i][j] = rng.Float64()
		}
	}
	for b.Loop() {
		Assign(score)
	}
}
