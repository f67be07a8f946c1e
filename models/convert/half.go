package convert

import "math"

// floatToHalf rounds x to the nearest IEEE 754 binary16, ties to even. It is false where x lies beyond ±65504.
func floatToHalf(x float32) (uint16, bool) {
	bits := math.Float32bits(x)
	sign, abs := uint16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case abs >= 0x477ff000: // 65520 rounds to infinity
		return sign | 0x7c00, false
	case abs < 0x38800000: // below 2^-14: a multiple of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(abs))*(1<<24))), true
	}
	abs += 0xfff + abs>>13&1 // round the 13 bits that go
	return sign | uint16((abs-0x38000000)>>13), true
}
