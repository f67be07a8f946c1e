package exchange

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/plainjson"
	"github.com/erreval/erreval/training/review"
)

// Tasks and results are as the guide "Label Studio task format" has them; the answers come back in its export "JSON".
const (
	studioLabels = "labels" // names of the control tags
	studioNotes  = "notes"

	studioMark = "annotation_id" // a column of every task in the exports "JSON-MIN" and "CSV"
)

type studioResult struct {
	FromName string      `json:"from_name"`
	ToName   string      `json:"to_name"`
	Type     string      `json:"type"`
	Value    studioValue `json:"value"`
}

type studioValue struct {
	Choices []string        `json:"choices,omitempty"`
	Text    json.RawMessage `json:"text,omitempty"` // a text or a list of texts
}

type studioPrediction struct {
	ModelVersion string         `json:"model_version"`
	Score        *float64       `json:"score,omitempty"`
	Result       []studioResult `json:"result"`
}

type studioTask struct {
	Data        object             `json:"data"`
	Predictions []studioPrediction `json:"predictions,omitempty"`
}

func exportLabelStudio(f *review.Frozen, o Options) ([]File, error) {
	l := layoutOf(f)
	tasks := []studioTask{}
	for i := range f.All {
		it := &f.All[i]
		data := object{l.batch: f.ID, l.item: it.ItemID, l.text: it.TextSHA256}
		for k, name := range l.shown {
			data[name] = f.Values[i][k]
		}
		task := studioTask{Data: data}
		if o.Proposals != review.ShowNothing && it.Proposed != nil {
			task.Predictions = []studioPrediction{prediction(it.Proposed, o.Proposals)}
		}
		tasks = append(tasks, task)
	}
	data, err := plainjson.Marshal(tasks, " ")
	if err != nil {
		return nil, err
	}
	config, err := studioConfig(f, &l)
	return []File{{"label-studio.json", data}, {"label-studio.xml", config}}, err
}

// prediction has the least probability of a proposed label for a score.
func prediction(p *review.Proposed, show string) studioPrediction {
	out := studioPrediction{ModelVersion: "erreval", Result: []studioResult{{studioLabels, "field0", "choices",
		studioValue{Choices: p.Labels}}}}
	for _, label := range p.Labels {
		if p, ok := p.Probabilities.Get(label); ok && show == review.ShowProbabilities &&
			(out.Score == nil || p < *out.Score) {
			out.Score = &p
		}
	}
	return out
}

// studioConfig is the labelling interface.
func studioConfig(f *review.Frozen, l *layout) ([]byte, error) {
	var b strings.Builder
	b.WriteString("<View>\n  <Style>.htx-text{ white-space: pre-wrap; }</Style>\n")
	for k, name := range l.shown {
		fmt.Fprintf(&b, "  <Header value=%s/>\n  <Text name=\"field%d\" value=%s/>\n", attribute(f.Columns[k].Name), k,
			attribute("$"+name))
	}
	fmt.Fprintf(&b, "  <Choices name=%q toName=\"field0\" choice=\"multiple\" required=\"true\" requiredMessage=%s>\n",
		studioLabels, attribute("Choose "+clean(f.Taxonomy)+" where nothing is wrong; skip what you cannot decide."))
	for k, c := range choices(f.Taxonomy) {
		fmt.Fprintf(&b, "    <Choice value=%s hint=%s/>\n", attribute(c), attribute(definition(f.Taxonomy, k)))
	}
	fmt.Fprintf(&b, "  </Choices>\n  <TextArea name=%q toName=\"field0\" placeholder=\"Notes\" maxSubmissions=\"1\" "+
		"editable=\"true\"/>\n</View>\n", studioNotes)
	config := []byte(b.String())
	return config, xml.Unmarshal(config, new(struct{}))
}

// attribute is text in quotes for XML.
func attribute(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return `""`
	}
	return b.String() + `"`
}

type studioAnnotation struct {
	Result       []studioResult  `json:"result"`
	WasCancelled bool            `json:"was_cancelled"`
	CompletedBy  json.RawMessage `json:"completed_by"` // a number, or {"id", "email", …}
	UpdatedAt    time.Time       `json:"updated_at"`
}

// readStudio takes a task with its annotations apart.
func readStudio(r *reader, row *dataset.Row) (*record, error) {
	var data map[string]any
	var annotations []studioAnnotation
	if err := errors.Join(into(row, "data", &data), into(row, "annotations", &annotations)); err != nil {
		return nil, err
	}
	rec := &record{values: map[int]string{}}
	rec.id, _ = data[r.l.item].(string)
	rec.batch, _ = data[r.l.batch].(string)
	rec.hash, _ = data[r.l.text].(string)
	for k, name := range r.l.shown {
		if text, ok := data[name].(string); ok {
			rec.values[k] = text
		}
	}
	for i := range annotations {
		v, err := annotations[i].voice()
		if err != nil {
			return nil, err
		}
		rec.voices = append(rec.voices, v)
	}
	return rec, nil
}

func (a *studioAnnotation) voice() (voice, error) {
	v := voice{reviewer: studioUser(a.CompletedBy), skipped: a.WasCancelled, chosen: true, labels: []string{},
		time: a.UpdatedAt.UTC()}
	for _, result := range a.Result {
		switch {
		case result.FromName == studioLabels && !v.skipped: // a skipped task may keep a draft
			v.labels = append(v.labels, result.Value.Choices...)
		case result.FromName == studioNotes:
			var texts []string
			if text := unquote(result.Value.Text); text != "" {
				texts = []string{text}
			} else if err := json.Unmarshal(result.Value.Text, &texts); err != nil {
				return v, fmt.Errorf("the notes of %s are neither a text nor a list of texts", v.reviewer)
			}
			v.notes = strings.Join(texts, "\n")
		}
	}
	return v, nil
}

// studioUser names who made an annotation.
func studioUser(raw json.RawMessage) string {
	var user struct {
		Email string `json:"email"`
		ID    int    `json:"id"`
	}
	var id int
	switch {
	case json.Unmarshal(raw, &id) == nil && string(raw) != "null":
		return fmt.Sprintf("user-%d", id)
	case json.Unmarshal(raw, &user) == nil && user.Email != "":
		return user.Email
	case user.ID != 0:
		return fmt.Sprintf("user-%d", user.ID)
	}
	return ""
}
