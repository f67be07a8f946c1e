package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is one of several scatter plots side by side.
type Panel struct {
	Name   string
	X      []float64
	Series []Series // at most MaxSystems
}

// Series are the points of one colour.
type Series struct {
	Name string
	Y    []float64 // as many as the panel's X
}

// Sizes of a scatter plot.
const (
	panelSize    = 2.9 * vg.Inch
	panelColumns = 3
	titleRow     = vg.Length(22)
)

// Scatter draws the panels on the same scale, each with the line on which both values are equal. Equal points are one
// dot, whose area is their number; dots of several series are side by side. The format is "svg", "png" or "pdf".
func Scatter(title, xLabel, yLabel string, panels []Panel, format string) ([]byte, error) {
	if len(panels) == 0 || len(panels[0].Series) > MaxSystems {
		return nil, fmt.Errorf("a chart shows at least 1 panel, and at most %d series", MaxSystems)
	}
	columns := min(panelColumns, len(panels))
	rows := (len(panels) + columns - 1) / columns
	strip := vg.Length(len(panels[0].Series)) * legendRow
	width := vg.Length(columns)*panelSize + 2*margin
	legend := plot.NewLegend()
	for i, s := range panels[0].Series {
		legend.Add(shortenName(s.Name), points{fill: shade(i, 0xff)})
	}
	low, high := axisLimits(panels)
	unit := dotUnit(panels)
	return drawPicture(width, titleRow+vg.Length(rows)*panelSize+strip+2*margin, format, func(page draw.Canvas) {
		heading := plot.New().Title.TextStyle
		heading.Font = sans(12)
		page.FillText(heading, vg.Point{X: page.Center().X, Y: page.Max.Y - titleRow/2}, title)
		for i, p := range panels {
			x, y := vg.Length(i%columns)*panelSize, vg.Length(rows-1-i/columns)*panelSize+strip
			tile := draw.Canvas{Canvas: page.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: page.Min.X + x,
				Y: page.Min.Y + y}}}
			tile.Max = vg.Point{X: tile.Min.X + panelSize, Y: tile.Min.Y + panelSize}
			p.plot(xLabel, yLabel, low, high, unit).Draw(draw.Crop(tile, 0, -8, 0, -6))
		}
		drawLegend(&legend, page, strip)
	})
}

// axisLimits are the ends of both axes: whole numbers around all points.
func axisLimits(panels []Panel) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for i, x := range p.X {
			low, high = math.Min(low, x), math.Max(high, x)
			for _, s := range p.Series {
				low, high = math.Min(low, s.Y[i]), math.Max(high, s.Y[i])
			}
		}
	}
	if low > high {
		return 0, 1
	}
	low, high = math.Floor(low), math.Ceil(high)
	return low, math.Max(high, low+1)
}

func (p *Panel) plot(xLabel, yLabel string, low, high float64, unit vg.Length) *plot.Plot {
	g := plot.New()
	g.Title.Text, g.Title.TextStyle.Font, g.Title.Padding = fmt.Sprintf("%s (%d rows)", shortenName(p.Name),
		len(p.X)), sans(10), 4
	space := (high - low) / 10
	for _, a := range []*plot.Axis{&g.X, &g.Y} {
		a.Min, a.Max, a.Padding = low-space, high+space, 0
		a.Label.TextStyle.Font, a.Tick.Label.Font = sans(9), sans(9)
		var ticks plot.ConstantTicks
		for v, step := low, math.Ceil((high-low)/10); v <= high; v += step {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
		}
		a.Tick.Marker = ticks
	}
	g.X.Label.Text, g.Y.Label.Text = xLabel, yLabel
	g.Add(diagonal{low, high})
	for i, s := range p.Series {
		offset := (vg.Length(i) - vg.Length(len(p.Series)-1)/2) * seriesGap
		g.Add(points{dots: countDots(p.X, s.Y), fill: shade(i, 0x80), offset: offset, unit: unit})
	}
	return g
}

func shade(i int, alpha uint8) color.NRGBA {
	c := color.NRGBAModel.Convert(palette[i]).(color.NRGBA)
	c.A = alpha
	return c
}

// Sizes of dots.
const (
	dotRadius = vg.Length(2.2) // of a single point
	dotLimit  = vg.Length(12)  // of the largest dot
	seriesGap = vg.Length(5)
)

// countDots counts the points at each position, in the order of their first occurrence.
func countDots(x, y []float64) []dot {
	var dots []dot
	at := map[[2]float64]int{}
	for i := range x {
		place := [2]float64{x[i], y[i]}
		if _, ok := at[place]; !ok {
			at[place] = len(dots)
			dots = append(dots, dot{x: x[i], y: y[i]})
		}
		dots[at[place]].points++
	}
	return dots
}

type dot struct {
	x, y   float64
	points int
}

// dotUnit is the radius of a single point, smaller where the largest dot would be too large.
func dotUnit(panels []Panel) vg.Length {
	most := 1
	for _, p := range panels {
		for _, s := range p.Series {
			for _, d := range countDots(p.X, s.Y) {
				most = max(most, d.points)
			}
		}
	}
	return min(dotRadius, dotLimit/vg.Length(math.Sqrt(float64(most))))
}

// points are the dots of a series.
type points struct {
	dots         []dot
	fill         color.Color
	offset, unit vg.Length // to the right; radius of a single point
}

// Plot implements plot.Plotter.
func (p points) Plot(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	for _, d := range p.dots {
		radius := p.unit * vg.Length(math.Sqrt(float64(d.points)))
		c.DrawGlyph(draw.GlyphStyle{Color: p.fill, Radius: radius, Shape: draw.CircleGlyph{}},
			vg.Point{X: x(d.x) + p.offset, Y: y(d.y)})
	}
}

// Thumbnail implements plot.Thumbnailer, for the legend.
func (p points) Thumbnail(c *draw.Canvas) { rectangle(c, p.fill, c.Min, c.Max) }

// diagonal is where both values are equal.
type diagonal struct{ low, high float64 }

// Plot implements plot.Plotter.
func (d diagonal) Plot(c draw.Canvas, g *plot.Plot) {
	x, y := g.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0xb0}, Width: 0.7}, x(d.low), y(d.low), x(d.high), y(d.high))
}
