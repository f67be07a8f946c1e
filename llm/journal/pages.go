package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// What is read here of SQLite's file format (https://sqlite.org/fileformat2.html) needs no page but the one that it
// stands on: what connects the pages may be damaged.
const (
	pageBytes      = 4096 // of every journal
	fileHeader     = 100  // bytes, at the beginning of the first page
	logHeader      = 32   // bytes, of the log
	frameHeader    = 24   // bytes, before each page in the log
	tableLeaf      = 0x0d
	indexLeaf      = 0x0a
	indexInterior  = 0x02
	maxRecordBytes = 16 << 20 // of a record; replies end at 10 MiB
	maxReadings    = 100      // of each page, on average, as a part of records that go on on several: the log repeats them
)

// pageImage is a page as it stands in the file, or in the log beside it.
type pageImage struct {
	number int64 // of the page, from 1
	in     io.ReaderAt
	at     int64
}

// pageFile are all the pages of a journal and its log, the newest last. A page may be there several times.
type pageFile struct {
	images  []pageImage
	newest  map[int64]pageImage
	oldest  map[int64]pageImage
	missing int64 // pages behind the end of the file
	joined  int   // pages read as parts of records
	files   []*os.File
}

func openPages(path string) (*pageFile, error) {
	p := &pageFile{newest: map[int64]pageImage{}, oldest: map[int64]pageImage{}}
	err := p.addFile(path)
	if err == nil {
		if err = p.addLog(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close closes both files.
func (p *pageFile) Close() (err error) {
	for _, f := range p.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func (p *pageFile) open(path string) (*os.File, int64, error) {
	f, err := os.Open(path) // #nosec G703 -- the file that the user named
	if err != nil {
		return nil, 0, err
	}
	p.files = append(p.files, f)
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (p *pageFile) add(i pageImage) {
	p.images = append(p.images, i)
	p.newest[i.number] = i
	if _, ok := p.oldest[i.number]; !ok {
		p.oldest[i.number] = i
	}
}

func (p *pageFile) addFile(path string) error {
	f, size, err := p.open(path)
	if err != nil {
		return err
	}
	header := make([]byte, fileHeader)
	if n, _ := f.ReadAt(header, 0); n == fileHeader && string(header[:16]) == "SQLite format 3\x00" {
		if says := int64(binary.BigEndian.Uint32(header[28:])); says > size/pageBytes {
			p.missing = says - size/pageBytes
		}
	}
	for at := int64(0); at < size; at += pageBytes {
		p.add(pageImage{at/pageBytes + 1, f, at})
	}
	return nil
}

// addLog adds the pages of the log: those that were there before it began anew first.
func (p *pageFile) addLog(path string) error {
	f, size, err := p.open(path)
	if err != nil {
		return err
	}
	header := make([]byte, logHeader)
	if _, err := f.ReadAt(header, 0); err != nil {
		return nil // an empty one
	}
	var earlier, later []pageImage
	frame := make([]byte, frameHeader)
	for at := int64(logHeader); at+frameHeader+pageBytes <= size; at += frameHeader + pageBytes {
		if _, err := f.ReadAt(frame, at); err != nil {
			return err
		}
		i := pageImage{int64(binary.BigEndian.Uint32(frame)), f, at + frameHeader}
		if string(frame[8:16]) == string(header[16:24]) { // the salt
			later = append(later, i)
		} else {
			earlier = append(earlier, i)
		}
	}
	for _, i := range append(earlier, later...) {
		p.add(i)
	}
	return nil
}

func (i pageImage) read() ([]byte, error) {
	data := make([]byte, pageBytes)
	n, err := i.in.ReadAt(data, i.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("page %d: %w", i.number, err)
	}
	clear(data[n:]) // a file that was cut off
	return data, nil
}

// record is a row of a table or an entry of an index.
type record struct {
	rowid  int64 // of a row of a table
	values []any // nil, int64 or []byte
}

// visitAll calls do for the records of all pages, until it fails.
func (p *pageFile) visitAll(do func(record) error) error {
	for _, i := range p.images {
		var fault error
		if err := p.visitRecords(i, func(r record) {
			if fault == nil {
				fault = do(r)
			}
		}); err != nil {
			return err
		}
		if fault != nil {
			return fault
		}
	}
	return nil
}

// visitRecords calls do for the records that a page holds and that can be read. Of a record that goes on on other
// pages, do gets one made of their newest images, and one of their oldest, if these differ.
func (p *pageFile) visitRecords(i pageImage, do func(record)) error {
	page, err := i.read()
	if err != nil {
		return err
	}
	head := 0
	if i.number == 1 {
		head = fileHeader
	}
	kind, first := page[head], head+8
	if kind == indexInterior {
		first = head + 12
	}
	if kind != tableLeaf && kind != indexLeaf && kind != indexInterior {
		return nil
	}
	count := int(binary.BigEndian.Uint16(page[head+3:]))
	room := pageBytes // cells do not share bytes
	for n := range min(count, (pageBytes-first)/2) {
		at := int(binary.BigEndian.Uint16(page[first+2*n:]))
		if at < first || at >= pageBytes {
			continue
		}
		if room -= p.visitCell(kind, page[at:], room, do); room <= 0 {
			break
		}
	}
	return nil
}

// visitCell gives how many of the bytes of its page a record takes, of which there must be room for.
func (p *pageFile) visitCell(kind byte, cell []byte, room int, do func(record)) (took int) {
	if kind == indexInterior {
		if len(cell) < 4 {
			return 0
		}
		cell = cell[4:] // the page to its left
	}
	length, cell, ok := cutVarint(cell)
	if !ok || length <= 0 || length > min(maxRecordBytes, pageBytes*int64(len(p.images))) {
		return 0
	}
	var r record
	if kind == tableLeaf {
		if r.rowid, cell, ok = cutVarint(cell); !ok {
			return 0
		}
	}
	local := localBytes(kind, int(length))
	if local > min(len(cell), room) {
		return 0
	}
	if local == int(length) {
		r.visit(cell[:local], do)
		return local
	}
	if len(cell) < local+4 {
		return 0
	}
	for n, from := range []map[int64]pageImage{p.newest, p.oldest} {
		payload, again := p.join(cell[:local], int(length), int64(binary.BigEndian.Uint32(cell[local:])), from)
		if n == 0 || again {
			r.visit(payload, do)
		}
	}
	return local
}

// localBytes is how much of a record stands on its own page.
func localBytes(kind byte, length int) int {
	most := pageBytes - 35
	if kind != tableLeaf {
		most = (pageBytes-12)*64/255 - 23
	}
	if length <= most {
		return length
	}
	least := (pageBytes-12)*32/255 - 23
	if n := least + (length-least)%(pageBytes-4); n <= most {
		return n
	}
	return least
}

// join puts a record together that goes on on other pages; nil where that cannot be. differs tells whether one of them
// has another newest image.
func (p *pageFile) join(begin []byte, length int, next int64, from map[int64]pageImage) (all []byte, differs bool) {
	all = append([]byte(nil), begin...)
	for len(all) < length {
		i, ok := from[next]
		if p.joined++; !ok || p.joined > maxReadings*len(p.images) {
			return nil, differs
		}
		page, err := i.read()
		if err != nil {
			return nil, differs
		}
		differs = differs || i != p.newest[next]
		next = int64(binary.BigEndian.Uint32(page))
		all = append(all, page[4:min(pageBytes, 4+length-len(all))]...)
	}
	return all, differs
}

// visit reads the columns of a record and calls do, if it can be read.
func (r record) visit(payload []byte, do func(record)) {
	size, rest, ok := cutVarint(payload)
	begin := len(payload) - len(rest)
	if !ok || size < int64(begin) || size > int64(len(payload)) {
		return
	}
	types, body := payload[begin:size], payload[size:]
	for len(types) > 0 {
		var kind int64
		if kind, types, ok = cutVarint(types); !ok || len(r.values) > 16 {
			return
		}
		var value any
		if value, body, ok = cutValue(kind, body); !ok {
			return
		}
		r.values = append(r.values, value)
	}
	do(r)
}

// cutValue reads a value of a serial type.
func cutValue(kind int64, data []byte) (value any, rest []byte, ok bool) {
	widths := [...]int{0, 1, 2, 3, 4, 6, 8, 8}
	switch {
	case kind == 0:
		return nil, data, true
	case kind == 8 || kind == 9:
		return kind - 8, data, true
	case kind > 0 && kind < 7:
		width := widths[kind]
		if len(data) < width {
			return nil, nil, false
		}
		n := int64(int8(data[0])) // #nosec G115 -- its sign is the number's
		for _, b := range data[1:width] {
			n = n<<8 | int64(b)
		}
		return n, data[width:], true
	case kind >= 12 && (kind-12)/2 <= int64(len(data)):
		n := (kind - 12) / 2
		return data[:n:n], data[n:], true
	}
	return nil, nil, false // a fraction, which no journal has
}

// cutVarint reads a number of one to nine bytes.
func cutVarint(data []byte) (n int64, rest []byte, ok bool) {
	var u uint64
	for i, b := range data {
		if i == 8 {
			u = u<<8 | uint64(b)
		} else {
			u = u<<7 | uint64(b&0x7f)
		}
		if i == 8 || b < 0x80 {
			return int64(u), data[i+1:], u <= math.MaxInt64 // #nosec G115 -- looked at
		}
	}
	return 0, nil, false
}
