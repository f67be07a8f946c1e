package report

import (
	"encoding/json"
	"fmt"
	"math"

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

// Text writes the number in a format for a float64, such as "%.3f".
func (n Number) Text(format string) string {
	if !n.Defined() {
		return "–"
	}
	return fmt.Sprintf(format, float64(n))
}

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

// NewFigure makes a figure from its value over all rows and its values over the bootstrap resamples. An undefined
// value, or one without resamples, has no interval.
func NewFigure(value float64, resampled []float64) Figure {
	f := Figure{Value: Number(value), Low: Undefined, High: Undefined}
	if f.Value.Defined() {
		i := stats.IntervalOf(resampled)
		f.Low, f.High = Number(i.Low), Number(i.High)
	}
	return f
}

// NewFigureOfUnits is NewFigure where few units, such as items, may have been resampled (see stats.IntervalOfUnits).
func NewFigureOfUnits(value float64, resampled []float64, units int) Figure {
	f := Figure{Value: Number(value), Low: Undefined, High: Undefined}
	if f.Value.Defined() {
		i := stats.IntervalOfUnits(resampled, units)
		f.Low, f.High = Number(i.Low), Number(i.High)
	}
	return f
}

// Text writes the value, and its interval where there is one, as in "0.588 [0.400, 0.667]". The format is for one
// number.
func (f Figure) Text(format string) string {
	s := f.Value.Text(format)
	if !f.Low.Defined() {
		return s
	}
	return s + " [" + f.Low.Text(format) + ", " + f.High.Text(format) + "]"
}

// Difference is that of two figures on the same rows.
type Difference struct {
	Figure
	P Number `json:"p"` // two-sided, that the difference is not 0; undefined without resamples
}

// NewDifference is NewFigure of a difference, with its p-value.
func NewDifference(value float64, resampled []float64) Difference {
	d := Difference{Figure: NewFigure(value, resampled), P: Undefined}
	if d.Value.Defined() {
		d.P = Number(stats.PairedP(resampled))
	}
	return d
}

// Text is the figure's text, followed by the p-value if there is one.
func (d Difference) Text(format string) string {
	s := d.Figure.Text(format)
	if !d.P.Defined() {
		return s
	}
	return s + d.P.Text(" p=%.3f")
}

// Percent is the share of n in a whole, as in "12.5 %"; "-" if the whole is 0.
func Percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}
