package parquetcheck

import (
	"fmt"
	"io"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// CheckPages refuses a page that unpacks to more than limit bytes and to bounded.MaxRatio times its size, and one that
// says it is larger than the file: pages and their headers are held whole. size is the file's.
func CheckPages(r io.ReaderAt, size int64, meta *format.FileMetaData, limit int32) error {
	for _, group := range meta.RowGroups {
		for _, chunk := range group.Columns {
			start := chunk.MetaData.DataPageOffset
			if d := chunk.MetaData.DictionaryPageOffset; d > 0 {
				start = min(start, d)
			}
			if err := checkChunk(r, start, min(start+chunk.MetaData.TotalCompressedSize, size), size, limit); err != nil {
				return fmt.Errorf("column %q: %w", strings.Join(chunk.MetaData.PathInSchema, "."), err)
			}
		}
	}
	return nil
}

// checkChunk goes from page header to page header. A damaged header is left to whoever reads the page, unless its
// lengths cannot be.
func checkChunk(r io.ReaderAt, at, end, size int64, limit int32) error {
	for at >= 0 && at < end {
		in := io.NewSectionReader(r, at, end-at)
		s := newSkimmer(in)
		if s.structure(0); s.beyond {
			return fmt.Errorf("a page's header says it is longer than the file: %w", s.err)
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil || s.err != nil {
			return nil
		}
		s.in.Reset(in)
		var page format.PageHeader
		err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(s.in)).Decode(&page)
		if err != nil || page.CompressedPageSize < 0 {
			return nil
		}
		if ratio := page.UncompressedPageSize / max(page.CompressedPageSize, 1); page.UncompressedPageSize > limit &&
			ratio > bounded.MaxRatio {
			return fmt.Errorf("a page unpacks to %d times its size: a bomb; it is not read", ratio)
		}
		at = end - s.left + int64(page.CompressedPageSize)
		if at > size {
			return fmt.Errorf("a page says it has %d bytes, which goes beyond the file's end; it is damaged",
				page.CompressedPageSize)
		}
	}
	return nil
}
