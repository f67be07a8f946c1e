package openai

import (
	"errors"
	"net/http"
	"strings"
	"sync"

	api "github.com/sashabaranov/go-openai"
)

// habit is what a model does without.
type habit struct {
	temperature, seed, schema, system bool
	maxTokens                         bool // takes max_completion_tokens in its place
}

// option is one that models may reject.
type option struct {
	name  string   // for people
	words []string // how endpoints name it, in param or message
	drop  func(*habit) *bool
}

var options = []option{
	{"temperature", []string{"temperature"}, func(h *habit) *bool { return &h.temperature }},
	{"max_tokens", []string{"max_tokens"}, func(h *habit) *bool { return &h.maxTokens }},
	{"json_schema", []string{"response_format", "json_schema", "structured output"}, func(h *habit) *bool { return &h.schema }},
	{"seed", []string{"seed"}, func(h *habit) *bool { return &h.seed }},
	{"system role", []string{"system role", "'system'", "system message", "system prompt"}, func(h *habit) *bool { return &h.system }},
}

// unsupported is how endpoints say that they do not know an option at all, not that its value is bad.
var unsupported = []string{
	"unsupported", "not support", "n't support", "unavailable", "unrecognized", "unknown", "unexpected", "not permitted",
	"not allowed", "forbidden", "deprecated", "only the default", "use 'max_completion_tokens'",
}

// learn is h without the option that err rejects; false if err rejects none that h still has.
func (h habit) learn(err error) (habit, bool) {
	name := rejectedOption(err)
	for _, o := range options {
		if dropped := o.drop(&h); o.name == name && !*dropped {
			*dropped = true
			return h, true
		}
	}
	return h, false
}

// rejectedOption is the name of the option that err rejects, "" if it is about something else.
func rejectedOption(err error) string {
	if name := librarysRejection(err); name != "" {
		return name
	}
	f, ok := errors.AsType[*fault](err)
	if !ok || f.status != http.StatusBadRequest && f.status != http.StatusUnprocessableEntity {
		return ""
	}
	message := strings.ToLower(f.message + " " + f.code)
	if !containsAny(message, unsupported) {
		return ""
	}
	for _, about := range []string{strings.ToLower(f.param), message} { // param is exact, where there is one
		for _, o := range options {
			if containsAny(about, o.words) {
				return o.name
			}
		}
	}
	return ""
}

// librarysRejection is the option that go-openai refuses to send, knowing the model by its name.
func librarysRejection(err error) string {
	switch {
	case errors.Is(err, api.ErrReasoningModelMaxTokensDeprecated):
		return "max_tokens"
	case errors.Is(err, api.ErrReasoningModelLimitationsOther), errors.Is(err, api.ErrReasoningSamplingUnsupported):
		return "temperature"
	}
	return ""
}

func rejectedByLibrary(err error) bool { return librarysRejection(err) != "" }

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// names are the options that h does without.
func (h habit) names() []string {
	var names []string
	for _, o := range options {
		if *o.drop(&h) {
			names = append(names, o.name)
		}
	}
	return names
}

// habits remembers what each model rejects.
type habits struct {
	mu sync.Mutex
	m  map[string]habit
}

func (h *habits) of(model string) habit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.m[model]
}

// add joins what a call learnt with what others did meanwhile.
func (h *habits) add(model string, learnt habit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.m == nil {
		h.m = map[string]habit{}
	}
	known := h.m[model]
	for _, o := range options {
		if *o.drop(&learnt) {
			*o.drop(&known) = true
		}
	}
	h.m[model] = known
}
