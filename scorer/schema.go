package scorer

import (
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
)

// VerdictSchema is the form of a reply to a prompt of kind judge with JSON set: reason, then score.
func VerdictSchema(d *taxonomy.Dimension) (*llm.Schema, error) {
	return llm.NewSchema("verdict", verdictOf(d))
}

// JointSchema is the form of a reply to a prompt of kind joint: reason and score under each dimension's key.
func JointSchema(ds []taxonomy.Dimension) (*llm.Schema, error) {
	p := make([]llm.Property, len(ds))
	for i := range ds {
		p[i] = llm.Property{Name: ds[i].Key, Schema: verdictOf(&ds[i])}
	}
	return llm.NewSchema("verdicts", llm.ObjectOf(p...))
}

// LabelsSchema is the form of a reply to a prompt of kind identify: reason, then the labels' names.
func LabelsSchema(t *taxonomy.Taxonomy) (*llm.Schema, error) {
	labels := llm.ListSchema(map[string]any{"type": "string", "enum": t.Labels()})
	return llm.NewSchema("labels", llm.ObjectOf(reason, llm.Property{Name: "labels", Schema: labels}))
}

// reason comes before what it is for.
var reason = llm.Property{Name: "reason", Schema: llm.TextSchema()}

// verdictOf lists the scores: not every endpoint takes minimum and maximum, and nothing lies between scores.
func verdictOf(d *taxonomy.Dimension) llm.Object {
	scores := make([]int, len(d.Criteria))
	for i, c := range d.Criteria {
		scores[i] = c.Score
	}
	return llm.ObjectOf(reason, llm.Property{Name: "score", Schema: map[string]any{"type": "integer", "enum": scores}})
}
