package dataset

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset/hostiletest"
)

func writeHostile(t testing.TB, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := hostiletest.Named(name).Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestHostileParquet: of a page that is larger than it says, or makes more of little, nothing is unpacked; a row that
// takes too much is rejected, and the rest is read.
func TestHostileParquet(t *testing.T) {
	const room = `f: after row 0: the pages that must be held at the same time take more than 144 MiB, with that of the column "x`
	const damaged = `f: after row 0 the Parquet file is damaged (column "x": `
	for name, want := range map[string]struct {
		rows, rejected int
		err            string
		mib            uint64 // allocated in all
	}{
		"prefixes":                 {err: room, mib: 10},
		"lengths":                  {err: damaged + "a page is damaged", mib: 10},
		"differences":              {err: damaged + "a page is damaged", mib: 10},
		"levels":                   {err: damaged + "a page is damaged", mib: 10},
		"indices":                  {err: damaged + "a page is damaged", mib: 10},
		"page-that-lies":           {err: damaged + "a page unpacks to more than it says: a bomb", mib: 20},
		"nested":                   {err: "f: not a Parquet file, or cut (its columns nest more than 64 deep)", mib: 20},
		"dictionary-in-a-list":     {rejected: 1, mib: 80},
		"dictionary-in-columns":    {rejected: 2, mib: 600},
		"control-characters":       {rows: 1, rejected: 1, mib: 100},
		"lists":                    {rejected: 3, mib: 250},
		"list-over-pages":          {rejected: 1, mib: 350},
		"lz4-page-that-is-damaged": {err: damaged + "a page is damaged", mib: 10},
	} {
		data := writeHostile(t, name+".parquet")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, rejected, err := countRows(data, Parquet)
		runtime.ReadMemStats(&after)
		if rows != want.rows || rejected != want.rejected || (err == nil) != (want.err == "") ||
			err != nil && !strings.HasPrefix(err.Error(), want.err) {
			t.Errorf("%s: %d rows, %d rejected, %v; want %+v", name, rows, rejected, err, want)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > want.mib {
			t.Errorf("%s: %d MiB were allocated, want at most %d", name, n, want.mib)
		}
	}
}

// countRows gives how many rows are read and rejected, and the error that ended it.
func countRows(data []byte, format string) (rows, rejected int, err error) {
	r, err := NewSource(bytes.NewReader(data), "f", Options{Format: Format{Name: format}})
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	for {
		_, err := r.Read()
		var line *LineError
		switch {
		case errors.Is(err, io.EOF):
			return rows, rejected, nil
		case errors.As(err, &line):
			rejected++
		case err != nil:
			return rows, rejected, err
		default:
			rows++
		}
	}
}

// TestZstandardWindow: a file that asks for more memory than zstd itself gives is refused, with what to do.
func TestZstandardWindow(t *testing.T) {
	_, _, err := countRows(writeHostile(t, "window-of-512-MiB.jsonl.zst"), JSONL)
	if err == nil || !strings.Contains(err.Error(), "the .zst file needs more than 128 MiB to unpack; compress it again") {
		t.Error(err)
	}
}

// TestLZ4 reads what testdata/parquet/make.py wrote: texts that LZ4 hardly compresses are refused rather than read wrong.
func TestLZ4(t *testing.T) {
	data, err := os.ReadFile("testdata/parquet/lz4-random.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if rows, _, err := countRows(data, Parquet); err == nil || rows > 0 || !strings.Contains(err.Error(), "LZ4") {
		t.Error(rows, err)
	}
}
