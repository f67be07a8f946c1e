package hostiletest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// column is a column of a Parquet file as it is written: levels and values are what they are, true or not.
type column struct {
	name       string
	kind       format.Type
	repetition format.FieldRepetitionType
	codec      format.CompressionCodec
	pages      []page
}

// page is a page, whose body is packed with the column's codec unless it is said to be.
type page struct {
	encoding   format.Encoding
	dictionary bool
	values     int
	body       []byte
	packed     []byte // instead of body
	says       int    // bytes of body; 0 is as many as there are
}

// texts are values as they are.
func texts(values ...string) page {
	var b []byte
	for _, v := range values {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(v))), v...) // #nosec G115 -- a test's
	}
	return page{encoding: format.Plain, values: len(values), body: b}
}

func textColumn(name string, pages ...page) column {
	return column{name: name, kind: format.ByteArray, codec: format.Zstd, pages: pages}
}

// parquetOf is a file with the fields of n good rows, and more columns.
func parquetOf(n int, more ...column) []byte {
	var all []column
	for _, f := range [][2]string{{"question", "Who?"}, {"answer", "Ann"}, {"passage", "Ann did."}} {
		all = append(all, textColumn(f[0], texts(slices.Repeat([]string{f[1]}, n)...)))
	}
	all = append(all, more...)
	out := []byte("PAR1")
	children := int32(len(all)) // #nosec G115 -- few
	meta := format.FileMetaData{Version: 1, NumRows: int64(n),
		Schema:    []format.SchemaElement{{Name: "schema", NumChildren: thrift.New(children)}},
		RowGroups: []format.RowGroup{{NumRows: int64(n)}}}
	for _, c := range all {
		e := format.SchemaElement{Name: c.name, Type: thrift.New(c.kind), RepetitionType: thrift.New(c.repetition)}
		if c.kind == format.ByteArray {
			e.ConvertedType = thrift.New(deprecated.UTF8)
		}
		meta.Schema = append(meta.Schema, e)
		start := int64(len(out))
		chunk := format.ColumnMetaData{Type: c.kind, PathInSchema: []string{c.name}, Codec: c.codec, DataPageOffset: start}
		for _, p := range c.pages {
			out = p.append(out, c.codec)
			chunk.NumValues += int64(p.values)
			if p.dictionary {
				chunk.DictionaryPageOffset, chunk.DataPageOffset = start, int64(len(out))
			}
		}
		chunk.TotalCompressedSize = int64(len(out)) - start
		meta.RowGroups[0].Columns = append(meta.RowGroups[0].Columns, format.ColumnChunk{MetaData: chunk})
	}
	return closeParquet(out, marshal(&meta))
}

func closeParquet(out, footer []byte) []byte {
	out = append(out, footer...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(footer))), "PAR1"...) // #nosec G115 -- a test's
}

func marshal(v any) []byte {
	data, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		panic(err)
	}
	return data
}

func (p *page) append(out []byte, codec format.CompressionCodec) []byte {
	packed := p.packed
	if packed == nil {
		var err error
		if packed, err = parquet.LookupCompressionCodec(codec).Encode(nil, p.body); err != nil {
			panic(err)
		}
	}
	says := p.says
	if says == 0 {
		says = len(p.body)
	}
	n := int32(p.values)                                                             // #nosec G115 -- a test's
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(says), // #nosec G115 -- likewise
		CompressedPageSize: int32(len(packed))} // #nosec G115 -- likewise
	if p.dictionary {
		h.Type = format.DictionaryPage
		h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: n, Encoding: format.Plain})
	} else {
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: n, Encoding: p.encoding,
			DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	}
	return append(append(out, marshal(&h)...), packed...)
}

// run is n equal values of up to eight bits each; levels are runs with their length in front.
func run(n int, value byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(n)<<1), value) // #nosec G115 -- a test's
}

func levels(runs ...[]byte) []byte {
	b := slices.Concat(runs...)
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...) // #nosec G115 -- a test's
}

func deltas(values ...int32) []byte {
	out, err := new(delta.BinaryPackedEncoding).EncodeInt32(nil, values)
	if err != nil {
		panic(err)
	}
	return out
}

// dictionaryOf is a dictionary of one text; indices is a page of n values that name it.
func dictionaryOf(text string) page {
	p := texts(text)
	p.dictionary = true
	return p
}

func indices(n int, before ...[]byte) page {
	return page{encoding: format.RLEDictionary, values: n,
		body: slices.Concat(slices.Concat(before...), []byte{1}, run(n, 0))}
}

// listPage is a page of a list's values, the first of which begins a row where begins is set.
func listPage(n int, begins bool) page {
	rep := levels(run(n, 1))
	if begins {
		rep = levels(run(1, 0), run(n-1, 1))
	}
	return indices(n, rep, levels(run(n, 1)))
}

const mostValues = 4 << 20

// parquetFile is a file of what data makes.
func parquetFile(name string, quick bool, data func() []byte) File {
	return File{name + ".parquet", quick, func(w io.Writer) error {
		_, err := w.Write(data())
		return err
	}}
}

// twoRows is a file of two rows with a column of pages, which are large: they are made when the file is.
func twoRows(pages func() []page) func() []byte {
	return func() []byte { return parquetOf(2, textColumn("x", pages()...)) }
}

// sized is a page of two texts of so many MiB.
func sized(first, second int) page {
	return texts(strings.Repeat("x", first*mib), strings.Repeat("x", second*mib))
}

// lists is a file of rows with a column of lists.
func lists(rows int, pages func() []page) func() []byte {
	return func() []byte {
		c := textColumn("x", pages()...)
		c.repetition = format.Repeated
		return parquetOf(rows, c)
	}
}

// encodings are pages that make more of little, or say so.
func encodings() []File {
	return []File{
		parquetFile("prefixes", true, func() []byte { // DELTA_BYTE_ARRAY: 1,500 texts of 1 MiB
			begun := slices.Repeat([]int32{mib}, 1500)
			rest := make([]int32, 1500)
			begun[0], rest[0] = 0, mib
			return parquetOf(1500, textColumn("x", page{encoding: format.DeltaByteArray, values: 1500,
				body: slices.Concat(deltas(begun...), deltas(rest...), make([]byte, mib))}))
		}),
		parquetFile("lengths", true, func() []byte { // DELTA_LENGTH_BYTE_ARRAY: they lie
			return parquetOf(2, textColumn("x", page{encoding: format.DeltaLengthByteArray, values: 2,
				body: deltas(1<<30, 1<<30-1)}))
		}),
		parquetFile("differences", true, twoRows(func() []page {
			return []page{{encoding: format.DeltaLengthByteArray, values: 2,
				body: []byte("\x80\x01\x04\xff\xff\xff\xff\x07\x00")}}
		})),
		parquetFile("levels", true, func() []byte {
			c := textColumn("x", page{encoding: format.Plain, values: 2, body: levels(run(1<<31-1, 0), run(1<<31-1, 0))})
			c.repetition = format.Optional
			return parquetOf(2, c)
		}),
		parquetFile("indices", true, func() []byte {
			p := indices(2)
			p.body = append(p.body, run(1<<30, 0)...)
			return parquetOf(2, textColumn("x", dictionaryOf("x"), p))
		}),
	}
}

// columns are files that hold much in a row or a row group.
func columns() []File {
	x := strings.Repeat("x", mib)
	return []File{
		parquetFile("dictionary-in-a-list", true, lists(1, func() []page {
			return []page{dictionaryOf(strings.Repeat(x, 10)), listPage(100000, true)}
		})),
		parquetFile("dictionary-in-columns", true, func() []byte {
			var more []column
			for i := range 30 {
				more = append(more, textColumn(fmt.Sprint("x", i), dictionaryOf(strings.Repeat(x, 4)), indices(2)))
			}
			return parquetOf(2, more...)
		}),
		parquetFile("lists", true, lists(3, func() []page {
			return append([]page{dictionaryOf("x")}, slices.Repeat([]page{listPage(mostValues, true)}, 3)...)
		})),
		parquetFile("list-over-pages", true, lists(1, func() []page {
			return append([]page{dictionaryOf("x"), listPage(mostValues, true)},
				slices.Repeat([]page{listPage(mostValues, false)}, 4)...)
		})),
		parquetFile("wide", false, func() []byte {
			var more []column
			p := texts(strings.Repeat(x, 4), "x")
			for i := range 400 {
				more = append(more, textColumn(fmt.Sprint("x", i), p))
			}
			return parquetOf(2, more...)
		}),
		parquetFile("narrow-columns", false, func() []byte {
			var more []column
			for i := range 16000 {
				more = append(more, textColumn(fmt.Sprint("x", i), texts("x", "y")))
			}
			return parquetOf(2, more...)
		}),
	}
}

// pages are large ones, and sizes that lie.
func pages() []File {
	return []File{
		parquetFile("page-of-135-MiB", true, twoRows(func() []page { return []page{sized(5, 130)} })),
		parquetFile("pages-one-behind-the-other", false, twoRows(func() []page {
			return slices.Repeat([]page{sized(14, 34)}, 6)
		})),
		parquetFile("pages-of-250-MiB", false, twoRows(func() []page { return []page{sized(125, 125)} })),
		parquetFile("page-that-lies", true, func() []byte {
			p := page{encoding: format.Plain, values: 2, says: 100}
			big, err := parquet.Zstd.Encode(nil, bytes.Repeat([]byte("x"), 64*mib))
			if err != nil {
				panic(err)
			}
			p.packed = bytes.Repeat(big, 40) // frames behind each other are one text
			return parquetOf(2, textColumn("x", p))
		}),
		parquetFile("gzip-page-that-lies", false, func() []byte {
			c := textColumn("x", page{encoding: format.Plain, values: 2, body: bytes.Repeat([]byte("x"), 1500*mib), says: 100})
			c.codec = format.Gzip
			return parquetOf(2, c)
		}),
		parquetFile("lz4-page-that-is-damaged", true, func() []byte {
			c := textColumn("x", page{encoding: format.Plain, values: 2, packed: []byte("\xff\xff\xff"), says: 100})
			c.codec = format.Lz4Raw
			return parquetOf(2, c)
		}),
		parquetFile("control-characters", true, twoRows(func() []page {
			return []page{texts(strings.Repeat("\x01", 15*mib), "x")}
		})),
		parquetFile("footer", false, func() []byte { // 20,000,000 columns of a byte each
			chunks := binary.AppendUvarint([]byte("\x19\x1c\x19\xfc"), 20e6)
			return closeParquet([]byte("PAR1"), slices.Concat([]byte("\x15\x02\x19\x0c\x16\x00"), chunks, make([]byte, 20e6+2)))
		}),
		parquetFile("nested", true, func() []byte {
			meta := format.FileMetaData{Version: 1}
			for range 50000 {
				meta.Schema = append(meta.Schema, format.SchemaElement{Name: "x", NumChildren: thrift.New(int32(1))})
			}
			meta.Schema = append(meta.Schema, format.SchemaElement{Name: "x", Type: thrift.New(format.Int32)})
			return closeParquet([]byte("PAR1"), marshal(&meta))
		}),
	}
}
