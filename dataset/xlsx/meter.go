package xlsx

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	maxDepth = 64        // of elements; Excel's own nest a dozen deep
	maxTag   = 256 << 10 // bytes of a tag with its attributes

	cdata, cdataEnd = "<![CDATA[", "]]>"
)

// meter hands XML on to a decoder, which reads texts whole and keeps a place for each open element. Records are the
// elements of a name. What a record has beyond max bytes or maxDepth is left out, up to its end: the decoder gets end
// tags for what it knows to be open, and goes on behind it. Texts outside records, and comments, are left out too.
type meter struct {
	in     *bufio.Reader
	record string // name of the elements; "" is none
	max    int
	out    []byte // for the decoder; good until in is read again
	at     int    // what of out it has

	depth int  // elements that are open
	start int  // depth of the record at hand; 0 outside
	left  int  // bytes of it
	over  bool // the rest of the record is left out
	open  int  // while over, elements that the decoder knows to be open
	cut   bool // the record at hand, or the last one, was over

	literally bool // inside a CDATA section
}

// errDamaged is what is wrong with a part that cannot be read on.
type errDamaged string

func (e errDamaged) Error() string { return string(e) }

func newMeter(in io.Reader, record string, limit int) *meter {
	return &meter{in: bufio.NewReaderSize(in, maxTag), record: record, max: limit}
}

// ReadByte implements io.ByteReader. The decoder then reads nothing ahead, so that cut is about the record it is in.
func (m *meter) ReadByte() (byte, error) {
	for m.at == len(m.out) {
		if err := m.fill(); err != nil {
			return 0, err
		}
	}
	m.at++
	return m.out[m.at-1], nil
}

// Read implements io.Reader, which xml.NewDecoder wants as well.
func (m *meter) Read(p []byte) (n int, err error) {
	for ; n < len(p) && err == nil; n++ {
		if p[n], err = m.ReadByte(); err != nil {
			return n, err
		}
	}
	return n, err
}

// peek gives what is buffered: at least n bytes, unless the file ends.
func (m *meter) peek(n int) ([]byte, error) {
	data, err := m.in.Peek(max(n, m.in.Buffered()))
	if len(data) > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return data, err
}

// take makes n bytes of what is buffered the decoder's, if it is to see them.
func (m *meter) take(data []byte, see bool) {
	if see {
		m.out, m.at = data, 0
	}
	_, _ = m.in.Discard(len(data)) // they are buffered
}

// fill takes the next tag, or a part of a text.
func (m *meter) fill() error {
	if m.literally {
		return m.literal()
	}
	data, err := m.peek(len(cdata))
	if errors.Is(err, io.EOF) && m.depth > 0 {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	switch {
	case data[0] != '<':
		return m.text()
	case len(data) < 2 || data[1] != '!':
		return m.wholeTag(data)
	case bytes.HasPrefix(data, []byte("<!--")):
		return m.comment()
	case bytes.HasPrefix(data, []byte(cdata)):
		m.literally = true
		m.take([]byte(cdata), false)
		return nil
	}
	return errDamaged("it has a document type, which no workbook has")
}

// wholeTag takes the tag that data, what is buffered, begins with.
func (m *meter) wholeTag(data []byte) (err error) {
	n := tagLen(data)
	if n == 0 {
		if data, err = m.peek(maxTag); err != nil {
			return err
		}
		if n = tagLen(data); n == 0 && len(data) == maxTag {
			return errDamaged(fmt.Sprintf("it has a tag of more than %d KiB", maxTag>>10))
		} else if n == 0 {
			n = len(data) // the decoder says that it ends there
		}
	}
	return m.tag(data[:n])
}

// tagLen is the length of the tag that data begins with; 0 where its end is not there.
func tagLen(data []byte) int {
	if len(data) > 1 && data[1] == '/' {
		return bytes.IndexByte(data, '>') + 1
	}
	var quote byte
	for i, c := range data {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return 0
}

// text takes a text up to the next tag, or as much of it as is buffered.
func (m *meter) text() error {
	data, err := m.peek(1)
	n := bytes.IndexByte(data, '<')
	if n < 0 && err == nil {
		data, err = m.peek(maxTag)
		n = bytes.IndexByte(data, '<')
	}
	if err != nil {
		return err
	}
	if n < 0 {
		if n = len(data); n == maxTag {
			n = wholeEnd(data)
		}
	}
	m.take(data[:n], m.charge(n))
	return nil
}

// wholeEnd is where a long text may be cut: in no character, and in no entity such as &amp;.
func wholeEnd(data []byte) int {
	n := len(data)
	for n > len(data)-utf8.UTFMax && !utf8.RuneStart(data[n-1]) {
		n--
	}
	n--
	if i := bytes.LastIndexByte(data[n-16:n], '&'); i >= 0 {
		n = n - 16 + i
	}
	return n
}

// literal takes a part of a CDATA section, as a section of its own.
func (m *meter) literal() error {
	data, err := m.peek(maxTag)
	if err != nil {
		return err
	}
	n := bytes.Index(data, []byte(cdataEnd))
	switch {
	case n >= 0:
		m.literally = false
	case len(data) < maxTag:
		return io.ErrUnexpectedEOF
	default:
		n = wholeEnd(data[:len(data)-len(cdataEnd)])
	}
	if m.charge(n) {
		m.out, m.at = append(append([]byte(cdata), data[:n]...), cdataEnd...), 0
	}
	if !m.literally {
		n += len(cdataEnd)
	}
	m.take(data[:n], false)
	return nil
}

// comment leaves a comment out.
func (m *meter) comment() error {
	m.take([]byte("<!--"), false)
	for {
		data, err := m.peek(maxTag)
		if err != nil {
			return err
		}
		if n := bytes.Index(data, []byte("-->")); n >= 0 {
			m.take(data[:n+len("-->")], false)
			return nil
		}
		if len(data) < maxTag {
			return io.ErrUnexpectedEOF
		}
		m.take(data[:len(data)-len("--")], false)
	}
}

// charge takes n bytes of the record's, and tells whether the decoder is to see them.
func (m *meter) charge(n int) bool {
	if m.start == 0 || m.over {
		return false
	}
	if m.left -= n; m.left < 0 {
		m.goOver()
	}
	return !m.over
}

func (m *meter) goOver() { m.over, m.cut, m.open = true, true, m.depth }

// tag takes a tag with its brackets.
func (m *meter) tag(tag []byte) error {
	switch {
	case len(tag) < 3 || tag[1] == '?':
		m.take(tag, !m.over)
	case tag[1] == '/':
		return m.end(tag)
	default:
		return m.begin(tag, tag[len(tag)-2] == '/')
	}
	return nil
}

// begin takes the start of an element; empty is one that ends with it.
func (m *meter) begin(tag []byte, empty bool) error {
	if m.start == 0 && m.depth >= maxDepth {
		return errDamaged(fmt.Sprintf("its elements nest more than %d deep", maxDepth))
	}
	if m.start == 0 && m.record != "" && nameOf(tag) == m.record {
		m.cut, m.left = false, m.max
		if !empty {
			m.start = m.depth + 1
		}
	}
	if m.start > 0 && !m.over && m.depth >= maxDepth {
		m.goOver()
	}
	m.take(tag, m.start == 0 || m.charge(len(tag)))
	if !empty {
		m.depth++
	}
	return nil
}

// end takes the end of an element. Its name is compared where a record ends, which is what the decoder's RawToken
// leaves out.
func (m *meter) end(tag []byte) error {
	if m.start > 0 && (nameOf(tag[1:]) == m.record) != (m.depth == m.start) {
		return errDamaged("its end tags do not match")
	}
	known := !m.over || m.depth <= m.open
	m.take(tag, known)
	if m.depth--; known {
		m.open = m.depth
	}
	if m.depth < m.start {
		m.start, m.over = 0, false
	}
	return nil
}

// nameOf is the name of a start tag, without its prefix.
func nameOf(tag []byte) string {
	name := tag[1:]
	if i := bytes.IndexAny(name, " \t\r\n/>"); i >= 0 {
		name = name[:i]
	}
	return string(name[bytes.IndexByte(name, ':')+1:])
}
