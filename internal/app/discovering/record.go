package discovering

import (
	"github.com/erreval/erreval/discover"
	"github.com/erreval/erreval/internal/runrecord"
	"github.com/erreval/erreval/llm/judging"
)

// discoverRecord is the options part of OUT.run.json.
type discoverRecord struct {
	*judging.Record // absent where no model is asked
	runrecord.Reading
	Analysis  string            `json:"analysis"`
	Evidence  string            `json:"evidence,omitempty"`
	Criteria  []string          `json:"criteria,omitempty"`
	HighScore float64           `json:"high_score,omitempty"`
	Sentence  string            `json:"sentence,omitempty"`
	Grouping  string            `json:"grouping,omitempty"`
	Seed      uint64            `json:"draw_seed"`
	Orders    int               `json:"orders,omitempty"`
	Shortlist int               `json:"shortlist,omitempty"`
	Block     int               `json:"block,omitempty"`
	MaxIssues int               `json:"max_issues,omitempty"`
	Threshold float64           `json:"threshold,omitempty"`
	Known     *runrecord.Input  `json:"issues,omitempty"`
	Where     []string          `json:"where,omitempty"`
	Sample    int               `json:"sample,omitempty"`
	Worst     bool              `json:"worst,omitempty"`
	Templates map[string]string `json:"templates,omitempty"` // kind to id and hash
	Embedded  bool              `json:"embedded,omitempty"`  // sentences are compared by an encoder too
}

// record begins the record of the run.
func (d *discovery) record() (*runrecord.Record, error) {
	g := &d.Group
	rec := discoverRecord{Reading: d.Rows.Reading, Analysis: d.By, Sentence: d.Sentence, Grouping: g.Grouping,
		Seed: g.Seed, Known: d.known, Sample: d.Chosen.Sample, Worst: d.Chosen.Worst, Embedded: g.Embed != nil}
	rec.Where = d.whereTexts()
	if d.judges != nil {
		asked := d.judges.NewRecord(d.Rows.Reading)
		rec.Record = &asked
		rec.Templates = map[string]string{}
		for kind, t := range d.templates {
			rec.Templates[kind] = t.ID() + " sha256:" + t.Hash()
		}
	}
	if d.analyst != nil {
		rec.Evidence = d.Analyst.Evidence
	}
	if d.By == discover.ByCriteria {
		rec.HighScore = d.Analyst.HighScore
		for _, c := range d.Analyst.Criteria {
			rec.Criteria = append(rec.Criteria, c.Name+": "+c.Text)
		}
	}
	switch g.Grouping {
	case discover.Cumulative:
		rec.Orders, rec.Shortlist, rec.Block = g.Orders, g.Shortlist, g.Block
	case discover.KeyPoints:
		rec.MaxIssues = g.MaxIssues
	case discover.Offline:
		rec.Threshold = g.Cluster.Threshold
	}
	return d.Rows.NewRecord("discover", rec, d.Input)
}

// whereTexts are the conditions as written.
func (d *discovery) whereTexts() (texts []string) {
	for _, c := range d.Chosen.Where {
		texts = append(texts, c.Text)
	}
	return texts
}
