package scorer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
)

// ParseJoint reads a verdict on each of the dimensions out of one reply; see ParseVerdict. A number counts for a
// dimension only where its name or key stands with it. The result has one Verdict for each dimension, in order.
func ParseJoint(reply *llm.Reply, prompt string, ds []taxonomy.Dimension) []Verdict {
	out := make([]Verdict, len(ds))
	r, err := prepareReply(reply, prompt)
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	parts := r.sections(ds)
	for i := range ds {
		m, ok := r.joint(&ds[i], parts[i])
		if !ok {
			out[i].Err = r.missing()
			continue
		}
		out[i].Value, out[i].Err = m.on(&ds[i])
		out[i].Explanation = m.reason
	}
	return out
}

func (r *reading) joint(d *taxonomy.Dimension, parts []string) (mark, bool) {
	for _, v := range slices.Backward(r.json) {
		if m, ok := jointJSON(v, d, 0); ok {
			return m, true
		}
	}
	if m, ok := r.askedFor(d); ok {
		return m, true
	}
	if r.isJSON() {
		return mark{}, false
	}
	for _, part := range slices.Backward(parts) {
		first, _, _ := strings.Cut(part, "\n")
		for _, text := range []string{first, part} { // the heading's own number before those below it
			if m, ok := findLooseIn(text, d); ok {
				m.reason = explanationIn(part)
				return m, true
			}
		}
	}
	return mark{}, false
}

// jointJSON finds the verdict on d where its name stands: as a key, or as the value of a key such as "dimension".
func jointJSON(v any, d *taxonomy.Dimension, depth int) (mark, bool) {
	if depth > maxDepth {
		return mark{}, false
	}
	switch v := v.(type) {
	case map[string]any:
		if m, ok := findNamed(v, d, depth); ok {
			return m, true
		}
		if named, about := namesDimension(v, d); named && about {
			return markOf(v, d, depth)
		}
		for _, key := range sortedKeys(v) {
			if m, ok := jointJSON(v[key], d, depth+1); ok {
				return m, true
			}
		}
	case []any:
		for _, e := range slices.Backward(v) {
			if m, ok := jointJSON(e, d, depth+1); ok {
				return m, true
			}
		}
	}
	return mark{}, false
}

func sortedKeys(v map[string]any) []string {
	keys := make([]string, 0, len(v))
	for k := range v {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// askedFor finds the last [[verdict fluency: 2]]; the reasons are what stands between it and the verdict before it.
func (r *reading) askedFor(d *taxonomy.Dimension) (mark, bool) {
	all := askedForm.FindAllStringSubmatchIndex(r.text, -1)
	for i, at := range slices.Backward(all) {
		name := strings.Trim(r.text[at[2]:at[3]], " *_\"'")
		m, after := markAt(r.text, at, 2)
		if !isName(name, d) || glued.MatchString(after) {
			continue
		}
		from := 0
		if i > 0 {
			from = all[i-1][1]
		}
		m.reason = explanationIn(strings.TrimLeft(r.text[from:at[0]], "]"))
		return m, true
	}
	return mark{}, false
}

// sections are, for each dimension, the parts of the text that begin with a line that begins with its name.
func (r *reading) sections(ds []taxonomy.Dimension) [][]string {
	out := make([][]string, len(ds))
	text := r.withoutQuotes()
	at, from, to := -1, 0, 0
	end := func() {
		if at >= 0 {
			out[at] = append(out[at], text[from:to])
		}
	}
	for line := range strings.Lines(text) {
		if i := headed(line, ds); i >= 0 {
			end()
			at, from = i, to
		}
		to += len(line)
	}
	end()
	return out
}

// headed is the dimension whose name begins the line, the longest name if several do, or -1.
func headed(line string, ds []taxonomy.Dimension) int {
	best, length := -1, 0
	for _, word := range []string{"requirement ", "dimension ", "the "} {
		trimmed := strings.TrimLeft(line, " \t*#_`>|-–•")
		if len(trimmed) >= len(word) && strings.EqualFold(trimmed[:len(word)], word) {
			line = trimmed[len(word):]
		}
	}
	for i := range ds {
		if rest, ok := afterName(line, &ds[i]); ok && cmp.Compare(len(line)-len(rest), length) > 0 {
			best, length = i, len(line)-len(rest)
		}
	}
	return best
}
