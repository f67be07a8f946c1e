package llmsim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

// member is a model at work.
type member struct {
	Model
	health replies.Health
}

// Schemas of the two replies: reasons first, for those written after an answer only defend it.
var (
	textSchema       = &llm.Schema{Name: "text", JSON: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"},"text":{"type":"string"}},"required":["reason","text"],"additionalProperties":false}`)}
	confidenceSchema = &llm.Schema{Name: "confidence", JSON: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"},"confidence":{"type":"number"}},"required":["reason","confidence"],"additionalProperties":false}`)}
)

// request is what m is asked by a template.
func (m *member) request(tmpl *prompt.Template, in prompt.Input, schema *llm.Schema, nth int) (*llm.Request, error) {
	in.JSON = !m.Lines
	messages, err := tmpl.Messages(in)
	if err != nil {
		return nil, err
	}
	r := &llm.Request{Model: m.Model.Model, Temperature: m.Temperature, MaxTokens: m.MaxTokens, Repeat: nth}
	for _, msg := range messages {
		r.Messages = append(r.Messages, llm.Message(msg))
	}
	if !m.Lines {
		r.Schema = schema
	}
	if m.Seed != nil {
		r.Seed = new(*m.Seed + int64(nth))
	}
	return r, nil
}

// writing is the request for a text, and whether it shows an example.
func (s *Simulator) writing(j Job) (*llm.Request, bool, error) {
	in := prompt.Input{Task: s.o.Taxonomy, Values: j.Row.Values, Target: &s.o.Taxonomy.Types[j.Type], Field: s.o.Field, Examples: s.example(j)}
	r, err := s.writer.request(s.o.Write, in, textSchema, j.Nth)
	if err != nil {
		err = fmt.Errorf("row %s: %w", j.Row.ID, err)
	}
	return r, len(in.Examples) > 0, err
}

// write asks for a text. Where there is none, c says why.
func (s *Simulator) write(ctx context.Context, c *Candidate) (text string, err error) {
	r, shown, err := s.writing(c.Job)
	if err != nil {
		return "", err
	}
	c.Example = shown
	fault, unread, err := s.ask(ctx, s.writer, r, func(reply *llm.Reply) (err error) {
		text, err = readText(reply, joined(r))
		return err
	})
	c.Unread += unread
	if fault != nil {
		text, c.Rejected, c.Detail = "", Unwritten, fault.Error()
	}
	return text, err
}

// confirming is the request for a judge's confidence that text has the error.
func (s *Simulator) confirming(m *member, j Job, text string) (*llm.Request, error) {
	values := append([]string(nil), j.Row.Values...)
	values[s.o.Field] = text
	r, err := m.request(s.o.Confirm, prompt.Input{Task: s.o.Taxonomy, Values: values, Target: &s.o.Taxonomy.Types[j.Type], Field: s.o.Field}, confidenceSchema, 0)
	if err != nil {
		err = fmt.Errorf("row %s: %w", j.Row.ID, err)
	}
	return r, err
}

func (s *Simulator) confirm(ctx context.Context, m *member, j Job, text string) (c Confidence, unread int, err error) {
	c.Judge = m.Name
	r, err := s.confirming(m, j, text)
	if err != nil {
		return c, 0, err
	}
	fault, unread, err := s.ask(ctx, m, r, func(reply *llm.Reply) error {
		p, err := readConfidence(reply, joined(r))
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

// joined is all that a request says, to find it in a reply.
func joined(r *llm.Request) string {
	messages := make([]prompt.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = prompt.Message(m)
	}
	return prompt.Join(messages)
}

// ask calls until a reply can be read. fault is why none could; err is one that ends the run.
func (s *Simulator) ask(ctx context.Context, m *member, r *llm.Request, read func(*llm.Reply) error) (fault error, unread int, err error) {
	for attempt := range s.o.Attempts {
		request := *r
		request.Attempt = attempt
		reply, err := m.Client.Complete(ctx, &request)
		if err != nil {
			again, err := m.fault(ctx, err)
			return again, unread, err
		}
		if !reply.Cached {
			m.health.Reply()
		}
		if fault = read(reply); fault == nil {
			return nil, unread, nil
		}
		unread++
		if j, ok := m.Client.(interface {
			Reject(*llm.Request, *llm.Reply) error
		}); ok {
			if err := j.Reject(&request, reply); err != nil {
				return nil, unread, err
			}
		}
	}
	return fault, unread, nil
}

// fault is what a call without a reply means: for its answer, or for the run.
func (m *member) fault(ctx context.Context, err error) (fault, stop error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	switch llm.KindOf(err) {
	case llm.Refused, llm.Filtered:
		m.health.Reply() // it is there
	case llm.Unavailable, llm.Transient, llm.Wait:
		if n, down := m.health.Fail(); down {
			return nil, &llm.Error{Kind: llm.Unavailable, Err: fmt.Errorf("judge %s: the last %d calls were given up; the last one: %w", m.Name, n, err)}
		}
	default:
		return nil, fmt.Errorf("judge %s: %w", m.Name, err)
	}
	return errors.New(clip(fmt.Sprintf("%s: %v", llm.KindOf(err), err))), nil
}
