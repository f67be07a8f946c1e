package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/review"
)

// The folder is as Dataset.to_disk of Argilla's SDK (2.8) writes it, for Dataset.from_disk; what comes back is its
// records.json, or what dataset.records.to_json writes.
const (
	argillaLabels = "labels" // names of the questions
	argillaNotes  = "notes"
)

type argillaSuggestion struct {
	Value []string  `json:"value"`
	Score []float64 `json:"score"` // parallel to Value, or null
	Agent string    `json:"agent,omitempty"`
}

type argillaResponse struct {
	Value  json.RawMessage `json:"value"`
	UserID string          `json:"user_id"`
}

type argillaRecord struct {
	ID          string                       `json:"id"`
	Fields      map[string]string            `json:"fields"`
	Metadata    map[string]any               `json:"metadata"`
	Suggestions map[string]argillaSuggestion `json:"suggestions"`
	Responses   map[string][]argillaResponse `json:"responses"`
	Vectors     map[string]any               `json:"vectors"`
}

// object is JSON whose keys are known where it is written.
type object map[string]any

func exportArgilla(f *review.Frozen, o Options) ([]File, error) {
	names := argillaNames(f)
	records := []argillaRecord{}
	for i := range f.All {
		it := &f.All[i]
		r := argillaRecord{ID: it.ItemID, Fields: map[string]string{}, Metadata: map[string]any{"batch": f.ID, "text_sha256": it.TextSHA256},
			Suggestions: map[string]argillaSuggestion{}, Responses: map[string][]argillaResponse{}, Vectors: map[string]any{}}
		for k, name := range names {
			r.Fields[name] = f.Values[i][k]
		}
		if o.Proposals != review.ShowNothing && it.Proposed != nil {
			r.Suggestions[argillaLabels] = suggestion(it.Proposed, o.Proposals)
		}
		records = append(records, r)
	}
	var out []File
	for _, part := range []struct {
		name string
		v    any
	}{{"argilla/records.json", records}, {"argilla/.argilla/settings.json", argillaSettings(f, names)},
		{"argilla/.argilla/dataset.json", object{"name": "erreval-" + f.ID, "allow_extra_metadata": true}}} {
		data, err := marshal(part.v)
		if err != nil {
			return nil, err
		}
		out = append(out, File{part.name, data})
	}
	return out, nil
}

func suggestion(p *review.Proposed, show string) argillaSuggestion {
	s := argillaSuggestion{Value: p.Labels, Agent: "erreval"}
	for _, label := range p.Labels {
		if p, ok := p.Probabilities.Get(label); ok && show == review.ShowProbabilities {
			s.Score = append(s.Score, p)
		}
	}
	if len(s.Score) != len(s.Value) {
		s.Score = nil
	}
	return s
}

// argillaNames are the fields' names as Argilla takes them: small letters, digits, hyphens and underscores.
func argillaNames(f *review.Frozen) []string {
	var names []string
	seen := map[string]bool{}
	for _, name := range f.Taxonomy.FieldNames() {
		name = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
				return r
			}
			return '_'
		}, strings.ToLower(name))
		for seen[name] {
			name += "_"
		}
		seen[name] = true
		names = append(names, name)
	}
	return names
}

func argillaSettings(f *review.Frozen, names []string) object {
	t := f.Taxonomy
	var fields, options []object
	for k, name := range names {
		fields = append(fields, object{"name": name, "title": t.Fields[k].Name, "required": k == 0, "type": "text", "settings": object{"type": "text", "use_markdown": false}})
	}
	var guide strings.Builder
	for k, c := range choices(t) {
		options = append(options, object{"value": c, "text": c})
		fmt.Fprintf(&guide, "- **%s**: %s\n", c, definition(t, k))
	}
	return object{
		"guidelines": guide.String(), "allow_extra_metadata": true, "fields": fields, "vectors": []object{}, "metadata": []object{},
		"questions": []object{
			{"name": argillaLabels, "title": "Labels", "required": true, "type": "multi_label_selection", "settings": object{"type": "multi_label_selection", "options": options, "visible_options": nil, "options_order": "natural"}},
			{"name": argillaNotes, "title": "Notes", "required": false, "type": "text", "settings": object{"type": "text", "use_markdown": false}},
		},
	}
}

// readArgilla takes a record apart.
func readArgilla(r *reader, row *dataset.Row) (*record, error) {
	rec := &record{}
	var fields map[string]string
	var metadata map[string]any
	var responses map[string][]argillaResponse
	if err := errors.Join(into(row, "id", &rec.id), into(row, "fields", &fields), into(row, "metadata", &metadata), into(row, "responses", &responses)); err != nil {
		return nil, err
	}
	rec.batch, _ = metadata["batch"].(string)
	rec.hash, _ = metadata["text_sha256"].(string)
	rec.values = map[int]string{}
	for k, name := range argillaNames(r.f) {
		if text, ok := fields[name]; ok {
			rec.values[k] = text
		}
	}
	notes := map[string]string{}
	for _, n := range responses[argillaNotes] {
		notes[n.UserID] = unquote(n.Value)
	}
	for _, a := range responses[argillaLabels] {
		v := voice{reviewer: a.UserID, notes: notes[a.UserID], chosen: true}
		if string(a.Value) == "null" {
			continue
		}
		if err := json.Unmarshal(a.Value, &v.labels); err != nil {
			return nil, fmt.Errorf("the labels of %s are no list of names", a.UserID)
		}
		rec.voices = append(rec.voices, v)
	}
	return rec, nil
}

// unquote is a JSON text, or "" for anything else.
func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// into decodes a column; one that is absent or null leaves to as it is.
func into(row *dataset.Row, name string, to any) error {
	raw, ok := row.Get(name)
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%q is not as the tool writes it: %w", name, err)
	}
	return nil
}
