package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/erreval/erreval/llm/llmtest"
)

var (
	shownTexts  = regexp.MustCompile(`(?s)\n\[begin [^\n]*\]\n(.*?)\n\[end `)
	requirement = regexp.MustCompile(`(?m)^- (\w+): `)
)

// compareModels judge pairs:
//
//	marks   goes by the word BAD, in any respect
//	taught  likewise, but by the errors that it is shown where it is shown some
//	swayed  likewise, but says "first" in the second wording
//	first   says "first"
//	mute    says nothing that can be read
func compareModels(c *llmtest.Call) llmtest.Step {
	text := promptText(c)
	texts := shownTexts.FindAllStringSubmatch(text, -1)
	bad := func(n int) bool { return strings.Contains(texts[len(texts)-n][1], "BAD") }
	first, second := bad(2), bad(1)
	verdict := map[[2]bool]string{{false, false}: "both_good", {true, true}: "both_bad", {true, false}: "second",
		{false, true}: "first"}[[2]bool{first, second}]
	switch model := c.Request.Model; {
	case model == "mute":
		return llmtest.Text("Both have their merits.")
	case model == "first" || model == "swayed" && strings.Contains(text, "You rule on one point only"):
		verdict = "first"
	case model == "taught" && strings.Contains(text, "\nIn the first text: "):
		verdict = "both_good"
		if !strings.Contains(text, "\nIn the first text: none.") {
			verdict = "second"
		}
	}
	one := fmt.Sprintf(`{"reason": "So it is.", "verdict": %q}`, verdict)
	_, all, joint := strings.Cut(text, "\n# Requirements\n")
	if !joint {
		return llmtest.Text(one)
	}
	all, _, _ = strings.Cut(all, "\n# ")
	var members []string
	for _, m := range requirement.FindAllStringSubmatch(all, -1) {
		members = append(members, fmt.Sprintf("%q: %s", m[1], one))
	}
	return llmtest.Text("{" + strings.Join(members, ", ") + "}")
}
