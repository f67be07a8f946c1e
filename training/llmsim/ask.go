package llmsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
