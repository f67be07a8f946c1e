package parquetcheck

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/format"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// TestParquetBomb: a page that unpacks to very much is found by its header, wherever it stands, before it is unpacked.
func TestParquetBomb(t *testing.T) {
	type row struct {
		X string `parquet:"x"`
	}
	for _, codec := range []compress.Codec{&parquet.Zstd, &parquet.Gzip} {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[row](&out, parquet.Compression(codec), parquet.PageBufferSize(1000))
		for _, text := range []string{strings.Repeat("x", 900), "y", strings.Repeat("x", 900), strings.Repeat("x", 1<<20)} {
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
		if err := CheckPages(bytes.NewReader(out.Bytes()), int64(out.Len()), f.Metadata(), bounded.MaxUnpacked); err != nil {
			t.Errorf("%s: a page of 1 MiB: %v", codec, err)
		}
		err = CheckPages(bytes.NewReader(out.Bytes()), int64(out.Len()), f.Metadata(), 1<<19)
		if err == nil || !strings.HasSuffix(err.Error(), "times its size: a bomb; it is not read") {
			t.Errorf("%s: more than allowed: %v", codec, err)
		}
	}
}

// TestPageSizesThatLie: a page's header is refused by its lengths before the library makes room for them.
func TestPageSizesThatLie(t *testing.T) {
	for header, want := range map[string]string{
		"\x15\x00\x15\x02\x15\xfe\xff\xff\xff\x0f\x00": `column "x": a page says it has 2147483647 bytes, which goes beyond`,
		// its greatest value
		"\x15\x00\x15\x02\x15\x02\x2c\x15\x02\x15\x00\x15\x00\x15\x00\x1c\x18\xff\xff\xff\xff\x07": `column "x": a page's header says it is longer than the file`,
		"\x15\x00\x15\x02\x15\x02\x00\x00": "",
		// 2,000,000,000 values in a data page of a byte
		"\x15\x00\x15\x02\x15\x02\x2c\x15\x80\xd0\xac\xf3\x0e\x15\x00\x15\x00\x15\x00\x00\x00x": `column "x": a page says it has 2000000000 values`,
		"\xff\xff": "", // for whoever reads the page
	} {
		meta := &format.FileMetaData{RowGroups: []format.RowGroup{{Columns: []format.ColumnChunk{{
			MetaData: format.ColumnMetaData{
				PathInSchema: []string{"x"}, TotalCompressedSize: int64(len(header))}}}}}}
		err := CheckPages(strings.NewReader(header), int64(len(header)), meta, bounded.MaxUnpacked)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %q", header, err, want)
		}
	}
}
