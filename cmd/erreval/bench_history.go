package main

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

	"github.com/erreval/erreval/identifier/bench"
	"github.com/erreval/erreval/internal/runrecord"
)

const historyHeader = "date\tbuild\tmachine\tmodel\tpeers\tscript\tpipeline\tcareful\tshare of peak\n"

// remember appends a line of ratios to a file of tab-separated values. Ratios can be compared from one machine to the
// next, figures a second cannot.
func (f *benchFigures) remember(path string) error {
	_, err := os.Stat(path)
	file, openErr := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if openErr != nil {
		return openErr
	}
	var b bytes.Buffer
	if errors.Is(err, fs.ErrNotExist) {
		b.WriteString(historyHeader)
	}
	share := ""
	if f.ShareOfPeak != nil {
		share = fmt.Sprintf("%.2f", *f.ShareOfPeak)
	}
	fmt.Fprintf(&b, "%s\t%s\t%s, %d cores\t%s, %s, %s\t%s\t%.2f\t%.2f\t%.2f\t%s\n", time.Now().UTC().Format(time.DateOnly),
		runrecord.ReadBuild(), machine(), f.Cores, f.Model, f.Precision, f.Device, f.PeersModel,
		f.Ratios[bench.Script], f.Ratios[bench.Pipeline], f.Ratios[bench.Careful], share)
	_, err = file.Write(b.Bytes())
	return errors.Join(err, file.Close())
}

// machine is the processor's name, or its architecture where Linux does not tell.
func machine() string {
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
