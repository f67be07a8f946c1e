// Package oracle plays a language model that finds issues. It reads nothing: a key says what is wrong with each
// response of testdata/samples/answers.jsonl. So whoever runs an example with it gets the figures printed there, and
// they say nothing about how well a language model finds issues.
package oracle

import (
	"cmp"
	_ "embed" // the key
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/erreval/erreval/prompt"
)

//go:embed issues.json
var file []byte

// key says what is wrong with responses; each of Kinds is a kind of fault.
type key struct {
	Kinds []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"kinds"`
	Responses []entry `json:"responses"` // those that have an issue

	byResponse map[string]*entry
	kinds      map[string][]string // by sentence
}

type entry struct {
	Response string   `json:"response"`
	Issue    string   `json:"issue"` // in a sentence
	Quote    string   `json:"quote"` // of the response; where the key makes the oracle invent an issue, it stands nowhere
	Severity int      `json:"severity"`
	Kinds    []string `json:"kinds"` // names; a sentence with two is a borderline case
}

var readKey = sync.OnceValues(func() (*key, error) {
	k := &key{byResponse: map[string]*entry{}, kinds: map[string][]string{}}
	err := json.Unmarshal(file, k)
	for i := range k.Responses {
		e := &k.Responses[i]
		k.byResponse[e.Response], k.kinds[e.Issue] = e, e.Kinds
	}
	return k, err
})

var fenced = regexp.MustCompile(`(?s)\n\[begin ([^\n]*?) [0-9a-f]{16}\]\n(.*?)\n\[end `)

// openings are how the built-in templates begin.
var openings = map[string]string{
	"You find what is wrong ": prompt.Analyze, "You evaluate a piece ": prompt.Evaluate,
	"You sort statements ": prompt.Fit, "You give issues names ": prompt.Name,
	"You find the issues that recur ": prompt.Synthesize, "You tidy lists ": prompt.Merge,
	"You say which known issues ": prompt.Map, "You say whether two statements ": prompt.Same,
}

// Answer is the reply to a prompt about issues; false if it is none. schema is the name of the form that the call asks
// for, which is the template's kind; for another one the text decides.
//
// A response that the key does not have has no issue. A sentence is of the kinds that the key gives, and one that the
// key does not have is of a kind of its own, named by its first words. A sentence of two kinds fits whichever is shown
// first, speaks of both, and begins the first. An evaluation's score is 0.95, or 0.7, 0.4 or 0.1 by severity.
func Answer(schema, text string) (reply string, ok bool) {
	k, err := readKey()
	kind := kindOf(schema, text)
	if err != nil || kind == "" {
		return "", false
	}
	var texts, statements, known []string
	for _, m := range fenced.FindAllStringSubmatch(text, -1) {
		switch name, _, _ := strings.Cut(m[1], " "); name {
		case "statement":
			statements = append(statements, m[2])
		case "issue":
			name, _, _ := strings.Cut(m[2], ": ")
			known = append(known, name)
		default:
			texts = append(texts, m[2])
		}
	}
	var data []byte
	switch kind {
	case prompt.Analyze, prompt.Evaluate:
		if len(texts) == 0 {
			return "", false
		}
		data, err = json.Marshal(k.analyse(kind, texts[0]))
	default:
		data, err = json.Marshal(k.group(kind, statements, known))
	}
	return string(data), err == nil
}

func kindOf(schema, text string) string {
	if slices.Contains([]string{prompt.Analyze, prompt.Evaluate, prompt.Fit, prompt.Name, prompt.Synthesize, prompt.Merge,
		prompt.Map, prompt.Direct, prompt.Same}, schema) {
		return schema
	}
	for opening, kind := range openings {
		if strings.Contains(text, opening) {
			if kind == prompt.Fit && strings.Contains(text, "Put those together") {
				return prompt.Direct
			}
			return kind
		}
	}
	return ""
}

func (k *key) analyse(kind, response string) map[string]any {
	e := k.byResponse[response]
	switch {
	case e == nil && kind == prompt.Evaluate:
		return map[string]any{"evaluation": "By all criteria it is good.", "summary": "It does what was asked for.",
			"score": 0.95}
	case e == nil:
		return map[string]any{"analysis": "It does what was asked for.", "issue": "none", "quote": "", "severity": 0}
	case kind == prompt.Evaluate:
		return map[string]any{"evaluation": "By some criteria it is not good: " + e.Issue, "summary": e.Issue,
			"score": float64(10-3*e.Severity) / 10}
	}
	return map[string]any{"analysis": "Something is wrong with it.", "issue": e.Issue, "quote": e.Quote,
		"severity": e.Severity}
}

// group answers about sentences and issues.
func (k *key) group(kind string, statements, known []string) map[string]any {
	var all []map[string]any
	switch kind {
	case prompt.Fit:
		of := k.kindsOf(statements[0])
		for i, name := range known {
			if slices.Contains(of, name) {
				return map[string]any{"reason": "The same cure helps.", "issue": strconv.Itoa(i + 1), "name": "", "description": ""}
			}
		}
		reply := k.named(of[0])
		reply["reason"], reply["issue"] = "None of them says so.", "none"
		return reply
	case prompt.Name:
		return k.named(k.frequent(statements)[0])
	case prompt.Synthesize:
		for _, name := range k.frequent(statements) {
			if !slices.Contains(known, name) {
				all = append(all, k.named(name))
			}
		}
		return map[string]any{"issues": all}
	case prompt.Merge:
		for i, name := range known {
			if at := slices.Index(known, name); at == i {
				group := k.named(name)
				group["members"] = places(known, name)
				all = append(all, group)
			}
		}
		return map[string]any{"groups": all}
	case prompt.Map:
		applies := make([]int, len(known))
		for i, name := range known {
			if slices.Contains(k.kindsOf(statements[0]), name) {
				applies[i] = 1
			}
		}
		return map[string]any{"applies": applies}
	case prompt.Direct:
		first := make([]string, len(statements))
		for i, s := range statements {
			first[i] = k.kindsOf(s)[0]
		}
		for i, name := range first {
			if slices.Index(first, name) == i {
				issue := k.named(name)
				issue["statements"] = places(first, name)
				all = append(all, issue)
			}
		}
		return map[string]any{"issues": all}
	}
	same := slices.ContainsFunc(k.kindsOf(statements[0]), func(name string) bool {
		return slices.Contains(k.kindsOf(statements[1]), name)
	})
	return map[string]any{"reason": "The key says so.", "same": same}
}

// places are where a name stands, from 1.
func places(names []string, name string) []int {
	var at []int
	for i, n := range names {
		if n == name {
			at = append(at, i+1)
		}
	}
	return at
}

// ownWords is how many words of a sentence name a kind that the key does not have.
const ownWords = 5

func (k *key) kindsOf(sentence string) []string {
	if kinds := k.kinds[sentence]; kinds != nil {
		return kinds
	}
	words := strings.Fields(strings.TrimRight(sentence, "."))
	return []string{strings.Join(words[:min(len(words), ownWords)], " ")}
}

func (k *key) named(kind string) map[string]any {
	description := "The statement says so: " + kind + "."
	for _, known := range k.Kinds {
		if known.Name == kind {
			description = known.Description
		}
	}
	return map[string]any{"name": kind, "description": description}
}

// frequent are the first kinds of the sentences, the most frequent first.
func (k *key) frequent(statements []string) []string {
	count, kinds := map[string]int{}, []string(nil)
	for _, s := range statements {
		first := k.kindsOf(s)[0]
		if count[first]++; count[first] == 1 {
			kinds = append(kinds, first)
		}
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return kinds
}
