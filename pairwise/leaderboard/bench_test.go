package leaderboard

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/erreval/erreval/pairwise/verdicts"
)

var benchVerdicts = flag.Int("verdicts", 100_000, "of BenchmarkRank, on all pairs of ten systems")

// BenchmarkRank rates ten systems by verdicts, by one type: all four ratings, 500 resamples of items. Beside choix:
// internal/stats/rating/testdata/bench_choix.py.
//
//	go test ./pairwise/leaderboard -run '^$' -bench '^BenchmarkRank$' -benchtime 1x -verdicts 1000000
func BenchmarkRank(b *testing.B) {
	const systems = 10
	var before, held runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := NewVerdicts(nil)
	random := rand.New(rand.NewPCG(1, 1))
	for n := 0; n < *benchVerdicts; n++ {
		pair := n % (systems * (systems - 1) / 2)
		first := 1
		for pair >= first {
			pair -= first
			first++
		}
		value := verdicts.B
		switch odds := 0.1 * float64(first-pair); {
		case random.Float64() < 0.2:
			value = verdicts.BothGood
		case random.Float64() < 1/(1+math.Exp(-odds)):
			value = verdicts.A
		}
		v.Add(verdicts.Overall, fmt.Sprint("item ", n/45), fmt.Sprint("s", first), fmt.Sprint("s", pair), value, "")
	}
	runtime.GC()
	runtime.ReadMemStats(&held)
	o := DefaultOptions()
	for b.Loop() {
		if _, err := v.Compute(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(held.HeapAlloc-before.HeapAlloc)/float64(*benchVerdicts), "held-B/verdict")
	b.ReportMetric(float64(after.Sys-before.Sys)/float64(*benchVerdicts), "peak-B/verdict")
	runtime.KeepAlive(v)
}
