// Package models knows what a model is: its manifest, its files and whether they fit a taxonomy.
//
// A model is a directory (or any fs.FS) with a manifest.json, or a plain ONNX export beside its tokenizer.json and
// config.json. Opening one reads and checks everything but runs nothing: no native library is needed.
package models

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/erreval/erreval/internal/regularfile"
)

// Names of files and the values that a manifest may hold.
const (
	ManifestFile = "manifest.json"
	GraphFile    = "model.onnx"
	FallbackFile = "fp32/model.onnx" // the same graph in fp32, for machines that compute the other one differently
	CardFile     = "CARD.md"         // for people: data, licences, measured quality

	// JoinFields encodes each field apart, special tokens in text being plain text, with separator ids between.
	JoinFields = "fields"
	// JoinText encodes one string, the fields joined by the separator's text, special tokens in it recognised.
	JoinText = "text"

	// Sigmoid turns each logit into a probability of its own: labels do not exclude each other.
	Sigmoid = "sigmoid"
	// Softmax shares one probability out among all labels: a row has the most probable one, and no other.
	Softmax = "softmax"

	format = 1

	largestEmbedding = 1 << 16 // numbers a token

	// MinWindow is the least number of words that a window may hold, and the longest sentence.
	MinWindow = 40
	// MaxWindow is more words than fit any encoder.
	MaxWindow = 100_000
)

// Manifest describes a model completely. Its JSON is manifest.json.
type Manifest struct {
	// SHA-256 of manifest.json with zeros in the place of this, set by Write and Export; "" where somebody else wrote it
	Checksum string `json:"checksum,omitempty"`

	Format  int    `json:"format"`           // 1
	Name    string `json:"name"`             // as in "erreval-qg-minilm"
	Version string `json:"version"`          // of the weights
	Source  string `json:"source,omitempty"` // where it was imported from, as in "acme/tiny@0123abcd…" of the hub
	// model_type of Hugging Face: bert, roberta, xlm-roberta, distilbert, deberta-v2
	Architecture string `json:"architecture"`
	HiddenSize   int    `json:"hidden_size"` // width of the encoder, for people
	Layers       int    `json:"layers"`      // depth of the encoder, for people
	Precision    string `json:"precision"`   // of the weights: "fp32", "fp16", "int8", or "" where unknown
	Taxonomy     string `json:"taxonomy"`    // the taxonomy it was trained on, as in "question-generation@1.1"

	Languages []string `json:"languages,omitempty"` // that it reads, codes of ISO 639-1 as in "en"; none means any
	// LanguageField is the field that must be in one of these; "" looks at the longest one, and at the one that is judged.
	LanguageField string `json:"language_field,omitempty"`
	// LastTurn is the field of which, in a conversation, the last turn of the user alone is read, as the model was trained
	// on single requests; "" is none.
	LastTurn string `json:"last_turn,omitempty"`

	Labels []string `json:"labels"` // in the order of the logits
	// NotJudged are the labels that the model gives to no row, since it is not good enough at them.
	NotJudged []string `json:"not_judged,omitempty"`
	Fields    []string `json:"fields"`             // in the order of the input; the last is cut first
	Join      string   `json:"join"`               // JoinFields or JoinText
	Separator string   `json:"separator"`          // token between fields
	Start     string   `json:"start"`              // token before the first field
	End       string   `json:"end"`                // token after the last field
	Pad       string   `json:"pad"`                // token that fills a batch up
	Segments  []int64  `json:"segments,omitempty"` // token_type_ids, one a field; empty is all 0
	// where the last field repeats the tokens of this field, they get this field's token type
	Highlight  string             `json:"highlight,omitempty"`
	Window     *Window            `json:"window,omitempty"`
	MaxTokens  int                `json:"max_tokens"` // usable length, special tokens included
	Activation string             `json:"activation"` // Sigmoid or Softmax
	Thresholds map[string]float64 `json:"thresholds"` // label to the least probability at which a row gets it, 0..1
	// Counts say what is added to a label's logit for what is counted in the taxonomy's first field: label to weights by
	// the names of package identifier/counts.
	Counts map[string]map[string]float64 `json:"counts,omitempty"`

	Inputs []string `json:"inputs"` // of the graph: input_ids, attention_mask, token_type_ids
	Output string   `json:"output"` // of the graph: [batch, labels] float32
	// Embedding is the tensor inside GraphFile that gives vectors of texts; nil where the model has none to give.
	Embedding *Embedding `json:"embedding,omitempty"`

	Files map[string]File `json:"files"` // every file of the model but the manifest itself

	Licence      string         `json:"licence"` // SPDX identifier
	TrainingData []TrainingData `json:"training_data"`
	Training     map[string]any `json:"training,omitempty"` // the recipe: steps, seed, for people
	Quality      map[string]any `json:"quality"`            // measured figures, by name
	Probes       []Probe        `json:"probes"`             // rows with the logits that the model must give
	// ProbeTolerance is the largest allowed difference between a probe's logit and the one listed; 0 takes the default
	// of the precision.
	ProbeTolerance float64 `json:"probe_tolerance,omitempty"`
}

// Window is how much of a long field the model reads: the sentences that bear most on the other fields (package
// identifier/window). A field that is no longer is read whole.
type Window struct {
	Field string `json:"field"` // of the model's
	Words int    `json:"words"` // at most, from MinWindow to MaxWindow
	// Ends are words at the beginning of the field, and as many at its end, that are read in any case: at most half of
	// Words.
	Ends int `json:"ends,omitempty"`
}

// File is the identity of a file.
type File struct {
	SHA256 string `json:"sha256"` // hexadecimal
	Size   int64  `json:"size"`   // bytes
}

// Embedding is the output of one of the encoder's layers.
type Embedding struct {
	Tensor string `json:"tensor"` // its name in the graph: [batch, sequence, size], of floats
	Layer  int    `json:"layer"`  // 1 is the first
	Size   int    `json:"size"`   // numbers a token
}

// TrainingData names what a model was trained on.
type TrainingData struct {
	Name    string `json:"name"`
	Licence string `json:"licence"`
	Rows    int    `json:"rows"`
}

// Probe is a row with the logits that the maker of the model computed for it.
type Probe struct {
	Fields map[string]string `json:"fields"`
	Logits []float32         `json:"logits"`
}

// ID names the model in diagnoses: "erreval-qg-minilm@1".
func (m *Manifest) ID() string { return m.Name + "@" + m.Version }

// Judged are the labels that the model may give to a row.
func (m *Manifest) Judged() []string {
	return slices.DeleteFunc(slices.Clone(m.Labels), func(l string) bool { return slices.Contains(m.NotJudged, l) })
}

// ParseManifest reads a manifest.json strictly: unknown keys, everything Validate finds, and another checksum than it
// says are errors.
func ParseManifest(data []byte) (*Manifest, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	m := &Manifest{}
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w", ManifestFile, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: text follows the JSON object at byte %d; remove it", ManifestFile, dec.InputOffset())
	}
	if err := errors.Join(m.Validate(), m.checkSum(data)); err != nil {
		return nil, err
	}
	return m, nil
}

// ReadManifest is ParseManifest of the file in a model's directory.
func ReadManifest(fsys fs.FS) (*Manifest, error) {
	data, err := regularfile.ReadFS(fsys, ManifestFile, regularfile.MaxManifest)
	if err != nil {
		return nil, err
	}
	return ParseManifest(data)
}

type faults []error

func (f *faults) require(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Errorf(ManifestFile+": "+format, args...))
	}
}

// Validate reports every fault of m that can be seen without its files and a taxonomy.
func (m *Manifest) Validate() error {
	var f faults
	f.require(m.Format == format, "format is %d; this version of erreval reads format %d", m.Format, format)
	f.require(m.Name != "" && m.Version != "", "name and version must not be empty")
	_, known := specials[m.Architecture]
	f.require(known, "architecture %q is not known; it must be one of %s", m.Architecture,
		strings.Join(slices.Sorted(maps.Keys(specials)), ", "))
	f.require(slices.Contains([]string{"", "fp32", "fp16", "int8"}, m.Precision),
		"precision %q is not known; it must be fp32, fp16 or int8", m.Precision)
	f.require(m.Activation == Sigmoid || m.Activation == Softmax,
		"activation %q is not known; it must be %s, which gives each label its own "+
			"probability, or %s, for labels that exclude each other", m.Activation, Sigmoid, Softmax)
	for _, code := range m.Languages {
		f.require(languageForm.MatchString(code), "languages: %q is no code of ISO 639-1, as in \"en\"", code)
	}
	f.require(m.LanguageField == "" || len(m.Languages) > 0 && slices.Contains(m.Fields, m.LanguageField),
		"language_field is %q; it must be one of the fields, beside languages", m.LanguageField)
	f.require(m.LastTurn == "" || slices.Contains(m.Fields, m.LastTurn),
		"last_turn is %q; it must be one of the fields", m.LastTurn)
	m.checkInput(&f)
	m.checkLabels(&f)
	m.checkFiles(&f)
	m.checkProbes(&f)
	return errors.Join(f...)
}

func (m *Manifest) checkInput(f *faults) {
	f.require(len(m.Fields) > 0 && areUnique(m.Fields), "fields must name at least one field, each once")
	f.require(m.Join == JoinFields || m.Join == JoinText, "join %q is not known; it must be %s or %s", m.Join,
		JoinFields, JoinText)
	f.require(m.Separator != "" && m.Start != "" && m.End != "", "separator, start and end must name tokens")
	f.require(m.MaxTokens > len(m.Fields)+1, "max_tokens is %d; %d fields need at least %d", m.MaxTokens, len(m.Fields),
		len(m.Fields)+2)
	f.require(len(m.Segments) == 0 || len(m.Segments) == len(m.Fields), "segments has %d numbers for %d fields",
		len(m.Segments), len(m.Fields))
	at := slices.Index(m.Fields, m.Highlight)
	f.require(m.Highlight == "" || at >= 0 && at < len(m.Fields)-1 && m.Join == JoinFields && len(m.Segments) > 0,
		"highlight is %q; it must be one of the fields but not the last, with join %s and segments", m.Highlight, JoinFields)
	w := m.Window
	f.require(w == nil || slices.Contains(m.Fields, w.Field) && w.Words >= MinWindow && w.Words <= MaxWindow,
		"window must name one of the fields, and from %d to %d words", MinWindow, MaxWindow)
	f.require(w == nil || w.Ends >= 0 && w.Ends <= w.Words/2, "window: ends must be 0 to half of the words")
	f.require(slices.Contains(m.Inputs, "input_ids") && areUnique(m.Inputs),
		"inputs must name input_ids, and each input once")
	for _, name := range m.Inputs {
		f.require(slices.Contains(knownInputs, name), "input %q is not known; known are %s", name,
			strings.Join(knownInputs, ", "))
	}
	f.require(m.Output != "", "output must name the graph's output")
	e := m.Embedding
	f.require(e == nil || e.Tensor != "" && e.Layer >= 1 && e.Size >= 1 && e.Size <= largestEmbedding,
		"embedding must name a tensor of the graph, its layer from 1 on, and its size from 1 to %d", largestEmbedding)
}

func (m *Manifest) checkLabels(f *faults) {
	f.require(len(m.Labels) > 0 && areUnique(m.Labels), "labels must name at least one label, each once")
	f.require(areUnique(m.NotJudged), "not_judged must name each label once")
	for _, label := range m.NotJudged {
		f.require(slices.Contains(m.Labels, label), "not_judged: %q is not among the labels", label)
	}
	for _, label := range slices.Sorted(maps.Keys(m.Counts)) {
		f.require(slices.Contains(m.Labels, label), "counts: %q is not among the labels", label)
	}
	for _, label := range slices.Sorted(maps.Keys(m.Thresholds)) {
		p := m.Thresholds[label]
		f.require(slices.Contains(m.Labels, label), "thresholds: %q is not among the labels", label)
		f.require(p >= 0 && p <= 1 && !math.IsNaN(p), "thresholds: %q has %v; it must lie in 0..1", label, p)
	}
}

func (m *Manifest) checkFiles(f *faults) {
	_, ok := m.Files[GraphFile]
	f.require(ok, "files must list %s", GraphFile)
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		f.require(fs.ValidPath(name) && !strings.Contains(name, `\`),
			"files: %q leaves the model's directory; name a file inside it", name)
		sum, err := hex.DecodeString(m.Files[name].SHA256)
		f.require(err == nil && len(sum) == 32, "files: %q needs its sha256, 64 hexadecimal digits", name)
	}
}

func (m *Manifest) checkProbes(f *faults) {
	f.require(m.ProbeTolerance >= 0, "probe_tolerance is %v; it must not be negative", m.ProbeTolerance)
	for i, p := range m.Probes {
		f.require(len(p.Logits) == len(m.Labels), "probe %d has %d logits for %d labels", i+1, len(p.Logits), len(m.Labels))
		for _, field := range m.Fields {
			_, ok := p.Fields[field]
			f.require(ok, "probe %d lacks the field %q", i+1, field)
		}
	}
}

func areUnique(names []string) bool {
	seen := map[string]bool{"": true} // an empty name is no name
	for _, n := range names {
		if seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

// PrecisionText says a precision of weights for people.
func PrecisionText(precision string) string { return cmp.Or(precision, "precision not stated") }

// languageForm is that of ISO 639-1.
var languageForm = regexp.MustCompile(`^[a-z]{2}$`)

// LanguagesText says for people which languages the model reads: "English".
func (m *Manifest) LanguagesText() string {
	if len(m.Languages) == 0 {
		return "any language"
	}
	names := make([]string, len(m.Languages))
	for i, code := range m.Languages {
		names[i] = cmp.Or(display.English.Languages().Name(language.Make(code)), code)
	}
	return strings.Join(names, ", ")
}

// EncoderText says for people what kind of encoder it is, and of which size.
func (m *Manifest) EncoderText() string {
	return fmt.Sprintf("%s, %d layers of %d", m.Architecture, m.Layers, m.HiddenSize)
}

// InputText says for people what becomes the encoder's input.
func (m *Manifest) InputText() string {
	text := fmt.Sprintf("%s, joined as %s, at most %d tokens", strings.Join(m.Fields, " "+m.Separator+" "),
		m.Join, m.MaxTokens)
	if w := m.Window; w != nil {
		text += fmt.Sprintf("; of the %s the %d words that bear most on the rest", w.Field, w.Words)
		if w.Ends > 0 {
			text += ", and its beginning and end"
		}
	}
	return text
}

// errChanged says that a manifest is not as it was written.
var errChanged = errors.New(ManifestFile + " was changed since it was written: its checksum is another; import or " +
	"copy the model again (or, if you changed it yourself, remove the line with its checksum)")

// errNoChecksum says that nothing tells whether a manifest is as it was written.
var errNoChecksum = errors.New(ManifestFile + " has no checksum, so that nothing says whether it was changed (it is " +
	"of an older program, or not of erreval); a copy has one: erreval models export MODEL FOLDER")

// noChecksum stands in the place of a manifest's checksum while it is computed.
var noChecksum = strings.Repeat("0", hex.EncodedLen(32))

var checksumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkSum compares the bytes of a manifest with the checksum in them, if there is one.
func (m *Manifest) checkSum(data []byte) error {
	if m.Checksum == "" {
		return nil
	}
	bare := bytes.Replace(data, []byte(m.Checksum), []byte(noChecksum), 1)
	if !checksumForm.MatchString(m.Checksum) || hashText(bare) != m.Checksum {
		return errChanged
	}
	return nil
}

// withChecksum gives the bytes of a manifest that has none its checksum, and leaves the others as they are.
func withChecksum(data []byte) []byte {
	bare := bytes.Replace(data, []byte("{"), fmt.Appendf(nil, "{\n \"checksum\": %q,", noChecksum), 1)
	return bytes.Replace(bare, []byte(noChecksum), []byte(hashText(bare)), 1)
}
