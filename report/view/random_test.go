package view

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// made is a row of a made file, as the tests know it.
type made struct {
	id, system string
	labels     []string // nil: untagged
	unjudged   string   // an error for which it was not judged, or ""
	group      int
	score      float64 // NaN: none
	words      []string
}

var madeLabels = []string{"Vague", "Factual Error", "Off Topic", "Spell Error", "Grammar Error"}

// writeMade writes n rows of questions; a part of them lacks something.
func writeMade(t testing.TB, path string, n int, seed uint64) []made {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(f)
	rows := make([]made, n)
	for i := range rows {
		m := &rows[i]
		m.id, m.group, m.score = fmt.Sprintf("row-%d", (i*7919)%1_000_003), i/3%(n/2+1), math.NaN()
		m.words = []string{fmt.Sprintf("word%d", r.IntN(40)), fmt.Sprintf("term%d", r.IntN(n)), "the"}
		row := map[string]any{"id": m.id, "question": strings.Join(m.words, " "), "answer": "a",
			"passage": fmt.Sprintf("passage %d", m.group)}
		if r.IntN(10) > 0 {
			m.system = fmt.Sprintf("system %d", r.IntN(4))
			row["system"] = m.system
		}
		switch r.IntN(20) {
		case 0:
			row["diagnosis"] = map[string]any{"status": "untagged", "reason": "refused"}
		case 1: // none at all
		default:
			for _, label := range madeLabels {
				if r.IntN(5) == 0 {
					m.labels = append(m.labels, label)
				}
			}
			if m.labels == nil {
				m.labels = []string{"No Error"}
			}
			d := map[string]any{"labels": m.labels, "taxonomy": "question-generation@1.1"}
			if !slices.Contains(m.labels, "Factual Error") && slices.Contains([]int{0, 1, 2, 5}, i%18) { // groups are of three
				m.unjudged = "Factual Error"
				d["not_judged"] = []string{m.unjudged}
			}
			row["diagnosis"] = d
		}
		if r.IntN(3) > 0 {
			m.score = float64(r.IntN(2000)+1000) / 1000
			row["scores"] = map[string]any{"clarity": map[string]any{"value": m.score}}
		}
		data, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = out.Write(append(data, '\n'))
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return rows
}

// randomFilter makes a filter, and says of a row whether it holds.
func randomFilter(r *rand.Rand) (Filter, func(*made) bool) {
	var f Filter
	var tests []func(*made) bool
	pick := func() []string {
		var names []string
		for _, name := range append([]string{"No Error", "untagged"}, madeLabels...) {
			if r.IntN(4) == 0 {
				names = append(names, name)
			}
		}
		return names
	}
	if r.IntN(2) == 0 {
		c := Condition{Any: pick(), None: pick(), Only: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			c.All = madeLabels[:1+r.IntN(2)]
		}
		f.Facets = map[string]Condition{"label": c}
		tests = append(tests, func(m *made) bool {
			has := m.labels
			if has == nil {
				has = []string{"untagged"}
			}
			in := func(list []string) func(string) bool {
				return func(name string) bool { return slices.Contains(list, name) }
			}
			return (len(c.Any) == 0 || slices.ContainsFunc(has, in(c.Any))) && !slices.ContainsFunc(has, in(c.None)) &&
				!slices.ContainsFunc(c.All, func(name string) bool { return !slices.Contains(has, name) }) &&
				(!c.Only || !slices.ContainsFunc(has, func(name string) bool { return !in(c.Any)(name) && !in(c.All)(name) }))
		})
	}
	if r.IntN(3) == 0 {
		low, high := 1+2*r.Float64(), 1+2*r.Float64()
		f.Ranges = map[string]Range{"score.clarity": {&low, &high}}
		tests = append(tests, func(m *made) bool { return m.score >= low && m.score <= high })
	}
	if r.IntN(3) == 0 {
		prefix := []string{"word1", "term9", "WORD39", "the", "row-5", "t"}[r.IntN(6)]
		f.Search = prefix
		tests = append(tests, func(m *made) bool {
			return slices.ContainsFunc(append([]string{"row", strings.TrimPrefix(m.id, "row-"), "a", "passage",
				fmt.Sprint(m.group)}, m.words...), func(word string) bool {
				return strings.HasPrefix(word, strings.ToLower(strings.TrimPrefix(prefix, "row-")))
			})
		})
	}
	return f, func(m *made) bool {
		return !slices.ContainsFunc(tests, func(test func(*made) bool) bool { return !test(m) })
	}
}

// TestRandom: rows in memory and rows in a file, of more than one chunk, answer random questions as the rows themselves
// do.
func TestRandom(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.jsonl")
	rows := writeMade(t, path, partRows+3000, 7)
	ctx := context.Background()
	open := func(o Options) *Index {
		x, err := Open(ctx, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Close() })
		return x
	}
	inMemory := open(Options{memoryRows: math.MaxInt, Build: "test"})
	cached := Options{CacheDir: filepath.Join(dir, "cache"), Build: "test"}
	inFile := open(cached)
	if inMemory.file.in != nil {
		t.Fatal("not in memory")
	}
	if inFile.file.in == nil {
		t.Fatal("not in a file")
	}
	again := open(cached)
	for name, x := range map[string]*Index{"file": inFile, "file again": again} {
		if a, b := show(inMemory.Catalog()), show(x.Catalog()); a != b {
			t.Fatalf("%s: the catalogue is\n%s\nin memory\n%s", name, b, a)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for range 25 {
		f, holds := randomFilter(r)
		for _, q := range []any{CountsQuery{Filter: f, Facet: "label", By: "system"}, CountsQuery{Filter: f, Facet: "system"},
			HistogramQuery{Filter: f, Measure: "score.clarity", By: "system"},
			RowsQuery{Filter: f, Sort: Sort{Key: "score.clarity", Descending: r.IntN(2) == 0}, Offset: r.IntN(3000), Limit: 20},
			RowsQuery{Filter: f, Sort: Sort{Key: []string{"id", "row", "label", "system"}[r.IntN(4)],
				Descending: r.IntN(2) == 0}, Offset: r.IntN(40_000), Limit: 20},
			RowQuery{N: r.IntN(len(rows))}, OutputsQuery{Filter: f, By: "system", Offset: r.IntN(3000), Limit: 5},
			OutputsQuery{Filter: f, By: "system", Differ: "label", Limit: 100},
			PairsQuery{Filter: f, A: Side{"system", "system 0"}, B: Side{"system", "system 1"}, Facet: "label", Limit: 5}} {
			_, a, err := answer(ctx, inMemory, q)
			if err != nil {
				t.Fatalf("%+v: %v", q, err)
			}
			for _, x := range []*Index{inFile, again} {
				if _, b, err := answer(ctx, x, q); err != nil || show(a) != show(b) {
					t.Fatalf("%s:\n%.3000s\nin memory\n%.3000s\n%v", show(q), show(b), show(a), err)
				}
			}
			checkMade(t, rows, holds, q, a)
		}
	}
}

// checkMade compares an answer with the rows.
func checkMade(t *testing.T, rows []made, holds func(*made) bool, q, a any) {
	t.Helper()
	var chosen []int
	for i := range rows {
		if holds(&rows[i]) {
			chosen = append(chosen, i)
		}
	}
	switch a := a.(type) {
	case *Counts:
		if a.Total != len(chosen) {
			t.Fatalf("%s: %d rows, want %d", show(q), a.Total, len(chosen))
		}
		if q := q.(CountsQuery); q.Facet != "label" {
			return
		}
		for c, column := range a.Columns {
			for _, label := range []string{"Vague", "Factual Error"} {
				groups, with := map[int]int{}, map[int]int{}
				for _, i := range chosen {
					if m := &rows[i]; m.system == column.Name && m.labels != nil && m.unjudged != label {
						groups[m.group]++
						if slices.Contains(m.labels, label) {
							with[m.group]++
						}
					}
				}
				want := CountBase{Groups: len(groups)}
				var cell CountCell
				for g, n := range groups {
					want.Rows += n
					want.Squares += float64(n * n)
					cell.Rows += with[g]
					cell.Squares += float64(with[g] * with[g])
					cell.Products += float64(with[g] * n)
				}
				at := slices.IndexFunc(a.Values, func(v CountValue) bool { return v.Name == label })
				got, base := a.Values[at].Cells[c], a.BaseOf(at, c)
				if got.Of = nil; base != want || got != cell {
					t.Fatalf("%s: %+v %+v, want %+v %+v", show(q), base, got, want, cell)
				}
			}
		}
	case *RowsPage:
		query := q.(RowsQuery)
		if query.Sort.Key != "score.clarity" {
			return
		}
		slices.SortStableFunc(chosen, func(i, j int) int {
			x, y := rows[i].score, rows[j].score
			switch {
			case math.IsNaN(x) && math.IsNaN(y) || x == y:
				return 0
			case math.IsNaN(y) || x < y && !query.Sort.Descending || x > y && query.Sort.Descending && !math.IsNaN(x):
				return -1
			}
			return 1
		})
		var got []int
		for _, row := range a.Rows {
			got = append(got, row.N)
		}
		from := min(query.Offset, len(chosen))
		if want := chosen[from:min(from+query.Limit, len(chosen))]; !slices.Equal(got, want) {
			t.Fatalf("%s: rows %v, want %v", show(q), got, want)
		}
	}
}

// TestConcurrent: many ask the same index, with a cache too small for all.
func TestConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	writeMade(t, path, 3000, 9)
	ctx := context.Background()
	x, err := Open(ctx, []string{path}, Options{memoryRows: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	x.cache.size = cacheBytes - 200_000
	var wait sync.WaitGroup
	for worker := range 8 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 20 {
				f, _ := randomFilter(r)
				for _, q := range []any{CountsQuery{Filter: f, Facet: "label", By: "system"},
					RowsQuery{Filter: f, Sort: Sort{Key: "id"}, Limit: 3}, RowQuery{N: r.IntN(3000)},
					OutputsQuery{Filter: f, By: "run", Differ: "label", Limit: 3}} {
					if _, _, err := answer(ctx, x, q); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
}

// TestCancel: an ended context ends reading and asking, and leaves nothing behind.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.jsonl")
	writeMade(t, path, 5000, 11)
	ctx, cancel := context.WithCancel(context.Background())
	cache := filepath.Join(dir, "cache")
	o := Options{CacheDir: cache, memoryRows: 10, Progress: func(rows int) {
		if rows == 3000 {
			cancel()
		}
	}}
	if _, err := Open(ctx, []string{path}, o); err == nil || ctx.Err() == nil {
		t.Fatal("opened", err)
	}
	left, err := os.ReadDir(cache)
	if err != nil && !os.IsNotExist(err) || len(left) > 0 {
		t.Error(left, err)
	}
	o.Progress = nil
	x, err := Open(context.Background(), []string{path}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Counts(ctx, CountsQuery{Facet: "label"}); err == nil {
		t.Error("answered after the end")
	}
}

// TestSample: a sample is drawn by the seed alone.
func TestSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	writeMade(t, path, 500, 5)
	ctx := context.Background()
	draw := func(o Options, seed uint64) (Columns, *Sample) {
		x, err := Open(ctx, []string{path}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		c, s, err := x.Columns(ctx, 50, seed)
		if err != nil {
			t.Fatal(err)
		}
		return c, s
	}
	a, sample := draw(Options{}, 1)
	b, _ := draw(Options{memoryRows: 1}, 1)
	c, _ := draw(Options{}, 2)
	if *sample != (Sample{50, 500, 1}) || len(a.ID) != 50 || !reflect.DeepEqual(a, b) || reflect.DeepEqual(a.ID, c.ID) {
		t.Error(sample, len(a.ID), a.ID[:5], b.ID[:5], c.ID[:5])
	}
}
