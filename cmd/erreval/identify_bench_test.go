package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/identifier/ort/orttest"
	"github.com/erreval/erreval/internal/exit"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
)

var (
	benchModel = flag.String("bench-model", tinyBERT, "directory of the model of BenchmarkCommand, seen from this folder")
	benchRows  = flag.Int("bench-rows", 5000, "rows of BenchmarkCommand")
)

// BenchmarkCommand compares the whole command, files in and out, with its inner loop over rows in memory, in turn:
//
//	go test ./cmd/erreval -run '^$' -bench Command -benchtime 5x
func BenchmarkCommand(b *testing.B) {
	in := filepath.Join(b.TempDir(), "rows.jsonl")
	passage := strings.Repeat("Oke was a mason of the town, and built walls. ", 12)
	var text strings.Builder
	for i := range *benchRows {
		fmt.Fprintf(&text, `{"id":"%d","question":"Who built wall %d of the town?","answer":"Oke","passage":"%s"}`+"\n", i, i,
			passage)
	}
	if err := os.WriteFile(in, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	var loop, command time.Duration
	b.ResetTimer()
	for range b.N {
		loop += innerLoop(b, in)
		command += wholeCommand(b, in)
	}
	n := float64(b.N * *benchRows)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(n/loop.Seconds(), "loop-rows/s")
	b.ReportMetric(n/command.Seconds(), "command-rows/s")
	b.ReportMetric(loop.Seconds()/command.Seconds(), "command/loop")
}

// innerLoop is the time from the first row, which is in memory, to the last diagnosis, which is thrown away.
func innerLoop(b *testing.B, in string) time.Duration {
	tax := questions(b)
	m, err := models.Open(*benchModel, tax)
	if err != nil {
		b.Fatal(err)
	}
	runner := orttest.Runner(b, m.Graph, m.Manifest.Inputs, m.Manifest.Output)
	id, err := identifier.New(m, tax, runner, identifier.DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	rows, err := dataset.Open(in, dataset.Options{Taxonomy: tax})
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	all := make([]*dataset.Row, 0, *benchRows)
	for range *benchRows {
		row, err := rows.Read()
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, row)
	}
	start := time.Now()
	if err := bench.Identify(b.Context(), id, all); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// wholeCommand is the time of the command as its summary tells it, from opening the input on.
func wholeCommand(b *testing.B, in string) time.Duration {
	e, stdout, stderr := testEnv(b, nil, false)
	line := []string{"erreval", "identify", in, "-o", in + ".out", "--overwrite", "--model", *benchModel, "--json"}
	if code := execute(b.Context(), line, e); code != exit.OK {
		b.Fatal(stderr)
	}
	var s report.Tagging
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil || s.Rows != *benchRows {
		b.Fatalf("%d rows, %v", s.Rows, err)
	}
	return time.Duration(s.Seconds * float64(time.Second))
}
