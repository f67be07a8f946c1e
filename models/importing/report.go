package importing

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/report"
)

// Report is the result of an import.
type Report struct {
	Model     string        `json:"model"` // as in --model
	ID        string        `json:"id"`
	Dir       string        `json:"dir"`
	Precision string        `json:"precision"`
	Size      int64         `json:"size"` // bytes
	Check     SelfCheck     `json:"self_check"`
	Verified  *Verification `json:"verified,omitempty"`
	Head      string        `json:"head,omitempty"`  // layers of the head
	Names     []string      `json:"names,omitempty"` // the checkpoint's own, one a label
	Notes     []string      `json:"notes,omitempty"`
	Licence   string        `json:"licence"`

	manifest *models.Manifest
}

// Lines words the report for people.
func (p *Report) Lines() *report.Lines {
	m, lines := p.manifest, &report.Lines{}
	lines.Add("model", "%s, %s, %.1f MB", p.ID, models.PrecisionText(p.Precision), float64(p.Size)/1e6)
	lines.Add("encoder", "%s%s", m.EncoderText(), words.Prefixed(", head ", p.Head))
	lines.Add("input", "%s", m.InputText())
	lines.Add("labels", "%s, %s", p.labels(), activationTexts[m.Activation])
	lines.Add("licence", "%s", licenceText(p.Licence))
	for _, note := range p.Notes {
		lines.Add("note", "%s", note)
	}
	lines.Add("self-check", "%s", p.Check.sentence(p.Precision))
	if v := p.Verified; v != nil {
		lines.Add("verified", "%s: %s, largest difference of a logit %.2g (tolerance %g)",
			v.Reference, words.Plural(v.Rows, "row", "rows"), v.Worst, v.Tolerance)
	}
	lines.Add("written", "%s; use it with --model %s", p.Dir, p.Model)
	return lines
}

// activationTexts says whether labels exclude each other.
var activationTexts = map[string]string{models.Sigmoid: "each with a probability of its own",
	models.Softmax: "of which a row has one"}

// labels tells which name of the checkpoint became which error type.
func (p *Report) labels() string {
	m := p.manifest
	parts := make([]string, len(m.Labels))
	for i, label := range m.Labels {
		parts[i] = label
		if i < len(p.Names) && p.Names[i] != label {
			parts[i] = p.Names[i] + " = " + label
		}
	}
	return strings.Join(parts, ", ")
}

func (c SelfCheck) sentence(precision string) string {
	s := fmt.Sprintf("%s, every logit a finite number", words.Plural(c.Rows, "sample row", "sample rows"))
	if c.Export != nil {
		s += fmt.Sprintf("; rewritten against the export: largest difference of a logit %.2g", *c.Export)
	}
	if c.FP32 == nil {
		return s
	}
	return fmt.Sprintf("%s; %s against fp32: %d of %d decisions flipped, largest shift of a logit %.2g",
		s, precision, c.FP32.Flipped, c.FP32.Decisions, c.FP32.Shift)
}

func licenceText(licence string) string {
	if licence == unknownLicence {
		return "unknown: neither config.json nor README.md names one"
	}
	return cmp.Or(licence, "not stated")
}
