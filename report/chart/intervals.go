package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Mark is a value with its interval; without one, Low and High are NaN.
type Mark struct {
	Name             string
	Value, Low, High float64
}

// Intervals draws a dot and its interval for each mark, from top to bottom, and a line at 0. Undefined values are left
// out. The format is "svg", "png" or "pdf".
func Intervals(title, xLabel string, marks []Mark, format string) ([]byte, error) {
	if len(marks) == 0 {
		return nil, errors.New("a chart shows at least 1 value")
	}
	p := plot.New()
	p.Title.Text = title
	names := make([]string, len(marks))
	for i, m := range marks {
		names[i] = m.Name
	}
	listEntries(p, xLabel, names)
	low, high, ticks := intervalAxis(marks)
	p.X.Min, p.X.Max, p.X.Tick.Marker = low, high, ticks
	p.Add(grid(ticks), zeroLine{}, whiskers(marks))
	return drawPicture(width, vg.Length(len(marks))*2*legendRow+rest, format, func(page draw.Canvas) {
		p.Draw(draw.Crop(page, 0, -margin, 0, 0))
	})
}

// intervalAxis is an axis that holds 0, all values and all intervals, with a tick at each step of 1, 2 or 5 times a
// power of ten.
func intervalAxis(marks []Mark) (low, high float64, ticks plot.ConstantTicks) {
	for _, m := range marks {
		for _, v := range []float64{m.Value, m.Low, m.High} {
			if v < low { // false for NaN
				low = v
			}
			if v > high {
				high = v
			}
		}
	}
	if low == high {
		low, high = -1, 1
	}
	return roundAxis(low, high, 8)
}

// roundAxis is an axis that holds low and high, with about n steps of 1, 2 or 5 times a power of ten.
func roundAxis(low, high, n float64) (from, to float64, ticks plot.ConstantTicks) {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for _, part := range []float64{0.1, 0.2, 0.5} {
		if (high-low)/(step*part) <= n {
			step *= part
			break
		}
	}
	first, last := math.Floor(low/step), math.Ceil(high/step)
	for i := first; i <= last; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: fmt.Sprintf("%.4g", i*step)})
	}
	return first * step, last * step, ticks
}

// zeroLine stands at 0.
type zeroLine struct{}

// Plot implements plot.Plotter.
func (zeroLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0x30}, Width: 1}, x(0), c.Min.Y, x(0), c.Max.Y)
}

// whiskers are marks from top to bottom.
type whiskers []Mark

// Plot implements plot.Plotter.
func (w whiskers) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: palette[0], Width: 1.6}
	for i, m := range w {
		if math.IsNaN(m.Value) {
			continue
		}
		at := y(position(i, len(w)))
		if !math.IsNaN(m.Low) {
			c.StrokeLine2(line, x(m.Low), at, x(m.High), at)
			for _, end := range []float64{m.Low, m.High} {
				c.StrokeLine2(line, x(end), at-4, x(end), at+4)
			}
		}
		c.DrawGlyph(draw.GlyphStyle{Color: palette[0], Radius: 3.5, Shape: draw.CircleGlyph{}},
			vg.Point{X: x(m.Value), Y: at})
	}
}
