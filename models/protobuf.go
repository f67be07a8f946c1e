package models

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// message is a protobuf message somewhere in a file, of which only what is asked for is read.
type message struct {
	file    io.ReaderAt
	at, end int64
}

// field is one field of a message.
type field struct {
	number int
	n      uint64  // of an integer
	body   message // of a string or message
}

// longestText bounds the strings that are read: names of inputs, outputs, weights and files.
const longestText = 1 << 16

var errTruncated = errors.New("the protobuf message ends too early")

// visit gives each field of m to f.
func (m message) visit(f func(field) error) error {
	for m.at < m.end {
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

// inside visits the fields of the messages that stand in m's field number.
func (m message) inside(number int, f func(field) error) error {
	return m.visit(func(outer field) error {
		if outer.number != number {
			return nil
		}
		return outer.body.visit(f)
	})
}

// text is m as a string.
func (m message) text() (string, error) {
	if m.end-m.at > longestText {
		return "", fmt.Errorf("a name of %d bytes", m.end-m.at)
	}
	data := make([]byte, m.end-m.at)
	if n, err := m.file.ReadAt(data, m.at); n < len(data) {
		return "", err
	}
	return string(data), nil
}

// next takes one field off m.
func (m *message) next() (field, error) {
	tag, err := m.integer()
	if err != nil {
		return field{}, err
	}
	f := field{number: int(tag >> 3)}
	size := uint64(0)
	switch tag & 7 {
	case 0:
		f.n, err = m.integer()
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
	if err == nil && size > uint64(m.end-m.at) {
		err = errTruncated
	}
	if err != nil {
		return field{}, err
	}
	f.body = message{m.file, m.at, m.at + int64(size)}
	m.at = f.body.end
	return f, nil
}

// integer takes a varint off m.
func (m *message) integer() (uint64, error) {
	var buf [binary.MaxVarintLen64]byte
	n := int(min(int64(len(buf)), m.end-m.at))
	if _, err := m.file.ReadAt(buf[:n], m.at); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	v, size := binary.Uvarint(buf[:n])
	if size <= 0 {
		return 0, errTruncated
	}
	m.at += int64(size)
	return v, nil
}
