package checkpoint

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// DType is the type of a tensor's numbers, by the name that safetensors gives it. Beside the constants here there are
// "F64", "I8" to "I32", "U8" to "U64", "BOOL", "C64" and the F8, F6 and F4 kinds, which are listed but not read.
type DType string

// The types that a fine-tuned encoder is made of.
const (
	F32  DType = "F32"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I64  DType = "I64" // position ids and the like: listed, not read as weights
)

// bits is the width of a number of each type.
var bits = map[DType]int64{
	"F64": 64, F32: 32, F16: 16, BF16: 16, I64: 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64, "U32": 32,
	"U16": 16, "U8": 8,
	"BOOL": 8, "C64": 64, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}

// converters turn little-endian numbers into float32, as many as dst holds.
var converters = map[DType]func(dst []float32, src []byte){
	F32: func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	},
	F16: func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = halfToFloat(binary.LittleEndian.Uint16(src[2*i:]))
		}
	},
	BF16: func(dst []float32, src []byte) {
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	},
}

// halfToFloat converts an IEEE 754 binary16, exactly.
func halfToFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h)>>15<<31, uint32(h)>>10&0x1f, uint32(h)&0x3ff
	switch exponent {
	case 0: // zero or subnormal: fraction × 2^-24
		return math.Float32frombits(math.Float32bits(float32(fraction)*0x1p-24) | sign)
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// countElements multiplies a shape's dimensions. More than limit is an error, so that a false shape allocates no
// memory.
func countElements(shape []int64, limit int64) (int64, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("claims %d dimensions; %d are the most", len(shape), maxRank)
	}
	n := int64(1)
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("claims the shape %v, with a negative dimension", shape)
		}
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	for _, d := range shape {
		if n > limit/d {
			return 0, fmt.Errorf("claims the shape %v, more than the file holds", shape)
		}
		n *= d
	}
	return n, nil
}

const chunk = 1 << 20 // bytes read at a time

// floats reads the numbers in row-major order.
func (t *tensor) floats(to []float32) ([]float32, error) {
	convert, ok := converters[t.DType]
	if !ok {
		return nil, fmt.Errorf("holds %s, which is not read as weights (F32, F16 and BF16 are); convert it with torch",
			t.DType)
	}
	if t.strides != nil && !isDense(t.Shape, t.strides) {
		return nil, fmt.Errorf("is a view with shape %v and strides %v into a larger tensor; save it after .contiguous()",
			t.Shape, t.strides)
	}
	n := 1
	for _, d := range t.Shape {
		n *= int(d) // checked against the file's size when it was opened
	}
	to = slices.Grow(to[:0], n)[:n]
	into := to
	if t.strides != nil {
		into = make([]float32, n)
	}
	if err := t.convert(into, int(bits[t.DType]/8), convert); err != nil {
		return nil, err
	}
	if t.strides != nil {
		gather(to, into, t.Shape, t.strides)
	}
	return to, t.checkFinite(to)
}

func (t *tensor) convert(to []float32, width int, convert func([]float32, []byte)) error {
	buf := make([]byte, min(len(to)*width, chunk))
	for offset := t.offset; len(to) > 0; {
		n := min(len(to), len(buf)/width)
		if err := readAt(t.file, buf[:n*width], offset); err != nil {
			return fmt.Errorf("cannot be read: the file %w", err)
		}
		convert(to[:n], buf)
		to, offset = to[n:], offset+int64(n*width)
	}
	return nil
}

// checkFinite is an error if a number is NaN or infinite.
func (t *tensor) checkFinite(numbers []float32) error {
	for i, v := range numbers {
		if v-v != 0 {
			return fmt.Errorf("holds %v at index %v; training went wrong, or the file is damaged", v, t.index(i))
		}
	}
	return nil
}

// index gives the position of the i-th number, one index a dimension.
func (t *tensor) index(i int) []int64 {
	at := make([]int64, len(t.Shape))
	rest := int64(i)
	for d := len(at) - 1; d >= 0; d-- {
		at[d], rest = rest%t.Shape[d], rest/t.Shape[d]
	}
	return at
}

// isRowMajor says whether the last dimension runs fastest, without gaps.
func isRowMajor(shape, strides []int64) bool {
	next := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		if shape[d] != 1 && strides[d] != next {
			return false
		}
		next *= shape[d]
	}
	return true
}

// isDense says whether the dimensions, in some order, fill memory without gaps: a transposed tensor.
func isDense(shape, strides []int64) bool {
	order := make([]int, len(shape))
	for d := range order {
		order[d] = d
	}
	slices.SortFunc(order, func(a, b int) int { // a dimension of one may have any stride, so it goes last
		if (shape[a] == 1) != (shape[b] == 1) {
			return cmp.Compare(shape[b], shape[a])
		}
		return cmp.Compare(strides[b], strides[a])
	})
	s, st := make([]int64, len(shape)), make([]int64, len(shape))
	for i, d := range order {
		s[i], st[i] = shape[d], strides[d]
	}
	return isRowMajor(s, st)
}

// gather copies numbers that are stored with strides into row-major order.
func gather(dst, src []float32, shape, strides []int64) {
	at, from := make([]int64, len(shape)), int64(0)
	for i := range dst {
		dst[i] = src[from]
		for d := len(shape) - 1; d >= 0; d-- {
			at[d]++
			from += strides[d]
			if at[d] < shape[d] {
				break
			}
			from -= strides[d] * shape[d]
			at[d] = 0
		}
	}
}
