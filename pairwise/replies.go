package pairwise

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/prompt"
	"github.com/erreval/erreval/taxonomy"
)

// What models reply.
const (
	first    = "first"
	second   = "second"
	bothGood = "both_good"
	bothBad  = "both_bad"
)

// schemaOf is the form of a reply.
func schemaOf(t *taxonomy.Taxonomy, types []string, joint bool) *llm.Schema {
	verdict := llm.ObjectOf(llm.Property{Name: "reason", Schema: llm.TextSchema()}, llm.Property{Name: "verdict",
		Schema: map[string]any{"type": "string", "enum": []string{first, second, bothGood, bothBad}}})
	if !joint {
		return llm.NewSchema("verdict", verdict)
	}
	var all []llm.Property
	for _, name := range types {
		all = append(all, llm.Property{Name: codeOf(t, name), Schema: verdict})
	}
	return llm.NewSchema("verdicts", llm.ObjectOf(all...))
}

// codeOf is the key of a type in a joint reply.
func codeOf(t *taxonomy.Taxonomy, name string) string {
	if i, ok := t.Index(name); ok {
		return t.Types[i].Code
	}
	return name
}

// read reads a reply: a run for each type that the question is about.
func (q *Question) read(answer *llm.Reply) map[string]verdicts.Run {
	if q.joint {
		return q.readJoint(answer)
	}
	value, reason, err := q.readOne(answer)
	if err != nil {
		return q.failed(err)
	}
	return map[string]verdicts.Run{q.types[0]: q.result(value, reason)}
}

// result is the run with a value, in terms of A and B.
func (q *Question) result(value, reason string) verdicts.Run {
	r := q.run
	if q.run.Order == verdicts.OrderBA {
		value = verdicts.Swapped(value)
	}
	r.Value, r.Explanation = value, reason
	return r
}

// asked is the form in lines, [[verdict: first]].
var askedForm = regexp.MustCompile(`(?i)\[\[[\s*_]*verdict[\s*_]*[:：]\s*([^\]\n]{1,40})\]\]?`)

func (q *Question) readOne(answer *llm.Reply) (value, reason string, err error) {
	object, err := reply.Read(answer, prompt.Join(q.Request.Messages), "verdict")
	if err == nil {
		value, err = readValue(object.Text("verdict"))
		return value, object.Text("reason"), err
	}
	if !isMissing(err) {
		return "", "", err
	}
	text, bodyErr := reply.Body(answer, askedForm.MatchString)
	if bodyErr != nil {
		return "", "", bodyErr
	}
	value, fault := onlyValue(askedForm.FindAllStringSubmatch(text, -1))
	switch {
	case fault != nil:
		return "", "", fault
	case value == "":
		return "", "", err
	}
	return value, strings.TrimSpace(askedForm.ReplaceAllString(text, "")), nil
}

// onlyValue is the verdict that all matches, in their first group, give; "" without matches.
func onlyValue(matches [][]string) (value string, err error) {
	for _, m := range matches {
		v, err := readValue(m[1])
		if err != nil {
			return "", err
		}
		if value != "" && v != value {
			return "", reply.Faultf(reply.Ambiguous, "%s", reply.Clip(matches[0][0]+", "+m[0]))
		}
		value = v
	}
	return value, nil
}

// readValue turns the word of a reply into a verdict in which A is the text that was shown first.
func readValue(word string) (string, error) {
	switch strings.Join(strings.FieldsFunc(strings.ToLower(word), func(r rune) bool {
		return strings.ContainsRune(" _-*\"'.`", r)
	}), " ") {
	case first, "the first", "first text", "the first text", "1":
		return verdicts.A, nil
	case second, "the second", "second text", "the second text", "2":
		return verdicts.B, nil
	case "both good":
		return verdicts.BothGood, nil
	case "both bad":
		return verdicts.BothBad, nil
	case "":
		return "", reply.Faultf(reply.Missing, "\"verdict\" holds no text")
	}
	return "", reply.Faultf(reply.OffScale, "%s", reply.Clip(word))
}

// readJoint reads a reply about all types, as JSON or in lines.
func (q *Question) readJoint(answer *llm.Reply) map[string]verdicts.Run {
	runs := q.failed(reply.Faultf(reply.Missing, "the reply leaves it out"))
	object, err := q.readMembers(answer)
	if err != nil {
		if !isMissing(err) || !q.judge.Lines {
			runs = q.failed(err)
		}
		if q.judge.Lines {
			return q.readLines(answer, runs)
		}
		return runs
	}
	for _, name := range q.types {
		value, reason, err := memberOf(object, codeOf(q.task, name), name)
		if err == nil {
			runs[name] = q.result(value, reason)
		} else {
			runs[name] = q.failed(err)[name]
		}
	}
	return runs
}

// readMembers is the object that has the key of any type.
func (q *Question) readMembers(answer *llm.Reply) (object reply.Object, err error) {
	asked := prompt.Join(q.Request.Messages)
	for _, name := range slices.Backward(q.types) {
		if object, err = reply.Read(answer, asked, codeOf(q.task, name)); err == nil {
			return object, nil
		}
		if !isMissing(err) {
			return nil, err
		}
	}
	return nil, err
}

func isMissing(err error) bool {
	fault, ok := errors.AsType[*reply.Fault](err)
	return ok && fault.Reason == reply.Missing
}

// memberOf is the verdict under a type's code, or its name.
func memberOf(o reply.Object, keys ...string) (value, reason string, err error) {
	for _, key := range keys {
		switch v, _ := o.Get(key); v := v.(type) {
		case reply.Object:
			value, err = readValue(v.Text("verdict"))
			return value, v.Text("reason"), err
		case string:
			value, err = readValue(v)
			return value, "", err
		}
	}
	return "", "", reply.Faultf(reply.Missing, "the reply leaves it out")
}

// readLines reads lines such as "Fact: both_good".
func (q *Question) readLines(answer *llm.Reply, runs map[string]verdicts.Run) map[string]verdicts.Run {
	text, err := reply.Body(answer, func(string) bool { return false })
	if err != nil {
		return q.failed(err)
	}
	for _, name := range q.types {
		code := regexp.QuoteMeta(codeOf(q.task, name))
		form := regexp.MustCompile(`(?im)^[\s>*_#-]*(?:` + code + `|` + regexp.QuoteMeta(name) + `)[ \t*_]*[:：][ \t*_]*(\w[\w -]*)`)
		value, err := onlyValue(form.FindAllStringSubmatch(text, -1))
		if err != nil {
			runs[name] = q.failed(err)[name]
		} else if value != "" {
			runs[name] = q.result(value, "")
		}
	}
	return runs
}
