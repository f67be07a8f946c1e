package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Names of the formats of files of rows.
const (
	JSONL   = "jsonl"   // one JSON object a line
	JSON    = "json"    // a list of objects; also {"data": [ … ]} with SQuAD's nesting, or objects one after the other
	CSV     = "csv"     // RFC 4180, a header line, UTF-8
	TSV     = "tsv"     // CSV with tabs
	XLSX    = "xlsx"    // one sheet of an Excel workbook
	Parquet = "parquet" // Apache Parquet
)

// Names of the compressions around them.
const (
	Gzip = "gz"
	Zstd = "zst"
)

// Format is how rows are stored in a file. The zero Format is JSON Lines.
type Format struct {
	Name        string // one of the constants; "" is JSONL
	Compression string // Gzip, Zstd or ""
}

// storage is what sets a format apart from the others: a new format is an entry in formats.
type storage struct {
	name      string
	extension string // beside the name, or ""
	unit      string // LineError.Unit
	table     bool   // has a header of columns; else each row names its own

	// How it is read: as text, or as a file of bytes.
	openText func(in *bufio.Reader, o Options) (records, error)
	openFile func(in io.ReaderAt, size int64, o Options) (records, error)

	// write is how rows are written whose columns are all known; nil is row by row.
	write func(w io.Writer, h *header, o SinkOptions) (cellWriter, error)
}

var formats []storage

func init() { // since what opens a format looks formats up
	formats = []storage{
		{name: JSONL, extension: "ndjson", openText: func(in *bufio.Reader, o Options) (records, error) {
			return newLines(in, o.maxRecord()), nil
		}},
		{name: JSON, unit: "item", openText: newList},
		{name: CSV, table: true, write: writeCSV, openText: newTable},
		{name: TSV, extension: "tab", table: true, write: writeTSV, openText: newTable},
		{name: XLSX, extension: "xlsm", unit: "row", table: true, write: newSheetWriter, openFile: newSheet},
		{name: Parquet, extension: "pq", unit: "row", table: true, write: newParquetWriter, openFile: newParquet},
	}
}

// storageOf is the format of that name; nil if there is none.
func storageOf(name string) *storage {
	i := slices.IndexFunc(formats, func(s storage) bool { return s.name == name || s.extension == name && name != "" })
	if i < 0 {
		return nil
	}
	return &formats[i]
}

// storage is nil for a format that there is not.
func (f Format) storage() *storage { return storageOf(cmp.Or(f.Name, JSONL)) }

func formatNames() []string {
	names := make([]string, len(formats))
	for i := range formats {
		names[i] = formats[i].name
	}
	return names
}

// Extensions are those of the formats, for a sentence.
func Extensions() string {
	names := formatNames()
	return "." + strings.Join(names[:len(names)-1], ", .") + " or ." + names[len(names)-1]
}

// ParseFormat reads a name as in --format: "csv", or "jsonl.gz" with a compression.
func ParseFormat(name string) (Format, error) {
	f, ok := formatOf(strings.ToLower(name))
	if !ok {
		return Format{}, fmt.Errorf("there is no format %q; the formats are %s, each also with .gz or .zst behind it", name,
			strings.Join(formatNames(), ", "))
	}
	return f, nil
}

// FormatOf tells a file's format by its extension, and whether the extension says so.
func FormatOf(path string) (Format, bool) {
	name := strings.ToLower(filepath.Base(path))
	_, rest, found := strings.Cut(name, ".")
	if !found {
		return Format{}, false
	}
	parts := strings.Split(rest, ".")
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last == Gzip || last == Zstd) {
		last = parts[len(parts)-2] + "." + last
	}
	return formatOf(last)
}

// compressions are the names that Compression has, by what stands behind a format's name.
var compressions = map[string]string{"": "", Gzip: Gzip, "gzip": Gzip, Zstd: Zstd, "zstd": Zstd}

func formatOf(name string) (Format, bool) {
	name, rest, _ := strings.Cut(name, ".")
	if name == Gzip || name == Zstd { // rows.gz: lines, compressed
		return Format{JSONL, name}, rest == ""
	}
	known := storageOf(name)
	compression, ok := compressions[rest]
	if known == nil || !ok {
		return Format{}, false
	}
	return Format{known.name, compression}, true
}

// String is the format as ParseFormat reads it.
func (f Format) String() string {
	name := cmp.Or(f.Name, JSONL)
	if f.Compression != "" {
		name += "." + f.Compression
	}
	return name
}

func (f Format) is(names ...string) bool { return slices.Contains(names, cmp.Or(f.Name, JSONL)) }

// IsEdited tells whether people change such files in other programs, as in Excel.
func (f Format) IsEdited() bool { return f.is(CSV, TSV, XLSX) }

// IsTable tells whether such files have a header of columns.
func (f Format) IsTable() bool {
	s := f.storage()
	return s != nil && s.table
}

// Plain tells whether the file is JSON Lines without compression, which can be written row by row.
func (f Format) Plain() bool { return f.is(JSONL) && f.Compression == "" }

// RandomAccess tells whether reading needs a file rather than a stream.
func (f Format) RandomAccess() bool {
	s := f.storage()
	return s != nil && s.openFile != nil
}

// signatures are the first bytes of files that are no text.
var signatures = []struct{ name, bytes string }{
	{Gzip, "\x1f\x8b"}, {Zstd, "\x28\xb5\x2f\xfd"},
	{Zstd, "\x50\x2a\x4d\x18"}, // a frame without content, as pzstd begins with
	{"zip", "PK\x03\x04"}, {Parquet,
		"PAR1"}, {"encrypted parquet", "PARE"},
	{"ole", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"}, {encodingUTF16, "\xff\xfe"}, {encodingUTF16, "\xfe\xff"},
	{"bzip2", "BZh"}, {"xz", "\xfd7zXZ\x00"},
	{"a picture (PNG)", "\x89PNG\r\n"}, {"a picture (JPEG)", "\xff\xd8\xff"}, {"a picture (GIF)", "GIF8"},
	{"a PDF document", "%PDF-"}, {"a program", "\x7fELF"}, {"a program", "\xcf\xfa\xed\xfe"},
	{"a program", "MZ\x90\x00"}, {"a web page", "<!DOCTYP"}, {"a web page", "<!doctyp"}, {"a web page", "<html"},
}

func sniff(head []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.bytes)) {
			return s.name
		}
	}
	return ""
}

// decompress gives the content of a file that may be compressed. Its first bytes decide which way, not its name.
func decompress(r io.Reader, f Format) (*bufio.Reader, io.Closer, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	head, err := in.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	var unpacked io.Reader
	closer := io.Closer(io.NopCloser(nil))
	switch kind := sniff(head); {
	case kind == Gzip:
		gz, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, damaged(Gzip, err)
		}
		unpacked, closer = gz, gz
	case kind == Zstd:
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, damaged(Zstd, err)
		}
		unpacked, closer = z, z.IOReadCloser()
	case f.Compression != "" && len(head) > 0:
		return nil, nil, fmt.Errorf("the file is named .%s but does not begin as such a file does; rename it, or fetch "+
			"it again", f.Compression)
	default:
		return in, closer, nil
	}
	return bufio.NewReaderSize(&damageReader{unpacked, sniff(head)}, 64<<10), closer, nil
}

// maxWindow is the memory that a file of Zstandard may ask for: as much as zstd itself gives.
const maxWindow = 128 << 20

// damageReader puts the errors of a decompressor into plain words.
type damageReader struct {
	r    io.Reader
	kind string
}

func (d *damageReader) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = damaged(d.kind, err)
	}
	return n, err
}

func damaged(kind string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("the .%s file ends in its middle; fetch or write it again", kind)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return fmt.Errorf("the .%s file needs more than %d MiB to unpack; compress it again without --long or --ultra", kind,
			maxWindow>>20)
	}
	return fmt.Errorf("the .%s file is damaged (%w); fetch or write it again", kind, err)
}

// checkContent refuses a file that is of another kind than f, with what to do.
func checkContent(head []byte, f Format) error {
	switch kind := sniff(head); kind {
	case encodingUTF16:
		if f.RandomAccess() {
			return fmt.Errorf("the file is text (UTF-16), not %s; name it .csv, .tsv or .jsonl, or give its --format", f)
		}
	case "ole":
		return errors.New("the file is an encrypted workbook or one of Excel before 2007; open it in Excel and save it as " +
			".xlsx without a password")
	case "encrypted parquet":
		return errors.New("the Parquet file is encrypted; write it again without encryption")
	case "bzip2", "xz":
		return fmt.Errorf("the file is compressed with %s, which is not read; unpack it first, or compress it with gzip "+
			"or zstd", kind)
	case "zip":
		if !f.is(XLSX) {
			return errors.New("the file is a workbook, a document or another ZIP file: name a workbook of Excel .xlsx, or " +
				"give --format xlsx; save other tables (.ods, .numbers, .docx) as .xlsx or .csv; unpack others")
		}
	case Parquet:
		if !f.is(Parquet) {
			return errors.New("the file is Parquet; name it .parquet, or give --format parquet")
		}
	case Gzip, Zstd:
		return errors.New("the file is compressed twice; unpack it once")
	default:
		if strings.HasPrefix(kind, "a ") {
			return fmt.Errorf("the file is %s, and holds no rows; give a file of rows, such as one of %s", kind,
				strings.Join(formatNames(), ", "))
		}
	}
	return nil
}

// compressTo compresses what is written to it into w. Close leaves w open.
func compressTo(w io.Writer, f Format) (io.WriteCloser, error) {
	switch f.Compression {
	case Gzip:
		return gzip.NewWriter(w), nil
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	return nopWriteCloser{w}, nil
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
