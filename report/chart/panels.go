package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Forest is a panel with a dot and its interval for each mark, from top to bottom.
type Forest struct {
	Name       string
	Marks      []Mark
	References []float64 // by mark: a line to compare it with; NaN is none
	Remarks    []string  // by mark: what stands in the place of an undefined value
	Low, High  float64   // ends of the axis; equal, the axis holds all values and references
}

// Matrix is a panel of coloured cells, a row and a column for each name, in one order.
type Matrix struct {
	Name  string
	Names []string
	Cells [][]float64 // shares, 0 to 1, by row and column; NaN is none
}

// Sizes of panels.
const (
	markRow   = vg.Length(16)
	panelRest = vg.Length(78) // name and axis of a forest
	matrixTop = vg.Length(52) // name and column numbers of a matrix
	cellLimit = vg.Length(34)
	namesPart = 0.42 // of a matrix's panel that names of rows may take
	most2     = 8    // names with which two panels fit beside each other
)

// Forests draws the panels, two beside each other. The format is "svg", "png" or "pdf".
func Forests(title, xLabel string, panels []Forest, format string) ([]byte, error) {
	rows := 0
	for _, p := range panels {
		rows = max(rows, len(p.Marks))
	}
	if rows == 0 {
		return nil, errors.New("a chart shows at least 1 value")
	}
	height := vg.Length(rows)*markRow + panelRest
	return drawTiles(title, len(panels), min(2, len(panels)), height, format, func(i int, tile draw.Canvas) {
		panels[i].plot(xLabel).Draw(draw.Crop(tile, 0, -12, 0, -8))
	})
}

// drawTiles draws n tiles of one height under a title, in so many columns, from left to right.
func drawTiles(title string, n, columns int, height vg.Length, format string,
	tile func(int, draw.Canvas)) ([]byte, error) {
	rows := (n + columns - 1) / columns
	return drawPicture(width, titleRow+vg.Length(rows)*height+2*margin, format, func(page draw.Canvas) {
		heading := plot.New().Title.TextStyle
		heading.Font = sans(12)
		page.FillText(heading, vg.Point{X: page.Center().X, Y: page.Max.Y - titleRow/2}, title)
		size := page.Size().X / vg.Length(columns)
		for i := range n {
			at := vg.Point{X: page.Min.X + vg.Length(i%columns)*size, Y: page.Max.Y - titleRow - vg.Length(i/columns+1)*height}
			tile(i, draw.Canvas{Canvas: page.Canvas,
				Rectangle: vg.Rectangle{Min: at, Max: vg.Point{X: at.X + size, Y: at.Y + height}}})
		}
	})
}

func (f *Forest) plot(xLabel string) *plot.Plot {
	p := plot.New()
	p.Title.Text = shortenName(f.Name)
	names := make([]string, len(f.Marks))
	for i, m := range f.Marks {
		names[i] = m.Name
	}
	listEntries(p, xLabel, names)
	p.Title.TextStyle.Font = sans(11)
	p.X.Label.TextStyle.Font, p.X.Tick.Label.Font, p.Y.Tick.Label.Font = sans(9), sans(9), sans(9)
	low, high := f.Low, f.High
	if low == high {
		low, high = f.limits()
	}
	var ticks plot.ConstantTicks
	p.X.Min, p.X.Max, ticks = roundAxis(low, high, 3)
	p.X.Tick.Marker = ticks
	p.Add(grid(ticks), references(f.References), whiskers(f.Marks), f.remarks())
	return p
}

// limits are the smallest and the largest of all values, intervals and references.
func (f *Forest) limits() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	take := func(values ...float64) {
		for _, v := range values {
			if !math.IsNaN(v) {
				low, high = math.Min(low, v), math.Max(high, v)
			}
		}
	}
	for _, m := range f.Marks {
		take(m.Value, m.Low, m.High)
	}
	take(f.References...)
	switch {
	case low > high:
		return 0, 1
	case low == high:
		return low - 1, high + 1
	}
	return low, high
}

// references are lines of one entry's height.
type references []float64

// Plot implements plot.Plotter.
func (r references) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range r {
		if at := position(i, len(r)); !math.IsNaN(v) {
			c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0x30}, Width: 1}, x(v), y(at-0.5), x(v), y(at+0.5))
		}
	}
}

// remarks are those of the entries without a value.
type remarks []string

func (f *Forest) remarks() remarks {
	r := slices.Clone(f.Remarks)
	for i, m := range f.Marks {
		if !math.IsNaN(m.Value) {
			r[i] = ""
		}
	}
	return r
}

// Plot implements plot.Plotter.
func (r remarks) Plot(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	style := p.X.Tick.Label
	style.Color, style.XAlign, style.YAlign = color.Gray{Y: 0x60}, text.XCenter, text.YCenter
	for i, remark := range r {
		if remark != "" {
			c.FillText(style, vg.Point{X: c.Center().X, Y: y(position(i, len(r)))}, remark)
		}
	}
}

// Matrices draws the panels: the share of each row against each column, blue above a half and orange below it. Columns
// have the numbers of the rows. The format is "svg", "png" or "pdf".
func Matrices(title string, panels []Matrix, format string) ([]byte, error) {
	most := 0
	for _, p := range panels {
		most = max(most, len(p.Names))
	}
	if most == 0 {
		return nil, errors.New("a chart shows at least 1 value")
	}
	columns := min(2, len(panels))
	if most > most2 {
		columns = 1
	}
	inner := (width - 2*margin) / vg.Length(columns)
	cell := min(cellLimit, (inner*(1-namesPart)-margin)/vg.Length(most))
	return drawTiles(title, len(panels), columns, cell*vg.Length(most)+matrixTop, format, func(i int, tile draw.Canvas) {
		panels[i].draw(tile, cell)
	})
}

func (m *Matrix) draw(c draw.Canvas, cell vg.Length) {
	style := plot.New().Title.TextStyle
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	write := func(size vg.Length, align text.XAlignment, x, y vg.Length, s string) {
		style.Font, style.XAlign = sans(size), align
		c.FillText(style, vg.Point{X: x, Y: y}, s)
	}
	names := c.Size().X * namesPart
	left, top := c.Min.X+names, c.Max.Y-matrixTop+margin
	size := min(9, cell*0.45)
	write(11, text.XCenter, left+cell*vg.Length(len(m.Names))/2, c.Max.Y-12, shortenName(m.Name))
	fits := int(names / (9 * 0.52)) // characters, by their mean width
	for i, name := range m.Names {
		middle := top - (vg.Length(i)+0.5)*cell
		write(9, text.XRight, left-6, middle, clip(fmt.Sprintf("%s  %d", shortenName(name), i+1), fits))
		write(9, text.XCenter, left+(vg.Length(i)+0.5)*cell, top+8, fmt.Sprint(i+1))
		for j, share := range m.Cells[i] {
			x := left + vg.Length(j)*cell
			corner := vg.Point{X: x + 0.5, Y: middle - cell/2 + 0.5}
			if math.IsNaN(share) {
				rectangle(&c, color.Gray{Y: 0xf0}, corner, vg.Point{X: corner.X + cell - 1, Y: corner.Y + cell - 1})
				continue
			}
			rectangle(&c, shareColour(share), corner, vg.Point{X: corner.X + cell - 1, Y: corner.Y + cell - 1})
			write(size, text.XCenter, x+cell/2, middle, fmt.Sprintf("%.0f", 100*share))
		}
	}
}

// clip keeps the last n characters, where the number of a row stands.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "…" + string(r[len(r)-n+1:])
	}
	return s
}

// shareColour goes from orange at 0 over white at a half to blue at 1.
func shareColour(share float64) color.Color {
	end := color.NRGBAModel.Convert(palette[4]).(color.NRGBA)
	if share < 0.5 {
		end = color.NRGBAModel.Convert(palette[1]).(color.NRGBA)
	}
	part := math.Min(1, math.Abs(2*share-1))
	mix := func(to uint8) uint8 { return uint8(math.Round(255 - part*(255-float64(to)))) }
	return color.NRGBA{R: mix(end.R), G: mix(end.G), B: mix(end.B), A: 0xff}
}
