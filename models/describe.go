package models

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/taxonomy"
)

// Values of problem_type in a config.json: they say whether labels exclude each other.
const (
	multiLabel  = "multi_label_classification"
	singleLabel = "single_label_classification"
)

// defaultThreshold is the threshold of a sigmoid's label where the user chose none.
const defaultThreshold = 0.5

type tokens struct{ start, separator, end, pad string }

// specials are the special tokens that transformers gives the tokenizers of each model_type.
var specials = func() map[string]tokens {
	bert, roberta := tokens{"[CLS]", "[SEP]", "[SEP]", "[PAD]"}, tokens{"<s>", "</s>", "</s>", "<pad>"}
	return map[string]tokens{"bert": bert, "distilbert": bert, "deberta-v2": bert, "roberta": roberta,
		"xlm-roberta": roberta}
}()

// Classifier describes a sequence classifier by its own files, which do not know the task.
type Classifier struct {
	Architecture string   // model_type
	HiddenSize   int      // width of the encoder
	Layers       int      // depth of the encoder
	Labels       []string // id2label, in the order of the logits
	Problem      string   // problem_type; "" where nothing is said
	MaxTokens    int      // longest input, special tokens included
	Inputs       []string // of the graph
	Output       string   // of the graph
	Embedding    *Embedding
	Files        []string // of a plain export: its graph, and the files of weights beside it
}

// Choices are what the user says about a classifier where its files say nothing. Describe decides zero values.
type Choices struct {
	Name, Version string             // must be given
	Precision     string             // of the weights; "" is unknown
	Labels        string             // "" takes the names as they are; "taxonomy", "NAME,NAME,…" or "LABEL_0=NAME,…"
	Join          string             // "" is JoinFields
	Activation    string             // "" follows problem_type
	Segments      []int64            // token_type_ids, one a field; none is all 0
	Window        *Window            // as it was trained with; nil reads fields from their beginning on
	Thresholds    map[string]float64 // by the taxonomy's names; the others have 0.5, or 0 with Softmax
}

// Describe makes the manifest of a classifier for the task of t. The caller adds files and probes. Describe guesses
// nothing: it refuses labels that t lacks, and a head whose activation is unknown, and says which option to give.
func Describe(c *Classifier, t *taxonomy.Taxonomy, o Choices) (*Manifest, error) {
	labels, err := mapLabels(c.Labels, o.Labels, t)
	activation, problem := activationOf(c.Problem, o.Activation)
	special, ok := specials[c.Architecture]
	if !ok {
		err = errors.Join(err,
			fmt.Errorf("model_type %q is not known; without a %s these are: bert, deberta-v2, distilbert, roberta, xlm-roberta",
				c.Architecture, ManifestFile))
	}
	if err := errors.Join(err, problem); err != nil {
		return nil, err
	}
	m := &Manifest{
		Format: format, Name: o.Name, Version: o.Version, Architecture: c.Architecture, HiddenSize: c.HiddenSize,
		Layers:    c.Layers,
		Precision: o.Precision, Taxonomy: t.ID(), Labels: labels, Fields: t.FieldNames(), Join: cmp.Or(o.Join, JoinFields),
		Start: special.start, Separator: special.separator, End: special.end, Pad: special.pad, Segments: o.Segments,
		Window:    o.Window,
		MaxTokens: c.MaxTokens, Activation: activation, Thresholds: map[string]float64{},
		Inputs: c.Inputs, Output: c.Output, Embedding: c.Embedding, Files: map[string]File{},
	}
	for _, label := range labels {
		m.Thresholds[label] = thresholdOf(label, activation, o.Thresholds)
	}
	return m, nil
}

// thresholdOf gives 0 for a softmax by default: a row gets its most probable label even if that is improbable.
func thresholdOf(label, activation string, chosen map[string]float64) float64 {
	if p, ok := chosen[label]; ok {
		return p
	}
	if activation == Softmax {
		return 0
	}
	return defaultThreshold
}

// activationOf decides what the logits mean: as the user says, else as problem_type says.
func activationOf(problem, chosen string) (string, error) {
	switch {
	case chosen != "":
		return chosen, nil
	case problem == multiLabel:
		return Sigmoid, nil
	case problem == singleLabel:
		return Softmax, nil
	case problem == "":
		return "", fmt.Errorf("%s has no problem_type, so nothing says what the logits mean: write %q there (or import it "+
			"with --activation sigmoid) "+
			"if each label was trained with a sigmoid, %q (--activation softmax) if the labels exclude each other", configFile,
			multiLabel, singleLabel)
	}
	return "", fmt.Errorf("%s says problem_type %q, which gives no labels; erreval needs %s or %s", configFile, problem,
		multiLabel, singleLabel)
}

// mapLabels gives each logit the name of an error type of t.
func mapLabels(given []string, spec string, t *taxonomy.Taxonomy) ([]string, error) {
	names, err := wantedNames(given, spec, t)
	if err != nil {
		return nil, err
	}
	labels := make([]string, len(names))
	var unknown []string
	for i, name := range names {
		at, ok := t.Index(name)
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		labels[i] = t.Types[at].Name
	}
	if len(unknown) > 0 {
		return nil, unknownLabelError(unknown, names, spec, t)
	}
	if !areUnique(labels) || len(labels) == 0 {
		return nil, fmt.Errorf("the labels are %s; they must name at least one error type, and each once",
			strings.Join(labels, ", "))
	}
	return labels, nil
}

// wantedNames applies the user's spec to the checkpoint's names.
func wantedNames(given []string, spec string, t *taxonomy.Taxonomy) ([]string, error) {
	names := strings.Split(spec, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	switch {
	case spec == "":
		return given, nil
	case spec == "taxonomy":
		names = t.Labels()
	case strings.Contains(spec, "="):
		return renameLabels(given, names)
	}
	if len(names) != len(given) {
		return nil, fmt.Errorf("--labels %s names %d error types, but the model has %d labels (%s); name one for each, or "+
			"some with --labels \"%s=NAME\"",
			spec, len(names), len(given), strings.Join(given, ", "), given[0])
	}
	return names, nil
}

func renameLabels(given, pairs []string) ([]string, error) {
	names := slices.Clone(given)
	for _, pair := range pairs {
		from, to, ok := strings.Cut(pair, "=")
		i := slices.Index(given, strings.TrimSpace(from))
		if !ok || i < 0 {
			return nil, fmt.Errorf("--labels %q: write it as LABEL=NAME with one of the model's labels (%s)", pair,
				strings.Join(given, ", "))
		}
		names[i] = strings.TrimSpace(to)
	}
	return names, nil
}

// unknownLabelError says which option to give for labels that t does not know.
func unknownLabelError(unknown, names []string, spec string, t *taxonomy.Taxonomy) error {
	hint := fmt.Sprintf("give the taxonomy that the model was trained on with --taxonomy, or say at import which type "+
		"each is: --labels \"%s=%s\"",
		unknown[0], t.Types[0].Name)
	switch {
	case spec != "":
		hint = "name its types, or give another taxonomy with --taxonomy"
	case len(names) == len(t.Types) && len(unknown) == len(names):
		hint = "if they were trained in this order, import the model with --labels taxonomy; else " + hint
	}
	return fmt.Errorf("the taxonomy %s has no error type %s; its types are %s; %s",
		t.ID(), quoteNames(unknown), strings.Join(t.Labels(), ", "), hint)
}

// quoteNames lists a few of the names, in quotes.
func quoteNames(names []string) string {
	const most = 4
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%q", name))
	}
	return strings.Join(parts, ", ")
}

// threeDigits rounds to three significant digits.
func threeDigits(p float64) float64 {
	p, _ = strconv.ParseFloat(strconv.FormatFloat(p, 'g', 3, 64), 64)
	return p
}

// maxFactor is the largest xF of ParseThresholds.
const maxFactor = 1000

// ParseThresholds reads the values of an option, such as "--threshold": a number in 0..1 for every error type among
// labels, xF to multiply the odds of each one's own threshold by F, or LABEL=NUMBER for one, which wins. The keys of
// own are labels, those of the result the taxonomy's names. A fault is an *OptionError.
func ParseThresholds(option string, given []string, t *taxonomy.Taxonomy, labels []string, own map[string]float64) (
	map[string]float64, error) {
	all, byLabel := map[string]float64{}, map[string]float64{}
	for _, text := range given {
		name, number, named := strings.Cut(text, "=")
		most := 1.0
		if !named {
			name, number = "", text
		}
		factor, scaled := strings.CutPrefix(number, "x")
		if scaled = scaled && !named && own != nil; scaled {
			number, most = factor, maxFactor
		}
		p, err := strconv.ParseFloat(number, 64)
		if err != nil || !(p >= 0 && p <= most) || scaled && p == 0 {
			var factors string
			if own != nil {
				factors = "or x2 for fewer errors and x0.5 for more, "
			}
			return nil, OptionErrorf("%s %q: write a number in 0..1, as in 0.4, %sor LABEL=NUMBER, as in \"Vague=0.3\"",
				option, text, factors)
		}
		if !named {
			for _, label := range labels {
				i, ok := t.Index(label)
				if !ok || t.Types[i].NoError {
					continue
				}
				all[t.Types[i].Name] = p
				if q := own[label]; scaled {
					all[t.Types[i].Name] = threeDigits(p * q / (1 - q + p*q))
				}
			}
			continue
		}
		i, ok := t.Index(name)
		if !ok {
			return nil, OptionErrorf("%s %q: the taxonomy has no error type %q; its types are %s",
				option, text, name, strings.Join(t.Errors(), ", "))
		}
		if t.Types[i].NoError {
			return nil, OptionErrorf("%s %q: %s is what is left when no error is found; it has no threshold", option,
				text, name)
		}
		byLabel[t.Types[i].Name] = p
	}
	maps.Copy(all, byLabel)
	return all, nil
}
