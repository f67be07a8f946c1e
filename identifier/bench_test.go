package identifier_test

import (
	"context"
	"flag"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
)

// The benchmark compares schedules in one run, as 'erreval bench --compare' does for users.
//
//	go test ./identifier -run '^$' -bench Schedules -benchtime 3x                     # the default model
//	go test ./identifier -run '^$' -bench Schedules -benchtime 3x -fp32 DIR           # and one in fp32
var (
	fp32Dir   = flag.String("fp32", "", "directory of an fp32 model to measure too, seen from the repository's root")
	benchRows = flag.Int("rows", 192, "rows a schedule computes")
)

func BenchmarkSchedules(b *testing.B) {
	tax := questions(b)
	m, err := models.OpenFS(embedded.Default(), "default", tax)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("default-"+m.Manifest.Precision, func(b *testing.B) { compareSchedules(b, m) })
	if *fp32Dir == "" {
		return
	}
	dir := *fp32Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("..", dir)
	}
	if m, err = models.Open(dir, tax); err != nil {
		b.Fatal(err)
	}
	b.Run("fp32", func(b *testing.B) { compareSchedules(b, m) })
}

// compareSchedules runs all schedules in turn, b.N times, so that a drift of the machine's speed meets all of them.
func compareSchedules(b *testing.B, m *models.Model) {
	tax := questions(b)
	rows, err := bench.Rows(m, tax, *benchRows)
	if err != nil {
		b.Fatal(err)
	}
	id, err := identifier.New(m, tax, openThreads(b, m, 1), identifier.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	peers, err := bench.NewPeers(m, tax, openThreads(b, m, runtime.GOMAXPROCS(0)), rows)
	if err != nil {
		b.Fatal(err)
	}
	names := []string{bench.Script, bench.Pipeline, bench.Careful}
	turns := []func(context.Context) error{func(ctx context.Context) error { return bench.Identify(ctx, id, rows) }}
	for _, name := range names {
		turns = append(turns, func(ctx context.Context) error { _, err := peers.Run(ctx, name); return err })
	}
	if _, err := bench.Turns(b.Context(), 1, turns...); err != nil { // warm
		b.Fatal(err)
	}
	b.ResetTimer()
	took, err := bench.Turns(b.Context(), b.N, turns...)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.N*len(rows))/took[0].Seconds(), "identify-rows/s")
	for i, name := range names {
		b.ReportMetric(float64(b.N*len(rows))/took[i+1].Seconds(), name+"-rows/s")
		b.ReportMetric(took[i+1].Seconds()/took[0].Seconds(), "x-"+name)
	}
}

func openThreads(b *testing.B, m *models.Model, threads int) *ort.Runner {
	r, err := ort.Open(m, ort.Options{Library: orttest.Library(b), Device: "cpu", Threads: threads})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	return r
}

// BenchmarkEncode is what a row costs before the model sees it: bytes a second, and no allocations.
func BenchmarkEncode(b *testing.B) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(b))
	if err != nil {
		b.Fatal(err)
	}
	rows, err := bench.Rows(m, questions(b), 256)
	if err != nil {
		b.Fatal(err)
	}
	enc, err := identifier.NewEncoder(m, questions(b))
	if err != nil {
		b.Fatal(err)
	}
	size := 0
	for _, row := range rows {
		size += len(strings.Join(row.Values, ""))
	}
	b.SetBytes(int64(size / len(rows)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := enc.Encode(rows[i%len(rows)].Values); err != nil {
			b.Fatal(err)
		}
	}
}
