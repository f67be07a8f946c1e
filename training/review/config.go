package review

import (
	_ "embed"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
)

// What a reviewer sees of the identifier's proposals.
const (
	ShowNothing       = "hidden" // nothing, so that nobody is led; the default
	ShowLabels        = "labels"
	ShowProbabilities = "probabilities" // labels, and how sure the identifier was of each
)

// Shows are all values of Config.Proposals.
func Shows() []string { return []string{ShowNothing, ShowLabels, ShowProbabilities} }

// Config is the section "review" of refine.yaml.
type Config struct {
	Proposals string // one of Shows
}

// DefaultConfig is what an absent section means.
func DefaultConfig() Config { return Config{Proposals: ShowNothing} }

// ConfigText is the section with its defaults and comments.
//
//go:embed review.yaml
var ConfigText string

// ReadConfig reads the section; n may be nil. file stands in the messages. The error joins all faults, each as
// "file:line: what".
func ReadConfig(n *yaml.Node, file string) (Config, error) {
	c := DefaultConfig()
	if n == nil {
		return c, nil
	}
	r := &strictyaml.Reader{File: file}
	r.Mapping(n, "review", strictyaml.May("proposals", func(key string, v *yaml.Node) {
		r.Text(&c.Proposals)(key, v)
		if !slices.Contains(Shows(), c.Proposals) {
			r.Fault(v.Line, "%s: hidden, labels or probabilities is expected, not %q", key, c.Proposals)
		}
	}))
	return c, r.Err()
}
