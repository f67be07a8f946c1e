package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/erreval/erreval/llm/llmtest"
)

// judge is a script of known bias. It gives the highest score, one less where the text under evaluation has no question
// mark, and one less for each error that it is shown, whether the error is there or not; never less than the lowest
// score. Asked for errors, it finds that a text without a question mark is no question, or where the task has no such
// error, that it has the first one of the list; and nothing else.
func judge(c *llmtest.Call) llmtest.Step {
	var prompt strings.Builder
	for _, m := range c.Request.Messages {
		prompt.WriteString(m.Content + "\n")
	}
	reply, ok := answer(prompt.String())
	if !ok {
		return llmtest.Fail(http.StatusBadRequest, "invalid_request_error",
			"The scripted judge knows the built-in templates alone.")
	}
	return llmtest.Text(reply)
}

type verdict struct {
	Reason string `json:"reason"`
	Score  int    `json:"score"`
}

var (
	heading   = regexp.MustCompile(`(?m)^# Requirement(?: (\w+))?$`)
	criterion = regexp.MustCompile(`(?m)^(\d+) = `)
	kind      = regexp.MustCompile(`(?m)^- ([^:\n]+): `)
	fenced    = regexp.MustCompile(`(?s)\n\[begin [^\n]*\]\n(.*?)\n\[end `)
)

// answer is the reply to a prompt about one dimension, about several, or about errors; false if it is none of these.
func answer(prompt string) (string, bool) {
	if strings.Contains(prompt, "\nThe second text:\n") {
		faults, err := knownFaults()
		if err != nil {
			return "", false
		}
		return compare(prompt, faults)
	}
	if strings.Contains(prompt, "\n# Error types\n") {
		return labels(prompt)
	}
	text := fenced.FindStringSubmatch(prompt)
	dimensions, rest, ok := strings.Cut(prompt, "\n# Texts\n")
	parts := heading.FindAllStringSubmatchIndex(dimensions, -1)
	if text == nil || !ok || len(parts) == 0 {
		return "", false
	}
	if parts[0][2] < 0 { // one dimension: its labels stand below the texts
		_, labels, _ := strings.Cut(rest, "\n# Labels\n")
		return marshal(rule(text[1], dimensions, labels))
	}
	all := map[string]verdict{}
	for i, at := range parts {
		end := len(dimensions)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		part := dimensions[at[1]:end]
		_, labels, _ := strings.Cut(part, "\nLabels:\n")
		all[dimensions[at[2]:at[3]]] = rule(text[1], part, labels)
	}
	return marshal(all)
}

func labels(prompt string) (string, bool) {
	_, types, _ := strings.Cut(prompt, "\n# Error types\n")
	first := kind.FindStringSubmatch(types)
	if _, last, ok := strings.Cut(prompt, "\n## To be examined\n"); ok { // examples stand above
		prompt = last
	}
	text := fenced.FindStringSubmatch(prompt)
	if text == nil || first == nil {
		return "", false
	}
	found := []string{}
	switch {
	case strings.Contains(text[1], "?"):
	case strings.Contains(types, "- Not A Question: "):
		found = []string{"Not A Question"}
	default:
		found = first[1:]
	}
	return marshal(map[string]any{"labels": found})
}

func marshal(v any) (string, bool) {
	data, err := json.Marshal(v)
	return string(data), err == nil
}

func rule(text, criteria, labels string) verdict {
	low, high := 0, 0
	for i, m := range criterion.FindAllStringSubmatch(criteria, -1) {
		score, err := strconv.Atoi(m[1])
		if err != nil {
			continue // no number that a scale has
		}
		if low, high = min(low, score), max(high, score); i == 0 {
			low, high = score, score
		}
	}
	errors := strings.Count("\n"+labels, "\n- ") - strings.Count("\n"+labels, "\n- No Error: ")
	faults := errors
	if !strings.Contains(text, "?") {
		faults++
	}
	return verdict{fmt.Sprintf("Errors shown: %d; taken off: %d.", errors, faults), max(low, high-faults)}
}
