// Package journal stores the replies of language models and the costs of calls in one SQLite file. A run that was
// killed continues where it was, pays for no call twice and never spends more than its budget.
//
// Two decorators share the file. Client is the outermost and replays replies. Meter is the innermost, around the
// endpoint's client, and keeps the budget, so that each try of a retried call is charged, and a call that waits for a
// rate limit has no reservation:
//
//	limiter := llm.NewLimiter(limits)
//	metered, err := j.Meter(limiter.LimitInFlight(endpoint), budget, prices) // endpoint is a llm.Client
//	client := j.Client(llm.Retry(limiter.LimitRates(metered), retries), url)
//
// The Meter stores a reply unchanged, in the transaction that settles its call. Decorators between the two may repeat
// and delay calls, but should not change replies.
//
// Only its owner can read the file (0600). Replies are in it, and prompts where Client.KeepPrompts asks for it; keys,
// addresses and headers are not. Several processes may use one file: a call is claimed before it is made, and the
// others wait for its reply. What stands in the file has checksums.
package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"

	"github.com/erreval/erreval/internal/regularfile"
	"github.com/erreval/erreval/llm"
)

// Suffix is what names of journals end with, where nobody gives them another one.
const Suffix = ".journal"

// Is tells whether the file at path is to be a journal, damaged or not: by its beginning or its name.
func Is(path string) bool {
	f, err := regularfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	header := make([]byte, fileHeader)
	n, _ := f.ReadAt(header, 0)
	return strings.HasSuffix(path, Suffix) || n == fileHeader && string(header[:16]) == "SQLite format 3\x00" &&
		binary.BigEndian.Uint32(header[68:]) == applicationID
}

// Journal is an open file. It is safe for concurrent use.
type Journal struct {
	path  string
	store *store

	mu      sync.Mutex
	pending map[pendingKey]*pendingCall
}

// Open opens the journal at path and makes it if there is none. It refuses a file of a newer erreval, a damaged file,
// and any other kind of file.
func Open(path string) (*Journal, error) {
	return openWith(path, "NORMAL")
}

func openWith(path, synchronous string) (*Journal, error) {
	s, err := openStore(path, synchronous)
	if err != nil {
		return nil, explainFault(path, err)
	}
	return &Journal{path: path, store: s, pending: map[pendingKey]*pendingCall{}}, nil
}

// Close closes the file. No call may be under way.
func (j *Journal) Close() error {
	if err := j.store.close(); err != nil {
		return explainFault(j.path, err)
	}
	return nil
}

// brokenError is err in the form that calls return.
func (j *Journal) brokenError(err error) error {
	if err == nil {
		return nil
	}
	return &llm.Error{Kind: llm.Broken, Err: explainFault(j.path, err)}
}

// Client replays the replies in the journal, and makes and stores other calls.
type Client struct {
	journal  *Journal
	next     llm.Client
	endpoint string
	clean    func(string) string // set: prompts are kept; see KeepPrompts
	rejected bool                // see ReplayRejected
}

var _ llm.Client = (*Client)(nil)

// Client decorates next. endpoint distinguishes endpoints that have models of the same name; only its hash is stored.
//
// Calls are equal if endpoint and Request are equal. Of equal calls in flight, one is made, and all get its reply. A
// call whose reply is in the journal is not made. Errors are not stored. The same holds between processes that share
// the file, where a Meter of the journal is inside: a call that another one makes is waited for.
func (j *Journal) Client(next llm.Client, endpoint string) *Client {
	return &Client{journal: j, next: next, endpoint: endpoint}
}

// ReplayRejected makes c replay rejected replies too, each to its own Attempt, where no later reply was accepted: who
// rejects them again comes to the same end and pays nothing.
func (c *Client) ReplayRejected() { c.rejected = true }

// Complete replays the reply to r, marked Cached, or makes the call and stores its reply.
//
// A reply that the caller cannot use is not final: the caller says so with Reject and calls again with the next
// Attempt. From then on the journal answers r, under its first Attempt as well, with the first later reply that was
// not rejected; if there is none, the call is made anew. A caller that only counts Attempt up is safe too: no call
// is answered by the reply to an earlier attempt.
func (c *Client) Complete(ctx context.Context, r *llm.Request) (*llm.Reply, error) {
	id, err := hashCall(c.endpoint, r)
	if err != nil {
		return nil, err
	}
	reply, err := c.answer(ctx, id, r)
	if err == nil && c.clean != nil {
		err = c.keepPrompt(id, r)
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// answer replays the reply or makes the call, unless one that is equal is under way.
func (c *Client) answer(ctx context.Context, id callID, r *llm.Request) (*llm.Reply, error) {
	for {
		p, first := c.journal.joinCall(pendingKey{id, r.Attempt})
		if first {
			return c.makeCall(ctx, p, id, r)
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if !p.abandoned {
			return cachedCopy(p.reply), p.err
		}
	}
}

// Lookup is the reply that Complete would replay for r; nil if it would make a call.
func (c *Client) Lookup(r *llm.Request) (*llm.Reply, error) {
	id, err := hashCall(c.endpoint, r)
	if err != nil {
		return nil, err
	}
	return c.lookup(id, r.Attempt)
}

// Reject marks the reply that Complete gave for r as unusable, for example because it has no verdict. It is never
// replayed again, but with ReplayRejected.
func (c *Client) Reject(r *llm.Request, reply *llm.Reply) error {
	id, err := hashCall(c.endpoint, r)
	if err != nil {
		return err
	}
	return c.journal.brokenError(c.journal.store.writeChange(change{apply: func(t *transaction) error {
		return t.rejectReplies(id, r.Attempt, reply.Text)
	}}))
}

// rejectReplies marks the replies of an attempt and of later ones that have a text.
func (t *transaction) rejectReplies(id callID, attempt int, text string) error {
	var found []*storedReply // a table must not be changed while it is read
	for s, err := range eachReply(t.toReject.QueryContext(background, id[:], attempt, text)) {
		if err != nil {
			return err
		}
		found = append(found, s)
	}
	for _, s := range found {
		s.rejected = 1
		if err := t.writeReply(s); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) writeReply(s *storedReply) error {
	r := &s.reply
	_, err := t.putReply.ExecContext(background, s.id[:], s.attempt, s.rejected, r.Text, r.Finish, r.Model,
		r.Usage.Input, r.Usage.Output, s.checksum())
	return err
}

func cachedCopy(r *llm.Reply) *llm.Reply {
	if r == nil {
		return nil
	}
	again := *r
	again.Cached = true
	return &again
}

// callID is SHA-256 over endpoint and request without its attempt.
type callID [sha256.Size]byte

// keyFormat is that of what is hashed: with another one, no reply of a journal would be found.
const keyFormat = 2

func hashCall(endpoint string, r *llm.Request) (callID, error) {
	if r.Schema != nil && !json.Valid(r.Schema.JSON) {
		return callID{}, &llm.Error{Kind: llm.Refused, Err: errors.New("a call that cannot be sent: its schema is no JSON")}
	}
	// Every text follows its length, and every optional part follows its number, so that different calls have different
	// bytes.
	b := make([]byte, 0, 1<<13)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	text := func(s string) { number(int64(len(s))); b = append(b, s...) }
	number(keyFormat)
	text(endpoint)
	text(r.Model)
	number(int64(len(r.Messages)))
	for _, m := range r.Messages {
		text(m.Role)
		text(m.Content)
	}
	if number(presence(r.Temperature)); r.Temperature != nil {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(*r.Temperature))
	}
	if number(presence(r.Seed)); r.Seed != nil {
		number(*r.Seed)
	}
	number(int64(r.MaxTokens))
	if number(presence(r.Schema)); r.Schema != nil {
		text(r.Schema.Name)
		text(string(r.Schema.JSON))
	}
	number(int64(r.Repeat))
	return sha256.Sum256(b), nil
}

// presence is 1, or 0 if p is nil.
func presence[T any](p *T) int64 {
	if p == nil {
		return 0
	}
	return 1
}

type pendingKey struct {
	id      callID
	attempt int
}

// pendingCall is a call in flight, shared by all who make it.
type pendingCall struct {
	done      chan struct{}
	reply     *llm.Reply
	err       error
	abandoned bool // its maker gave up: another one must make the call
}

// joinCall joins the call of k that is in flight, or starts it.
func (j *Journal) joinCall(k pendingKey) (p *pendingCall, first bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if p := j.pending[k]; p != nil {
		return p, false
	}
	p = &pendingCall{done: make(chan struct{}), abandoned: true}
	j.pending[k] = p
	return p, true
}

// makeCall makes the call for all who wait for p.
func (c *Client) makeCall(ctx context.Context, p *pendingCall, id callID, r *llm.Request) (*llm.Reply, error) {
	j := c.journal
	defer func() {
		j.mu.Lock()
		delete(j.pending, pendingKey{id, r.Attempt})
		j.mu.Unlock()
		close(p.done)
	}()
	reply, err := c.askOnce(ctx, id, r)
	p.reply, p.err = cachedCopy(reply), err
	p.abandoned = err != nil && ctx.Err() != nil
	return reply, err
}

// memo asks the Meter inside to claim the call in the transaction that reserves its cost, and to store the reply in the
// transaction that settles it.
type memo struct {
	journal *Journal
	id      callID
	attempt int
	kept    bool
	claimed bool
}

func (m *memo) key() pendingKey { return pendingKey{m.id, m.attempt} }

type memoKey struct{}

func (m *memo) storeReply(t *transaction, r *llm.Reply) error {
	t.noteReply(m.id)
	t.releaseCall(m.key())
	return t.writeReply(&storedReply{id: m.id, attempt: int64(m.attempt), reply: *r})
}

func (c *Client) call(ctx context.Context, id callID, r *llm.Request) (*llm.Reply, error) {
	m := &memo{journal: c.journal, id: id, attempt: r.Attempt}
	reply, err := c.next.Complete(context.WithValue(ctx, memoKey{}, m), r)
	if err != nil && m.claimed {
		released := c.journal.store.writeChange(change{apply: func(t *transaction) error {
			t.releaseCall(m.key())
			return nil
		}})
		return nil, errors.Join(err, c.journal.brokenError(released))
	}
	if err != nil || m.kept {
		return reply, err
	}
	// Even if ctx has ended: the reply is paid for.
	if err := c.journal.brokenError(c.journal.store.writeChange(change{apply: func(t *transaction) error {
		return m.storeReply(t, reply)
	}})); err != nil {
		return nil, err
	}
	return reply, nil
}

func (c *Client) lookup(id callID, attempt int) (*llm.Reply, error) {
	if c.journal.store.surelyLacks(id) {
		return nil, nil
	}
	r, err := c.journal.store.findReply(id, attempt, c.rejected)
	if r == nil || err != nil {
		return nil, c.journal.brokenError(err)
	}
	r.Cached = true
	return r, nil
}

// findReply is the first reply of an attempt or a later one that is not rejected; else, if rejected is set, the
// rejected one of the attempt; nil if there is none. All that it passes over must be as it was written, too.
func (s *store) findReply(id callID, attempt int, rejected bool) (reply *llm.Reply, err error) {
	for stored, err := range eachReply(s.getReply.QueryContext(background, id[:], attempt)) {
		if err != nil {
			return nil, err
		}
		if stored.rejected == 0 {
			return &stored.reply, nil
		}
		if rejected && stored.attempt == int64(attempt) {
			reply = &stored.reply
		}
	}
	return reply, nil
}
