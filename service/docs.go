package service

import (
	"bytes"
	_ "embed" // what the server says of itself
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/models"
)

//go:embed openapi.json
var openAPI []byte

//go:embed docs.html
var docsPage string

//go:embed docs.css
var docsStyle []byte

// object is one of openapi.json.
type object = map[string]any

// docs makes of openapi.json the page of /docs.
func docs() ([]byte, error) {
	var all object
	if err := json.Unmarshal(openAPI, &all); err != nil {
		return nil, err
	}
	t, err := template.New("docs").Funcs(template.FuncMap{
		"name": func(o object) string {
			ref, _ := o["$ref"].(string)
			return ref[strings.LastIndexByte(ref, '/')+1:]
		},
		"kind": kindOf,
		"follow": func(o object) object {
			ref, is := o["$ref"].(string)
			if !is {
				return o
			}
			o = all
			for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
				o, _ = o[part].(object)
			}
			return o
		},
		"open":   func(o object) bool { _, says := o["security"]; return says },
		"values": func(o object) object { values, _ := o["additionalProperties"].(object); return values },
		"first": func(v any) any {
			if list, ok := v.([]any); ok {
				return list[0]
			}
			return v
		},
		"json": func(v any) (string, error) {
			data, err := json.MarshalIndent(v, "", "  ")
			return string(data), err
		},
	}).Parse(docsPage)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, all)
	return b.Bytes(), err
}

// kindOf says in a few words what a value is.
func kindOf(schema object) string {
	for _, key := range []string{"const", "enum", "type"} {
		switch v := schema[key].(type) {
		case nil:
		case []any:
			var names []string
			for _, name := range v {
				names = append(names, fmt.Sprint(name))
			}
			return strings.Join(names, " or ")
		default:
			return fmt.Sprint(v)
		}
	}
	return ""
}

// fixed replies with the same to all.
func fixed(kind string, data []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(data) // nobody is there to be told
	})
}

// modelFacts are what a client may know of the model.
type modelFacts struct {
	Model        string                `json:"model"`  // name@version, as diagnoses name it
	SHA256       string                `json:"sha256"` // of its files
	Source       string                `json:"source,omitempty"`
	Taxonomy     string                `json:"taxonomy"` // that rows are tagged with
	Architecture string                `json:"architecture"`
	Precision    string                `json:"precision"`
	MaxTokens    int                   `json:"max_tokens"`
	Fields       []string              `json:"fields"`
	Thresholds   dataset.Probabilities `json:"thresholds"`
	Licence      string                `json:"licence"`
	TrainingData []models.TrainingData `json:"training_data"`
	Quality      map[string]any        `json:"quality"`
	Device       string                `json:"device"`
	Workers      int                   `json:"workers"` // rows, or batches, at a time
	Batches      bool                  `json:"batches"` // rows of several requests are computed together
	Build        string                `json:"build"`
}

func (s *Service) describeModel(w http.ResponseWriter, r *http.Request, t *tagger) {
	m, err := t.openModel(r.Context())
	if err != nil {
		fail(w, r, false, refuse(http.StatusServiceUnavailable, fmt.Errorf("the model cannot be opened: %w", err)))
		return
	}
	f := m.Manifest
	facts := modelFacts{Model: f.ID(), SHA256: m.SHA256, Source: f.Source, Taxonomy: t.Taxonomy.ID(),
		Architecture: f.Architecture, Precision: f.Precision, MaxTokens: f.MaxTokens, Fields: f.Fields,
		Thresholds: m.Identifier.Thresholds(), Licence: f.Licence, TrainingData: f.TrainingData, Quality: f.Quality,
		Device: m.Device, Workers: m.Workers, Batches: m.Batch > 0, Build: s.o.Build}
	loopback.Reply(w, facts)
}

func (s *Service) describeTaxonomy(w http.ResponseWriter, _ *http.Request, t *tagger) {
	loopback.Reply(w, t.Taxonomy)
}
