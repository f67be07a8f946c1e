package scorer

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/taxonomy"
)

var (
	askedLabels   = regexp.MustCompile(`(?i)\[\[[\s*_]*labels[\s*_]*[:：]([^\[\]\n]*)\]`)
	labelledNames = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:the\s+|final\s+|error\s+|applicable\s+|identified\s+)*(?:labels?|errors?|types?)(?:\s+(?:that\s+apply|found))?[\s*_]*[:：][\s*_]*(\S[^\n]*)$`)
	bullet        = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s+(.+)$`)
	nothing       = regexp.MustCompile(`(?i)^\W*(?:none|no labels?|no errors?|n/a|nothing)\W*$`)
	denied        = regexp.MustCompile(`(?i)^[\s:–—(-]*(?:no|not|none|nothing|never|absent|n/a|false|0)\b|(?:n't|n’t|\bnot|\bno longer) (?:apply|applicable|present|found|the case|an? )|✗|❌`)
	aside         = regexp.MustCompile(`\s*(?:[:–—(]|\s-\s).*$`) // "Vague: the pronoun …", "Vague (it)"
)

// ParseLabels reads the labels out of a reply to a prompt of kind identify: names or codes in a JSON list, in the
// form that the built-in template asks for, [[labels: Vague; Spell]], after "Labels:", or as a list of lines. The
// result is in the taxonomy's order; it is never empty if the taxonomy has a label for "no error". A name that the
// taxonomy does not have is an error. So is a reply without labels, since it does not say that there is no error, and
// one with two different sets of them. The error is a *reply.Fault.
func ParseLabels(answer *llm.Reply, prompt string, t *taxonomy.Taxonomy) ([]string, error) {
	r, err := prepare(answer, prompt, labelledNames, // as examples in the prompt have them
		func(r *reading) bool { _, err := r.labels(t); return err == nil })
	if err != nil {
		return nil, err
	}
	labels, err := r.labels(t)
	own := setText(labels, err)
	for _, other := range r.labelSets(t) {
		if other != own {
			return nil, reply.Faultf(reply.Ambiguous, "two sets of labels: %s, and %s", other, own)
		}
	}
	return labels, err
}

// setText is a set of labels, or why there is none, for comparison and messages.
func setText(labels []string, err error) string {
	if u, ok := errors.AsType[*reply.Fault](err); ok {
		return u.Detail
	}
	return strings.Join(labels, "; ")
}

// labels are those of the most explicit form.
func (r *reading) labels(t *taxonomy.Taxonomy) ([]string, error) {
	if names, ok := r.jsonNames(); ok && r.Only {
		return labelsOf(names, t)
	}
	if all := askedLabels.FindAllStringSubmatch(r.Text, -1); all != nil {
		return namesIn(all[len(all)-1][1], t)
	}
	if names, ok := r.jsonNames(); ok {
		return labelsOf(names, t)
	}
	text := withoutEmphasis.Replace(r.WithoutQuotes(r.Text))
	if all := labelledNames.FindAllStringSubmatch(text, -1); all != nil {
		return namesIn(all[len(all)-1][1], t)
	}
	if names, ok := listed(r.Text, t); ok {
		return labelsOf(names, t)
	}
	if labels, err := namesIn(text, t); err == nil {
		return labels, nil
	}
	return nil, r.Missing()
}

var withoutEmphasis = strings.NewReplacer("*", "", "`", "")

var letter = regexp.MustCompile(`\p{L}`)

// labelSets are what the reply gives as labels, in every explicit form. What cannot be read as labels is none, but for
// names in the form asked for.
func (r *reading) labelSets(t *taxonomy.Taxonomy) (found []string) {
	add := func(labels []string, err error) {
		if err == nil {
			found = append(found, setText(labels, nil))
		}
	}
	for _, v := range r.JSON {
		for _, names := range namesOf(v) {
			if _, list := v.([]any); !list || len(names) > 0 || r.Only { // "[]" in prose is no list of labels
				add(labelsOf(names, t))
			}
		}
	}
	for _, m := range askedLabels.FindAllStringSubmatch(r.Prose, -1) {
		if letter.MatchString(m[1]) {
			found = append(found, setText(namesIn(m[1], t)))
		}
	}
	if r.IsBroken() {
		return found
	}
	for _, m := range labelledNames.FindAllStringSubmatch(withoutEmphasis.Replace(r.WithoutQuotes(r.Prose)), -1) {
		add(namesIn(m[1], t))
	}
	return found
}

// jsonNames is the last list of texts: alone, or under a key such as "labels".
func (r *reading) jsonNames() ([]string, bool) {
	for _, v := range slices.Backward(r.JSON) {
		if found := namesOf(v); found != nil {
			return found[len(found)-1], true
		}
	}
	return nil, false
}

// namesOf are the lists of texts that v is or has under such keys.
func namesOf(v any) (found [][]string) {
	values := []any{v}
	if object, ok := v.(reply.Object); ok {
		values = fields(object, listKeys...)
	}
	for _, v := range values {
		if names, ok := stringsOf(v); ok {
			found = append(found, names)
		}
	}
	return found
}

// stringsOf reads ["Vague"], "Vague; Spell" and [{"name": "Vague", …}].
func stringsOf(v any) ([]string, bool) {
	if joined, ok := v.(string); ok {
		return strings.Split(joined, ";"), true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	names := []string{}
	for _, e := range list {
		if object, ok := e.(reply.Object); ok {
			if hasFlag(object) { // {"name": "Vague", "present": false} goes through the types
				return nil, false
			}
			e, _ = field(object, "label", "name", "type", "error", "code")
		}
		name, ok := e.(string)
		if !ok {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

func hasFlag(object reply.Object) bool {
	for _, m := range object {
		if _, ok := m.Value.(bool); ok {
			return true
		}
	}
	return false
}

// namesIn reads names parted by semicolons or, where that gives none, by commas or "and".
func namesIn(text string, t *taxonomy.Taxonomy) ([]string, error) {
	text = strings.Trim(text, " \t\n.*_`\"'[]")
	first, err := labelsOf(strings.Split(text, ";"), t)
	if err == nil {
		return first, nil
	}
	parts := regexp.MustCompile(`[;,\n]|\band\b|"`).Split(text, -1)
	if labels, again := labelsOf(parts, t); again == nil {
		return labels, nil
	}
	return nil, err
}

// listed reads lines such as "- Vague: the pronoun refers to nothing". Lines that begin with no label are prose, as
// long as there is one that does. A list that goes through the types, "- Vague: no", is none of labels.
func listed(text string, t *taxonomy.Taxonomy) ([]string, bool) {
	var names []string
	for line := range strings.Lines(text) {
		m := bullet.FindStringSubmatch(strings.TrimRight(line, "\n\r "))
		if m == nil {
			continue
		}
		item := strings.ReplaceAll(m[1], "*", "")
		name := strings.Trim(aside.ReplaceAllString(item, ""), " `.\"'")
		if _, ok := t.Index(name); !ok {
			continue
		}
		if denied.MatchString(aside.FindString(item)) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, len(names) > 0
}

// labelsOf turns names and codes into names in the taxonomy's order.
func labelsOf(given []string, t *taxonomy.Taxonomy) ([]string, error) {
	found := make([]bool, len(t.Types))
	n, none := 0, len(given) == 0
	for _, g := range given {
		name := strings.Trim(g, " \t\n.*_`\"'[]-")
		if name == "" {
			continue
		}
		i, ok := t.Index(name)
		switch {
		case !ok && nothing.MatchString(name):
			none = true
		case !ok:
			return nil, reply.Faultf(reply.UnknownLabel, "%.60q; %s has %s", name, t.ID(),
				strings.Join(t.Labels(), ", "))
		case !found[i]:
			found[i] = true
			n++
		}
	}
	return inOrder(found, n, none, t)
}

func inOrder(found []bool, n int, none bool, t *taxonomy.Taxonomy) ([]string, error) {
	no := t.NoErrorIndex()
	if n > 0 && (none || n > 1 && no >= 0 && found[no]) {
		return nil, reply.Faultf(reply.Contradiction, "labels stand beside the statement that there is none")
	}
	if n == 0 && !none {
		return nil, reply.Faultf(reply.Missing, "no label is named")
	}
	if n == 0 && no >= 0 {
		found[no] = true
	}
	labels := []string{}
	for i, y := range t.Types {
		if found[i] {
			labels = append(labels, y.Name)
		}
	}
	return labels, nil
}
