package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/erreval/erreval/llm/llmtest"
)

var targetError = regexp.MustCompile(`\n# Error\n([^:\n]+):`)

// simulateModels are language models that write errors, and say how sure they are of them:
//
//	scribe   writes what scribed says, and is 0.9 sure of everything
//	sure     is 0.8 sure of everything
//	doubter  is 0.3 sure
//	mute     gives no number
//	locked   takes no key
func simulateModels(c *llmtest.Call) llmtest.Step {
	text := promptText(c)
	target := targetError.FindStringSubmatch(text)[1]
	if c.Request.Model == "locked" {
		return llmtest.Fail(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
	}
	if !strings.Contains(text, "how sure you are") {
		return scribed(c, target)
	}
	p := map[string]float64{"scribe": 0.9, "sure": 0.8, "doubter": 0.3}[c.Request.Model]
	switch {
	case p == 0:
		return llmtest.Text("I would rather not say.")
	case c.Request.Schema == nil:
		return llmtest.Text("In it.\n[[confidence: 90%]]")
	}
	return jsonText("confidence", p)
}

// scribed is a text by the error asked for: two of them are no texts, one is what the row has.
func scribed(c *llmtest.Call, target string) llmtest.Step {
	text := "What is it?"
	switch target {
	case "Off Topic":
		return llmtest.Refusal("I can't help with that.")
	case "Incomplete":
		return llmtest.Text("Here is one: What did the")
	case "Grammar Error":
		text = "Who built the wall?"
	}
	if c.Request.Schema == nil {
		return llmtest.Text("A pronoun.\n[[begin]]\n" + text + "\n[[end]]")
	}
	return jsonText("text", text)
}

func jsonText(key string, value any) llmtest.Step {
	data, err := json.Marshal(map[string]any{"reason": "As defined.", key: value})
	if err != nil {
		return llmtest.Text(err.Error())
	}
	return llmtest.Text(string(data))
}
