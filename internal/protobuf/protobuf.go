// Package protobuf reads protobuf messages field by field, without their definitions. It does not hold them in memory.
package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Message is a protobuf message in a file. Only the parts that are asked for are read.
type Message struct {
	File    io.ReaderAt
	At, End int64 // offsets in File, 0 <= At <= End
}

// Field is one field of a message.
type Field struct {
	Number int
	N      uint64  // of an integer
	Body   Message // of a string, message or number of fixed width; without a File in the others
}

// longestText is the longest string that is read: names of inputs, outputs, weights and files.
const longestText = 1 << 16

var errTruncated = errors.New("the protobuf message ends too early")

// Visit calls f for each field of m.
func (m Message) Visit(f func(Field) error) error {
	for m.At < m.End {
		next, err := m.next()
		if err == nil {
			err = f(next)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Inside visits the fields of the messages in m's field with that number.
func (m Message) Inside(number int, f func(Field) error) error {
	return m.Visit(func(outer Field) error {
		if outer.Number != number {
			return nil
		}
		return outer.Body.Visit(f)
	})
}

// Texts are the strings in m's fields with that number.
func (m Message) Texts(number int) (texts []string, err error) {
	err = m.Visit(func(f Field) error {
		if f.Number != number {
			return nil
		}
		text, err := f.Body.Text()
		texts = append(texts, text)
		return err
	})
	return texts, err
}

// Entry puts m into a map, if it is an entry of one: key = 1, value = 2.
func (m Message) Entry(to map[string]string) error {
	key, err := m.Texts(1)
	if err != nil {
		return err
	}
	value, err := m.Texts(2)
	if len(key) == 1 && len(value) == 1 {
		to[key[0]] = value[0]
	}
	return err
}

// Text is m as a string.
func (m Message) Text() (string, error) {
	if m.Size() > longestText {
		return "", fmt.Errorf("a name of %d bytes", m.Size())
	}
	data := make([]byte, m.Size())
	err := m.Read(data, 0)
	return string(data), err
}

// Size is the number of bytes of m.
func (m Message) Size() int64 { return m.End - m.At }

// Read fills data with the bytes of m from offset on.
func (m Message) Read(data []byte, offset int64) error {
	if m.File == nil || offset < 0 || offset > m.Size()-int64(len(data)) {
		return errTruncated
	}
	if n, err := m.File.ReadAt(data, m.At+offset); n < len(data) {
		return err
	}
	return nil
}

// Integers are the numbers of a repeated integer field, packed or one at a time.
func (f Field) Integers() ([]int64, error) {
	if f.Body.File == nil {
		return []int64{int64(f.N)}, nil // #nosec G115 -- protobuf writes negative numbers so
	}
	var out []int64
	for m := f.Body; m.At < m.End; {
		v, err := m.integer()
		if err != nil {
			return nil, err
		}
		out = append(out, int64(v)) // #nosec G115 -- protobuf writes negative numbers so
	}
	return out, nil
}

// next reads one field and removes it from m.
func (m *Message) next() (Field, error) {
	tag, err := m.integer()
	if err != nil {
		return Field{}, err
	}
	f := Field{Number: int(tag >> 3)}
	size := uint64(0)
	switch tag & 7 {
	case 0:
		f.N, err = m.integer()
		return f, err
	case 1:
		size = 8
	case 2:
		size, err = m.integer()
	case 5:
		size = 4
	default:
		err = fmt.Errorf("protobuf wire type %d is not known", tag&7)
	}
	if err == nil && size > uint64(m.End-m.At) { // #nosec G115 -- At is never beyond End
		err = errTruncated
	}
	if err != nil {
		return Field{}, err
	}
	f.Body = Message{m.File, m.At, m.At + int64(size)}
	m.At = f.Body.End
	return f, nil
}

// integer reads a varint and removes it from m.
func (m *Message) integer() (uint64, error) {
	var buf [binary.MaxVarintLen64]byte
	n := int(min(int64(len(buf)), m.End-m.At))
	if _, err := m.File.ReadAt(buf[:n], m.At); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	v, size := binary.Uvarint(buf[:n])
	if size <= 0 {
		return 0, errTruncated
	}
	m.At += int64(size)
	return v, nil
}

// AppendInt appends a field with an integer to b, the bytes of a message.
func AppendInt[N int | int64](b []byte, field int, v N) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3), uint64(v)) // #nosec G115 -- a length
}

// AppendBytes appends a field with bytes, such as those of a message.
func AppendBytes(b []byte, field int, v []byte) []byte {
	return append(AppendLength(b, field, int64(len(v))), v...)
}

// AppendString appends a field with a string.
func AppendString(b []byte, field int, v string) []byte { return AppendBytes(b, field, []byte(v)) }

// AppendLength begins a field of n bytes, which the caller appends.
func AppendLength(b []byte, field int, n int64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|2), uint64(n)) // #nosec G115 -- a length
}

// AppendFloat appends a field with a float.
func AppendFloat(b []byte, field int, v float32) []byte {
	b = binary.AppendUvarint(b, uint64(field)<<3|5) // #nosec G115 -- a number of a field
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
}
