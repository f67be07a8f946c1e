package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
)

// Recovery is what Recover found in a journal.
type Recovery struct {
	Fault    string `json:"fault,omitempty"` // what Verify says of the journal; "" where nothing is lost
	Replies  int    `json:"replies"`         // copied
	Rejected int    `json:"rejected"`        // of them: replies that could not be used
	// Replies that were there and are lost, as far as the rest of the file shows; there may be more.
	LostReplies  int   `json:"lost_replies"`
	Unchecked    int   `json:"unchecked"`     // replies without a checksum, of an older program: they are not copied
	MissingPages int64 `json:"missing_pages"` // of 4 KiB, that the file lacks at its end
	Sums         int   `json:"sums"`          // models whose spending was copied
	LostSums     int   `json:"lost_sums"`     // models whose spending was read and is damaged; there may be more
	Prompts      int   `json:"prompts"`       // kept with --keep-prompts, and copied
	LostPrompts  int   `json:"lost_prompts"`  // as far as the rest of the file shows; there may be more
	LostCurrency bool  `json:"lost_currency"` // costs were there: they are counted anew, of their tokens
	Added        Spent `json:"added"`         // what the replies add to the sums, so that these are not lower
	Spent        Spent `json:"spent"`         // in the new journal
}

// Recover copies what is whole in the journal at from into a new one at to: every reply, every kept prompt and every
// sum of what was spent whose checksum holds, whatever has become of the pages around it. Where sums are lost, spending
// is counted anew: it is at least what the replies sum to, at the prices of the next run that limits the cost. from is
// only read. An error is that there is nothing to copy, that to is there already, or one of reading and writing.
func Recover(from, to string) (*Recovery, error) {
	if err := checkAbsent(to); err != nil {
		return nil, err
	}
	pages, err := openPages(from)
	if err != nil {
		return nil, err
	}
	defer pages.Close()
	_, fault := verify(from)
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return nil, err
	}
	temp, r := f.Name(), newRecoverer(pages)
	if fault != nil {
		r.found.Fault = fault.Error()
	}
	if err = f.Close(); err == nil {
		err = r.copyAll(temp)
	}
	switch {
	case err == nil && r.found.Replies == 0 && r.found.Unchecked > 0:
		err = fmt.Errorf("%s: its %s of an older program have no checksums, so that nothing says which are whole", from,
			words.Plural(r.found.Unchecked, "reply", "replies"))
	case err == nil && r.found.Replies == 0 && r.found.Sums == 0:
		err = fmt.Errorf("%s: nothing in it is a reply or a sum of a journal, as it was written", from)
	case err == nil:
		err = publish(temp, to)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	return &r.found, nil
}

func checkAbsent(path string) error {
	_, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s exists already; choose another name", path)
}

func publish(temp, to string) error {
	if err := checkAbsent(to); err != nil {
		return err
	}
	return os.Rename(temp, to)
}

// place is where a reply was found.
type place struct {
	rowid    int64
	rejected bool
	text     [checksumBytes]byte // checksum of the reply as if it were not rejected
}

type recoverer struct {
	pages     *pageFile
	store     *store
	found     Recovery
	kept      map[pendingKey]place
	rows      map[int64]bool       // numbers of the rows of kept replies
	damaged   map[int64]bool       // of replies that are not as they were written
	unchecked map[pendingKey]bool  // replies without a checksum
	indexed   map[int64]pendingKey // what the index says is there
	sums      map[string]account
	broken    map[string]bool // models whose sums were read and are damaged
	setting   map[string]string
	parts     bool               // parts of prompts were copied
	replies   map[string]account // what the kept replies used, by the model that gave them
}

func newRecoverer(pages *pageFile) *recoverer {
	return &recoverer{pages: pages, kept: map[pendingKey]place{}, rows: map[int64]bool{}, damaged: map[int64]bool{},
		unchecked: map[pendingKey]bool{},
		indexed:   map[int64]pendingKey{}, sums: map[string]account{}, broken: map[string]bool{},
		setting: map[string]string{}, replies: map[string]account{}}
}

// copyAll fills the new journal at path.
func (r *recoverer) copyAll(path string) (err error) {
	if r.store, err = openStore(path, "NORMAL"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.store.close()) }()
	t := &transaction{store: r.store}
	if _, err := t.begin.ExecContext(background); err != nil {
		return err
	}
	if err := r.pages.visitAll(func(found record) error { return r.take(t, found) }); err != nil {
		return err
	}
	if err := errors.Join(r.copyPrompts(t), r.sumUp(t)); err != nil {
		return err
	}
	_, err = t.commit.ExecContext(background)
	return err
}

// take copies a record that is a reply or a part of a prompt, and notes one that is anything else of a journal.
func (r *recoverer) take(t *transaction, found record) error {
	v := found.values
	switch len(v) {
	case 9:
		if s, sum, ok := replyOf(v); ok {
			if !bytes.Equal(sum, s.checksum()) {
				r.damaged[found.rowid] = true
				return nil
			}
			return r.keep(t, s, found.rowid)
		}
	case 8:
		if s, _, ok := replyOf(append(v, []byte(nil))); ok {
			k := pendingKey{s.id, int(s.attempt)}
			r.unchecked[k] = true
		}
	case 10:
		r.takeSum(v)
	case 4:
		return r.takePart(t, found)
	case 3:
		r.takeEntry(v)
	}
	return nil
}

// replyOf makes a reply of the values of replyColumns and a checksum.
func replyOf(v []any) (s *storedReply, sum []byte, ok bool) {
	texts := map[int][]byte{0: nil, 3: nil, 4: nil, 5: nil, 8: nil}
	numbers := map[int]int64{1: 0, 2: 0, 6: 0, 7: 0}
	for i := range v {
		if _, isText := texts[i]; isText {
			texts[i], ok = v[i].([]byte)
		} else {
			numbers[i], ok = v[i].(int64)
		}
		if !ok {
			return nil, nil, false
		}
	}
	s = &storedReply{attempt: numbers[1], rejected: numbers[2]}
	s.reply = llm.Reply{Text: string(texts[3]), Finish: string(texts[4]), Model: string(texts[5]),
		Usage: llm.Usage{Input: int(numbers[6]), Output: int(numbers[7])}}
	return s, texts[8], copy(s.id[:], texts[0]) == len(s.id) && len(texts[0]) == len(s.id)
}

// keep copies a reply, unless a later state of it was copied: of one that was asked for again, the row has a higher
// number; one that was rejected stays so.
func (r *recoverer) keep(t *transaction, s *storedReply, rowid int64) error {
	k := pendingKey{s.id, int(s.attempt)}
	usable := *s
	usable.rejected = 0
	p := place{rowid: rowid, rejected: s.rejected != 0, text: [checksumBytes]byte(usable.checksum())}
	r.rows[rowid] = true
	was, again := r.kept[k]
	if again && (was.text == p.text && (was.rejected || !p.rejected) || was.text != p.text && was.rowid >= rowid) {
		return nil
	}
	r.kept[k] = p
	return t.writeReply(s)
}

// takeSum notes what was spent on a model. Of two states, the later page has the later one.
func (r *recoverer) takeSum(v []any) {
	model, isText := v[0].([]byte)
	sum, isSum := v[9].([]byte)
	var n [8]int64
	ok := isText && isSum
	for i := range n {
		var number bool
		n[i], number = v[i+1].(int64)
		ok = ok && number
	}
	if !ok {
		return
	}
	a := account{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], true}
	if r.broken[string(model)] = !bytes.Equal(sum, a.checksum(string(model))); !r.broken[string(model)] {
		r.sums[string(model)] = a
	}
}

// takeEntry notes a setting, or an entry of the index of replies.
func (r *recoverer) takeEntry(v []any) {
	name, isText := v[0].([]byte)
	if value, ok := v[1].([]byte); ok && isText {
		if sum, ok := v[2].([]byte); ok && bytes.Equal(sum, settingChecksum(string(name), string(value))) {
			r.setting[string(name)] = string(value)
		}
		return
	}
	attempt, isAttempt := v[1].(int64)
	rowid, isRow := v[2].(int64)
	if isText && isAttempt && isRow && len(name) == len(callID{}) {
		r.indexed[rowid] = pendingKey{callID(name), int(attempt)}
	}
}

// sumUp writes what was spent, and counts what is lost.
func (r *recoverer) sumUp(t *transaction) error {
	for rowid, k := range r.indexed {
		if _, kept := r.kept[k]; !kept && !r.rows[rowid] {
			r.found.LostReplies++
		}
	}
	for rowid := range r.damaged {
		if _, known := r.indexed[rowid]; !known && !r.rows[rowid] {
			r.found.LostReplies++
		}
	}
	for k := range r.unchecked {
		if _, kept := r.kept[k]; !kept {
			r.found.Unchecked++
		}
	}
	for _, broken := range r.broken {
		if broken { // there may be an earlier state of it
			r.found.LostSums++
		}
	}
	r.found.Sums, r.found.MissingPages = len(r.sums), r.pages.missing
	if err := r.sumReplies(t); err != nil {
		return err
	}
	if err := r.copyCurrency(t); err != nil {
		return err
	}
	t.perModel = map[string]*account{}
	for model, a := range r.sums {
		t.perModel[model] = &a
	}
	added := r.raiseSums(t)
	r.found.Added = added.toSpent()
	var all account
	for _, a := range t.perModel {
		all.addAccount(*a)
	}
	r.found.Spent = all.toSpent()
	r.found.Spent.Currency = r.setting["currency"]
	return t.writeAccounts()
}

// sumReplies sums up what the copied replies used, as far as their endpoints said.
func (r *recoverer) sumReplies(t *transaction) error {
	rows, err := t.conn.QueryContext(background, "SELECT model, input, output, rejected FROM reply")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var model string
		var rejected int
		a := account{calls: 1}
		if err := rows.Scan(&model, &a.input, &a.output, &rejected); err != nil {
			return err
		}
		a.input, a.output = min(max(a.input, 0), maxTokens), min(max(a.output, 0), maxTokens)
		sum := r.replies[model]
		sum.addAccount(a)
		r.replies[model] = sum
		r.found.Replies++
		r.found.Rejected += rejected
	}
	return rows.Err()
}

// copyCurrency copies the currency. Without it, costs say nothing: their tokens are priced anew.
func (r *recoverer) copyCurrency(t *transaction) error {
	if c, ok := r.setting["currency"]; ok {
		_, err := t.conn.ExecContext(background, "INSERT INTO setting VALUES ('currency', ?, ?)", c,
			settingChecksum("currency", c))
		return err
	}
	for model, a := range r.sums {
		if a.cost == 0 {
			continue
		}
		r.found.LostCurrency = true
		a.cost, a.unpricedInput, a.unpricedOutput = 0, a.input, a.output
		r.sums[model] = a
	}
	return nil
}

// raiseSums adds to the sums what the replies used beyond them, as tokens whose price is not known yet. A reply says
// the model that gave it, which may have another name than the one that was asked for: sums of models that gave no
// reply by their name are taken off first.
func (r *recoverer) raiseSums(t *transaction) (added account) {
	var others account
	for model, a := range t.perModel {
		if _, named := r.replies[model]; !named {
			others.addAccount(*a)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(r.replies)) {
		used := r.replies[model]
		var has account
		if a := t.perModel[model]; a != nil {
			has = *a
		}
		more := account{
			calls:  takeOff(used.calls-has.calls, &others.calls),
			input:  takeOff(used.input-has.input, &others.input),
			output: takeOff(used.output-has.output, &others.output),
		}
		if more == (account{}) {
			continue
		}
		more.unpricedInput, more.unpricedOutput = more.input, more.output
		has.addAccount(more)
		t.perModel[model] = &has
		added.addAccount(more)
	}
	return added
}

// takeOff is what n is above 0 and above what is left, which it reduces.
func takeOff(n int64, left *int64) int64 {
	n = max(n, 0)
	off := min(n, *left)
	*left -= off
	return n - off
}
