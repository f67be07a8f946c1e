package judging

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/erreval/erreval/internal/words"
)

// maxAnswered is the most other models that are noted of one judge: an endpoint can make up any number.
const maxAnswered = 8

// answered notes which other models answered for one. It is safe for concurrent use.
type answered struct {
	mu    sync.Mutex
	names map[string]bool
}

// note tells whether a reply names another model than was asked, for the first time.
func (a *answered) note(asked, name string) bool {
	if !isOther(asked, name) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.names[name] || len(a.names) == maxAnswered {
		return false
	}
	if a.names == nil {
		a.names = map[string]bool{}
	}
	a.names[name] = true
	return len(a.names) == 1
}

// list is in order of the alphabet.
func (a *answered) list() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.names))
}

// version is what endpoints put behind the name of a model that was asked for by its family.
var version = regexp.MustCompile(`^([-@:]v?\d[\w.:-]*|:\w[\w.-]*)?$`)

// isOther tells a model from a version of the one that was asked. A provider in front, as in "openai/", says nothing.
func isOther(asked, name string) bool {
	bare := func(s string) string { return strings.TrimSuffix(s[strings.LastIndexByte(s, '/')+1:], "-latest") }
	rest, same := strings.CutPrefix(strings.ToLower(bare(name)), strings.ToLower(bare(asked)))
	return name != "" && !(same && version.MatchString(rest))
}

// warnOther says it once a judge.
func (c *client) warnOther(asked, name string) {
	if c.answered.note(asked, words.Clip(name, 100)) && c.warn != nil {
		c.warn("model %s was asked, and the reply names %s: it may be an alias, or the endpoint asks another one; "+
			"the run record lists such names under usage", asked, words.Clip(name, 100))
	}
}
