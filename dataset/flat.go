package dataset

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// Flat formats have one cell a column. Nested columns become dotted ones, and back:
//
//	diagnosis.labels, .not_judged      names joined by "; "
//	diagnosis.probabilities.<Label>    number
//	diagnosis.truncated.<field>        number
//	diagnosis.read                     JSON
//	diagnosis.model, .taxonomy, .status, .reason
//	scores.<dimension>.value           number; .status, .reason are texts
//	scores.<dimension>.<other>         JSON, as of .runs
//	issues.ids                         ids joined by "; "
//	issues.severity, .score            number; .status, .reason, .analysis, .quote, .evaluation, .evidence are texts
//	issues.other                       JSON
//	labels                             names joined by "; "; stays a text when read, which Row.Labels takes
//
// A diagnosis, scores or issues of another shape stay one cell of JSON.
const (
	columnScores = "scores"
	columnIssues = "issues"
	separator    = "; "

	// columnApostrophe lists, as JSON, the row's columns that got an apostrophe in front, so that no
	// spreadsheet takes them for formulas. It is there only where there is such a cell, and reading
	// takes the apostrophes off and the column away.
	columnApostrophe = "erreval.apostrophe"
)

// diagnosisKeys in the order of Diagnosis.
var diagnosisKeys = []string{"labels", "probabilities", "model", "taxonomy", "not_judged", "truncated",
	"read", "status", "reason"}

// issueKeys in the order of what package issues of room discover puts there.
var issueKeys = []string{"status", "ids", "reason", "analysis", "quote", "severity", "score", "evaluation", "evidence",
	"other"}

// issueKind is what a part of the column issues is.
func issueKind(key string) string {
	switch key {
	case "ids":
		return "a list"
	case "severity", "score":
		return "a number"
	case "other":
		return "an object"
	}
	return "a text"
}

// flatten splits a row's nested columns.
func flatten(columns []column) []column {
	out := make([]column, 0, len(columns))
	for _, c := range columns {
		var parts []column
		ok := false
		switch c.name {
		case ColumnDiagnosis:
			parts, ok = flattenDiagnosis(c.value)
		case columnScores:
			parts, ok = flattenScores(c.value)
		case columnIssues:
			parts, ok = flattenIssues(c.value)
		case ColumnLabels:
			if text, joined := joinLabels(c.value); joined {
				parts, ok = []column{{c.name, text}}, true
			}
		}
		if !ok {
			parts = []column{c}
		}
		out = append(out, parts...)
	}
	return out
}

// joinLabels joins a list of names, unless that could not be undone.
func joinLabels(raw json.RawMessage) (json.RawMessage, bool) {
	var names []string
	if raw[0] != '[' || json.Unmarshal(raw, &names) != nil {
		return nil, false
	}
	for _, n := range names {
		if n == "" || strings.Contains(n, ";") || strings.TrimSpace(n) != n {
			return nil, false
		}
	}
	return jsontext.Quote(strings.Join(names, separator)), true
}

func flattenDiagnosis(raw json.RawMessage) ([]column, bool) {
	keys, err := parseObject(raw)
	if err != nil || len(keys) == 0 {
		return nil, false
	}
	if len(keys) == 1 && string(keys[0].value) == "[]" {
		return nil, false // all cells would be empty
	}
	out := make([]column, 0, len(keys)+11)
	for _, key := range keys {
		name := ColumnDiagnosis + "." + key.name
		switch {
		case !slices.Contains(diagnosisKeys, key.name):
			return nil, false
		case isLabelList(key.name):
			text, ok := joinLabels(key.value)
			if !ok {
				return nil, false
			}
			out = append(out, column{name, text})
		case key.name == "probabilities" || key.name == "truncated":
			parts, err := parseObject(key.value)
			if err != nil || len(parts) == 0 || !allOfKind(parts, "a number") {
				return nil, false
			}
			for _, p := range parts {
				out = append(out, column{name + "." + p.name, p.value})
			}
		case key.name == "read" && jsontext.Kind(key.value) == "an object":
			out = append(out, column{name, key.value})
		case jsontext.Kind(key.value) != "a text" || string(key.value) == `""`:
			return nil, false
		default:
			out = append(out, column{name, key.value})
		}
	}
	return out, true
}

func flattenIssues(raw json.RawMessage) ([]column, bool) {
	keys, err := parseObject(raw)
	if err != nil || len(keys) == 0 {
		return nil, false
	}
	var out []column
	for _, key := range keys {
		value, ok := key.value, slices.Contains(issueKeys, key.name) && jsontext.Kind(key.value) == issueKind(key.name) &&
			string(key.value) != `""` && string(key.value) != "[]"
		if ok && key.name == "ids" {
			value, ok = joinLabels(key.value)
		}
		if !ok {
			return nil, false
		}
		out = append(out, column{columnIssues + "." + key.name, value})
	}
	return out, true
}

// isLabelList says which parts of a diagnosis are lists of labels, which a cell joins.
func isLabelList(key string) bool { return key == "labels" || key == "not_judged" }

func allOfKind(columns []column, what string) bool {
	return !slices.ContainsFunc(columns, func(c column) bool { return jsontext.Kind(c.value) != what })
}

func flattenScores(raw json.RawMessage) ([]column, bool) {
	dimensions, err := parseObject(raw)
	if err != nil || len(dimensions) == 0 {
		return nil, false
	}
	var out []column
	for _, d := range dimensions {
		parts, err := parseObject(d.value)
		if err != nil || len(parts) == 0 || strings.Contains(d.name, ".") || d.name == "" {
			return nil, false
		}
		for _, p := range parts {
			if !scoreFits(p) {
				return nil, false
			}
			out = append(out, column{columnScores + "." + d.name + "." + p.name, p.value})
		}
	}
	return out, true
}

// scoreFits tells whether a part of a score can be told from its cell's text: value is a number,
// status and reason are texts, all others lists or objects.
func scoreFits(p column) bool {
	switch k := jsontext.Kind(p.value); p.name {
	case "value":
		return k == "a number"
	case "status", "reason":
		return k == "a text" && string(p.value) != `""`
	default:
		return k == "a list" || k == "an object"
	}
}
