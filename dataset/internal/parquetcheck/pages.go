package parquetcheck

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/erreval/erreval/dataset/internal/bounded"
)

// maxValues is the most values of a page: a run of them takes a few bytes in a file, and each at least four in memory.
const maxValues = 4 << 20

// CheckPages refuses a page that unpacks to more than limit bytes and to bounded.MaxRatio times its size, and one that
// says it is larger than the file: pages and their headers are held whole. It compares the
// checksums of dictionaries, where there are any; the library compares those of the other pages. size is the file's.
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
		var page format.PageHeader
		body, err := readHeader(r, at, end, &page)
		if errors.Is(err, errBeyond) {
			return err
		} else if err != nil || page.CompressedPageSize < 0 {
			return nil
		}
		if ratio := page.UncompressedPageSize / max(page.CompressedPageSize, 1); page.UncompressedPageSize > limit &&
			ratio > bounded.MaxRatio {
			return fmt.Errorf("a page unpacks to %d times its size: a bomb; it is not read", ratio)
		}
		if n := max(page.DataPageHeader.V.NumValues, page.DataPageHeaderV2.V.NumValues); n > maxValues {
			return fmt.Errorf("a page says it has %d values, more than %d; write the file again with smaller row groups", n,
				maxValues)
		}
		at = body + int64(page.CompressedPageSize)
		if at > size {
			return fmt.Errorf("a page says it has %d bytes, which goes beyond the file's end; it is damaged",
				page.CompressedPageSize)
		}
		if page.Type == format.DictionaryPage && page.CRC != 0 {
			sum := crc32.NewIEEE()
			if _, err := io.Copy(sum, io.NewSectionReader(r, body, at-body)); err != nil {
				return err
			}
			if sum.Sum32() != uint32(page.CRC) { // #nosec G115 -- its bits are those of the checksum
				return errors.New("the checksum of its dictionary does not fit; write or fetch the file again")
			}
		}
	}
	return nil
}
