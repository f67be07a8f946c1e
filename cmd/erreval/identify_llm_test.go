package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

// labelModels are language models of known bias that look for errors:
//
//	finder  sees Vague where the question has the word it, Spell Error where it has bilt, and adds Off Topic to whatever it sees
//	pupil   gives the labels of the first example that it is shown, No Error without one
//	moods   gives Vague where its seed is even, No Error where it is odd
//	locked  takes no key
//	odd     does what the question names: dull (an unknown label), torn (No Error and another), prose, cut, refused, filtered, bad (status 400)
//
// The others give No Error.
func labelModels(c *llmtest.Call) llmtest.Step {
	text := promptText(c)
	question := lastQuestion.FindStringSubmatch(text[strings.LastIndex(text, "[begin question "):])[1]
	labels := []string{}
	switch c.Request.Model {
	case "finder":
		labels = seen(question)
	case "pupil":
		if m := exampleLabels.FindStringSubmatch(text); m != nil {
			return llmtest.Text("As in the example.\n[[labels: " + m[1] + "]]")
		}
	case "moods":
		if *c.Request.Seed%2 == 0 {
			labels = []string{"Vague"}
		}
	case "locked":
		return llmtest.Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
	case "odd":
		for what, step := range oddities {
			if strings.Contains(question, what) {
				return step
			}
		}
	}
	return llmtest.Text(labelsText(labels))
}

var (
	lastQuestion  = regexp.MustCompile(`(?s)^\[begin question \w+\]\n(.*?)\n\[end question `)
	exampleLabels = regexp.MustCompile(`\nLabels: (.*)\n`)

	oddities = map[string]llmtest.Step{
		"dull":     llmtest.Text(`{"reason": "Dull.", "labels": ["Boring"]}`),
		"torn":     llmtest.Text(`{"reason": "Both.", "labels": ["Vague", "No Error"]}`),
		"prose":    llmtest.Text("The question is fine, if a little vague."),
		"cut":      llmtest.Reply(llm.Reply{Text: `{"reason": "It is`, Finish: llm.FinishLength}),
		"refused":  llmtest.Refusal("I can't help with that."),
		"filtered": llmtest.PromptFiltered(),
		"bad":      llmtest.Fail(http.StatusBadRequest, "context_length_exceeded", "Too long."),
	}
)

// seen is what finder gives.
func seen(question string) []string {
	labels := []string{}
	if strings.Contains(question, "bilt") {
		labels = append(labels, "Spell Error")
	}
	if regexp.MustCompile(`\bit\b`).MatchString(question) {
		labels = append(labels, "Vague")
	}
	if len(labels) > 0 {
		labels = append(labels, "Off Topic")
	}
	return labels
}

func labelsText(labels []string) string {
	data, err := json.Marshal(map[string]any{"reason": "As defined.", "labels": labels})
	if err != nil {
		return err.Error()
	}
	return string(data)
}
