package clear

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/llm/reply"
)

// ColumnID holds the id of a row, ColumnScore the judge's score, 0 to 1.
const (
	ColumnID    = "question_id"
	ColumnScore = "score"
)

// Other columns of CLEAR's results.
const (
	columnInput      = "model_input"
	columnResponse   = "response"
	columnReference  = "ground_truth"
	columnEvaluation = "evaluation_text"
	columnSummary    = "evaluation_summary"
	columnNumbers    = "recurring_issues"
	columnNames      = "recurring_issues_str"
	columnError      = "error"
)

// cells is what the columns of a row say about its issues.
type cells struct {
	names      []string
	numbers    []int
	unreadable string   // a list of names or numbers that is none
	score      *float64 // a number
	evaluation string
	summary    string
	errors     []string
}

func readCells(row *dataset.Row) *cells {
	c := &cells{evaluation: issues.CellText(row, columnEvaluation), summary: issues.CellText(row, columnSummary)}
	if isFailure(c.summary) {
		c.summary = ""
	}
	if isFailure(c.evaluation) {
		c.evaluation = ""
	}
	var ok bool
	if c.names, ok = namesOf(issues.CellText(row, columnNames)); !ok {
		c.unreadable = columnNames
	}
	if c.numbers, ok = numbersOf(issues.CellText(row, columnNumbers)); !ok && len(c.names) == 0 {
		c.unreadable = columnNumbers
	}
	if score, err := strconv.ParseFloat(issues.CellText(row, ColumnScore), 64); err == nil && !math.IsNaN(score) &&
		!math.IsInf(score, 0) {
		c.score = &score
	}
	if text := strings.TrimSpace(issues.CellText(row, columnError)); text != "" {
		if c.errors, ok = readList(text); !ok {
			c.errors = []string{text}
		}
	}
	return c
}

// isFailure tells a text that stands where an evaluation failed or was left out, as CLEAR does.
func isFailure(text string) bool {
	return strings.TrimSpace(text) == "" || strings.HasPrefix(text, "Error:") ||
		strings.HasPrefix(text, "Analysis Skipped")
}

// namesOf reads a list as JSON or Python writes it, or names with semicolons between them.
func namesOf(text string) (names []string, ok bool) {
	if text = strings.TrimSpace(text); len(text) > maxList {
		return nil, false
	}
	items, ok := readList(text)
	if !ok && strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		return nil, false
	}
	if !ok {
		items = strings.Split(text, ";")
	}
	seen := map[string]bool{"": true}
	for _, item := range items {
		if item = strings.TrimSpace(item); !seen[item] {
			names, seen[item] = append(names, item), true
		}
	}
	return names, true
}

func numbersOf(text string) (numbers []int, ok bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	items, ok := readList(text)
	for _, item := range items {
		n, err := strconv.Atoi(item)
		if err != nil || n < 1 {
			return nil, false
		}
		numbers = append(numbers, n)
	}
	return numbers, ok
}

// catalogue is which issues there are, and what their numbers mean.
type catalogue struct {
	idOf     map[string]string // of a name
	byNumber map[int]string    // name of a number
	// from which score on a row was not compared with the issues, and whether the others were by their evaluation_text
	highScore float64
	fullText  bool
}

// finding is what the cells say.
func (k *catalogue) finding(c *cells) *issues.Finding {
	f := &issues.Finding{Analysis: c.summary, Evaluation: c.evaluation}
	if c.score != nil && *c.score >= 0 && *c.score <= 1 {
		f.Score = c.score
	}
	names, unknown := c.names, ""
	if len(names) == 0 {
		for _, n := range c.numbers {
			if k.byNumber[n] == "" {
				unknown = fmt.Sprintf("%s: the number %d has no name in the file", reply.UnknownIssue, n)
			}
			names = append(names, k.byNumber[n])
		}
	}
	looked := c.summary
	if k.fullText {
		looked = c.evaluation
	}
	switch {
	case c.unreadable != "":
		f.Reason = reply.Missing + ": " + c.unreadable + " is no list"
	case unknown != "":
		f.Reason = unknown
	case len(names) > 0:
		f.Status = issues.Assigned
		for _, name := range names {
			f.IDs = append(f.IDs, k.idOf[name])
		}
		return f
	case len(c.errors) > 0:
		f.Reason = reasonOf(c.errors)
	case c.score == nil:
		f.Reason = reply.Missing + ": no score"
	case *c.score < k.highScore && looked == "":
		f.Reason = issues.Unanalysed + ": no text to compare with the issues"
	default:
		f.Status = issues.None
		return f
	}
	f.Status = issues.Unassigned
	return f
}

// reasonOf is why a row with errors is unassigned: that which Writer wrote, or that CLEAR got no reply.
func reasonOf(messages []string) string {
	reason, _, _ := strings.Cut(messages[0], ":")
	if len(messages) == 1 && slices.Contains(issues.Reasons(), reason) {
		return messages[0]
	}
	return reply.Unavailable + ": " + strings.Join(messages, "; ")
}

// metadata is what is read of metadata*.json.
type metadata struct {
	highScore    float64
	fullText     bool
	inputColumns []string
	name         string // of the run
	generator    string
	judge        string
}

// defaultHighScore is CLEAR's own.
const defaultHighScore = 0.91

func readMetadata(data []byte) (m metadata, err error) {
	m.highScore = defaultHighScore
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return m, err
	}
	set := func(key string, v any) {
		if raw, ok := keys[key]; ok && string(raw) != "null" {
			_ = json.Unmarshal(raw, v) // another type than CLEAR's says nothing
		}
	}
	set("high_score_threshold", &m.highScore)
	set("use_full_text_for_analysis", &m.fullText)
	set("input_columns", &m.inputColumns)
	set("run_name", &m.name)
	set("gen_model_name", &m.generator)
	set("eval_model_name", &m.judge)
	return m, nil
}
