package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/training/review"
)

// The folder is as Dataset.to_disk of Argilla's SDK (2.8) writes it, for Dataset.from_disk; what comes back is its
// records.json, what dataset.records.to_json writes, or the list of dataset.records.to_list(flatten=True).
const (
	argillaLabels = "labels" // names of the questions
	argillaNotes  = "notes"

	argillaValues = ".responses" // of a question in a flat record: three lists
	argillaUsers  = ".responses.users"
	argillaStatus = ".responses.status"
)

type argillaSuggestion struct {
	Value []string  `json:"value"`
	Score []float64 `json:"score"` // parallel to Value, or null
	Agent string    `json:"agent,omitempty"`
}

type argillaResponse struct {
	Value  json.RawMessage `json:"value"`
	UserID string          `json:"user_id"`
	Status string          `json:"status,omitempty"` // draft, submitted or discarded; to_json does not write it
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
		r := argillaRecord{ID: it.ItemID, Fields: map[string]string{}, Metadata: map[string]any{"batch": f.ID,
			"text_sha256": it.TextSHA256},
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
		data, err := plainjson.Marshal(part.v, " ")
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

// argillaNames are the columns' names as Argilla takes them: small letters, digits, hyphens and underscores.
func argillaNames(f *review.Frozen) (names []string) {
	free := freeNames()
	for _, c := range f.Columns {
		names = append(names, free(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
				return r
			}
			return '_'
		}, strings.ToLower(c.Name))))
	}
	return names
}

func argillaSettings(f *review.Frozen, names []string) object {
	t := f.Taxonomy
	var fields, options []object
	for k, name := range names {
		fields = append(fields, object{"name": name, "title": f.Columns[k].Name, "required": k == 0, "type": "text",
			"settings": object{"type": "text", "use_markdown": false}})
	}
	var guide strings.Builder
	for k, c := range choices(t) {
		options = append(options, object{"value": c, "text": c})
		fmt.Fprintf(&guide, "- **%s**: %s\n", c, definition(t, k))
	}
	return object{
		"guidelines": guide.String(), "allow_extra_metadata": true, "fields": fields, "vectors": []object{},
		"metadata": []object{},
		"questions": []object{
			{"name": argillaLabels, "title": "Labels", "required": true, "type": "multi_label_selection",
				"settings": object{"type": "multi_label_selection", "options": options, "visible_options": nil,
					"options_order": "natural"}},
			{"name": argillaNotes, "title": "Notes", "required": false, "type": "text", "settings": object{"type": "text",
				"use_markdown": false}},
		},
	}
}

// readArgilla takes a record apart.
func readArgilla(r *reader, row *dataset.Row) (*record, error) {
	rec := &record{}
	var fields map[string]string
	var metadata map[string]any
	var responses map[string][]argillaResponse
	if err := errors.Join(into(row, "id", &rec.id), into(row, "fields", &fields), into(row, "metadata", &metadata),
		into(row, "responses", &responses)); err != nil {
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
	// Of a record that the server holds for pending nothing was submitted, or less than its project wants.
	pending := review.ColumnText(row, "status") == "pending" && review.ColumnText(row, "_server_id") != ""
	return rec, rec.hear(responses[argillaLabels], responses[argillaNotes], pending)
}

// readArgillaFlat takes a flat record apart.
func readArgillaFlat(r *reader, row *dataset.Row) (*record, error) {
	rec := &record{id: review.ColumnText(row, dataset.ColumnID), batch: review.ColumnText(row, "batch"),
		hash: review.ColumnText(row, "text_sha256"), values: map[int]string{}}
	for k, name := range argillaNames(r.f) {
		if raw, ok := row.Get(name); ok && string(raw) != "null" {
			rec.values[k] = review.ColumnText(row, name)
		}
	}
	labels, err := flatResponses(row, argillaLabels)
	notes, notesErr := flatResponses(row, argillaNotes)
	if err := errors.Join(err, notesErr); err != nil {
		return nil, err
	}
	return rec, rec.hear(labels, notes, false)
}

func flatResponses(row *dataset.Row, question string) ([]argillaResponse, error) {
	var values []json.RawMessage
	var users, status []string
	if err := errors.Join(into(row, question+argillaValues, &values), into(row, question+argillaUsers, &users),
		into(row, question+argillaStatus, &status)); err != nil {
		return nil, err
	}
	if len(users) != len(values) || len(status) != len(values) {
		return nil, fmt.Errorf("%q has %d values, %d users and %d states; want as many of each", question+argillaValues,
			len(values), len(users), len(status))
	}
	out := make([]argillaResponse, len(values))
	for i := range values {
		out[i] = argillaResponse{Value: values[i], UserID: users[i], Status: status[i]}
	}
	return out, nil
}

// hear takes what was submitted for an answer and what was discarded for skipped; a draft says nothing. pending is how
// responses without a status are taken.
func (rec *record) hear(labels, notes []argillaResponse, pending bool) error {
	said := map[string]string{}
	for _, n := range notes {
		said[n.UserID] = unquote(n.Value)
	}
	for _, a := range labels {
		v := voice{reviewer: a.UserID, notes: said[a.UserID], chosen: true}
		switch {
		case a.Status == "discarded":
			v.skipped = true
		case a.Status == "draft" || a.Status == "" && pending || string(a.Value) == "null":
			continue
		case a.Status != "submitted" && a.Status != "":
			return fmt.Errorf("the response of %s has the unknown status %q; it is draft, submitted or discarded",
				a.UserID, a.Status)
		default:
			if err := json.Unmarshal(a.Value, &v.labels); err != nil {
				return fmt.Errorf("the labels of %s are no list of names", a.UserID)
			}
		}
		rec.voices = append(rec.voices, v)
	}
	return nil
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
