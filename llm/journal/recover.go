package journal

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// Recovery counts what Recover copied of a journal, and what of it is lost.
type Recovery struct {
	Fault    string `json:"fault,omitempty"` // what Verify says of the journal; "" where nothing is lost
	Replies  int    `json:"replies"`         // copied
	Rejected int    `json:"rejected"`        // of them: replies that could not be used
	// Replies that were there and are lost, as far as the rest of the file shows; there may be more.
	LostReplies  int   `json:"lost_replies"`
	MissingPages int64 `json:"missing_pages"` // of 4 KiB, that the file lacks at its end
	Sums         int   `json:"sums"`          // models whose spending was copied
	LostSums     int   `json:"lost_sums"`     // models whose spending was read and is damaged; there may be more
	Prompts      int   `json:"prompts"`       // kept with --keep-prompts, and copied
	LostPrompts  int   `json:"lost_prompts"`  // as far as the rest of the file shows; there may be more
	LostCurrency bool  `json:"lost_currency"` // costs were there: they are counted anew, of their tokens
	Added        Spent `json:"added"`         // what the replies add to the sums, so that these are not lower
	Spent        Spent `json:"spent"`         // in the new journal
}

// Recover copies what SQLite still reads of the journal at from into a new one at to: every reply, every kept prompt
// and every sum of what was spent whose checksum holds. Where sums are lost, spending is counted anew: it is at least
// what the replies sum to, at the prices of the next run that limits the cost. from is only read. An error is that
// there is nothing to copy, that to is there already, or one of reading and writing.
func Recover(from, to string) (found *Recovery, err error) {
	if err := checkAbsent(to); err != nil {
		return nil, err
	}
	c, err := copyJournal(from)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	r := &recoverer{from: c.store.conn, lost: map[int64]bool{}, sums: map[string]account{}, replies: map[string]account{}}
	if _, fault := c.verify(); fault != nil {
		r.found.Fault = fault.Error()
	}
	if r.found.MissingPages, err = missingPages(c.path); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return nil, err
	}
	if err = f.Close(); err == nil {
		err = r.copyAll(f.Name())
	}
	if err == nil && r.found.Replies == 0 && r.found.Sums == 0 {
		err = r.explainNothing(from)
	}
	if err == nil {
		err = publish(f.Name(), to)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
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

type recoverer struct {
	from     *sql.Conn // to a copy of the damaged journal
	store    *store    // the new one
	found    Recovery
	lost     map[int64]bool // numbers of the rows of replies that are damaged, or that only the index has
	sums     map[string]account
	currency *string            // nil: none, or lost
	replies  map[string]account // what the kept replies used, by the model that gave them
}

// copyAll fills the new journal at path.
func (r *recoverer) copyAll(path string) (err error) {
	if r.store, err = openStore(path, "NORMAL"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.store.close()) }()
	// With this, SQLite opens files that were cut off.
	if _, err := r.from.ExecContext(background, "PRAGMA writable_schema = ON"); err != nil {
		return err
	}
	t := &transaction{store: r.store}
	if _, err := t.begin.ExecContext(background); err != nil {
		return err
	}
	for _, step := range []func(*transaction) error{r.copyReplies, r.findLost, r.copyPrompts, r.readSums,
		r.sumReplies, r.copyCurrency, r.writeSums} {
		if err := step(t); err != nil {
			return err
		}
	}
	_, err = t.commit.ExecContext(background)
	return err
}

// visit calls do for the rows of a query in the order of keys: from the first one to damage, and from the last one back
// to damage. An error is do's.
func (r *recoverer) visit(do func(*sql.Rows) error, query string, keys ...string) error {
	for _, order := range []string{"", " DESC"} {
		whole, err := r.visitOnce(do, query+" ORDER BY "+strings.Join(keys, order+", ")+order)
		if err != nil || whole {
			return err
		}
	}
	return nil
}

// visitOnce reports whether it could read to the end.
func (r *recoverer) visitOnce(do func(*sql.Rows) error, query string, args ...any) (whole bool, err error) {
	rows, err := r.from.QueryContext(background, query, args...)
	if err != nil {
		r.noteFault(err)
		return false, nil
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows); err != nil {
			return false, err
		}
	}
	r.noteFault(rows.Err())
	return rows.Err() == nil, nil
}

// noteFault keeps the first fault, for which nothing was found before.
func (r *recoverer) noteFault(err error) {
	if err != nil && r.found.Fault == "" {
		r.found.Fault = err.Error()
	}
}

const recoverReplies = "SELECT rowid, " + replyColumns + ", checksum FROM reply"

func (r *recoverer) copyReplies(t *transaction) error {
	return r.visit(func(rows *sql.Rows) error { return r.copyReply(t, rows) }, recoverReplies, "rowid")
}

func (r *recoverer) copyReply(t *transaction, rows *sql.Rows) error {
	var row int64
	s, err := scanReply(rows, true, &row)
	if err != nil {
		r.lost[row] = true
		return nil
	}
	return t.writeReply(s)
}

// findLost goes through the index for replies that copyReplies did not reach, and notes those that are lost.
func (r *recoverer) findLost(t *transaction) error {
	copied, err := t.conn.PrepareContext(background, "SELECT EXISTS (SELECT 1 FROM reply WHERE call = ? AND attempt = ?)")
	if err != nil {
		return err
	}
	defer copied.Close()
	err = r.visit(func(rows *sql.Rows) error {
		var row, attempt int64
		var call []byte
		if rows.Scan(&row, &call, &attempt) != nil || r.lost[row] {
			return nil
		}
		isCopied := func() (is bool, err error) {
			err = copied.QueryRowContext(background, call, attempt).Scan(&is)
			return is, err
		}
		if is, err := isCopied(); err != nil || is {
			return err
		}
		if _, err := r.visitOnce(func(rows *sql.Rows) error { return r.copyReply(t, rows) },
			recoverReplies+" WHERE rowid = ?", row); err != nil {
			return err
		}
		is, err := isCopied()
		if !is {
			r.lost[row] = true
		}
		return err
	}, "SELECT rowid, call, attempt FROM reply INDEXED BY reply_call", "call", "attempt")
	r.found.LostReplies = len(r.lost)
	return err
}

// copyPrompts copies whole parts by their numbers, which prompts name, and then the prompts whose parts are all there.
func (r *recoverer) copyPrompts(t *transaction) error {
	var there bool
	if err := r.from.QueryRowContext(background, hasPrompts).Scan(&there); err != nil || !there {
		return nil // what cannot be read is noted already
	}
	if _, err := t.conn.ExecContext(background, promptTables); err != nil {
		return err
	}
	if err := r.visit(func(rows *sql.Rows) error {
		var number, size int64
		var hash, packed []byte
		if rows.Scan(&number, &hash, &size, &packed) != nil || checkPart(hash, size, packed, io.Discard) != nil {
			return nil
		}
		_, err := t.conn.ExecContext(background, "REPLACE INTO part (number, hash, size, text) VALUES (?,?,?,?)", number,
			hash, size, packed)
		return err
	}, "SELECT number, hash, size, text FROM part", "number"); err != nil {
		return err
	}
	hashes, err := newPartHashes(t.conn)
	if err != nil {
		return err
	}
	defer hashes.Close()
	if err := r.visit(func(rows *sql.Rows) error {
		k := &keptPrompt{}
		var id, messages, sum []byte
		if rows.Scan(&k.row, &k.about, &id, &messages, &sum) != nil || copy(k.id[:], id) < len(k.id) ||
			k.parse(messages, sum, hashes.read) != nil {
			r.found.LostPrompts++
			return nil
		}
		_, err := t.conn.ExecContext(background, putPrompt, k.row, k.about, k.id[:], messages, sum)
		return err
	}, "SELECT row_id, about, call, messages, checksum FROM prompt", "row_id", "about", "call"); err != nil {
		return err
	}
	return t.conn.QueryRowContext(background, "SELECT count(*) FROM prompt").Scan(&r.found.Prompts)
}

// readSums reads what was spent, and the currency.
func (r *recoverer) readSums(*transaction) error {
	if err := r.visit(func(rows *sql.Rows) error {
		model, a, err := scanAccount(rows, true)
		if err != nil {
			r.found.LostSums++
			return nil
		}
		r.sums[model] = *a
		return nil
	}, listAccounts, "model"); err != nil {
		return err
	}
	r.found.Sums = len(r.sums)
	return r.visit(func(rows *sql.Rows) error {
		var name, value string
		var sum []byte
		if rows.Scan(&name, &value, &sum) == nil && name == "currency" && bytes.Equal(sum, settingChecksum(name, value)) {
			r.currency = &value
		}
		return nil
	}, "SELECT name, value, checksum FROM setting", "name")
}

// writeSums writes what was spent, at least what the replies sum to.
func (r *recoverer) writeSums(t *transaction) error {
	t.perModel = map[string]*account{}
	for model, a := range r.sums {
		a.changed = true
		t.perModel[model] = &a
	}
	added := r.raiseSums(t)
	r.found.Added = added.toSpent()
	r.found.Spent = spentOf(t.perModel)
	if r.currency != nil {
		r.found.Spent.Currency = *r.currency
	}
	return t.writeAccounts()
}

// sumReplies sums up what the copied replies used, as far as their endpoints said.
func (r *recoverer) sumReplies(t *transaction) error {
	for rows, err := range eachRow(t.conn.QueryContext(background,
		"SELECT model, input, output, rejected FROM reply")) {
		if err != nil {
			return err
		}
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
	return nil
}

// copyCurrency copies the currency. Without it, costs say nothing: their tokens are priced anew.
func (r *recoverer) copyCurrency(t *transaction) error {
	if r.currency != nil {
		_, err := t.conn.ExecContext(background, "INSERT INTO setting VALUES ('currency', ?, ?)", *r.currency,
			settingChecksum("currency", *r.currency))
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

// explainNothing says why nothing was copied.
func (r *recoverer) explainNothing(path string) error {
	var old int
	if err := r.from.QueryRowContext(background, "SELECT count(*) FROM reply, pragma_user_version WHERE user_version = ?",
		unchecked).Scan(&old); err == nil && old > 0 {
		return fmt.Errorf("%s: its %s of an older program have no checksums, so that nothing says which are whole", path,
			words.Plural(old, "reply", "replies"))
	}
	return fmt.Errorf("%s: nothing in it is a reply or a sum of a journal, as it was written", path)
}

// takeOff is what n is above 0 and above what is left, which it reduces.
func takeOff(n int64, left *int64) int64 {
	n = max(n, 0)
	off := min(n, *left)
	*left -= off
	return n - off
}
