package view

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const benchRows = 1_000_000

// writeMillion writes questions as identify and score leave them: some 1,300 bytes each, five on a passage.
func writeMillion(b *testing.B, path string) {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	r := rand.New(rand.NewPCG(1, 1))
	vocabulary := make([]string, 20_000)
	for i := range vocabulary {
		vocabulary[i] = strconv.FormatInt(int64(i)*2654435761%2_000_000_000, 36)
	}
	text := func(n int) string {
		words := make([]string, n)
		for i := range words {
			x := r.Float64()
			words[i] = vocabulary[int(x*x*x*float64(len(vocabulary)))]
		}
		return strings.Join(words, " ")
	}
	types := []string{"Incomplete", "Not A Question", "Spell Error", "Grammar Error", "Vague",
		"Unnecessary Copy from Passage", "Off Topic", "Factual Error", "Information Not Mentioned", "Off Target Answer"}
	dimensions := []string{"fluency", "clarity", "conciseness", "relevance", "consistency", "answerability",
		"answer_consistency"}
	passage := ""
	for i := range benchRows {
		if i%5 == 0 {
			passage = text(40)
		}
		var labels, probabilities, scores []string
		for _, t := range types {
			p := r.Float64()
			p *= p * p
			if p > 0.8 {
				labels = append(labels, strconv.Quote(t))
			}
			probabilities = append(probabilities, fmt.Sprintf("%q:%.6g", t, p))
		}
		if labels == nil {
			labels = []string{`"No Error"`}
		}
		for _, d := range dimensions {
			scores = append(scores, fmt.Sprintf(`%q:{"value":%.4f,"runs":[{"judge":"offline","mode":"error-aware","value":2.5}]}`,
				d, 1+2*r.Float64()))
		}
		fmt.Fprintf(out, `{"id":"q%07d","system":"system %d","question":%q,"answer":%q,"passage":%q,"diagnosis":{"labels":[%s],`+
			`"probabilities":{%s},"model":"m@1","taxonomy":"question-generation@1.1"},"scores":{%s}}`+"\n", i, i%5, text(9), text(2),
			passage, strings.Join(labels, ","), strings.Join(probabilities, ","), strings.Join(scores, ","))
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// peak is the most memory that the process had, in MiB; reset begins anew. Elsewhere than on Linux it is 0.
func peak(b *testing.B, reset bool) float64 {
	b.Helper()
	if reset {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			return 0
		}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib float64
	if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
		if _, err := fmt.Sscan(after, &kib); err != nil {
			b.Fatal(err)
		}
	}
	return kib / 1024
}

// processorTime is what the process used so far, in ms, in steps of 10; elsewhere than on Linux it is 0.
func processorTime(b *testing.B) float64 {
	b.Helper()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		b.Fatal(err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		b.Fatal(err)
	}
	return 10 * float64(user+system)
}

// BenchmarkMillion indexes a million rows, and asks as the page does: the first view, 30 filters for the first time, an
// order, a search, pairs. p95 and the others are in ms, cpu is the processor time of a filter, on the mean, and index-cpu
// that of a thousand rows; -peak is the most memory of the process, in MiB.
func BenchmarkMillion(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "rows.jsonl")
	writeMillion(b, path)
	ctx := context.Background()
	ask := func(x *Index, q any) float64 {
		began := time.Now()
		if _, _, err := answer(ctx, x, q); err != nil {
			b.Fatal(err)
		}
		return float64(time.Since(began).Microseconds()) / 1000
	}
	for b.Loop() {
		peak(b, true)
		began, used := time.Now(), processorTime(b)
		cache := filepath.Join(dir, "cache")
		x, err := Open(ctx, []string{path}, Options{CacheDir: cache})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(benchRows/time.Since(began).Seconds(), "rows/s")
		b.ReportMetric((processorTime(b)-used)*1000/benchRows, "index-cpu")
		b.ReportMetric(peak(b, false), "index-peak")
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		peak(b, true)
		began = time.Now()
		if x, err = Open(ctx, []string{path}, Options{CacheDir: cache}); err != nil {
			b.Fatal(err)
		}
		ask(x, CountsQuery{Facet: "label", By: "system"})
		for i := range x.Catalog().Measures {
			if m := x.Catalog().Measures[i].Key; strings.HasPrefix(m, prefixScore) {
				ask(x, HistogramQuery{Measure: m, By: "system"})
			}
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "first-view")
		var took []float64
		used = processorTime(b)
		for i := range 30 {
			f := benchFilter(i)
			n := ask(x, CountsQuery{Filter: f, Facet: "label", By: "system"})
			n += ask(x, RowsQuery{Filter: f, Limit: 50})
			took = append(took, n)
			b.Logf("%s: %.0f ms", show(f), n)
		}
		b.ReportMetric((processorTime(b)-used)/float64(len(took)), "cpu")
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2], "p50")
		b.ReportMetric(took[len(took)*95/100], "p95")
		b.ReportMetric(ask(x, RowsQuery{Sort: Sort{Key: "score.clarity", Descending: true}, Limit: 100}), "sort")
		b.ReportMetric(ask(x, RowQuery{N: 700_000}), "row")
		b.ReportMetric(ask(x, OutputsQuery{By: "system", Differ: "label", Limit: 20}), "outputs")
		b.ReportMetric(ask(x, PairsQuery{A: Side{"system", "system 0"}, B: Side{"system", "system 1"}, Facet: "label",
			Limit: 50}), "pairs")
		b.ReportMetric(peak(b, false), "ask-peak")
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(cache); err != nil {
			b.Fatal(err)
		}
	}
}

// benchFilter is one of 30 that differ: labels, ranges, words, and several at a time.
func benchFilter(i int) Filter {
	labels := []string{"Vague", "Off Topic", "Spell Error", "Factual Error", "No Error", "Incomplete"}
	facet := func(c Condition) map[string]Condition { return map[string]Condition{"label": c} }
	low := 1 + float64(i)/20
	switch i % 6 {
	case 0:
		return Filter{Facets: facet(Condition{Any: []string{labels[i/6]}})}
	case 1:
		return Filter{Facets: facet(Condition{Any: labels[:2], None: labels[2+i/6%3 : 3+i/6%3], Only: i%12 == 1})}
	case 2:
		return Filter{Ranges: map[string]Range{"score.clarity": {Min: &low}}}
	case 3:
		return Filter{Search: string("0123456789abcdefghijklmnopqrstuvwxyz"[i])}
	case 4:
		return Filter{Search: fmt.Sprintf("%s q00%d", strconv.FormatInt(int64(i)*2654435761%2_000_000_000, 36), i%10)}
	}
	return Filter{Facets: map[string]Condition{"system": {Any: []string{fmt.Sprintf("system %d", i%5)}},
		"label": {None: []string{"No Error"}}}, Ranges: map[string]Range{"probability.Vague": {Max: &low}, "score.fluency": {Min: &low}},
		Search: "q0"}
}
