package discover

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/taxonomy"
)

// ProposeOptions say what becomes an error type.
type ProposeOptions struct {
	Name     string // of the taxonomy
	MinCount int    // rows that an issue needs
	Unstable bool   // take unstable issues too
}

// DefaultProposeOptions take stable issues of three rows and more: fewer teach no tagger anything.
func DefaultProposeOptions() ProposeOptions { return ProposeOptions{Name: "discovered", MinCount: 3} }

// Proposal is a taxonomy made of issues.
type Proposal struct {
	YAML   []byte            // that taxonomy.Parse takes, with the issues' examples as comments
	TypeOf map[string]string // id of an issue to the name of its type; issues that are left out have none
	Left   []issues.Issue    // those
}

// Propose makes a taxonomy of the issues of a list, for the task that base describes: its fields, and if it has types
// these too, with its dimensions. An issue that is one of these types already, or has its name, becomes no new one.
func Propose(l *issues.List, base *taxonomy.Taxonomy, o ProposeOptions) (*Proposal, error) {
	p := &Proposal{TypeOf: map[string]string{}}
	t := *base
	t.Name, t.Version, t.Types = o.Name, "1.0", slices.Clone(base.Types)
	if t.NoErrorIndex() < 0 { // it comes first, so that no issue takes its name, and is written last
		t.Types = append(t.Types, taxonomy.Type{Name: "No Error", Code: "OK", Category: "None",
			Definition: "Nothing of the above.", NoError: true})
	}
	noError := t.Types[t.NoErrorIndex()]
	comments := map[string][]string{}
	for _, issue := range l.Issues {
		same := typeOf(base, &issue)
		switch {
		case same != "":
			p.TypeOf[issue.ID] = same
		case issue.Count < o.MinCount || issue.Unstable && !o.Unstable:
			p.Left = append(p.Left, issue)
		default:
			y := newType(&t, &issue)
			t.Types = append(t.Types, y)
			p.TypeOf[issue.ID] = y.Name
			comments[y.Name] = commentsOn(&issue)
		}
	}
	if len(p.TypeOf) == 0 {
		return nil, fmt.Errorf("none of %s has %d rows and is stable: take more with --min-count or --unstable",
			words.Plural(len(l.Issues), "issue", "issues"), o.MinCount)
	}
	if base.NoErrorIndex() < 0 {
		t.Types = append(slices.DeleteFunc(t.Types, func(y taxonomy.Type) bool { return y.NoError }), noError)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Proposed by erreval taxonomy propose, of issues that were discovered in %s of the task %s.\n"+
		"# Names, definitions and categories are a beginning: read the examples, and change what does not fit.\n",
		words.Plural(l.Rows, "row", "rows"), l.Task)
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(documentOf(&t, comments)); err != nil {
		return nil, err
	}
	p.YAML = b.Bytes()
	_, err := taxonomy.Parse(p.YAML, o.Name+".yaml")
	return p, err
}

// typeOf is the name of the error type that an issue is already, by its name or by its rows; "" if it is none.
func typeOf(base *taxonomy.Taxonomy, issue *issues.Issue) string {
	name := issue.Name
	if issue.Relation == issues.IsType {
		name = issue.Labels[0].Label
	}
	for _, name := range []string{issue.Name, name} {
		if at, ok := base.Index(name); ok && !base.Types[at].NoError {
			return base.Types[at].Name
		}
	}
	return ""
}

// newType is an error type for an issue, with a name and a code that t does not have yet.
func newType(t *taxonomy.Taxonomy, issue *issues.Issue) taxonomy.Type {
	taken := func(name string) bool { _, ok := t.Index(name); return ok }
	y := taxonomy.Type{Name: free(oneLine(issue.Name), taken), Category: "Discovered", Definition: oneParagraph(issue)}
	y.Code = free(initials(y.Name), func(code string) bool {
		return taken(code) || strings.EqualFold(code, y.Name) && code != y.Name
	})
	if issue.Severity.Defined() {
		y.Severity = float64(int(100*float64(issue.Severity)/3)) / 100 // severities are 1 to 3
	}
	return y
}

// free is name, or name with a number behind it that makes it free.
func free(name string, taken func(string) bool) string {
	out := name
	for i := 2; taken(out); i++ {
		out = fmt.Sprintf("%s%d", name, i)
	}
	return out
}

// initials are those of the words of a name, as a code: "Vague Reference" is VR.
func initials(name string) string {
	var out []rune
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsNumber(r)
	}) {
		out = append(out, unicode.ToUpper([]rune(word)[0]))
	}
	if len(out) == 0 {
		return "X"
	}
	return string(out)
}

func oneParagraph(issue *issues.Issue) string {
	text := strings.Join(strings.Fields(issue.Description), " ")
	if text == "" {
		return issue.Name + "."
	}
	return text
}

// commentsOn say where a type comes from.
func commentsOn(issue *issues.Issue) []string {
	lines := []string{fmt.Sprintf("issue %s: %s", issue.ID, words.Plural(issue.Count, "row", "rows"))}
	if issue.Relation == issues.Narrower {
		lines = append(lines, "a part of the type "+issue.Labels[0].Label)
	}
	for _, e := range issue.Examples {
		lines = append(lines, fmt.Sprintf("for example %s: %s", e.Row, e.Analysis))
	}
	return lines
}

// documentOf is a taxonomy as YAML, with comments above the types of these names.
func documentOf(t *taxonomy.Taxonomy, comments map[string][]string) *yaml.Node {
	types := sequence()
	for _, y := range t.Types {
		n := mapping("name", y.Name, "code", y.Code, "category", y.Category, "definition", y.Definition)
		if y.Severity > 0 {
			n.Content = append(n.Content, scalar("severity"), plain(fmt.Sprint(y.Severity)))
		}
		if y.NoError {
			n.Content = append(n.Content, scalar("no_error"), plain("true"))
		}
		if len(y.Needs) > 0 {
			n.Content = append(n.Content, scalar("needs"), sequence(y.Needs...))
		}
		n.HeadComment = comment(comments[y.Name])
		types.Content = append(types.Content, n)
	}
	fields := sequence()
	for _, f := range t.Fields {
		n := mapping("name", f.Name, "definition", f.Definition)
		if f.Group {
			n.Content = append(n.Content, scalar("group"), plain("true"))
		}
		if f.Optional {
			n.Content = append(n.Content, scalar("optional"), plain("true"))
		}
		fields.Content = append(fields.Content, n)
	}
	root := mapping("name", t.Name, "version", t.Version, "title", t.Title, "description", t.Description)
	if t.Description == "" {
		root.Content = root.Content[:6]
	}
	root.Content = append(root.Content, scalar("fields"), fields, scalar("types"), types)
	if len(t.Dimensions) > 0 {
		root.Content = append(root.Content, scalar("dimensions"), dimensionsOf(t))
	}
	return root
}

func dimensionsOf(t *taxonomy.Taxonomy) *yaml.Node {
	all := sequence()
	for _, d := range t.Dimensions {
		criteria := sequence()
		for _, c := range d.Criteria {
			n := mapping("text", c.Text)
			n.Content = append([]*yaml.Node{scalar("score"), plain(fmt.Sprint(c.Score))}, n.Content...)
			criteria.Content = append(criteria.Content, n)
		}
		n := mapping("name", d.Name, "definition", d.Definition)
		n.Content = append(n.Content, scalar("criteria"), criteria, scalar("steps"), sequence(d.Steps...),
			scalar("types"), sequence(d.Types...))
		all.Content = append(all.Content, n)
	}
	return all
}

// comment is a YAML comment: nothing in it can end it.
func comment(lines []string) string {
	for i, line := range lines {
		lines[i] = "# " + words.Printable(strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

// mapping has keys and texts in turn.
func mapping(pairs ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range pairs {
		n.Content = append(n.Content, scalar(p))
	}
	return n
}

func sequence(texts ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for _, text := range texts {
		n.Content = append(n.Content, scalar(text))
	}
	return n
}

// scalar is a text, quoted where it would be read as something else.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	n.Style = 0
	return n
}

// plain is a number or a truth value.
func plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

// LabelsOf are the labels of a row by the proposed types; false where it is not known whether they apply. labels are
// those that an identifier found, where the taxonomy keeps its types.
func (p *Proposal) LabelsOf(f *issues.Finding, labels []string, noError string) ([]string, bool) {
	if f == nil || f.Status == issues.Unassigned {
		return nil, false
	}
	out := slices.Clone(labels)
	for _, id := range f.IDs {
		name, ok := p.TypeOf[id]
		if !ok {
			return nil, false // it has an issue, but of none of the types
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		out = []string{noError}
	}
	return out, true
}
