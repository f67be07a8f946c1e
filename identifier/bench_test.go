package identifier_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/models/embedded"
)

// The benchmark compares schedules in one run: same weights, same rows, same runtime, and the peers' batches go
// through the same encoder and the same native library, so that only the schedule differs.
//
//	go test ./identifier -run '^$' -bench Schedules -benchtime 3x                     # the default model
//	go test ./identifier -run '^$' -bench Schedules -benchtime 3x -fp32 DIR           # and one in fp32
var (
	fp32Dir   = flag.String("fp32", os.Getenv("ERREVAL_BENCH_FP32"), "directory of an fp32 model to measure too") //nolint:forbidigo // as above
	benchRows = flag.Int("rows", 192, "rows a schedule computes")
)

// Lengths of real rows (PERFORMANCE.md): 43 to 798 tokens, 198 on average. The draws are log-normal.
const (
	leastTokens, mostTokens = 43, 798
	logMean, logSpread      = 5.17, 0.5
	peerBatch               = 32
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
		dir = filepath.Join("..", dir) // as seen from the repository's root, where make runs
	}
	if m, err = models.Open(dir, tax); err != nil {
		b.Fatal(err)
	}
	b.Run("fp32", func(b *testing.B) { compareSchedules(b, m) })
}

// schedule computes all rows and gives their logits, one row after the other; nil where it keeps none.
type schedule struct {
	name string
	run  func(b *testing.B) []float32
	took time.Duration
}

// compareSchedules runs all schedules in turn, b.N times, so that a drift of the machine's speed meets all of them.
func compareSchedules(b *testing.B, m *models.Model) {
	rows := realisticRows(b, m, *benchRows)
	all := schedules(b, m, rows)
	for _, s := range all {
		s.run(b) // warm
	}
	b.ResetTimer()
	for range b.N {
		var exact []float32
		for i := len(all) - 1; i >= 0; i-- { // the careful loop first: its logits are the measure
			runtime.GC()
			start := time.Now()
			logits := all[i].run(b)
			all[i].took += time.Since(start)
			if exact == nil {
				exact = logits
			}
			checkLogits(b, m, all[i].name, logits, exact)
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, s := range all {
		b.ReportMetric(float64(b.N*len(rows))/s.took.Seconds(), s.name+"-rows/s")
		if s.name != all[0].name {
			b.ReportMetric(s.took.Seconds()/all[0].took.Seconds(), "x-"+s.name)
		}
	}
}

// checkLogits: peers must compute the same. With quantised weights a row's logits depend on its batch.
func checkLogits(b *testing.B, m *models.Model, name string, got, want []float32) {
	for i := range got {
		if diff := math.Abs(float64(got[i] - want[i])); m.Manifest.Precision == "fp32" && !(diff <= 1e-3) {
			b.Fatalf("%s: logit %d of row %d differs by %g", name, i%len(m.Manifest.Labels), i/len(m.Manifest.Labels), diff)
		}
	}
}

func schedules(b *testing.B, m *models.Model, rows []*dataset.Row) []*schedule {
	threads := runtime.GOMAXPROCS(0)
	id, err := identifier.New(m, questions(b), openThreads(b, m, 1), identifier.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	p := &peer{model: m, runner: openThreads(b, m, threads), rows: rows, longest: longest(b, m, rows)}
	return []*schedule{
		{name: "identify", run: func(b *testing.B) []float32 { return identifyAll(b, id, rows) }},
		{name: "paper", run: func(b *testing.B) []float32 { return p.batches(b, peerBatch, p.longest) }},
		{name: "pipeline", run: func(b *testing.B) []float32 { return p.batches(b, peerBatch, 0) }},
		{name: "loop", run: func(b *testing.B) []float32 { return p.batches(b, 1, 0) }},
	}
}

func openThreads(b *testing.B, m *models.Model, threads int) *ort.Runner {
	o := ort.Options{Library: orttest.Library(b), Device: "cpu", Threads: threads, Inputs: m.Manifest.Inputs, Output: m.Manifest.Output}
	r, err := ort.New(m.Graph, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close() })
	return r
}

// identifyAll is the product's own way, diagnoses included.
func identifyAll(b *testing.B, id *identifier.Identifier, rows []*dataset.Row) []float32 {
	at, tagged := 0, 0
	next := func() (*dataset.Row, error) {
		if at == len(rows) {
			return nil, io.EOF
		}
		at++
		return rows[at-1], nil
	}
	err := id.Identify(b.Context(), next, func(_ *dataset.Row, d *dataset.Diagnosis) error {
		if d.Status == "" {
			tagged++
		}
		return nil
	})
	if err != nil || tagged != len(rows) {
		b.Fatalf("%d of %d rows tagged: %v", tagged, len(rows), err)
	}
	return nil
}

// peer runs batches one after the other, all cores in each.
type peer struct {
	model   *models.Model
	runner  *ort.Runner
	rows    []*dataset.Row
	longest int // tokens of the longest row
}

// batches pads every batch to width tokens, or to its own longest row if width is 0.
func (p *peer) batches(b *testing.B, size, width int) []float32 {
	enc, err := identifier.NewEncoder(p.model, questions(b))
	if err != nil {
		b.Fatal(err)
	}
	labels := len(p.model.Manifest.Labels)
	logits := make([]float32, len(p.rows)*labels)
	for from := 0; from < len(p.rows); from += size {
		to := min(from+size, len(p.rows))
		in := p.batch(b, enc, p.rows[from:to], width)
		if err := p.runner.Run(b.Context(), in, logits[from*labels:to*labels]); err != nil {
			b.Fatal(err)
		}
	}
	return logits
}

func (p *peer) batch(b *testing.B, enc *identifier.Encoder, rows []*dataset.Row, width int) identifier.Input {
	var ids, types [][]int64
	for _, row := range rows {
		e, err := enc.Encode(row.Values)
		if err != nil {
			b.Fatal(err)
		}
		ids, types = append(ids, append([]int64(nil), e.IDs...)), append(types, append([]int64(nil), e.Types...))
		width = max(width, len(e.IDs))
	}
	pad := enc.ID(p.model.Manifest.Pad)
	in := identifier.Input{Width: width}
	for i := range ids {
		for j := range width {
			id, mask, typ := pad, int64(0), int64(0)
			if j < len(ids[i]) {
				id, mask, typ = ids[i][j], 1, types[i][j]
			}
			in.IDs, in.Mask, in.Types = append(in.IDs, id), append(in.Mask, mask), append(in.Types, typ)
		}
	}
	return in
}

func longest(b *testing.B, m *models.Model, rows []*dataset.Row) int {
	n := 0
	for _, k := range lengths(b, m, rows) {
		n = max(n, k)
	}
	return n
}

func lengths(b *testing.B, m *models.Model, rows []*dataset.Row) []int {
	enc, err := identifier.NewEncoder(m, questions(b))
	if err != nil {
		b.Fatal(err)
	}
	var out []int
	for _, row := range rows {
		e, err := enc.Encode(row.Values)
		if err != nil {
			b.Fatal(err)
		}
		out = append(out, len(e.IDs))
	}
	return out
}

// realisticRows makes rows whose lengths are spread as those of real ones, from the sentences of the sample
// passages. The seed is fixed: every run sees the same rows.
func realisticRows(b *testing.B, m *models.Model, n int) []*dataset.Row {
	samples := sampleRows(b)
	random := rand.New(rand.NewPCG(1, 2))
	var sentences []string
	for _, row := range samples {
		sentences = append(sentences, strings.SplitAfter(row.Values[2], ". ")...)
	}
	random.Shuffle(len(sentences), func(i, j int) { sentences[i], sentences[j] = sentences[j], sentences[i] })
	whole := *m
	whole.Manifest.MaxTokens = 1 << 20
	enc, err := identifier.NewEncoder(&whole, questions(b))
	if err != nil {
		b.Fatal(err)
	}
	rows := make([]*dataset.Row, n)
	sum := 0
	count := func(values []string) int {
		e, err := enc.Encode(values)
		if err != nil {
			b.Fatal(err)
		}
		return len(e.IDs)
	}
	for i := range rows {
		target := min(max(int(math.Exp(logMean+logSpread*random.NormFloat64())), leastTokens), mostTokens)
		sample := samples[i%len(samples)]
		values := []string{sample.Values[0], sample.Values[1], ""}
		for at := random.IntN(len(sentences)); count(values) < target; at++ {
			values[2] += sentences[at%len(sentences)]
		}
		for count(values) > target && strings.Contains(values[2], " ") {
			values[2] = values[2][:strings.LastIndexByte(values[2], ' ')]
		}
		sum += count(values)
		rows[i] = &dataset.Row{ID: fmt.Sprint(i), Values: values}
	}
	b.Logf("%d rows, %.0f tokens on average, %s", n, float64(sum)/float64(n), m.Manifest.ID())
	return rows
}

func sampleRows(b *testing.B) []*dataset.Row {
	f, err := os.Open(filepath.Join("..", "testdata", "samples", "questions.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	reader := dataset.NewReader(bufio.NewReader(f), f.Name(), dataset.Options{Taxonomy: questions(b)})
	var rows []*dataset.Row
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			b.Fatal(err)
		}
		rows = append(rows, row)
	}
}

// BenchmarkEncode is what a row costs before the model sees it: bytes a second, and no allocations.
func BenchmarkEncode(b *testing.B) {
	m, err := models.OpenFS(embedded.Default(), "default", questions(b))
	if err != nil {
		b.Fatal(err)
	}
	rows := realisticRows(b, m, 256)
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
