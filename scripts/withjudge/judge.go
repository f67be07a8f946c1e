package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/erreval/erreval/llm/llmtest"
	"github.com/erreval/erreval/scripts/withjudge/oracle"
)

// judge is a script of known bias. It gives the highest score, one less where the text under evaluation has no question
// mark, and one less for each error that it is shown, whether the error is there or not; never less than the lowest
// score. Asked for errors, it finds that a text without a question mark is no question, or where the task has no such
// error, that it has the first one of the list; and nothing else. Asked about issues, it answers as package oracle
// says.
func judge(c *llmtest.Call) llmtest.Step {
	var prompt strings.Builder
	for _, m := range c.Request.Messages {
		prompt.WriteString(m.Content + "\n")
	}
	schema := ""
	if c.Request.Schema != nil {
		schema = c.Request.Schema.Name
	}
	reply, ok := oracle.Answer(schema, prompt.String())
	if !ok {
		reply, ok = answer(prompt.String())
	}
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

// outputs are the rows whose faults the judge of pairs knows.
const outputs = "testdata/samples/outputs.jsonl"

// faultsOf are the faults of each response in a file of rows with a diagnosis.
func faultsOf(path string) (map[string][]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	faults := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		var row struct {
			Response  string
			Diagnosis struct{ Labels []string }
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, err
		}
		known := []string{}
		for _, label := range row.Diagnosis.Labels {
			if label != "No Error" {
				known = append(known, label)
			}
		}
		faults[row.Response] = known
	}
	return faults, nil
}

var knownFaults = sync.OnceValues(func() (map[string][]string, error) { return faultsOf(outputs) })

var (
	respect = regexp.MustCompile(`(?m)(?:^The error |free of this error\? |as to this error: )([^.:\n]+)(?:\. Definition)?: `)
	listed  = regexp.MustCompile(`(?m)^- (\w+): (?:([^:\n]+): )?`)
)

type pairVerdict struct {
	Reason  string `json:"reason"`
	Verdict string `json:"verdict"`
}

// compare is the reply to a prompt about two texts; false if it is none, or about texts that the judge does not know.
// The rule: as to an error, the text without it wins; overall, the one with fewer errors, and with as many of them
// neither. Of five pairs of texts, as to one respect, one is decided by the order: there the first wins.
func compare(prompt string, faults map[string][]string) (string, bool) {
	texts := fenced.FindAllStringSubmatch(prompt, -1)
	if len(texts) < 2 {
		return "", false
	}
	first, second := texts[len(texts)-2][1], texts[len(texts)-1][1]
	a, okA := faults[first]
	b, okB := faults[second]
	if !okA || !okB {
		return "", false
	}
	about := func(name string) pairVerdict {
		if takesTheFirst(first, second, name) {
			return pairVerdict{"The first one reads better.", "first"}
		}
		return pairVerdict{"By the faults planted.", better(count(a, name), count(b, name))}
	}
	_, requirements, joint := strings.Cut(prompt, "\n# Requirements\n")
	if !joint {
		name := overall
		if m := respect.FindStringSubmatch(prompt); m != nil {
			name = m[1]
		}
		return marshal(about(name))
	}
	requirements, _, _ = strings.Cut(requirements, "\n# ")
	all := map[string]pairVerdict{}
	for _, m := range listed.FindAllStringSubmatch(requirements, -1) {
		if m[1] == overall {
			m[2] = overall
		}
		all[m[1]] = about(m[2])
	}
	return marshal(all)
}

const overall = "Overall"

// count is the number of faults of a name, or of all.
func count(faults []string, name string) int {
	n := 0
	for _, f := range faults {
		if name == overall || f == name {
			n++
		}
	}
	return n
}

func better(a, b int) string {
	switch {
	case a < b:
		return "first"
	case b < a:
		return "second"
	case a == 0:
		return "both_good"
	}
	return "both_bad"
}

// takesTheFirst draws one of five pairs of texts, in whichever order they stand.
func takesTheFirst(first, second, name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(min(first, second) + "\n" + max(first, second) + "\n" + name)) // a hash never fails
	return h.Sum32()%5 == 0
}
