package dataset

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// checkPages refuses a page that unpacks to more than limit bytes and to maxRatio times its size: pages are held whole.
// A header that cannot be read is left to whoever reads the page.
func checkPages(r io.ReaderAt, meta *format.FileMetaData, limit int32) error {
	for _, group := range meta.RowGroups {
		for _, chunk := range group.Columns {
			start := chunk.MetaData.DataPageOffset
			if d := chunk.MetaData.DictionaryPageOffset; d > 0 {
				start = min(start, d)
			}
			if err := checkChunk(io.NewSectionReader(r, start, chunk.MetaData.TotalCompressedSize), limit); err != nil {
				return fmt.Errorf("column %q: %w", strings.Join(chunk.MetaData.PathInSchema, "."), err)
			}
		}
	}
	return nil
}

// checkChunk goes from page header to page header.
func checkChunk(chunk io.ReadSeeker, limit int32) error {
	in := bufio.NewReaderSize(chunk, 512)
	for {
		var page format.PageHeader
		err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(in)).Decode(&page)
		if err != nil || page.CompressedPageSize < 0 {
			return nil
		}
		if ratio := page.UncompressedPageSize / max(page.CompressedPageSize, 1); page.UncompressedPageSize > limit && ratio > maxRatio {
			return fmt.Errorf("a page unpacks to %d times its size: a bomb; it is not read", ratio)
		}
		if _, err := chunk.Seek(int64(page.CompressedPageSize)-int64(in.Buffered()), io.SeekCurrent); err != nil {
			return nil
		}
		in.Reset(chunk)
	}
}
