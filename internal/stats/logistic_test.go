package stats

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
)

// fitRows fits rows in whatever order of clusters.
func fitRows(x [][]float64, y []float64, cluster []int) (*LogisticFit, error) {
	order, columns := make([]int, len(x)), 0
	for i := range order {
		order[i], columns = i, len(x[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cluster[a], cluster[b]) })
	return Logistic(len(x), columns, func(i int, row []float64) (float64, int) {
		copy(row, x[order[i]])
		return y[order[i]], cluster[order[i]]
	})
}

// Coefficients and clustered errors are those of statsmodels; see testdata/make_logistic.py.
func TestLogistic(t *testing.T) {
	data, err := os.ReadFile("testdata/logistic.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		X                    [][]float64
		Y                    []float64
		Cluster              []int
		Coefficients, Errors []float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for n, c := range cases {
		f, err := fitRows(c.X, c.Y, c.Cluster)
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Coefficients {
			if math.Abs(f.Coefficients[i]-c.Coefficients[i]) > 1e-8 || math.Abs(f.Errors[i]-c.Errors[i]) > 1e-8 {
				t.Errorf("case %d, column %d: %v ± %v, want %v ± %v", n, i, f.Coefficients[i], f.Errors[i], c.Coefficients[i],
					c.Errors[i])
			}
		}
	}
	if len(cases) == 0 {
		t.Error("no case")
	}
}

func TestLogisticWithoutFit(t *testing.T) {
	ones, cluster := []float64{1, 1, 1, 1}, []int{0, 1, 2, 3}
	x := func(column ...float64) (rows [][]float64) {
		for i := range ones {
			rows = append(rows, []float64{1, column[i]})
		}
		return rows
	}
	if _, err := fitRows(x(1, 2, 3, 4), []float64{0, 0, 1, 1}, cluster); !errors.Is(err, ErrSeparated) {
		t.Errorf("separated: %v", err)
	}
	if _, err := fitRows(x(2, 2, 2, 2), []float64{0, 1, 0, 1}, cluster); !errors.Is(err, ErrCollinear) {
		t.Errorf("collinear: %v", err)
	}
	if _, err := fitRows(x(1, 2, 3, 4), ones, cluster); !errors.Is(err, ErrSeparated) {
		t.Errorf("one outcome: %v", err)
	}
	if _, err := fitRows(nil, nil, nil); !errors.Is(err, ErrCollinear) {
		t.Errorf("no rows: %v", err)
	}
}
