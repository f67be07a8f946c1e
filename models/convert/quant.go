package convert

import "math"

// quantized is a matrix as int8, symmetric, with one scale a row: row o is about scale[o] × codes. The scales are known
// once the codes are written.
type quantized struct {
	codes, scales string // initializers
}

// scaleOf is the scale of a row: its largest magnitude becomes 127.
func scaleOf(row []float32) float32 {
	largest := float32(0)
	for _, v := range row {
		largest = max(largest, float32(math.Abs(float64(v))))
	}
	return max(largest, 1e-12) / 127
}

// quantizeValue rounds to the nearest code, ties to even: adding and subtracting a large float drops the fraction.
func quantizeValue(v, scale float32) int8 {
	const integers = 3 << 22
	x := v / scale
	return int8(float32(x+integers) - integers)
}

// quantizeRows adds a matrix [rows, width] with one scale a row, in the shape dims; the scales have the shape
// scaleDims.
func (b *builder) quantizeRows(name string, rows, width int64, dims, scaleDims []int64) quantized {
	name, _ = b.findWeight(name, rows, width)
	scales := make([]float32, rows)
	return b.addQuantized(name, dims, scaleDims, scales, func(e *emitter, v []float32) {
		line := make([]int8, width)
		for o := range rows {
			row := v[o*width : (o+1)*width]
			scales[o] = scaleOf(row)
			for i, x := range row {
				line[i] = quantizeValue(x, scales[o])
			}
			e.int8s(line)
		}
	})
}

// quantizeLinear adds the weights of torch's Linear, [out, in], as [in, out] with one scale an output. If d is not nil,
// the inputs of the layer were divided by it.
func (b *builder) quantizeLinear(name string, out, in int64, d divisor) quantized {
	name, _ = b.findWeight(name, out, in)
	scales := make([]float32, out)
	return b.addQuantized(name, []int64{in, out}, []int64{out}, scales, func(e *emitter, v []float32) {
		for o := range out {
			d.multiply(v[o*in : (o+1)*in])
			scales[o] = scaleOf(v[o*in : (o+1)*in])
		}
		line := make([]int8, out)
		for i := range in {
			for o := range out {
				line[o] = quantizeValue(v[o*in+i], scales[o])
			}
			e.int8s(line)
		}
	})
}

// addQuantized adds the codes that write makes of a weight, and behind them the scales, which write sets.
func (b *builder) addQuantized(name string, dims, scaleDims []int64, scales []float32,
	write func(*emitter, []float32)) quantized {
	return quantized{b.addWeight(name, codesEnding, elemInt8, dims, write),
		b.addFloats(name+scaleEnding, scaleDims, scales)}
}

// restored is the matrix as float numbers. The runtime computes it once, when it loads the graph.
func (b *builder) restored(q quantized) string {
	return b.op("Mul", []string{b.op("Cast", []string{q.codes}, intAttr("to", elemFloat)), q.scales})
}
