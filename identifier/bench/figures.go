package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
)

// Figures are what Run measures. Peers and Ratios are by the peer's name, and nil without Compare.
type Figures struct {
	RowsPerS   float64            `json:"rows_per_s"`
	TokensPerS float64            `json:"tokens_per_s"` // without padding
	RSS        int64              `json:"rss_bytes"`    // largest memory, without peers
	Latency    Latency            `json:"latency_ms"`
	Peers      map[string]float64 `json:"peers,omitempty"`  // rows a second
	Ratios     map[string]float64 `json:"ratios,omitempty"` // rows a second of erreval over the peer's
	PeersModel string             `json:"peers_model,omitempty"`
	Model      string             `json:"model"`
	Precision  string             `json:"precision"`
	Device     string             `json:"device"`
	Rows       int                `json:"rows"`
	Tokens     float64            `json:"tokens_per_row"`
	Cores      int                `json:"cores"`
	Runtime    string             `json:"onnxruntime"`
	Rounds     int                `json:"rounds"`
}

// Latency is the time of a single row, in milliseconds.
type Latency struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

// Lines words the figures for people.
func (f *Figures) Lines() *report.Lines {
	lines := &report.Lines{}
	lines.Add("model", "%s, %s, on %s with %d cores, ONNX Runtime %s",
		f.Model, models.PrecisionText(f.Precision), f.Device, f.Cores, f.Runtime)
	lines.Add("rows", "%d of %.0f tokens on average, %d rounds", f.Rows, f.Tokens, f.Rounds)
	lines.Add("rows/s", "%.1f", f.RowsPerS)
	lines.Add("tokens/s", "%.0f", f.TokensPerS)
	lines.Add("one row", "%.1f ms (p50), %.1f ms (p99)", f.Latency.P50, f.Latency.P99)
	lines.Add("memory", "%d MB", f.RSS/1e6)
	for _, name := range []string{Script, Pipeline, Careful} {
		if rate, ok := f.Peers[name]; ok {
			lines.Add("against "+name, "%.1f× (%.1f rows/s, %s)", f.Ratios[name], rate, f.PeersModel)
		}
	}
	return lines
}

const historyHeader = "date\tbuild\tmachine\tmodel\tpeers\tscript\tpipeline\tcareful\n"

// appendHistory appends a line of ratios to a file of tab-separated values. Ratios of different machines can be
// compared; rows per second cannot.
func (f *Figures) appendHistory(path string) error {
	_, err := os.Stat(path)
	file, openErr := wholefile.OpenUnlinked(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if openErr != nil {
		return openErr
	}
	var b bytes.Buffer
	if errors.Is(err, fs.ErrNotExist) {
		b.WriteString(historyHeader)
	}
	fmt.Fprintf(&b, "%s\t%s\t%s, %d cores\t%s, %s, %s\t%s\t%.2f\t%.2f\t%.2f\n", time.Now().UTC().Format(time.DateOnly),
		runrecord.ReadBuild(), describeMachine(), f.Cores, f.Model, f.Precision, f.Device, f.PeersModel,
		f.Ratios[Script], f.Ratios[Pipeline], f.Ratios[Careful])
	_, err = file.Write(b.Bytes())
	return errors.Join(err, file.Close())
}

// describeMachine is the processor's name, or its architecture if Linux does not tell.
func describeMachine() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return cmp.Or(strings.TrimSpace(value), runtime.GOARCH)
		}
	}
	return runtime.GOARCH
}
