// Package chart draws the figures of package report. It alone imports gonum/plot.
package chart

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/report"
)

// MaxSystems is the largest number of systems, or lines, beside each other: one for each colour of palette.
const MaxSystems = 8

// palette is that of Okabe and Ito (2008); colour-blind readers can distinguish its colours too.
var palette = [MaxSystems]color.Color{
	rgb(0x0072B2), rgb(0xE69F00), rgb(0x009E73), rgb(0xCC79A7), rgb(0x56B4E9), rgb(0xD55E00), rgb(0xF0E442), rgb(0x555555),
}

func rgb(c uint32) color.Color {
	return color.NRGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: 0xff}
}

// Sizes of the picture; a vg.Length of 1 is a point.
const (
	width     = 8.5 * vg.Inch
	barHeight = vg.Length(9)
	gap       = vg.Length(9)  // between the bars of one error and of the next
	rest      = vg.Length(85) // title and axis
	margin    = vg.Length(10)
	legendRow = vg.Length(16)
	groupFill = 0.74 // part of an error's height that its bars take
)

// Stats draws horizontal bars: for each error, and for the rows without any, one bar a system with its interval. Above
// MaxSystems it draws a panel for each error that any row has, with a dot for each system. The format is "svg", "png"
// or "pdf".
func Stats(s *report.Stats, format string) ([]byte, error) {
	if len(s.Systems) == 0 || s.All.Tagged == 0 {
		return nil, errors.New("a chart shows the errors of tagged rows, and there are none")
	}
	if len(s.Systems) > MaxSystems {
		return Forests(statsTitle(s), "% of tagged rows", statsPanels(s), format)
	}
	p, legend := plot.New(), plot.NewLegend()
	rows := 1 + len(s.Systems[0].Labels)
	decorate(p, s)
	for i := range s.Systems {
		b := newBars(s, i)
		p.Add(b)
		legend.Add(shortenName(s.Systems[i].Name), b)
	}
	strip := vg.Length(len(s.Systems)) * legendRow
	if len(s.Systems) == 1 {
		strip = 0
	}
	height := strip + vg.Length(rows)*(vg.Length(len(s.Systems))*barHeight+gap) + rest
	return drawPicture(width, height, format, func(page draw.Canvas) {
		p.Draw(draw.Crop(page, 0, 0, strip, 0))
		if strip > 0 {
			drawLegend(&legend, page, strip)
		}
	})
}

// drawPicture makes a white page; fill draws within its margins. The format is "svg", "png" or "pdf".
func drawPicture(width, height vg.Length, format string, fill func(page draw.Canvas)) ([]byte, error) {
	c, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	all := draw.New(c)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	fill(draw.Crop(all, margin, -margin, margin, -margin))
	var out bytes.Buffer
	if _, err := c.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("chart: %w", err)
	}
	return bytes.ReplaceAll(out.Bytes(), []byte("font-family:Liberation Sans;"), []byte(fontFamily)), nil
}

// fontFamily names the fonts that replace an SVG's font where it is not installed.
const fontFamily = "font-family:Liberation Sans,Arial,Helvetica,sans-serif;"

// drawLegend fills a strip at the foot of a page, below the axis, where no bar can be.
func drawLegend(l *plot.Legend, page draw.Canvas, strip vg.Length) {
	l.TextStyle.Font = sans(10)
	l.Left, l.Top = true, true
	l.Padding = 3
	l.ThumbnailWidth = 14
	l.Draw(draw.Crop(page, 0, 0, 0, strip-page.Size().Y))
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// decorate sets title, axes and grid. Errors stand from top to bottom in the taxonomy's order.
func decorate(p *plot.Plot, s *report.Stats) {
	p.Title.Text = statsTitle(s)
	listEntries(p, "% of tagged rows", shareNames(s))
	p.X.Min, p.X.Max = 0, axisLimit(s)
	var scale plot.ConstantTicks
	for x := 0.0; x <= p.X.Max; x += p.X.Max / 5 {
		scale = append(scale, plot.Tick{Value: x, Label: fmt.Sprint(math.Round(x))})
	}
	p.X.Tick.Marker = scale
	p.Add(grid(scale))
}

func statsTitle(s *report.Stats) string {
	return fmt.Sprintf("Share of tagged rows with each error, with %.0f %% intervals", 100*s.Interval.Level)
}

// shareNames are those of systemShares.
func shareNames(s *report.Stats) []string {
	names := []string{"Without error"}
	for _, l := range s.Systems[0].Labels {
		names = append(names, l.Label)
	}
	return names
}

// statsPanels has a panel for the rows without error, and for each error that any row has; the system with most rows
// without error stands on top.
func statsPanels(s *report.Stats) (panels []Forest) {
	order := slices.Clone(s.Systems)
	slices.SortStableFunc(order, func(a, b report.SystemStats) int {
		return cmp.Compare(b.WithoutError.Share, a.WithoutError.Share)
	})
	sorted := &report.Stats{Systems: order}
	for k, name := range shareNames(s) {
		f, rows := Forest{Name: name, Remarks: make([]string, len(order))}, 0
		for i := range order {
			share := systemShares(sorted, i)[k]
			rows += share.Rows
			m := Mark{order[i].Name, 100 * float64(share.Share), 100 * float64(share.Low), 100 * float64(share.High)}
			f.Marks, f.References = append(f.Marks, m), append(f.References, math.NaN())
			for _, end := range []float64{m.Value, m.High, 1} {
				if end > f.High { // false for an undefined one
					f.High = end
				}
			}
		}
		if k == 0 || rows > 0 {
			panels = append(panels, f)
		}
	}
	return panels
}

// listEntries sets fonts, and the entries that stand from top to bottom beside a horizontal axis.
func listEntries(p *plot.Plot, xLabel string, names []string) {
	p.Title.TextStyle.Font, p.Title.Padding = sans(12), 8
	p.X.Label.Text, p.X.Label.TextStyle.Font = xLabel, sans(10)
	p.X.Tick.Label.Font, p.Y.Tick.Label.Font = sans(10), sans(10)
	p.X.Padding, p.Y.Padding = 0, 0
	p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	ticks := make(plot.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: position(i, len(names)), Label: shortenName(name)}
	}
	p.Y.Tick.Marker = ticks
}

// position is that of the i-th entry on the vertical axis, which points upwards.
func position(i, rows int) float64 { return float64(rows - 1 - i) }

// axisLimit is the end of the axis: the first multiple of ten beyond the longest interval.
func axisLimit(s *report.Stats) float64 {
	most := 0.0
	for i := range s.Systems {
		for _, share := range systemShares(s, i) {
			for _, end := range []report.Number{share.Share, share.High} {
				if x := 100 * float64(end); x > most { // false for an undefined one
					most = x
				}
			}
		}
	}
	return math.Min(100, 10*math.Max(1, math.Ceil(most/10)))
}

// systemShares are the shares of a system: of the rows without error, then of each error.
func systemShares(s *report.Stats, system int) []report.Share {
	sys := s.Systems[system]
	out := []report.Share{sys.WithoutError}
	for _, l := range sys.Labels {
		out = append(out, l.Share)
	}
	return out
}

// nameLength is how many characters of a name fit.
const nameLength = 40

func shortenName(name string) string {
	name = words.Printable(strings.TrimSpace(name))
	if r := []rune(name); len(r) > nameLength {
		return string(r[:nameLength-1]) + "…"
	}
	return name
}

// grid draws a light line at every tick of the horizontal axis.
type grid []plot.Tick

// Plot implements plot.Plotter.
func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, tick := range g {
		c.StrokeLine2(draw.LineStyle{Color: color.Gray{Y: 0xd8}, Width: 0.5}, x(tick.Value), c.Min.Y, x(tick.Value), c.Max.Y)
	}
}

// bars are those of one system.
type bars struct {
	shares      []report.Share
	fill        color.Color
	offset, gap float64 // of the bar's lower edge from its entry's position; its height
}

func newBars(s *report.Stats, system int) *bars {
	height := groupFill / float64(len(s.Systems))
	return &bars{shares: systemShares(s, system), fill: palette[system], gap: height,
		offset: groupFill/2 - float64(system+1)*height}
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: color.Gray{Y: 0x30}, Width: vg.Points(0.8)}
	for i, s := range b.shares {
		if math.IsNaN(float64(s.Share)) {
			continue
		}
		bottom := position(i, len(b.shares)) + b.offset
		low, high := y(bottom+0.06*b.gap), y(bottom+0.94*b.gap)
		rectangle(&c, b.fill, vg.Point{X: x(0), Y: low}, vg.Point{X: x(100 * float64(s.Share)), Y: high})
		if !math.IsNaN(float64(s.Low)) {
			middle := (low + high) / 2
			c.StrokeLine2(line, x(100*float64(s.Low)), middle, x(100*float64(s.High)), middle)
		}
	}
}

// Thumbnail implements plot.Thumbnailer, for the legend.
func (b *bars) Thumbnail(c *draw.Canvas) { rectangle(c, b.fill, c.Min, c.Max) }

func rectangle(c *draw.Canvas, fill color.Color, a, b vg.Point) {
	c.FillPolygon(fill, []vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}})
}

// File is the picture that an option asks for.
type File struct {
	Option    string // as errors name it: "--plot"
	Path      string // *.svg, *.png or *.pdf; "" wants none
	Overwrite bool   // replace the file if there is one
}

// CheckPath finds out whether the file can be written, before anything is read. A wrong name is a *report.OptionError.
func (f File) CheckPath() error {
	if f.Path == "" {
		return nil
	}
	if !slices.Contains([]string{".svg", ".png", ".pdf"}, filepath.Ext(f.Path)) {
		return report.OptionErrorf("%s %s: the name ends with .svg, .png or .pdf", f.Option, f.Path)
	}
	if err := wholefile.RefuseIrregular(f.Path); err != nil {
		return fmt.Errorf("%s: %w; choose another name", f.Option, err)
	}
	if _, err := os.Lstat(f.Path); !errors.Is(err, fs.ErrNotExist) && !f.Overwrite {
		return fmt.Errorf("%s: %s exists already; replace it with --overwrite, or choose another name", f.Option, f.Path)
	}
	return nil
}

// Write writes the picture that draw makes, in the format of the file's name ("svg", "png" or "pdf"). Without a name it
// does nothing.
func (f File) Write(draw func(format string) ([]byte, error)) error {
	if f.Path == "" {
		return nil
	}
	data, err := draw(strings.TrimPrefix(filepath.Ext(f.Path), "."))
	if err != nil {
		return fmt.Errorf("%s %s: %w", f.Option, f.Path, err)
	}
	if err := wholefile.Write(f.Path, data); err != nil {
		return fmt.Errorf("%s: %w", f.Option, err)
	}
	return nil
}
