package selection

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/erreval/erreval/dataset"
)

// endless gives n generated rows without holding them.
func endless(t testing.TB, n int) Pool {
	tax := colourTaxonomy(t)
	return func(each func(*dataset.Row) error) error {
		in, out := io.Pipe()
		defer in.Close()
		go func() {
			rng := rand.New(rand.NewPCG(1, 2))
			var b bytes.Buffer
			for i := range n {
				b.Reset()
				fmt.Fprintln(&b, line(fmt.Sprintf("r%d", i), vocabulary(rng), fmt.Sprintf("scene %d", i/20), string(rune('A'+i%5)),
					rng.Float64(), rng.Float64(), rng.Float64()))
				if _, err := out.Write(b.Bytes()); err != nil {
					return
				}
			}
			_ = out.Close() // of a pipe: nil
		}()
		r := dataset.NewReader(in, "pool.jsonl", dataset.Options{Taxonomy: tax, TempDir: t.TempDir()})
		defer r.Close()
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = each(row)
			}
			if err != nil {
				return err
			}
		}
	}
}

// What is held is bounded by the batch, whatever the pool.
func TestSurveyHoldsNoMoreOfALargerPool(t *testing.T) {
	held := func(n int) (rows int) {
		in := input(t, nil, 20)
		in.Pool = endless(t, n)
		s := newSurvey(&in)
		if err := in.Pool(s.row); err != nil {
			t.Fatal(err)
		}
		for _, r := range slices.Concat([]*ranking{s.random}, s.signals, s.rare, s.auto) {
			if len(r.entries) > r.limit || len(r.texts) > r.limit || len(r.groups) > r.limit {
				t.Errorf("of %d rows a ranking holds %d, limit %d", n, len(r.entries), r.limit)
			}
			rows += len(r.entries)
		}
		return rows
	}
	if few, many := held(3000), held(30000); many > few+few/10 { // all rankings are full, but for those of rare kinds
		t.Errorf("%d rows are held of 3,000, %d of 30,000", few, many)
	}
}

// BenchmarkMillionRows chooses a batch of 200 from 1,000,000 rows; live-MiB is the largest heap in use after a
// collection, sampled twenty times a pass.
func BenchmarkMillionRows(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var most uint64
			for b.Loop() {
				in := input(b, nil, 200)
				pool, seen := endless(b, n), 0
				in.Pool = func(each func(*dataset.Row) error) error {
					return pool(func(r *dataset.Row) error {
						if seen++; seen%(n/20) == 0 {
							var m runtime.MemStats
							runtime.GC()
							runtime.ReadMemStats(&m)
							most = max(most, m.HeapAlloc)
						}
						return each(r)
					})
				}
				if batch := mustSelect(b, in); len(batch.Items) != 200 {
					b.Fatalf("%d items", len(batch.Items))
				}
			}
			b.ReportMetric(float64(most)/(1<<20), "live-MiB")
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
