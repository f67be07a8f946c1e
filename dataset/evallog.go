package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
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
	items, columnsOf := found.Results.Results, promptfooColumns
	name = "promptfoo"
	if found.Eval.Model != "" && len(found.Samples) > 0 {
		items, name = found.Samples, "Inspect"
		columnsOf = func(item []byte) []column { return inspectColumns(item, found.Eval.Model) }
	}
	if len(items) == 0 {
		return nil, "", nil
	}
	for _, item := range items {
		columns := columnsOf(item)
		left -= len(item) + questionCost + columnCost*len(columns)
		if left < 0 {
			return nil, "", &bounded.TooLongError{Max: limit}
		}
		rows = append(rows, record{raw: item, columns: oneLine(columns)})
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

// provider is what promptfoo asked: its name, or an object with one.
type provider struct{ ID, Label string }

func (p *provider) UnmarshalJSON(data []byte) error {
	type object provider
	if json.Unmarshal(data, &p.ID) == nil {
		return nil
	}
	return json.Unmarshal(data, (*object)(p))
}

// promptfooColumns are those of one of promptfoo's results, its variables among them.
func promptfooColumns(item []byte) []column {
	var r struct {
		Prompt   struct{ Raw string }
		Vars     map[string]json.RawMessage
		Response struct{ Output json.RawMessage }
		Provider provider
		Success  json.RawMessage
		Score    json.RawMessage
	}
	_ = json.Unmarshal(item, &r) // a part of another form stays empty, and the row is refused for what it lacks
	var l logColumns
	l.addText("system", r.Provider.Label)
	l.addText("system", r.Provider.ID)
	if raw := []byte(r.Prompt.Raw); parseChat(raw) != nil {
		l.add("prompt", raw)
	}
	l.addText("prompt", r.Prompt.Raw)
	if len(r.Response.Output) > 0 {
		l.addText("response", PlainText(r.Response.Output))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Vars)) {
		l.add(name, r.Vars[name])
	}
	l.add("success", r.Success)
	l.add("score", r.Score)
	return l
}

// inspectColumns are those of one of Inspect's samples: its text for the model, what the model said, the target and
// the scorers' values.
func inspectColumns(item []byte, model string) []column {
	var s struct {
		ID     json.RawMessage
		Epoch  int
		Input  json.RawMessage
		Target json.RawMessage
		Output struct {
			Choices []struct{ Message turn }
		}
		Scores map[string]struct{ Value json.RawMessage }
	}
	_ = json.Unmarshal(item, &s) // as in promptfooColumns
	var l logColumns
	l.add("id", s.ID)
	if s.Epoch > 1 && len(l) > 0 {
		l[0].value = jsontext.Quote(fmt.Sprintf("%s-epoch%d", PlainText(s.ID), s.Epoch))
	}
	l.addText("system", model)
	l.add("input", s.Input)
	if len(s.Output.Choices) > 0 {
		l.addText("response", s.Output.Choices[0].Message.text())
	}
	var targets []string
	if json.Unmarshal(s.Target, &targets) == nil {
		l.addText("target", strings.Join(targets, " / "))
	}
	l.add("target", s.Target)
	for _, name := range slices.Sorted(maps.Keys(s.Scores)) {
		l.add("score_"+name, s.Scores[name].Value)
	}
	return l
}
