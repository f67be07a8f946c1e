package audit

import "github.com/erreval/erreval/internal/stats"

// regression is the chance that the first text wins: by position and length of each judge, by whether a text is the
// judge's own, and by the systems, which stand for quality.
type regression struct {
	decided []judgement
	places  []int // by column of all: its place among those that are kept, or -1
	judges  int
	kept    int
}

// columns of all: for each judge position, length and own text, then the systems but one.
const perJudge = 3

func newRegression(decided []judgement, judges, systems int) *regression {
	r := &regression{decided: decided, places: make([]int, perJudge*judges+systems-1), judges: judges}
	varies := make([]bool, len(r.places))
	for i := range decided {
		r.each(&decided[i], func(column int, value float64) { varies[column] = varies[column] || value != 0 })
	}
	r.keep(func(column int) bool { return varies[column] })
	return r
}

func (r *regression) keep(wanted func(column int) bool) {
	r.kept = 0
	for column := range r.places {
		if keep := r.places[column] >= 0 && wanted(column); !keep {
			r.places[column] = -1
			continue
		}
		r.places[column] = r.kept
		r.kept++
	}
}

func (r *regression) withoutOwn() { r.keep(func(column int) bool { return !r.isOwn(column) }) }

func (r *regression) isOwn(column int) bool {
	return column < perJudge*r.judges && column%perJudge == 2
}

// has tells whether a column of own texts is kept.
func (r *regression) hasOwn() bool {
	for column, place := range r.places {
		if place >= 0 && r.isOwn(column) {
			return true
		}
	}
	return false
}

// each gives the values of a judgement's columns.
func (r *regression) each(j *judgement, set func(column int, value float64)) {
	at := perJudge * int(j.judge)
	set(at, 1)
	set(at+1, j.length)
	set(at+2, float64(j.own))
	for _, s := range []struct {
		system int32
		value  float64
	}{{j.first, 1}, {j.last, -1}} {
		// the last one is what others are compared with
		if column := perJudge*r.judges + int(s.system); column < len(r.places) {
			set(column, s.value)
		}
	}
}

func (r *regression) fit() (*stats.LogisticFit, error) {
	return stats.Logistic(len(r.decided), r.kept, func(i int, x []float64) (y float64, cluster int) {
		j := &r.decided[i]
		r.each(j, func(column int, value float64) {
			if place := r.places[column]; place >= 0 {
				x[place] = value
			}
		})
		return float64(count(j.won)), int(j.item)
	})
}
