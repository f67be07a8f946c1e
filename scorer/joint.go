package scorer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/taxonomy"
)

// ParseJoint reads a verdict on each of the dimensions out of one reply; see ParseVerdict. A number counts for a
// dimension only where its name or key stands with it. The result has one Verdict for each dimension, in order.
func ParseJoint(answer *llm.Reply, prompt string, ds []taxonomy.Dimension) []Verdict {
	out := make([]Verdict, len(ds))
	r, err := prepare(answer, prompt, nil, func(r *reading) bool {
		parts := r.sections(r.Text, ds)
		for i := range ds {
			if _, ok := r.joint(&ds[i], parts[i]); ok {
				return true
			}
		}
		return false
	})
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	parts, prose := r.sections(r.Text, ds), r.sections(r.Prose, ds)
	for i := range ds {
		m, ok := r.joint(&ds[i], parts[i])
		if !ok {
			out[i].Err = r.Missing()
			continue
		}
		if out[i].Err = m.alone(r.jointMarks(&ds[i], prose[i])); out[i].Err == nil {
			out[i].Value, out[i].Err = m.on(&ds[i])
		}
		out[i].Explanation = m.reason
	}
	return out
}

func (r *reading) joint(d *taxonomy.Dimension, parts []string) (mark, bool) {
	if m, ok := last(r.jointJSON(d)); ok {
		return m, true
	}
	if m, ok := last(r.askedFor(r.Text, d)); ok {
		return m, true
	}
	if r.IsJSON() {
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

// jointMarks are all verdicts on d, of whatever form.
func (r *reading) jointMarks(d *taxonomy.Dimension, prose []string) []mark {
	found := append(r.jointJSON(d), r.askedFor(r.Prose, d)...)
	if r.IsBroken() {
		return found
	}
	for _, part := range prose {
		first, _, _ := strings.Cut(part, "\n")
		explicit := explicitMarks(first, d)
		if explicit == nil {
			explicit = explicitMarks(part, d)
		}
		found = append(found, explicit...)
	}
	return found
}

func (r *reading) jointJSON(d *taxonomy.Dimension) []mark {
	var found []mark
	for _, v := range r.JSON {
		found = append(found, jointMarksOf(v, d, 0)...)
	}
	return found
}

// jointMarksOf finds verdicts on d where its name stands: as a key, or as the value of a key such as "dimension".
func jointMarksOf(v any, d *taxonomy.Dimension, depth int) []mark {
	if depth > maxDepth {
		return nil
	}
	var found []mark
	switch v := v.(type) {
	case reply.Object:
		if own := namedFields(v, d); own != nil {
			return marksOfFields(v, own, d, depth)
		}
		if named, about := namesDimension(v, d); named && about {
			return marksOf(v, d, depth)
		}
		for _, m := range v {
			found = append(found, jointMarksOf(m.Value, d, depth+1)...)
		}
	case []any:
		for _, e := range v {
			found = append(found, jointMarksOf(e, d, depth+1)...)
		}
	}
	return found
}

// askedFor finds [[verdict fluency: 2]] in text; the reasons are what stands between it and the verdict before it.
func (r *reading) askedFor(text string, d *taxonomy.Dimension) []mark {
	var found []mark
	from := 0
	for _, at := range askedForm.FindAllStringSubmatchIndex(text, -1) {
		name := strings.Trim(text[at[2]:at[3]], " *_\"'")
		m, after := markAt(text, at, 2)
		if isName(name, d) && !glued.MatchString(after) {
			m.reason = explanationIn(strings.TrimLeft(text[from:at[0]], "]"))
			found = append(found, m)
		}
		from = at[1]
	}
	return found
}

// sections are, for each dimension, the parts of text that begin with a line that begins with its name.
func (r *reading) sections(text string, ds []taxonomy.Dimension) [][]string {
	out := make([][]string, len(ds))
	text = r.WithoutQuotes(text)
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
