package llmsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/ask"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/prompt"
)

// Schemas of the two replies: reasons first, for those written after an answer only defend it.
var (
	textSchema = &llm.Schema{Name: "text",
		JSON: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"},"text":{"type":"string"}},"required":["reason","text"],"additionalProperties":false}`)}
	confidenceSchema = &llm.Schema{Name: "confidence",
		JSON: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"},"confidence":{"type":"number"}},"required":["reason","confidence"],"additionalProperties":false}`)}
)

// request is what a model is asked by a template.
func request(a *ask.Asker, tmpl *prompt.Template, in prompt.Input, schema *llm.Schema, nth int) (*llm.Request, error) {
	in.JSON = !a.Lines
	messages, err := tmpl.Messages(in)
	if err != nil {
		return nil, err
	}
	return a.Request(messages, schema, nth), nil
}

// writing is the request for a text, and whether it shows an example.
func (s *Simulator) writing(j Job) (*llm.Request, bool, error) {
	in := prompt.Input{Task: s.o.Taxonomy, Values: j.Row.Values, Target: &s.o.Taxonomy.Types[j.Type], Field: s.o.Field,
		Examples: s.example(j)}
	r, err := request(s.writer, s.o.Write, in, textSchema, j.Nth)
	if err != nil {
		return nil, false, fmt.Errorf("row %s: %w", j.Row.ID, err)
	}
	r.Row, r.About = s.idOf(j), prompt.Simulate+", "+s.writer.Name
	return r, len(in.Examples) > 0, nil
}

// write asks for a text. Where there is none, c says why.
func (s *Simulator) write(ctx context.Context, c *Candidate) (text string, err error) {
	r, shown, err := s.writing(c.Job)
	if err != nil {
		return "", err
	}
	c.Example = shown
	fault, unread, err := s.ask(ctx, s.writer, r, func(reply *llm.Reply) (err error) {
		text, err = readText(reply, prompt.Join(r.Messages))
		return err
	})
	c.Unread += unread
	if fault != nil {
		text, c.Rejected, c.Detail = "", Unwritten, fault.Error()
	}
	return text, err
}

// confirming is the request for a judge's confidence that text has the error.
func (s *Simulator) confirming(judge *ask.Asker, j Job, text string) (*llm.Request, error) {
	values := append([]string(nil), j.Row.Values...)
	values[s.o.Field] = text
	r, err := request(judge, s.o.Confirm, prompt.Input{Task: s.o.Taxonomy, Values: values,
		Target: &s.o.Taxonomy.Types[j.Type], Field: s.o.Field}, confidenceSchema, 0)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", j.Row.ID, err)
	}
	r.Row, r.About = s.idOf(j), prompt.Confirm+", "+judge.Name
	return r, nil
}

func (s *Simulator) confirm(ctx context.Context, judge *ask.Asker, j Job, text string) (c Confidence,
	unread int, err error) {
	c.Judge = judge.Name
	r, err := s.confirming(judge, j, text)
	if err != nil {
		return c, 0, err
	}
	fault, unread, err := s.ask(ctx, judge, r, func(reply *llm.Reply) error {
		p, err := readConfidence(reply, prompt.Join(r.Messages))
		if err == nil {
			c.P = &p
		}
		return err
	})
	if fault != nil {
		c.Fault = fault.Error()
	}
	return c, unread, err
}

// ask calls until a reply can be read. fault is why none could; err is one that ends the run.
func (s *Simulator) ask(ctx context.Context, a *ask.Asker, r *llm.Request,
	read func(*llm.Reply) error) (fault error, unread int, err error) {
	unanswered, err := a.Ask(ctx, r, s.o.Attempts, func(reply *llm.Reply) bool {
		if fault = read(reply); fault != nil {
			unread++
		}
		return fault == nil
	})
	if unanswered != nil {
		fault = errors.New(reply.Clip(fmt.Sprintf("%s: %v", llm.KindOf(unanswered), unanswered)))
	}
	if err != nil {
		fault = nil
	}
	return fault, unread, err
}

// values are what the key has in the JSON objects of text that do not stand in the prompt, in order. rest is text
// without its objects.
func values(text, asked, key string) (found []any, rest string) {
	objects, rest, _ := reply.Objects(text, asked)
	for _, o := range objects {
		for _, m := range o {
			if strings.EqualFold(m.Key, key) {
				found = append(found, m.Value)
			}
		}
	}
	return found, rest
}

var (
	framed     = regexp.MustCompile(`(?is)\[\[\s*begin\s*\]\]\s*(.*?)\s*\[\[\s*end\s*\]\]`)
	askedShare = regexp.MustCompile(`(?i)\[\[[\s*_]*confidence[\s*_]*[:：][\s*_]*([0-9.,]+\s*%?)[^\[\]\n]*\]`)
	shareLine  = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:the\s+|my\s+|final\s+)*confidence(?:\s+score)?[\s*_]*[:：=][\s*_]*([0-9.,]+\s*%?)[\s*_.]*$`)
)

// readText is the text of a reply to a prompt of kind simulate: JSON's "text", or what stands between [[begin]] and
// [[end]].
func readText(answer *llm.Reply, asked string) (string, error) {
	text, err := reply.Body(answer, func(string) bool { return false })
	if err != nil {
		return "", err
	}
	var found string
	if all, _ := values(text, asked, "text"); len(all) > 0 {
		var ok bool
		if found, ok = all[len(all)-1].(string); !ok {
			return "", reply.Faultf(reply.Missing, "\"text\" holds no text: %s", reply.Clip(fmt.Sprint(all[len(all)-1])))
		}
	}
	if all := framed.FindAllStringSubmatch(text, -1); found == "" && all != nil {
		found = all[len(all)-1][1]
	}
	if found = strings.TrimSpace(found); found == "" {
		return "", reply.Faultf(reply.Missing, "no text: %s", reply.Clip(text))
	}
	return found, nil
}

// readConfidence is the number of a reply to a prompt of kind confirm, 0 to 1: JSON's "confidence", [[confidence:
// 0.9]], or a line "Confidence: 0.9". A percentage is one hundredth of its number; another number over 1 is none. A
// reply with two confidences that differ has none.
func readConfidence(answer *llm.Reply, asked string) (float64, error) {
	text, err := reply.Body(answer, func(before string) bool { return len(confidences(before, asked)) > 0 })
	if err != nil {
		return 0, err
	}
	all := confidences(text, asked)
	if len(all) == 0 {
		return 0, reply.Faultf(reply.Missing, "no confidence: %s", reply.Clip(text))
	}
	p, err := share(all[0])
	for _, other := range all[1:] {
		if q, fault := share(other); other != all[0] && (err != nil || fault != nil || p != q) {
			return 0, reply.Faultf(reply.Ambiguous, "two confidences: %.40s and %.40s", all[0], other)
		}
	}
	return p, err
}

// confidences are the numbers in all forms, the most explicit first.
func confidences(text, asked string) (found []string) {
	given, rest := values(text, asked, "confidence")
	for _, v := range given {
		found = append(found, fmt.Sprint(v))
	}
	for _, form := range []*regexp.Regexp{askedShare, shareLine} {
		for _, m := range form.FindAllStringSubmatch(rest, -1) {
			found = append(found, m[1])
		}
	}
	return found
}

func share(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimRight(strings.TrimSpace(number), ".,")
	if strings.Count(number, ",") == 1 && !strings.Contains(number, ".") {
		number = strings.Replace(number, ",", ".", 1)
	}
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, reply.Faultf(reply.OffScale, "a confidence of 0 to 1 was asked for, not %.40q", text)
	}
	return p, nil
}

// sameText tells whether two texts differ in nothing but blank space.
func sameText(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
