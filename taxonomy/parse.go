package taxonomy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// reserved are columns of a record that no task field may take.
var reserved = []string{"id", "labels", "diagnosis", "scores"}

// Parse reads a taxonomy strictly. file stands in the messages. The error joins every fault found,
// each as "file:line: what"; a taxonomy comes back only if there is none.
func Parse(data []byte, file string) (*Taxonomy, error) {
	l := &loader{file: file}
	t := &Taxonomy{}
	if root := l.document(data); root != nil {
		l.taxonomy(root, t)
	}
	if len(l.faults) > 0 {
		return nil, errors.Join(l.faults...)
	}
	return t, nil
}

type loader struct {
	file   string
	faults []error
}

func (l *loader) fault(line int, format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf("%s:%d: %s", l.file, line, fmt.Sprintf(format, args...)))
}

// yamlLine takes the line out of yaml.v3's syntax errors, which carry it only as text.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (l *loader) document(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&next); err == nil {
			l.fault(next.Line, "a second document; a file holds one taxonomy")
		}
	} else if errors.Is(err, io.EOF) {
		l.fault(1, "the file is empty")
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.syntax(err)
		return nil
	}
	return doc.Content[0]
}

func (l *loader) syntax(err error) {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	l.fault(max(line, 1), "not YAML: %s", text)
}

func (l *loader) taxonomy(n *yaml.Node, t *Taxonomy) {
	var fields, types, dimensions []*yaml.Node
	l.mapping(n, "a taxonomy", []key{
		{"name", true, l.word(&t.Name)},
		{"version", true, l.word(&t.Version)},
		{"title", true, l.text(&t.Title)},
		{"description", false, l.text(&t.Description)},
		{"fields", true, l.list(&fields)},
		{"types", true, l.list(&types)},
		{"dimensions", false, l.list(&dimensions)},
	})
	l.fields(fields, t)
	l.types(types, t)
	seen := unique{l: l, what: "dimension", lines: map[string]int{}}
	for _, d := range dimensions {
		t.Dimensions = append(t.Dimensions, l.dimension(d, t, seen))
	}
}

func (l *loader) fields(nodes []*yaml.Node, t *Taxonomy) {
	seen := unique{l: l, what: "field", lines: map[string]int{}}
	group := 0
	for _, n := range nodes {
		var f Field
		l.mapping(n, "a field", []key{
			{"name", true, l.word(&f.Name)},
			{"definition", true, l.text(&f.Definition)},
			{"group", false, l.flag(&f.Group)},
		})
		seen.add(n.Line, f.Name)
		if slices.Contains(reserved, f.Name) {
			l.fault(n.Line, "a field cannot be called %q: records use that column themselves", f.Name)
		}
		if f.Group && group > 0 {
			l.fault(n.Line, "a second field with group: true (the first is on line %d)", group)
		} else if f.Group {
			group = n.Line
		}
		t.Fields = append(t.Fields, f)
	}
}

func (l *loader) types(nodes []*yaml.Node, t *Taxonomy) {
	// Names and codes share one space: either may stand for the type.
	seen := unique{l: l, what: "type name or code", lines: map[string]int{}}
	noError := 0
	for _, n := range nodes {
		var y Type
		l.mapping(n, "a type", []key{
			{"name", true, l.text(&y.Name)},
			{"code", true, l.word(&y.Code)},
			{"category", true, l.text(&y.Category)},
			{"definition", true, l.text(&y.Definition)},
			{"no_error", false, l.flag(&y.NoError)},
			{"severity", false, l.part(&y.Severity)},
		})
		seen.add(n.Line, y.Name)
		if !strings.EqualFold(y.Code, y.Name) {
			seen.add(n.Line, y.Code)
		}
		if strings.ContainsAny(y.Name, ";\n") {
			l.fault(n.Line, "type %q: a name cannot hold a semicolon or line break, they part labels in flat files", y.Name)
		}
		if y.NoError && noError > 0 {
			l.fault(n.Line, "a second type with no_error: true (the first is on line %d)", noError)
		} else if y.NoError {
			noError = n.Line
		}
		t.Types = append(t.Types, y)
	}
}

func (l *loader) dimension(n *yaml.Node, t *Taxonomy, seen unique) Dimension {
	var d Dimension
	var criteria, steps, types []*yaml.Node
	l.mapping(n, "a dimension", []key{
		{"name", true, l.text(&d.Name)},
		{"definition", true, l.text(&d.Definition)},
		{"criteria", true, l.list(&criteria)},
		{"steps", true, l.list(&steps)},
		{"types", true, l.list(&types)},
	})
	d.Key = snakeCase(d.Name)
	seen.add(n.Line, d.Key)
	for i, c := range criteria {
		d.Criteria = append(d.Criteria, l.criterion(c, i+1))
	}
	if len(criteria) == 1 {
		l.fault(n.Line, "dimension %q: one criterion cannot tell rows apart; give at least two", d.Name)
	}
	for _, s := range steps {
		var step string
		l.text(&step)("steps", s)
		d.Steps = append(d.Steps, step)
	}
	mapped := unique{l: l, what: fmt.Sprintf("type in dimension %q", d.Name), lines: map[string]int{}}
	for _, y := range types {
		var name string
		l.text(&name)("types", y)
		i, ok := t.Index(name)
		if !ok {
			l.fault(y.Line, "dimension %q maps to the type %q, which is not among the types", d.Name, name)
			continue
		}
		mapped.add(y.Line, t.Types[i].Name)
		d.Types = append(d.Types, t.Types[i].Name)
	}
	return d
}

func (l *loader) criterion(n *yaml.Node, want int) Criterion {
	var c Criterion
	before := len(l.faults)
	l.mapping(n, "a criterion", []key{
		{"score", true, l.number(&c.Score)},
		{"text", true, l.text(&c.Text)},
	})
	if c.Score != want && len(l.faults) == before {
		l.fault(n.Line, "criterion %d has score %d; scores run 1, 2, 3 … without a gap", want, c.Score)
	}
	return c
}

// reader reads the value of a key.
type reader func(key string, n *yaml.Node)

// key is one entry that a mapping may hold.
type key struct {
	name     string
	required bool
	read     reader
}

func (l *loader) mapping(n *yaml.Node, what string, keys []key) {
	if n.Kind != yaml.MappingNode {
		l.fault(n.Line, "%s must be a mapping with the keys %s", what, keyNames(keys))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		at := slices.IndexFunc(keys, func(c key) bool { return c.name == k.Value })
		first, again := seen[k.Value]
		seen[k.Value] = k.Line
		switch {
		case at < 0:
			l.fault(k.Line, "unknown key %q in %s; it may have %s", k.Value, what, keyNames(keys))
		case again:
			l.fault(k.Line, "key %q is given twice (first on line %d)", k.Value, first)
		default:
			keys[at].read(k.Value, v)
		}
	}
	for _, c := range keys {
		if _, ok := seen[c.name]; c.required && !ok {
			l.fault(n.Line, "%s needs the key %q", what, c.name)
		}
	}
}

func keyNames(keys []key) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}

// text reads words for people; they cannot be empty.
func (l *loader) text(dst *string) reader {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			l.fault(n.Line, "%s: a text is expected, not a list, mapping or alias", key)
			return
		}
		*dst = strings.TrimSpace(n.Value)
		if *dst == "" || n.Tag == "!!null" {
			l.fault(n.Line, "%s: the text is missing", key)
		}
	}
}

// word reads text that stands in identifiers and column names.
func (l *loader) word(dst *string) reader {
	return func(key string, n *yaml.Node) {
		l.text(dst)(key, n)
		if strings.ContainsAny(*dst, " \t\n;@=") {
			l.fault(n.Line, "%s: %q has a space, semicolon, @ or = in it", key, *dst)
		}
	}
}

func (l *loader) flag(dst *bool) reader {
	return func(key string, n *yaml.Node) {
		if err := n.Decode(dst); err != nil || n.Tag != "!!bool" {
			l.fault(n.Line, "%s: true or false is expected, not %q", key, n.Value)
		}
	}
}

func (l *loader) number(dst *int) reader {
	return func(key string, n *yaml.Node) {
		if err := n.Decode(dst); err != nil || n.Tag != "!!int" {
			l.fault(n.Line, "%s: a whole number is expected, not %q", key, n.Value)
		}
	}
}

// part reads a number over 0, up to 1.
func (l *loader) part(dst *float64) reader {
	return func(key string, n *yaml.Node) {
		err := n.Decode(dst)
		if err != nil || n.Tag != "!!float" && n.Tag != "!!int" || !(*dst > 0 && *dst <= 1) {
			l.fault(n.Line, "%s: a number over 0, up to 1, is expected, not %q", key, n.Value)
		}
	}
}

func (l *loader) list(dst *[]*yaml.Node) reader {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			l.fault(n.Line, "%s: a list with at least one entry is expected", key)
			return
		}
		*dst = n.Content
	}
}

// unique reports what occurs twice; case does not matter.
type unique struct {
	l     *loader
	what  string
	lines map[string]int
}

func (u unique) add(line int, name string) {
	if name == "" {
		return // already reported as missing
	}
	folded := strings.ToLower(name)
	if first, ok := u.lines[folded]; ok {
		u.l.fault(line, "%s %q is given twice (first on line %d)", u.what, name, first)
		return
	}
	u.lines[folded] = line
}

// snakeCase is the form in which a dimension's name stands in records: "Answer Consistency" is answer_consistency.
func snakeCase(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	})
	return strings.Join(words, "_")
}
