package scorer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
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
// taxonomy does not have is an error. So is a reply without labels, since it does not say that there is no error. The
// error is an *Unscored.
func ParseLabels(reply *llm.Reply, prompt string, t *taxonomy.Taxonomy) ([]string, error) {
	r, err := prepareOwnReply(reply, prompt, labelledNames) // as examples in the prompt have them
	if err != nil {
		return nil, err
	}
	if names, ok := r.jsonNames(); ok && r.only {
		return labelsOf(names, t)
	}
	if all := askedLabels.FindAllStringSubmatch(r.text, -1); all != nil {
		return namesIn(all[len(all)-1][1], t)
	}
	if names, ok := r.jsonNames(); ok {
		return labelsOf(names, t)
	}
	text := strings.NewReplacer("*", "", "`", "").Replace(r.withoutQuotes())
	if all := labelledNames.FindAllStringSubmatch(text, -1); all != nil {
		return namesIn(all[len(all)-1][1], t)
	}
	if names, ok := listed(r.text, t); ok {
		return labelsOf(names, t)
	}
	if labels, err := namesIn(text, t); err == nil {
		return labels, nil
	}
	return nil, r.missing()
}

// jsonNames is the last list of texts: alone, or under a key such as "labels".
func (r *reading) jsonNames() ([]string, bool) {
	for _, v := range slices.Backward(r.json) {
		if object, ok := v.(map[string]any); ok {
			if v, ok = field(object, listKeys...); !ok {
				continue
			}
		}
		if names, ok := stringsOf(v); ok {
			return names, true
		}
	}
	return nil, false
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
		if object, ok := e.(map[string]any); ok {
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

func hasFlag(object map[string]any) bool {
	for _, v := range object {
		if _, ok := v.(bool); ok {
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
			return nil, &Unscored{ReasonUnknownLabel, fmt.Sprintf("%.60q; %s has %s", name, t.ID(),
				strings.Join(t.Labels(), ", "))}
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
		return nil, &Unscored{ReasonContradiction, "labels stand beside the statement that there is none"}
	}
	if n == 0 && !none {
		return nil, &Unscored{ReasonMissing, "no label is named"}
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
