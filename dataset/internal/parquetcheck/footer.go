// Package parquetcheck refuses Parquet files of which the library would allocate more than they can hold.
package parquetcheck

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// thriftDepth is how deep structures and lists may nest; Parquet's own reach six.
const thriftDepth = 32

// Limits of a footer, which the library unpacks as a whole: a column of a row group takes some 800 bytes of memory, an
// entry of a list at least 16, and both may be a single byte in the file.
const (
	maxFooter   = 32 << 20 // bytes
	maxEntries  = 2 << 20  // of all its lists
	maxChunks   = 128 << 10
	maxNesting  = 64 // of groups of columns
	chunkDepth  = 4  // of structures: a row group's columns
	schemaDepth = 2  // row groups, elements of the schema
)

var errThrift = errors.New("its metadata is damaged")

// CheckFooter reads a Parquet file's footer and refuses one with lengths that cannot be: the library allocates as much.
func CheckFooter(r io.ReaderAt, size int64) error {
	var end [8]byte
	if size < int64(len(end)) {
		return io.ErrUnexpectedEOF
	}
	if _, err := r.ReadAt(end[:], size-int64(len(end))); err != nil {
		return err
	}
	if string(end[4:]) != "PAR1" {
		return fmt.Errorf("it ends in %q", end[4:])
	}
	n := int64(binary.LittleEndian.Uint32(end[:4]))
	if n > size-int64(len(end)) {
		return fmt.Errorf("its footer has %d bytes, of %d in all", n, size)
	}
	if n > maxFooter {
		return errFooter
	}
	in := io.NewSectionReader(r, size-int64(len(end))-n, n)
	s := newSkimmer(in)
	s.structure(0)
	if s.err != nil {
		return s.err
	}
	if s.entries > maxEntries || s.chunks > maxChunks {
		return errFooter
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return checkNesting(bufio.NewReader(in))
}

var errFooter = errors.New("its footer lists too much; write the file again with fewer row groups or columns")

// checkNesting refuses a schema whose groups nest too deep: the library keeps a path for each.
func checkNesting(in io.Reader) error {
	var meta struct {
		Schema []struct {
			Children int32 `thrift:"5,optional"`
		} `thrift:"2,required"`
	}
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(in)).Decode(&meta); err != nil {
		return err
	}
	var open []int32 // groups, with how many children each still has
	for _, e := range meta.Schema {
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if e.Children > 0 {
			open = append(open, e.Children)
		}
		if len(open) > maxNesting {
			return fmt.Errorf("its columns nest more than %d deep", maxNesting)
		}
	}
	return nil
}

// The types of the compact protocol.
const (
	thriftTrue, thriftFalse, thriftByte, thriftI16, thriftI32, thriftI64, thriftDouble = 1, 2, 3, 4, 5, 6, 7
	thriftBinary, thriftList, thriftSet, thriftMap, thriftStruct, thriftUUID           = 8, 9, 10, 11, 12, 13
)

// skimmer goes over values of Thrift's compact protocol without keeping them, and stops at a length that cannot be.
type skimmer struct {
	in      *bufio.Reader
	left    int64 // bytes
	err     error
	beyond  bool   // it stopped at a length that goes beyond the end
	entries uint64 // of lists
	chunks  int    // structures that the library makes much of
}

func newSkimmer(in *io.SectionReader) *skimmer {
	return &skimmer{in: bufio.NewReaderSize(in, 512), left: in.Size()}
}

func (s *skimmer) fail() { s.err = errThrift }

// fits tells whether n bytes are left.
func (s *skimmer) fits(n uint64) bool {
	if n > uint64(s.left) { // #nosec G115 -- left is never below 0
		s.fail()
		s.beyond = true
	}
	return s.err == nil
}

func (s *skimmer) skip(n uint64) {
	if !s.fits(n) {
		return
	}
	s.left -= int64(n)                              // #nosec G115 -- n is at most left
	if _, err := s.in.Discard(int(n)); err != nil { // #nosec G115 -- n is at most left
		s.fail()
	}
}

// ReadByte implements io.ByteReader, for varint.
func (s *skimmer) ReadByte() (byte, error) {
	if s.left == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	s.left--
	return s.in.ReadByte()
}

func (s *skimmer) byte() byte {
	b, err := s.ReadByte()
	if err != nil {
		s.fail()
	}
	return b
}

func (s *skimmer) varint() uint64 {
	v, err := binary.ReadUvarint(s)
	if err != nil {
		s.fail()
	}
	return v
}

func (s *skimmer) structure(depth int) {
	if depth > thriftDepth {
		s.fail()
	}
	if depth == schemaDepth || depth == chunkDepth {
		s.chunks++
	}
	for s.err == nil {
		head := s.byte()
		if head == 0 {
			return
		}
		if head>>4 == 0 { // the field's number is not the last one's plus a little
			s.varint()
		}
		if kind := head & 15; kind != thriftTrue && kind != thriftFalse { // which say their value themselves
			s.value(kind, depth)
		}
	}
}

func (s *skimmer) value(kind byte, depth int) {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		s.byte()
	case thriftI16, thriftI32, thriftI64:
		s.varint()
	case thriftDouble:
		s.skip(8)
	case thriftBinary:
		s.skip(s.varint())
	case thriftUUID:
		s.skip(16)
	case thriftList, thriftSet:
		head := s.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = s.varint()
		}
		s.elements(n, depth, head&15)
	case thriftMap:
		if n := s.varint(); n > 0 {
			kinds := s.byte()
			s.elements(n, depth, kinds>>4, kinds&15)
		}
	case thriftStruct:
		s.structure(depth + 1)
	default:
		s.fail()
	}
}

// elements goes over n values of each kind. Each takes a byte at least.
func (s *skimmer) elements(n uint64, depth int, kinds ...byte) {
	if depth > thriftDepth {
		s.fail()
	}
	s.fits(n)
	s.entries += n
	for ; n > 0 && s.err == nil; n-- {
		for _, k := range kinds {
			s.value(k, depth+1)
		}
	}
}
