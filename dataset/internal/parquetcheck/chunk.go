package parquetcheck

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// Chunk goes over the pages of a column in a row group, one ahead of the library: what a page says of itself may lie,
// and the library makes room for it.
type Chunk struct {
	in         io.ReaderAt
	at, end    int64
	codec      format.CompressionCodec
	kind       parquet.Kind
	length     int64 // of a value of fixed length
	rep, def   int   // greatest levels
	dictionary bool  // was there
}

// NewChunk begins in front of the first page of a leaf's chunk.
func NewChunk(in io.ReaderAt, chunk *format.ColumnChunk, leaf parquet.LeafColumn) *Chunk {
	meta := &chunk.MetaData
	at := meta.DataPageOffset
	if meta.DictionaryPageOffset != 0 {
		at = meta.DictionaryPageOffset
	}
	return &Chunk{in: in, at: at, end: at + meta.TotalCompressedSize, codec: meta.Codec, kind: leaf.Node.Type().Kind(),
		length: int64(leaf.Node.Type().Length()), rep: leaf.MaxRepetitionLevel, def: leaf.MaxDefinitionLevel}
}

// Size is what pages take in memory.
type Size struct {
	Held       int64 // bytes of the page, while its values are read
	Dictionary int64 // bytes of the dictionary in front of it, for as long as the chunk is read
	Passing    int64 // bytes that are needed beside that, while the page is unpacked
}

// ErrTooLarge is the error of a page that takes more than there is room for.
var ErrTooLarge = errors.New("too large")

// Next looks at the next page of values, and a dictionary in front of it, neither of which may take more than limit
// bytes. Behind the last one it gives io.EOF. Nothing of a page is unpacked that has more than it says.
func (c *Chunk) Next(limit int64) (size Size, err error) {
	for c.at < c.end {
		var page format.PageHeader
		body, err := readHeader(c.in, c.at, min(c.end, c.at+maxHeader), &page)
		if errors.Is(err, errThrift) {
			return size, errDamaged
		} else if err != nil {
			return size, err
		}
		c.at = body + int64(page.CompressedPageSize)
		packed, unpacked := int64(page.CompressedPageSize), int64(page.UncompressedPageSize)
		if packed < 0 || unpacked < 0 || c.at > c.end {
			return size, errDamaged
		}
		if packed+unpacked > limit {
			return size, ErrTooLarge
		}
		data := make([]byte, packed)
		if _, err := c.in.ReadAt(data, body); err != nil {
			return size, err
		}
		if page.CRC != 0 && crc32.ChecksumIEEE(data) != uint32(page.CRC) { // #nosec G115 -- its bits
			return size, errors.New("the checksum of a page does not fit")
		}
		switch page.Type {
		case format.DictionaryPage:
			size.Dictionary, err = c.dictionarySize(&page, data)
		case format.DataPage:
			size.Held, err = c.sizeV1(&page, data)
		case format.DataPageV2:
			size.Held, err = c.sizeV2(&page, data)
		default:
			return size, fmt.Errorf("it has a page of type %d", page.Type)
		}
		size.Passing = max(size.Passing, packed+unpacked)
		if size.Held > 0 && c.inPlace(&page) {
			size.Passing = packed
		}
		if err == nil && size.Held+size.Dictionary+size.Passing > limit {
			err = ErrTooLarge
		}
		if err != nil || page.Type != format.DictionaryPage {
			return size, err
		}
	}
	return size, io.EOF
}

// inPlace tells whether the library keeps what it unpacked as the page's values.
func (c *Chunk) inPlace(page *format.PageHeader) bool {
	return page.Type == format.DataPage && page.DataPageHeader.V.Encoding == format.Plain ||
		page.Type == format.DataPageV2 && page.DataPageHeaderV2.V.Encoding == format.Plain
}

var errDamaged = errors.New("a page is damaged")

// maxHeader is the most bytes of a page's header, which may hold its smallest and its greatest value.
const maxHeader = 16 << 20

// errBeyond is the error of a header that goes beyond what there is.
var errBeyond = fmt.Errorf("a page's header says it is longer than the file: %w", errThrift)

// readHeader reads the header of the page that begins at a place, and gives the place behind it.
func readHeader(r io.ReaderAt, at, end int64, page *format.PageHeader) (body int64, err error) {
	in := io.NewSectionReader(r, at, end-at)
	s := newSkimmer(in)
	if s.structure(0); s.beyond {
		return 0, errBeyond
	} else if s.err != nil {
		return 0, s.err
	}
	body = end - s.left
	if _, err = in.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	s.in.Reset(in)
	return body, thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(s.in)).Decode(page)
}

// dictionarySize is what a dictionary takes.
func (c *Chunk) dictionarySize(page *format.PageHeader, data []byte) (int64, error) {
	if c.dictionary {
		return 0, errors.New("it has two dictionaries")
	}
	c.dictionary = true
	n := int64(page.DictionaryPageHeader.V.NumValues)
	if n < 0 || n > maxValues {
		return 0, errDamaged
	}
	data, err := c.unpack(data, page.UncompressedPageSize)
	return int64(len(data)) + c.plainSize(n), err
}

// sizeV1 is what a page takes whose levels are packed with its values.
func (c *Chunk) sizeV1(page *format.PageHeader, data []byte) (int64, error) {
	h := &page.DataPageHeader.V
	n := int64(h.NumValues)
	if n < 0 || n > maxValues {
		return 0, errDamaged
	}
	data, err := c.unpack(data, page.UncompressedPageSize)
	if err != nil {
		return 0, err
	}
	for _, l := range []struct {
		most     int
		encoding format.Encoding
	}{{c.rep, h.RepetitionLevelEncoding}, {c.def, h.DefinitionLevelEncoding}} {
		if l.most == 0 {
			continue
		}
		if l.encoding != format.RLE { // what nobody writes any more
			return 0, fmt.Errorf("its levels are encoded as %s; write the file again", l.encoding)
		}
		if len(data) < 4 {
			return 0, errDamaged
		}
		size := int64(binary.LittleEndian.Uint32(data))
		if size > int64(len(data)-4) {
			return 0, errDamaged
		}
		if err := checkRuns(data[4:4+size], bits.Len(uint(l.most)), n); err != nil { // #nosec G115 -- above 0
			return 0, err
		}
		data = data[4+size:]
	}
	return c.valuesSize(h.Encoding, n, data)
}

// sizeV2 is what a page takes whose levels stand before its values, which alone are packed.
func (c *Chunk) sizeV2(page *format.PageHeader, data []byte) (int64, error) {
	h := &page.DataPageHeaderV2.V
	n := int64(h.NumValues)
	if n < 0 || n > maxValues || h.NumNulls < 0 || h.NumNulls > h.NumValues {
		return 0, errDamaged
	}
	for _, l := range []struct {
		most int
		size int32
	}{{c.rep, h.RepetitionLevelsByteLength}, {c.def, h.DefinitionLevelsByteLength}} {
		if l.size < 0 || int(l.size) > len(data) {
			return 0, errDamaged
		}
		if l.most > 0 {
			if err := checkRuns(data[:l.size], bits.Len(uint(l.most)), n); err != nil { // #nosec G115 -- above 0
				return 0, err
			}
		}
		data = data[l.size:]
	}
	if !h.IsCompressed.Valid || h.IsCompressed.V {
		var err error
		if data, err = c.unpack(data, page.UncompressedPageSize); err != nil {
			return 0, err
		}
	}
	return c.valuesSize(h.Encoding, n, data)
}

// plainSize is what n values take as they are, without the bytes of texts.
func (c *Chunk) plainSize(n int64) int64 {
	switch c.kind {
	case parquet.Boolean:
		return n / 8
	case parquet.Int64, parquet.Double:
		return 8 * n
	case parquet.Int96:
		return 12 * n
	case parquet.FixedLenByteArray:
		return c.length * n
	}
	return 4 * n
}

// plainDictionary is what older writers call format.RLEDictionary.
const plainDictionary format.Encoding = 2

// valuesSize is what n values and their levels take, and refuses data that the library would make more of.
func (c *Chunk) valuesSize(encoding format.Encoding, n int64, data []byte) (int64, error) {
	size := int64(len(data)) + c.plainSize(n) + 2*n
	var err error
	switch encoding {
	case format.RLEDictionary, plainDictionary:
		if !c.dictionary || len(data) == 0 && n > 0 {
			return 0, errDamaged
		}
		if len(data) > 0 {
			err = checkRuns(data[1:], int(data[0]), n)
		}
		return int64(len(data)) + 6*n, err
	case format.RLE:
		if len(data) >= 4 {
			err = checkRuns(data[4:], 1, n)
		}
	case format.DeltaBinaryPacked:
		_, err = newDeltas(data, n)
	case format.DeltaLengthByteArray:
		var sum int64
		sum, _, err = sumDeltas(data, n)
		if sum > int64(len(data)) {
			err = errDamaged
		}
	case format.DeltaByteArray: // each value begins with a part of the one before
		var begun, rest int64
		if begun, data, err = sumDeltas(data, n); err == nil {
			rest, _, err = sumDeltas(data, n)
		}
		size += begun + rest
	}
	return size, err
}

// unpack decompresses a page, whose header says how many bytes it has. One of a codec that the library does not know is
// left to the library, which says so.
func (c *Chunk) unpack(data []byte, size int32) (out []byte, err error) {
	room := func() []byte { return make([]byte, size) }
	switch c.codec {
	case format.Snappy:
		n, err := snappy.DecodedLen(data)
		if err != nil || n > int(size) {
			return nil, errDamaged
		}
		return snappy.Decode(room(), data)
	case format.Lz4Raw:
		out = room()
		n, err := lz4.UncompressBlock(data, out)
		if err != nil {
			return nil, errDamaged // the library would try with twice the room, again and again
		}
		if 3*len(data) > pooled(int(size)) {
			return nil, ErrLZ4
		}
		return out[:n], nil
	case format.Gzip:
		in, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		return readUpTo(in, room())
	case format.Brotli:
		return readUpTo(brotli.NewReader(bytes.NewReader(data)), room())
	case format.Zstd:
		in, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		defer in.Close()
		out, err = in.DecodeAll(data, room()[:0])
		if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			err = errLonger
		}
		return out, err
	}
	return data, nil
}

// ErrLZ4 is the error of a page for which the library makes room of its own, and then takes what stood in its pool.
var ErrLZ4 = errors.New("a page is compressed with LZ4 to more than a third, which is not read right; write the file " +
	"again with zstd or snappy")

// pooled is how much room the library takes for so many bytes.
func pooled(size int) int {
	room := 4 << 10
	for room < size {
		if room < 256<<10 {
			room *= 2
		} else {
			room += room / 2
		}
	}
	return room
}

var errLonger = errors.New("a page unpacks to more than it says: a bomb; it is not read")

// readUpTo reads all of in, which must not have more than out.
func readUpTo(in io.Reader, out []byte) ([]byte, error) {
	n, err := io.ReadFull(in, out)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return out[:n], nil // what is cut the library says itself
	}
	if err != nil {
		return nil, err
	}
	if _, err := bufio.NewReaderSize(in, 16).ReadByte(); err == nil {
		return nil, errLonger
	}
	return out, nil
}
