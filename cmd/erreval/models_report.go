package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
)

// importReport is what an import says when it is done.
type importReport struct {
	Model     string        `json:"model"` // as in --model
	ID        string        `json:"id"`
	Dir       string        `json:"dir"`
	Precision string        `json:"precision"`
	Size      int64         `json:"size"` // bytes
	Check     selfCheck     `json:"self_check"`
	Verified  *verification `json:"verified,omitempty"`
	Head      string        `json:"head,omitempty"`  // layers of the head
	Names     []string      `json:"names,omitempty"` // the checkpoint's own, one a label
	Notes     []string      `json:"notes,omitempty"`
	Licence   string        `json:"licence"`
}

func (p *importReport) print(e *env, r *importRun) error {
	m := r.manifest
	p.Model, p.ID, p.Licence = filepath.Base(p.Dir), m.ID(), m.Licence
	if r.o.Output != "" {
		p.Model = asFolder(p.Dir)
	}
	if r.o.JSON {
		return writeJSON(e.Out, p)
	}
	line, flush := namedLines(e.Out)
	line("model", "%s, %s, %.1f MB", p.ID, cmp.Or(p.Precision, "precision not stated"), float64(p.Size)/1e6)
	line("encoder", "%s, %d layers of %d%s", m.Architecture, m.Layers, m.HiddenSize, prefixed(", head ", p.Head))
	line("input", "%s, joined as %s, at most %d tokens", strings.Join(m.Fields, " "+m.Separator+" "), m.Join, m.MaxTokens)
	line("labels", "%s, %s", p.labels(m), activationWords[m.Activation])
	line("licence", "%s", licenceWords(m.Licence))
	for _, note := range p.Notes {
		line("note", "%s", note)
	}
	line("self-check", "%s", p.Check.sentence(p.Precision))
	if v := p.Verified; v != nil {
		line("verified", "%s: %s, largest difference of a logit %.2g (tolerance %g)", v.Reference, words.Plural(v.Rows, "row", "rows"), v.Worst, v.Tolerance)
	}
	line("written", "%s; use it with --model %s", p.Dir, p.Model)
	return flush()
}

// asFolder writes dir so that it is not taken for the name of an imported model.
func asFolder(dir string) string {
	if strings.ContainsRune(dir, filepath.Separator) {
		return dir
	}
	return "." + string(filepath.Separator) + dir
}

var activationWords = map[string]string{models.Sigmoid: "each with a probability of its own", models.Softmax: "of which a row has one"}

// labels tells which name of the checkpoint became which error type.
func (p *importReport) labels(m *models.Manifest) string {
	parts := make([]string, len(m.Labels))
	for i, label := range m.Labels {
		parts[i] = label
		if i < len(p.Names) && p.Names[i] != label {
			parts[i] = p.Names[i] + " = " + label
		}
	}
	return strings.Join(parts, ", ")
}

func (c selfCheck) sentence(precision string) string {
	s := fmt.Sprintf("%s, every logit a finite number", words.Plural(c.Rows, "sample row", "sample rows"))
	if c.Export != nil {
		s += fmt.Sprintf("; rewritten against the export: largest difference of a logit %.2g", *c.Export)
	}
	if c.FP32 == nil {
		return s
	}
	return fmt.Sprintf("%s; %s against fp32: %d of %d decisions flipped, largest shift of a logit %.2g", s, precision, c.FP32.Flipped, c.FP32.Decisions, c.FP32.Shift)
}

func licenceWords(licence string) string {
	if licence == unknownLicence {
		return "unknown: neither config.json nor README.md names one"
	}
	return cmp.Or(licence, "not stated")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// namedLines prints lines of a name and what it says, in two columns; flush ends them.
func namedLines(w io.Writer) (line func(name, format string, args ...any), flush func() error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	return func(name, format string, args ...any) {
		fmt.Fprintf(tw, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}, tw.Flush
}
