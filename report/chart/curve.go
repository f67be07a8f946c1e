package chart

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line is a curve with the interval of each point; an undefined value leaves a gap.
type Line struct {
	Name      string
	X, Y      []float64
	Low, High []float64 // as many as Y, or nil without intervals
}

const curveHeight = 4 * vg.Inch

// Curves draws values over a common axis, as a figure over iterations or over reviewed rows. The vertical axis holds
// shares, 0 to 1. The format is "svg", "png" or "pdf".
func Curves(title, xLabel, yLabel string, lines []Line, format string) ([]byte, error) {
	if len(lines) == 0 || len(lines) > MaxSystems {
		return nil, fmt.Errorf("a chart shows 1 to %d curves, and there are %d", MaxSystems, len(lines))
	}
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.Title.TextStyle.Font, p.Title.Padding = title, sans(12), 8
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font, a.Padding = sans(10), sans(10), 0
	}
	var ticks plot.ConstantTicks
	p.X.Min, p.X.Max, ticks = curveAxis(lines)
	p.X.Tick.Marker = ticks
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = shareTicks()
	p.Add(grid(ticks))
	for i, l := range lines {
		c := &curve{Line: l, colour: palette[i]}
		p.Add(c)
		legend.Add(shortenName(l.Name), c)
	}
	strip := vg.Length(len(lines)) * legendRow
	return drawPicture(width, curveHeight+strip+2*margin, format, func(page draw.Canvas) {
		p.Draw(draw.Crop(page, 0, -margin, strip, 0))
		drawLegend(&legend, page, strip)
	})
}

func shareTicks() (ticks plot.ConstantTicks) {
	for i := range 6 {
		ticks = append(ticks, plot.Tick{Value: float64(i) / 5, Label: fmt.Sprintf("%.1f", float64(i)/5)})
	}
	return ticks
}

// mostPlaces is the number of ticks that fit on the axis.
const mostPlaces = 12

// curveAxis gives the ends of the horizontal axis, and its ticks: one for each X of a point, or fewer if there are
// many.
func curveAxis(lines []Line) (low, high float64, ticks plot.ConstantTicks) {
	low, high = math.Inf(1), math.Inf(-1)
	seen := map[float64]bool{}
	for _, l := range lines {
		for _, x := range l.X {
			low, high = math.Min(low, x), math.Max(high, x)
			seen[x] = true
		}
	}
	if low > high {
		low, high = 0, 1
	}
	if len(seen) > mostPlaces {
		for i := range 6 {
			x := low + (high-low)*float64(i)/5
			ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprintf("%.4g", x)})
		}
	} else {
		for _, x := range slices.Sorted(maps.Keys(seen)) {
			ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprintf("%.4g", x)})
		}
	}
	space := (high - low) / 40
	if space == 0 {
		space = 0.5
	}
	return low - space, high + space, ticks
}

type curve struct {
	Line
	colour color.Color
}

// Plot implements plot.Plotter.
func (l *curve) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	stroke, thin := draw.LineStyle{Color: l.colour, Width: 1.6}, draw.LineStyle{Color: l.colour, Width: 0.7}
	for i, v := range l.Y {
		if math.IsNaN(v) {
			continue
		}
		if i > 0 && !math.IsNaN(l.Y[i-1]) {
			c.StrokeLine2(stroke, x(l.X[i-1]), y(l.Y[i-1]), x(l.X[i]), y(v))
		}
		if l.Low != nil && !math.IsNaN(l.Low[i]) {
			c.StrokeLine2(thin, x(l.X[i]), y(l.Low[i]), x(l.X[i]), y(l.High[i]))
		}
		c.DrawGlyph(draw.GlyphStyle{Color: l.colour, Radius: 3, Shape: draw.CircleGlyph{}}, vg.Point{X: x(l.X[i]), Y: y(v)})
	}
}

// Thumbnail implements plot.Thumbnailer, for the legend.
func (l *curve) Thumbnail(c *draw.Canvas) { rectangle(c, l.colour, c.Min, c.Max) }
