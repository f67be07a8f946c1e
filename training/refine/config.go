package refine

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
)

// Values of Config.Start that are no models of the user's.
const (
	StartNone    = "none"    // there is no model to start from
	StartDefault = "default" // the one inside the program, which has no verifier
)

// Rules of promotion: when a trained identifier takes the place of the one before.
const (
	RuleEstimate = "estimate" // its figure is higher on the rows that measure
	RuleInterval = "interval" // so is the lower end of the difference's 95 % interval
)

// Config is refine.yaml.
type Config struct {
	Taxonomy string // built-in name, or file, from the workspace's folder
	Group    string // field or column that is not shared between training and development rows; "" is each row by itself
	// model before the first iteration, as --model takes it; a relative path is from the workspace's folder
	Start   string
	Python  string // interpreter for the trainer; "" is the environment that setup made
	Trainer []string
	Train   TrainConfig
	Promote PromoteConfig

	// Select and Review are the sections of those names, which training/selection and training/review read; nil is absent.
	Select, Review *yaml.Node
}

// TrainConfig says how an iteration is trained.
type TrainConfig struct {
	// folder of an encoder (relative: from the workspace's folder), its name on the hub, "default", or the built-in
	// taxonomy of a model inside the program
	Encoder   string
	From      string  // FromEncoder or FromLast
	Device    string  // auto, cpu or cuda
	Epochs    int     // at most
	Batch     int     // rows a step
	Rate      float64 // learning rate
	Patience  int     // epochs without a gain on the development rows after which training ends
	Seed      int
	MaxTokens int
	Window    string `json:",omitempty"` // of a long field, as in models import --window; "" reads all that fits
	Precision string // of the finished models' weights: fp32, fp16 or int8
	Verifier  bool   // train a verifier too
	Negatives int    // wrong label sets that the verifier sees for each right one
}

// Where training goes on from.
const (
	FromEncoder = "encoder" // each iteration starts afresh, as in the paper
	FromLast    = "last"    // from the weights of the iteration in use
)

// PromoteConfig says when an identifier is better.
type PromoteConfig struct {
	Metric     string // a figure in which higher is better: see Metrics of internal/stats
	Rule       string // RuleEstimate or RuleInterval
	MinSupport int    // labels with fewer rows stay out of the macro F1
	Resamples  int    // of the bootstrap
}

// DefaultConfig is what an empty refine.yaml means. Rate, batch and epochs are those of the ErrEval paper, Appendix F.
func DefaultConfig() Config {
	return Config{
		Taxonomy: "question-generation", Start: StartDefault,
		Train: TrainConfig{Encoder: "default", From: FromEncoder, Device: "auto", Epochs: 20, Batch: 32, Rate: 2e-5,
			Patience: 3, Seed: 1,
			MaxTokens: 512, Precision: "int8", Verifier: true, Negatives: 1},
		Promote: PromoteConfig{Metric: "micro_f1", Rule: RuleEstimate, MinSupport: 5, Resamples: 1000},
	}
}

// Figures by which Promote can judge, as internal/stats calls them.
var promoteMetrics = []string{"micro_f1", "macro_f1", "weighted_f1", "exact_match", "micro_f1_errors",
	"macro_f1_errors"}

// ParseConfig reads refine.yaml strictly. The error joins all faults, each as "file:line: what".
func ParseConfig(data []byte, file string) (Config, error) {
	c, r := DefaultConfig(), &strictyaml.Reader{File: file}
	root := r.Document(data, "configuration")
	if root == nil {
		return c, r.Err()
	}
	r.Mapping(root, "a configuration",
		strictyaml.May("taxonomy", r.Text(&c.Taxonomy)),
		strictyaml.May("group", optional(r, &c.Group)),
		strictyaml.May("start", r.Text(&c.Start)),
		strictyaml.May("python", optional(r, &c.Python)),
		strictyaml.May("trainer", texts(r, &c.Trainer)),
		strictyaml.May("train", func(key string, n *yaml.Node) { c.Train.read(r, n) }),
		strictyaml.May("promote", func(key string, n *yaml.Node) { c.Promote.read(r, n) }),
		strictyaml.May("select", section(r, &c.Select)),
		strictyaml.May("review", section(r, &c.Review)),
	)
	return c, r.Err()
}

func (t *TrainConfig) read(r *strictyaml.Reader, n *yaml.Node) {
	r.Mapping(n, "train",
		strictyaml.May("encoder", r.Text(&t.Encoder)),
		strictyaml.May("from", oneOf(r, &t.From, FromEncoder, FromLast)),
		strictyaml.May("device", oneOf(r, &t.Device, "auto", "cpu", "cuda")),
		strictyaml.May("epochs", r.IntFrom(1, &t.Epochs)),
		strictyaml.May("batch", r.IntFrom(1, &t.Batch)),
		strictyaml.May("learning_rate", r.Float(&t.Rate, "a number over 0, below 1",
			func(x float64) bool { return x > 0 && x < 1 })),
		strictyaml.May("patience", r.IntFrom(1, &t.Patience)),
		strictyaml.May("seed", r.IntFrom(0, &t.Seed)),
		strictyaml.May("max_tokens", r.IntFrom(8, &t.MaxTokens)),
		strictyaml.May("window", optional(r, &t.Window)),
		strictyaml.May("precision", oneOf(r, &t.Precision, "fp32", "fp16", "int8")),
		strictyaml.May("verifier", r.Flag(&t.Verifier)),
		strictyaml.May("negatives", r.IntFrom(1, &t.Negatives)),
	)
}

func (p *PromoteConfig) read(r *strictyaml.Reader, n *yaml.Node) {
	r.Mapping(n, "promote",
		strictyaml.May("metric", oneOf(r, &p.Metric, promoteMetrics...)),
		strictyaml.May("rule", oneOf(r, &p.Rule, RuleEstimate, RuleInterval)),
		strictyaml.May("min_support", r.IntFrom(1, &p.MinSupport)),
		strictyaml.May("resamples", r.IntFrom(100, &p.Resamples)),
	)
}

// OptionError says that an option, or a setting in refine.yaml, is wrong. Its text names an option as the command does.
type OptionError struct{ error }

// Unwrap gives the cause.
func (e *OptionError) Unwrap() error { return e.error }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Errorf(format, args...)}
}

// UnfitError says that rows, a batch or probabilities were made for another taxonomy, or are not as they were made.
type UnfitError struct{ error }

// Unwrap gives the cause.
func (e *UnfitError) Unwrap() error { return e.error }

func oneOf(r *strictyaml.Reader, dst *string, known ...string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		if r.Text(dst)(key, n); *dst != "" && !slices.Contains(known, *dst) {
			r.Fault(n.Line, "%s: %s is expected, not %q", key, strings.Join(known, " or "), *dst)
		}
	}
}

// optional reads a text that may be empty.
func optional(r *strictyaml.Reader, dst *string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || n.Value == "") {
			*dst = ""
			return
		}
		r.Text(dst)(key, n)
	}
}

func texts(r *strictyaml.Reader, dst *[]string) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		var items []*yaml.Node
		*dst = nil
		if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			return
		}
		r.List(&items)(key, n)
		for _, item := range items {
			var word string
			r.Text(&word)(key, item)
			*dst = append(*dst, word)
		}
	}
}

func section(r *strictyaml.Reader, dst **yaml.Node) strictyaml.Value {
	return func(key string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.Fault(n.Line, "%s must be a mapping", key)
			return
		}
		*dst = n
	}
}

//go:embed refine.yaml
var configText string

// ConfigText is a commented refine.yaml of the defaults. Sections are the texts of select and review, which their
// packages know.
func ConfigText(c Config, sections ...string) string {
	text := fmt.Sprintf(configText, c.Taxonomy, c.Group, c.Start, c.Train.Encoder)
	for _, s := range sections {
		text += "\n" + strings.TrimSpace(s) + "\n"
	}
	return text
}
