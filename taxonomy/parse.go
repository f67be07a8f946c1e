package taxonomy

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
)

// reserved are columns of a record that no task field may take.
var reserved = []string{"id", "labels", "diagnosis", "scores", "issues"}

// Parse reads a taxonomy strictly. file stands in the messages. The error joins every fault found,
// each as "file:line: what"; a taxonomy comes back only if there is none.
func Parse(data []byte, file string) (*Taxonomy, error) {
	l := &loader{strictyaml.Reader{File: file}}
	t := &Taxonomy{}
	if root := l.Document(data, "taxonomy"); root != nil {
		l.taxonomy(root, t)
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	return t, nil
}

type loader struct{ strictyaml.Reader }

func (l *loader) taxonomy(n *yaml.Node, t *Taxonomy) {
	var fields, types, dimensions []*yaml.Node
	l.Mapping(n, "a taxonomy",
		strictyaml.Need("name", l.Word(&t.Name)),
		strictyaml.Need("version", l.Word(&t.Version)),
		strictyaml.Need("title", l.Text(&t.Title)),
		strictyaml.May("description", l.Text(&t.Description)),
		strictyaml.Need("fields", l.List(&fields)),
		strictyaml.May("types", l.List(&types)),
		strictyaml.May("dimensions", l.List(&dimensions)),
	)
	l.fields(fields, t)
	t.Types = []Type{}
	l.types(types, t)
	seen := l.Unique("dimension")
	for _, d := range dimensions {
		t.Dimensions = append(t.Dimensions, l.dimension(d, t, seen))
	}
}

func (l *loader) fields(nodes []*yaml.Node, t *Taxonomy) {
	seen := l.Unique("field")
	group := 0
	for _, n := range nodes {
		var f Field
		l.Mapping(n, "a field",
			strictyaml.Need("name", l.Word(&f.Name)),
			strictyaml.Need("definition", l.Text(&f.Definition)),
			strictyaml.May("group", l.Flag(&f.Group)),
			strictyaml.May("optional", l.Flag(&f.Optional)),
		)
		if f.Optional && len(t.Fields) == 0 {
			l.Fault(n.Line, "the first field, %q, is the text under evaluation; it cannot be optional", f.Name)
		}
		seen.Add(n.Line, f.Name)
		if slices.Contains(reserved, f.Name) {
			l.Fault(n.Line, "a field cannot be called %q: records use that column themselves", f.Name)
		}
		if f.Group && group > 0 {
			l.Fault(n.Line, "a second field with group: true (the first is on line %d)", group)
		} else if f.Group {
			group = n.Line
		}
		t.Fields = append(t.Fields, f)
	}
}

func (l *loader) types(nodes []*yaml.Node, t *Taxonomy) {
	// No name is the code of another type, since either may stand for the type.
	seen := l.Unique("type name or code")
	noError := 0
	for _, n := range nodes {
		var y Type
		var needs []*yaml.Node
		var simulate *yaml.Node
		l.Mapping(n, "a type",
			strictyaml.Need("name", l.Text(&y.Name)),
			strictyaml.Need("code", l.Word(&y.Code)),
			strictyaml.Need("category", l.Text(&y.Category)),
			strictyaml.Need("definition", l.Text(&y.Definition)),
			strictyaml.May("no_error", l.Flag(&y.NoError)),
			strictyaml.May("severity", l.Float(&y.Severity, "a number over 0, up to 1,",
				func(x float64) bool { return x > 0 && x <= 1 })),
			strictyaml.May("needs", l.List(&needs)),
			strictyaml.May("simulate", func(_ string, n *yaml.Node) { simulate = n }),
		)
		y.Needs, y.Simulate = l.needs(needs, &y, t), l.simulation(simulate, &y)
		seen.Add(n.Line, y.Name)
		if !strings.EqualFold(y.Code, y.Name) {
			seen.Add(n.Line, y.Code)
		}
		if strings.ContainsAny(y.Name, ";\n") {
			l.Fault(n.Line, "type %q: a name cannot hold a semicolon or line break, they part labels in flat files", y.Name)
		}
		if y.NoError && noError > 0 {
			l.Fault(n.Line, "a second type with no_error: true (the first is on line %d)", noError)
		} else if y.NoError {
			noError = n.Line
		}
		t.Types = append(t.Types, y)
	}
}

// needs are the optional fields that a type names.
func (l *loader) needs(nodes []*yaml.Node, y *Type, t *Taxonomy) []string {
	var out []string
	for _, n := range nodes {
		var name string
		l.Text(&name)("needs", n)
		i := slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
		switch {
		case i < 0:
			l.Fault(n.Line, "type %q needs the field %q, which is not among the fields", y.Name, name)
		case !t.Fields[i].Optional:
			l.Fault(n.Line, "type %q needs the field %q, which every row has; mark it optional: true, or leave it out here",
				y.Name, name)
		case y.NoError:
			l.Fault(n.Line, "type %q needs the field %q; the label of rows without errors needs none", y.Name, name)
		default:
			out = append(out, name)
		}
	}
	return out
}

// simulation reads {edits: [cut], texts: [...]}, or the edits alone.
func (l *loader) simulation(n *yaml.Node, y *Type) *Simulation {
	if n == nil {
		return nil
	}
	var s Simulation
	var edits, texts []*yaml.Node
	if n.Kind == yaml.MappingNode {
		l.Mapping(n, "a simulation", strictyaml.Need("edits", l.List(&edits)), strictyaml.May("texts", l.List(&texts)))
	} else {
		l.List(&edits)("simulate", n)
	}
	s.Edits, s.Texts = l.texts("edits", edits), l.texts("texts", texts)
	for _, name := range s.Edits {
		if !slices.Contains(Edits(), name) {
			l.Fault(n.Line, "type %q: there is no edit %q; there are %s", y.Name, name, strings.Join(Edits(), ", "))
		}
	}
	if slices.Contains(s.Edits, EditReplace) != (len(s.Texts) > 0) {
		l.Fault(n.Line, "type %q: texts go with the edit %s, and it needs some", y.Name, EditReplace)
	}
	if y.NoError {
		l.Fault(n.Line, "type %q: a row without error is simulated by leaving it as it is", y.Name)
	}
	return &s
}

func (l *loader) texts(key string, nodes []*yaml.Node) (texts []string) {
	for _, n := range nodes {
		var text string
		l.Text(&text)(key, n)
		texts = append(texts, text)
	}
	return texts
}

func (l *loader) dimension(n *yaml.Node, t *Taxonomy, seen *strictyaml.Unique) Dimension {
	var d Dimension
	var criteria, steps, types []*yaml.Node
	l.Mapping(n, "a dimension",
		strictyaml.Need("name", l.Text(&d.Name)),
		strictyaml.Need("definition", l.Text(&d.Definition)),
		strictyaml.Need("criteria", l.List(&criteria)),
		strictyaml.Need("steps", l.List(&steps)),
		strictyaml.Need("types", l.List(&types)),
	)
	d.Key = snakeCase(d.Name)
	seen.Add(n.Line, d.Key)
	for i, c := range criteria {
		d.Criteria = append(d.Criteria, l.criterion(c, i+1))
	}
	if len(criteria) == 1 {
		l.Fault(n.Line, "dimension %q: one criterion cannot tell rows apart; give at least two", d.Name)
	}
	for _, s := range steps {
		var step string
		l.Text(&step)("steps", s)
		d.Steps = append(d.Steps, step)
	}
	mapped := l.Unique(fmt.Sprintf("type in dimension %q", d.Name))
	for _, y := range types {
		var name string
		l.Text(&name)("types", y)
		i, ok := t.Index(name)
		if !ok {
			l.Fault(y.Line, "dimension %q maps to the type %q, which is not among the types", d.Name, name)
			continue
		}
		mapped.Add(y.Line, t.Types[i].Name)
		d.Types = append(d.Types, t.Types[i].Name)
	}
	return d
}

func (l *loader) criterion(n *yaml.Node, want int) Criterion {
	var c Criterion
	before := l.Faults()
	l.Mapping(n, "a criterion",
		strictyaml.Need("score", l.Int(&c.Score)),
		strictyaml.Need("text", l.Text(&c.Text)),
	)
	if c.Score != want && l.Faults() == before {
		l.Fault(n.Line, "criterion %d has score %d; scores run 1, 2, 3 … without a gap", want, c.Score)
	}
	return c
}

// snakeCase is the form in which a dimension's name stands in records: "Answer Consistency" is answer_consistency.
func snakeCase(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r < 0x80
	})
	return strings.Join(words, "_")
}
