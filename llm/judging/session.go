package judging

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/journal"
	"github.com/erreval/erreval/llm/vendor"
)

// Session holds the models of one run. Call Open and Close once each, and call models only between them.
type Session struct {
	o           Options
	prices      *journal.Prices
	journal     *journal.Journal // nil if there is none and nothing is called
	connections []*connection    // by model
	clients     []*client        // by model
}

// New makes a Session from options. It checks them before there is a journal.
func New(o Options) (*Session, error) {
	s := &Session{o: o, clients: make([]*client, len(o.Models))}
	for i := range s.clients {
		s.clients[i] = &client{warn: o.Warn}
	}
	var err error
	if s.prices, err = readPrices(o.Prices); err != nil {
		return nil, err
	}
	if unpriced := s.Unpriced(); o.Budget.MaxCost != nil && unpriced != nil {
		return nil, fmt.Errorf("--max-cost: the price of %s is not known; give it in a file with --prices", unpriced[0])
	}
	return s, s.openConnections()
}

// MismatchError says that the journal does not fit the options; for example, it is in another currency.
type MismatchError struct{ Err error }

// Error is the text of Err.
func (e *MismatchError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *MismatchError) Unwrap() error { return e.Err }

// Open opens the journal and connects the models. Without calls, it only reads a journal that exists. If the journal
// can be read but does not fit the options, the error is a *MismatchError.
func (s *Session) Open() (err error) {
	if _, err := os.Stat(s.o.Journal); !s.o.Calls && err != nil {
		return nil
	}
	if s.journal, err = journal.Open(s.o.Journal); err != nil {
		return err
	}
	if err := s.openConnections(); err != nil {
		return errors.Join(&MismatchError{err}, s.Close())
	}
	return nil
}

// Close closes the journal, if there is one. No call may be under way.
func (s *Session) Close() error {
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}

// Path is the file of the journal.
func (s *Session) Path() string { return s.o.Journal }

// Prices is the price list.
func (s *Session) Prices() *journal.Prices { return s.prices }

// Unpriced are the models, as their endpoints name them, that the price list does not have.
func (s *Session) Unpriced() []string {
	var out []string
	for i := range s.o.Models {
		model := s.o.Models[i].Model
		if _, ok := s.prices.Models[model]; !ok {
			out = append(out, model)
		}
	}
	return out
}

// Models are those of the options. Their clients work while the Session is open.
func (s *Session) Models() []llm.Model {
	var out []llm.Model
	for i := range s.o.Models {
		m := &s.o.Models[i]
		out = append(out, llm.Model{Name: m.Name, Model: m.Model, Client: s.clients[i], Temperature: &m.Temperature,
			Seed: &m.Seed, MaxTokens: m.ReplyTokens, Lines: m.Lines})
	}
	return out
}

// client calls a model: through the journal once that is open.
type client struct {
	endpoint llm.Client      // with budget, limits and retries around it
	journal  *journal.Client // nil where there is none
	warn     func(format string, args ...any)
	answered answered
}

// Complete makes one call, or replays its reply.
func (c *client) Complete(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
	next := c.endpoint
	if c.journal != nil {
		next = c.journal
	}
	reply, err := next.Complete(ctx, r)
	if err == nil {
		c.warnOther(r.Model, reply.Model)
	}
	return reply, err
}

// Reject tells the journal that a reply was of no use.
func (c *client) Reject(r *llm.Request, reply *llm.Reply) error {
	if c.journal == nil {
		return nil
	}
	return c.journal.Reject(r, reply)
}

// connection is the client chain for the endpoint of one model, or of several.
type connection struct {
	endpoint llm.Client
	client   llm.Client     // endpoint, with budget, limits and retries around it
	meter    *journal.Meter // nil where nothing is called
}

// openConnections makes the clients of the models. Those without an entry in the configuration share a connection.
func (s *Session) openConnections() error {
	var shared *connection
	s.connections = nil
	for i := range s.o.Models {
		m := &s.o.Models[i]
		c := shared
		if c == nil || m.Configured() {
			var err error
			if c, err = s.newConnection(m); err != nil {
				return err
			}
		}
		if !m.Configured() {
			shared = c
		}
		s.connections = append(s.connections, c)
		s.clients[i].endpoint = c.client
		if s.journal != nil {
			s.clients[i].journal = s.journal.Client(c.client, m.endpointName())
			if s.o.ReplayRejected {
				s.clients[i].journal.ReplayRejected()
			}
			if err := s.keepPrompts(s.clients[i].journal); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepPrompts makes c keep prompts if that is asked for. Keys are taken out of them as they are out of replies.
func (s *Session) keepPrompts(c *journal.Client) error {
	if !s.o.KeepPrompts || !s.o.Calls {
		return nil
	}
	return c.KeepPrompts(s.o.keyReplacer().Replace)
}

// endpointName identifies an endpoint in the journal.
func (s *Settings) endpointName() string {
	name := s.Endpoint.BaseURL + " " + s.Endpoint.AzureVersion
	if s.Vendor.Name != vendor.Default { // journals written before there were other vendors have none
		name += " " + s.Vendor.Name
	}
	return name
}

func (s *Session) newConnection(m *Settings) (*connection, error) {
	endpoint, err := m.Vendor.New(m.Endpoint)
	if err != nil || s.journal == nil || !s.o.Calls {
		return &connection{endpoint: endpoint, client: endpoint}, err
	}
	limiter, client := llm.NewLimiter(m.Limits), s.o.redactKeys(finishCalls(endpoint))
	client = sayWaiting(client, longWait, s.o.Warn)
	meter, err := s.journal.Meter(limiter.LimitInFlight(client), s.o.Budget, s.prices)
	if err != nil {
		return nil, err
	}
	return &connection{endpoint, llm.Retry(limiter.LimitRates(meter), llm.DefaultRetryOptions()), meter}, nil
}

// finishCalls lets a call end even if ctx ends, since its reply is paid for. The time-out still limits it.
func finishCalls(c llm.Client) llm.Client {
	return llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
		return c.Complete(context.WithoutCancel(ctx), r)
	})
}

// readPrices reads a price list; path "" is the built-in one.
func readPrices(path string) (*journal.Prices, error) {
	if path == "" {
		return journal.DefaultPrices()
	}
	data, err := regularfile.Read(path, regularfile.Max)
	if err != nil {
		return nil, fmt.Errorf("--prices: %w", err)
	}
	return journal.ParsePrices(data, path)
}

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

// shortestKey is how long, in bytes, a key is that is taken out of replies: a shorter one may be an ordinary word.
const shortestKey = 8

// redactKeys takes the keys of all models out of the replies of c, before anybody else sees them. Errors have no keys:
// clients of endpoints see to that.
func (o *Options) redactKeys(c llm.Client) llm.Client {
	keys := o.keyReplacer()
	return llm.ClientFunc(func(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
		reply, err := c.Complete(ctx, r)
		if err != nil {
			return nil, err
		}
		clean := *reply
		for _, text := range []*string{&clean.Text, &clean.Finish, &clean.Model} {
			*text = keys.Replace(*text)
		}
		return &clean, nil
	})
}

// keyReplacer takes the keys of all models out of texts.
func (o *Options) keyReplacer() *strings.Replacer {
	var keys []string
	for i := range o.Models {
		keys = append(keys, o.Models[i].Endpoint.Keys()...)
	}
	return vendor.Hide(slices.DeleteFunc(keys, func(key string) bool { return len(key) < shortestKey }), "[key]")
}
