package dataset

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

// TestParquetBomb: a page that unpacks to very much is found by its header, wherever it stands, before it is unpacked.
func TestParquetBomb(t *testing.T) {
	type row struct {
		X string `parquet:"x"`
	}
	for _, codec := range []compress.Codec{&parquet.Zstd, &parquet.Gzip} {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[row](&out, parquet.Compression(codec), parquet.PageBufferSize(1000))
		for _, text := range []string{repeated("x", 900), "y", repeated("x", 900), repeated("x", 1<<20)} {
			if _, err := w.Write([]row{{text}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPages(bytes.NewReader(out.Bytes()), f.Metadata(), bombSize); err != nil {
			t.Errorf("%s: a page of 1 MiB: %v", codec, err)
		}
		err = checkPages(bytes.NewReader(out.Bytes()), f.Metadata(), 1<<19)
		if err == nil || !strings.HasSuffix(err.Error(), "times its size: a bomb; it is not read") {
			t.Errorf("%s: more than allowed: %v", codec, err)
		}
	}
}
