package protobuf

import (
	"encoding/binary"
	"math"
)

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
