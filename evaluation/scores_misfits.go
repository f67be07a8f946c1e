package evaluation

import (
	"fmt"
	"math"

	"github.com/erreval/erreval/report"
)

// describeMisfits says if human scores, or the default limits of overestimation, do not fit the dimension's scale.
func (data *scoreData) describeMisfits(d int) (lines []string) {
	top, key := 0, data.o.Human[d].Dimension
	for _, dimension := range data.o.Taxonomy.Dimensions {
		if dimension.Key == key {
			top = len(dimension.Criteria) // they run 1, 2, 3 …
		}
	}
	if len(data.chosen[d]) == 0 || data.o.Low != DefaultLow || data.o.High != DefaultHigh {
		return nil
	}
	if a, b := data.otherScales(&data.o.Human[d]); a != "" {
		of, than := data.spans[a], data.spans[b]
		lines = append(lines, fmt.Sprintf("human scores in %s are %g to %g, in %s %g to %g: means of both are mostly what "+
			"the former says; bring them to one scale", a, of[0], of[1], b, than[0], than[1]))
	}
	least, most := math.Inf(1), math.Inf(-1)
	var lowest, highest int // rows
	for _, i := range data.chosen[d] {
		for _, x := range data.ratings[d][i] {
			if x < least {
				least, lowest = x, i
			}
			if x > most {
				most, highest = x, i
			}
		}
	}
	if least < 1 || most > float64(top) {
		lines = append(lines, fmt.Sprintf("human scores of %s are %g (row %s) to %g (row %s), its scale is 1 to %d: another "+
			"scale of all of them leaves the correlations as they are, a typing error, or a number for no rating, does not; "+
			"for overestimated set --low and --high", key, least, report.ShortID(data.rows[lowest].id), most,
			report.ShortID(data.rows[highest].id), top))
	} else if top != defaultTopScore {
		lines = append(lines, fmt.Sprintf("the scale of %s is 1 to %d, the limits of overestimated are made for 1 to %d: "+
			"set --low and --high", key, top, defaultTopScore))
	}
	return lines
}

// otherScales are two columns of a dimension of which one has twice the other's scores; "" where there are none.
func (s *Scores) otherScales(h *HumanScores) (larger, smaller string) {
	for _, a := range h.Columns {
		for _, b := range h.Columns {
			if one, other := s.spans[a], s.spans[b]; other[1] > 0 && one[1] >= 2*other[1] {
				return a, b
			}
		}
	}
	return "", ""
}
