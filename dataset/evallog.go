package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset/internal/bounded"
	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// evalLog is the part of what promptfoo and Inspect write that rows are made of: one an output.
type evalLog struct {
	Results struct {
		Results []json.RawMessage `json:"results"` // of promptfoo
	} `json:"results"`
	Eval struct {
		Model string `json:"model"`
	} `json:"eval"`
	Samples []json.RawMessage `json:"samples"` // of Inspect
}

// flattenLog makes rows of a log; name says whose it is, "" that it is none. All of them may take limit bytes.
func flattenLog(raw []byte, limit int) (rows []record, name string, err error) {
	if !bytes.Contains(raw, []byte(`"results"`)) && !bytes.Contains(raw, []byte(`"samples"`)) {
		return nil, "", nil
	}
	left := limit - bytes.Count(raw, []byte(","))*columnCost/4
	if left < 0 { // its lists are held whole
		return nil, "", &bounded.TooLongError{Max: limit}
	}
	var found evalLog
	if json.Unmarshal(raw, &found) != nil || jsontext.Check(raw) != nil {
		return nil, "", nil
	}
	items, recordOf := found.Results.Results, promptfooRecord
	name = "promptfoo"
	if found.Eval.Model != "" && len(found.Samples) > 0 {
		items, name = found.Samples, "Inspect"
		recordOf = func(item []byte) record { return inspectRecord(item, found.Eval.Model) }
	}
	if len(items) == 0 {
		return nil, "", nil
	}
	for _, item := range items {
		rec := recordOf(item)
		left -= len(item) + questionCost + columnCost*len(rec.columns)
		if left < 0 {
			return nil, "", &bounded.TooLongError{Max: limit}
		}
		rec.raw, rec.columns = item, oneLine(rec.columns)
		rows = append(rows, rec)
	}
	return rows, name, nil
}

// logColumns gathers columns; the first of a name stays.
type logColumns []column

func (l *logColumns) add(name string, value json.RawMessage) {
	if len(value) > 0 && name != "" && !slices.ContainsFunc(*l, func(c column) bool { return c.name == name }) {
		*l = append(*l, column{name: name, value: value})
	}
}

func (l *logColumns) addText(name, text string) {
	if text != "" {
		l.add(name, jsontext.Quote(text))
	}
}

// longestFault is how many bytes of a failed call's error are shown.
const longestFault = 1 << 10

// callFault is the fault of a row whose call failed: what became of it, and the error that the log has.
func callFault(what, message string) error {
	return fmt.Errorf("%s: %s", what, beginning(message, longestFault))
}

// provider is what promptfoo asked: its name, or an object with one.
type provider struct{ ID, Label string }

func (p *provider) UnmarshalJSON(data []byte) error {
	type object provider
	if json.Unmarshal(data, &p.ID) == nil {
		return nil
	}
	return json.Unmarshal(data, (*object)(p))
}

const columnReason = "reason" // of promptfoo's verdict

// promptfooRecord is one of promptfoo's results: its variables are columns, too.
func promptfooRecord(item []byte) record {
	var r struct {
		Prompt   struct{ Raw, Label string }
		Vars     map[string]json.RawMessage
		Response struct{ Output json.RawMessage }
		Error    string // also of an output that did not pass
		Provider provider
		Success  json.RawMessage
		Score    json.RawMessage
		TestIdx  json.RawMessage
		Grading  struct{ Reason string } `json:"gradingResult"`
	}
	_ = json.Unmarshal(item, &r) // a part of another form stays empty, and the row is refused for what it lacks
	hasOutput := len(r.Response.Output) > 0 && !isNull(r.Response.Output)
	if !hasOutput && r.Error != "" {
		return record{err: callFault("the model gave no output", r.Error)}
	}
	var l logColumns
	l.addText("system", r.Provider.Label)
	l.addText("system", r.Provider.ID)
	if raw := []byte(r.Prompt.Raw); parseChat(raw) != nil {
		l.add("prompt", raw)
	}
	l.addText("prompt", r.Prompt.Raw)
	if r.Prompt.Label != r.Prompt.Raw {
		l.addText("prompt_label", r.Prompt.Label)
	}
	if hasOutput {
		l.add("response", jsontext.Quote(PlainText(r.Response.Output)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		l.add(name, r.Vars[name])
	}
	l.add("success", r.Success)
	l.add("score", r.Score)
	l.add("test", r.TestIdx)
	l.addText(columnReason, r.Grading.Reason)
	return record{columns: l}
}

// Prefixes of the columns of Inspect's scorers.
const (
	prefixScore       = "score_"
	prefixExplanation = "explanation_"
)

// IsPassed tells whether a column says why promptfoo, or a scorer of Inspect, let the row pass: it is no fault of it.
func (r *Row) IsPassed(column string) bool {
	verdict, passed := "success", []string{"true"}
	if scorer, ok := strings.CutPrefix(column, prefixExplanation); ok {
		verdict, passed = prefixScore+scorer, []string{"C", "true", "1", "1.0"} // as Inspect's value_to_float reads them
	} else if column != columnReason {
		return false
	}
	value, _ := r.Get(verdict)
	return slices.ContainsFunc(passed, func(p string) bool { return strings.EqualFold(PlainText(value), p) })
}

// ColumnEpoch numbers the second and later outputs that Inspect asked for on a sample. Their ids end with EpochSuffix
// and that number.
const (
	ColumnEpoch = "sample_epoch"
	EpochSuffix = "-epoch"
)

// inspectRecord is one of Inspect's samples: its text for the model, what the model said, the target, the scorers'
// values and why they gave them.
func inspectRecord(item []byte, model string) record {
	var s struct {
		ID     json.RawMessage
		Epoch  int
		Input  json.RawMessage
		Target json.RawMessage
		Output struct {
			Choices []struct{ Message turn }
		}
		Scores map[string]struct {
			Value       json.RawMessage
			Explanation string
		}
		Error struct{ Message string }
	}
	_ = json.Unmarshal(item, &s) // as in promptfooRecord
	answered := len(s.Output.Choices) > 0
	switch {
	case s.Error.Message != "" && answered:
		return record{err: callFault("the sample ended in an error", s.Error.Message)}
	case s.Error.Message != "":
		return record{err: callFault("the model gave no output", s.Error.Message)}
	}
	var l logColumns
	l.add("id", s.ID)
	if s.Epoch > 1 && len(l) > 0 {
		l[0].value = jsontext.Quote(PlainText(s.ID) + EpochSuffix + strconv.Itoa(s.Epoch))
		l.add(ColumnEpoch, jsontext.Quote(strconv.Itoa(s.Epoch)))
	}
	l.addText("system", model)
	l.add("input", s.Input)
	if answered {
		l.add("response", jsontext.Quote(s.Output.Choices[0].Message.text()))
	}
	var targets []string
	if json.Unmarshal(s.Target, &targets) == nil {
		l.addText("target", strings.Join(targets, " / "))
	}
	l.add("target", s.Target)
	for _, name := range slices.Sorted(maps.Keys(s.Scores)) {
		l.add(prefixScore+name, s.Scores[name].Value)
		l.addText(prefixExplanation+name, s.Scores[name].Explanation)
	}
	return record{columns: l}
}
