package endpoint

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/erreval/erreval/llm"
)

// Option is a part of calls that some models reject.
type Option struct {
	Name  string   // for people
	Words []string // names of it in an endpoint's param or message; in lower case
}

// Omitted are the options that a call leaves out, by their index.
type Omitted uint

// Has tells whether the option of that index is left out.
func (o Omitted) Has(option int) bool { return o&(1<<option) != 0 }

// Rejections remember which options each model rejects. Safe for concurrent use.
type Rejections struct {
	Options []Option
	// ByLibrary, where set, is the name of the option that a vendor's library rejects with err; "" for none.
	ByLibrary func(err error) string

	mu     sync.Mutex
	models map[string]Omitted
}

// Names are the options that calls of model leave out.
func (r *Rejections) Names(model string) []string {
	omitted := r.omittedFor(model)
	var names []string
	for i, o := range r.Options {
		if omitted.Has(i) {
			names = append(names, o.Name)
		}
	}
	return names
}

// Complete makes a call of model. If the endpoint rejects an option, it calls again without it, and remembers that for
// the model once a call succeeds.
func (r *Rejections) Complete(ctx context.Context, model string,
	call func(Omitted) (*llm.Reply, error)) (*llm.Reply, error) {
	known := r.omittedFor(model)
	for omitted := known; ; {
		reply, err := call(omitted)
		if next, ok := r.learnOption(omitted, err); ok {
			if err := llm.Again(ctx); err != nil {
				return nil, err
			}
			omitted = next
			continue
		}
		if omitted != known && llm.KindOf(err) != llm.Refused {
			r.addOmitted(model, omitted)
		}
		return reply, err
	}
}

// learnOption adds the option that err rejects; false if err rejects none that was sent.
func (r *Rejections) learnOption(omitted Omitted, err error) (Omitted, bool) {
	name := r.rejectedOption(err)
	for i, o := range r.Options {
		if o.Name == name && !omitted.Has(i) {
			return omitted | 1<<i, true
		}
	}
	return omitted, false
}

// unsupported are words with which endpoints say that they do not have an option, not that its value is bad.
var unsupported = []string{
	"unsupported", "not support", "n't support", "unavailable", "unrecognized", "unknown", "unexpected", "not permitted",
	"not allowed", "forbidden", "deprecated", "only the default", "use 'max_completion_tokens'",
}

// rejectedOption is the name of the option that err rejects, "" if it is about something else.
func (r *Rejections) rejectedOption(err error) string {
	if r.ByLibrary != nil {
		if name := r.ByLibrary(err); name != "" {
			return name
		}
	}
	f, ok := errors.AsType[*Fault](err)
	if !ok || f.Status != http.StatusBadRequest && f.Status != http.StatusUnprocessableEntity {
		return ""
	}
	message := strings.ToLower(f.Message + " " + f.Code)
	if !containsAny(message, unsupported) {
		return ""
	}
	for _, about := range []string{strings.ToLower(f.Param), message} { // param is exact, where there is one
		for _, o := range r.Options {
			if containsAny(about, o.Words) {
				return o.Name
			}
		}
	}
	return ""
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func (r *Rejections) omittedFor(model string) Omitted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.models[model]
}

// addOmitted adds what a call learnt to what other calls learnt meanwhile.
func (r *Rejections) addOmitted(model string, learnt Omitted) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.models == nil {
		r.models = map[string]Omitted{}
	}
	r.models[model] |= learnt
}
