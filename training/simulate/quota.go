package simulate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// seconds are, for each error, those that can be planted after it so that both are there: what the question means stays
// as it was.
var seconds = map[string][]string{
	"OTA": {"Spell", "Gram", "Copy"}, "Fact": {"Spell", "Gram", "Copy"}, "INM": {"Spell", "Gram", "Copy"}, "OTP": {"Spell",
		"Gram"}, "Vague": {"Spell", "Gram"},
	"Spell": {"Gram", "Copy"}, "Gram": {"Spell", "Copy"}, "Copy": {"Spell", "Gram"}, "Inc": {"Spell"}, "NAQ": {"Spell"},
}

// addSecond gives a share of the examples with an error one more, of those that the mix has.
func (m *maker) addSecond(ex *Example, mix map[string]float64) {
	if m.combined == 0 || ex.Labels[0] == "OK" || m.rng.Float64() >= m.combined {
		return
	}
	fit := map[string]float64{}
	for _, code := range seconds[ex.Labels[0]] {
		if mix[code] > 0 {
			fit[code] = mix[code]
		}
	}
	if len(fit) == 0 {
		return
	}
	for range attempts {
		code := m.pickCode(fit)
		ru := m.pickRule(code)
		if ru == nil {
			continue
		}
		two, ok := ru.apply(m, ex.Row)
		if !ok || two.Question == ex.Question {
			continue
		}
		ex.Question, ex.Labels, ex.Mechanism = two.Question, append(ex.Labels, code), ex.Mechanism+"+"+ru.name
		if code == "Copy" {
			ex.Original = ""
		}
		return
	}
}

// quota is how many examples of a code are wanted.
type quota struct {
	code string
	n    int
}

// quotas are those that the options ask for of codes; nil is Copies a row. noError is the code of rows without error.
func (o *Options) quotas(codes []string, noError string) []quota {
	var out []quota
	sum := 0.0
	for _, code := range codes {
		sum += o.Mix[code]
	}
	left, weight := o.Total, sum
	for _, code := range codes {
		w := o.Mix[code]
		if w == 0 {
			continue
		}
		switch {
		case o.PerError > 0 && code != noError:
			out = append(out, quota{code, o.PerError})
		case o.Total > 0:
			n := int(math.Round(float64(left) * w / weight)) // of what is left, so that all add up
			out = append(out, quota{code, n})
			left, weight = left-n, weight-w
		}
	}
	return out
}

// passes bounds how often the rows are gone through for one quota.
const passes = 8

// fill makes quotas, each of rows in random order, and emits the examples in the rows' order.
func (m *maker) fill(quotas []quota, emit func(Example) error) error {
	type made struct {
		row int
		ex  Example
	}
	var all []made
	seen, mix := map[string]bool{}, map[string]float64{}
	for _, q := range quotas {
		mix[q.code] = float64(q.n)
	}
	for _, q := range quotas {
		n := 0
		for range passes {
			for _, i := range m.rng.Perm(len(m.rows)) {
				if n == q.n {
					break
				}
				ex, ok := m.make(m.rows[i], q.code)
				if !ok {
					continue
				}
				m.addSecond(&ex, mix)
				key := m.rows[i].ID + "\x00" + ex.Question + "\x00" + ex.Answer
				if seen[key] {
					continue
				}
				seen[key] = true
				ex.Origin = m.rows[i].ID
				all = append(all, made{i, ex})
				n++
			}
		}
	}
	slices.SortStableFunc(all, func(a, b made) int { return cmp.Compare(a.row, b.row) })
	nth := map[int]int{}
	for _, a := range all {
		nth[a.row]++
		a.ex.ID = fmt.Sprintf("%s~%d", a.ex.Origin, nth[a.row])
		if err := emit(a.ex); err != nil {
			return err
		}
	}
	return nil
}
