package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/stats"
)

// Number is a float64 that may be undefined (NaN): null in JSON, a dash in text.
type Number float64

// Undefined is an unknown Number.
var Undefined = Number(math.NaN())

// Defined tells whether there is a number.
func (n Number) Defined() bool { return !math.IsNaN(float64(n)) }

// MarshalJSON keeps six significant digits.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Defined() {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.6g", float64(n)), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Undefined
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// InPercent is the format of a share (0 to 1) as "12.5 %". Every format that ends in "%%" is one for shares.
const InPercent = "%.1f %%"

// InP is the format of a p-value: three digits, or "<0.001".
const InP = "p"

// Text writes the number in a format for a float64, such as "%.3f", InPercent or InP; "" is up to four significant
// digits.
func (n Number) Text(format string) string {
	switch {
	case !n.Defined():
		return "–"
	case format == InP && n < 0.0005:
		return "<0.001"
	case format == InP:
		format = "%.3f"
	case strings.HasSuffix(format, "%%"):
		n *= 100
	case format == "" && float64(n) == math.Trunc(float64(n)):
		format = "%.0f"
	case format == "":
		format = "%.4g"
	}
	return fmt.Sprintf(format, float64(n))
}

// String is what a table shows where no format is given.
func (n Number) String() string { return n.Text("") }

// Cell is a number, figure or difference in a table, with the format in which it is printed.
type Cell struct {
	Of     interface{ Text(format string) string }
	Format string
}

// String is what a table shows.
func (c Cell) String() string { return c.Of.Text(c.Format) }

// As is the number as a cell that is printed in a format.
func (n Number) As(format string) Cell { return Cell{n, format} }

// As is the figure as a cell that is printed in a format.
func (f Figure) As(format string) Cell { return Cell{f, format} }

// As is the difference as a cell that is printed in a format.
func (d Difference) As(format string) Cell { return Cell{d, format} }

// Figure is a number with its interval.
type Figure struct {
	Value  Number `json:"value"`
	Low    Number `json:"low"` // of the interval; undefined where there is none
	High   Number `json:"high"`
	Better string `json:"better,omitempty"` // Higher or Lower; "" where the figure does not say
}

// Values of Figure.Better.
const (
	Higher = "higher"
	Lower  = "lower"
)

// NewFigure makes a figure from its value over all rows and its values over the bootstrap resamples of so many units,
// such as groups of rows (see stats.IntervalOf). An undefined value, or one without resamples, has no interval.
func NewFigure(value float64, resampled []float64, units int) Figure {
	f := Figure{Value: Number(value), Low: Undefined, High: Undefined}
	if f.Value.Defined() {
		low, high := stats.IntervalOf(resampled, units)
		f.Low, f.High = Number(low), Number(high)
	}
	return f
}

// NewShare is NewFigure of what lies between 0 and 1. Where all resamples are the same, as where every row is right, it
// has the interval of a share of so many units.
func NewShare(value float64, resampled []float64, units int) Figure {
	f := NewFigure(value, resampled, units)
	if f.Value.Defined() && len(resampled) > 0 && !f.Low.Defined() {
		low, high := stats.SumsOf(slices.Repeat([]float64{value}, units), slices.Repeat([]float64{1}, units)).ShareInterval()
		f.Low, f.High = Number(low), Number(high)
	}
	return f
}

// Text writes the value, and its interval where there is one, as in "0.588 [0.400, 0.667]" or "58.8 [40.0, 66.7] %".
// The format is for one number.
func (f Figure) Text(format string) string {
	s := f.Value.Text(format)
	if !f.Low.Defined() {
		return s
	}
	s, isPercent := strings.CutSuffix(s+" ["+f.Low.Text(format)+", "+f.High.Text(format)+"]", " %]")
	if isPercent {
		s = strings.ReplaceAll(s, " %", "") + "] %"
	}
	return s
}

// String is what a table shows where no format is given.
func (f Figure) String() string { return f.Text("") }

// Difference is that of two figures on the same rows.
type Difference struct {
	Figure
	P Number `json:"p"` // two-sided, that the difference is not 0; undefined where nothing tells
}

// NewDifference is NewFigure of a difference, with its p-value.
func NewDifference(value float64, resampled []float64, units int) Difference {
	d := Difference{Figure: NewFigure(value, resampled, units), P: Undefined}
	if d.Value.Defined() {
		d.P = Number(stats.PairedP(resampled, units))
	}
	return d
}

// DifferenceOf is a difference of shares or means of rows.
func DifferenceOf(d stats.Difference) Difference {
	return Difference{Figure{Value: Number(d.Value), Low: Number(d.Low), High: Number(d.High)}, Number(d.P)}
}

// Text is the figure's text, followed by the p-value if there is one.
func (d Difference) Text(format string) string {
	s := d.Figure.Text(format)
	if !d.P.Defined() {
		return s
	}
	p := d.P.Text(InP)
	if p[0] != '<' {
		p = "=" + p
	}
	return s + " p" + p
}

// Percent is the share of n in a whole, as in "12.5 %"; "–" if the whole is 0.
func Percent(n, of int) string {
	if of == 0 {
		return Undefined.Text(InPercent)
	}
	return Number(float64(n) / float64(of)).Text(InPercent)
}
