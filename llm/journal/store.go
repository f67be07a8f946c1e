package journal

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"modernc.org/sqlite"
)

// store is the file: one connection writes, in transactions for all waiting callers, and a few read.
type store struct {
	writer, reader *sql.DB
	conn           *sql.Conn
	begin, commit  *sql.Stmt
	rollback       *sql.Stmt
	accounts       *sql.Stmt
	setAccount     *sql.Stmt
	setClaim       *sql.Stmt
	putReply       *sql.Stmt
	toReject       *sql.Stmt
	getReply       *sql.Stmt   // on reader
	prepared       []*sql.Stmt // all of these

	joining sync.Mutex // guards next
	next    *batch
	writing sync.Mutex // held by the writer; guards the fields below
	open    int        // reservations of this process without an outcome
	freed   chan struct{}
	overrun error // why no further call is made
	claims  claims
	prompts *prompts // nil: none are kept

	// What this process knows of the file. It holds while the data version shows that no other process has written.
	version     uint32              // after the last transaction
	perModel    map[string]*account // nil: to be read
	stored      atomic.Pointer[filter]
	versionRead atomic.Int64 // when the version was last read, in Unix nanoseconds

	written     int            // transactions
	checkpoints errgroup.Group // errors of checkpointLog
}

// change is a write. Changes that settle reservations go before those that make one, so that the latter can use what
// the former free.
type change struct {
	apply   func(*transaction) error // an error undoes the whole transaction with all its changes
	settles bool
}

// batch is what one transaction writes: all changes that came during the transaction before it.
type batch struct {
	changes []change
	done    chan struct{}
	err     error
}

// writeChange returns when c is in the file. The first caller in a batch writes it.
func (s *store) writeChange(c change) error {
	s.joining.Lock()
	b := s.next
	first := b == nil
	if first {
		b = &batch{done: make(chan struct{})}
		s.next = b
	}
	b.changes = append(b.changes, c)
	s.joining.Unlock()
	if first {
		s.writeBatch(b)
	}
	<-b.done
	return b.err
}

func (s *store) writeBatch(b *batch) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.waitForOthers()
	s.joining.Lock()
	s.next = nil
	s.joining.Unlock()
	b.err = s.writeChanges(b.changes)
	close(b.done)
}

// waitForOthers waits for more changes if many calls are in flight: larger transactions cost less processor time per
// change, and the endpoint does not wait for them (see llm.Limiter).
func (s *store) waitForOthers() {
	if s.open < manyCalls {
		runtime.Gosched()
		return
	}
	<-time.After(gatherTime)
}

const (
	manyCalls  = 8                      // calls in flight
	gatherTime = 500 * time.Microsecond // about a tenth of the fastest call
)

func (s *store) writeChanges(changes []change) error {
	t := &transaction{store: s}
	err := t.execute(changes)
	if err == nil {
		s.open += t.opened
		if s.written++; s.written%checkpointEvery == 0 {
			s.checkpoints.TryGo(s.checkpointLog)
		}
	}
	settled := 0
	for _, c := range changes {
		if c.settles {
			settled++
		}
	}
	if settled > 0 { // even if writing failed: otherwise callers would wait forever
		s.open -= settled
		close(s.freed)
		s.freed = make(chan struct{})
	}
	return err
}

// checkpointEvery is the number of transactions, of about four pages each, between checkpoints.
const checkpointEvery = 1024

// checkpointLog copies the log into the file, syncs included, so that SQLite does not make a writer do it: first most
// of it while others write, then the rest, so that the log begins anew.
func (s *store) checkpointLog() error {
	conn, err := s.writer.Conn(background)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, how := range []string{"PASSIVE", "RESTART"} {
		if _, err := conn.ExecContext(background, "PRAGMA wal_checkpoint("+how+")"); err != nil {
			return err
		}
	}
	return nil
}

type transaction struct {
	*store
	opened int // reservations made
}

func (t *transaction) execute(changes []change) error {
	if _, err := t.begin.ExecContext(background); err != nil {
		return err
	}
	err := t.forgetStale()
	if err == nil {
		err = t.applyChanges(changes)
	}
	if err == nil {
		err = t.writeAccounts()
	}
	if err == nil {
		err = t.writeClaims()
	}
	if err == nil {
		_, err = t.commit.ExecContext(background)
	}
	if err == nil {
		t.version, err = t.dataVersion()
	}
	if err != nil {
		// After some faults SQLite has rolled back by itself; then this fails and nothing is lost.
		_, _ = t.rollback.ExecContext(background)
		t.perModel, t.claims.others, t.claims.changed = nil, nil, true
		if t.prompts != nil {
			t.prompts.known = nil
		}
	}
	return err
}

// forgetStale forgets what another process may have changed.
func (s *store) forgetStale() error {
	version, err := s.dataVersion()
	if err == nil && version != s.version {
		s.perModel = nil
		s.stored.Store(nil)
		s.claims.others, s.claims.shared = nil, true
	}
	s.versionRead.Store(time.Now().UnixNano())
	return err
}

// dataVersion changes with every transaction on the file, of any process.
func (s *store) dataVersion() (version uint32, err error) {
	err = s.conn.Raw(func(driver any) error {
		version, err = driver.(sqlite.FileControl).FileControlDataVersion("main")
		return err
	})
	return version, err
}

func (t *transaction) applyChanges(changes []change) error {
	for _, settles := range []bool{true, false} {
		for _, c := range changes {
			if c.settles != settles {
				continue
			}
			if err := c.apply(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// accountOf is the account of model, which the caller may change.
func (t *transaction) accountOf(model string) (*account, error) {
	if t.perModel == nil {
		perModel, err := readAccounts(t.accounts.QueryContext(background))
		if err != nil {
			return nil, err
		}
		t.perModel = perModel
	}
	a := t.perModel[model]
	if a == nil {
		a = &account{}
		t.perModel[model] = a
	}
	return a, nil
}

func (t *transaction) writeAccounts() error {
	for model, a := range t.perModel {
		if !a.changed {
			continue
		}
		if _, err := t.setAccount.ExecContext(background, model, a.calls, a.open, a.input, a.output, a.cost,
			a.unpricedInput, a.unpricedOutput, a.overruns, a.checksum(model)); err != nil {
			return err
		}
		a.changed = false
	}
	return nil
}

// readAccounts reads all accounts and compares them with their checksums.
func readAccounts(rows *sql.Rows, err error) (map[string]*account, error) {
	return scanAccounts(rows, err, true)
}

func scanAccounts(rows *sql.Rows, err error, checked bool) (map[string]*account, error) {
	perModel := map[string]*account{}
	for rows, err := range eachRow(rows, err) {
		if err != nil {
			return nil, err
		}
		model, a, err := scanAccount(rows, checked)
		if err != nil {
			return nil, err
		}
		perModel[model] = a
	}
	return perModel, nil
}

// scanAccount reads a row of listAccounts, and compares it with its checksum where it has to have one.
func scanAccount(rows *sql.Rows, checked bool) (model string, a *account, err error) {
	var sum []byte
	a = &account{}
	if err := rows.Scan(&model, &a.calls, &a.open, &a.input, &a.output, &a.cost,
		&a.unpricedInput, &a.unpricedOutput, &a.overruns, &sum); err != nil {
		return "", nil, fmt.Errorf("what was spent cannot be read: %w: %w", errDamaged, err)
	}
	if checked && !bytes.Equal(sum, a.checksum(model)) {
		return "", nil, fmt.Errorf("what was spent on model %.60q: %w", model, errDamaged)
	}
	return model, a, nil
}

// filter recognises most calls that are not in the file (it is a Bloom filter), which is faster than asking SQLite. Its
// size is 1 MiB. With a million calls it fails to recognise 1 new call in 40; with many more it is useless.
type filter [1 << filterBits / 64]atomic.Uint64

const (
	filterBits   = 23
	filterProbes = 4
)

// visitBits calls do for the bits of id until it returns false. id is a hash, so any of its bits can be used.
func (f *filter) visitBits(id callID, do func(word *atomic.Uint64, bit uint64) bool) bool {
	for i := range filterProbes {
		at := binary.LittleEndian.Uint32(id[4*i:]) % (1 << filterBits)
		if !do(&f[at/64], 1<<(at%64)) {
			return false
		}
	}
	return true
}

func (f *filter) add(id callID) {
	f.visitBits(id, func(word *atomic.Uint64, bit uint64) bool { word.Or(bit); return true })
}

// mayHave tells whether id may have been added.
func (f *filter) mayHave(id callID) bool {
	return f.visitBits(id, func(word *atomic.Uint64, bit uint64) bool { return word.Load()&bit != 0 })
}

// noteReply adds id, which is being written to the file, to the filter.
func (s *store) noteReply(id callID) {
	if f := s.stored.Load(); f != nil {
		f.add(id)
	}
}

// fresh is how long the filter is trusted after the version was read: another process may write to the file.
const fresh = 100 * time.Millisecond

// surelyLacks tells whether id is certainly not in the file. If false, id may or may not be there.
func (s *store) surelyLacks(id callID) bool {
	f := s.stored.Load()
	return f != nil && time.Since(time.Unix(0, s.versionRead.Load())) < fresh && !f.mayHave(id)
}

// eachRow gives the rows of a query, which it closes. An error, of the query or of reading them, is the last it gives.
func eachRow(rows *sql.Rows, err error) iter.Seq2[*sql.Rows, error] {
	return func(yield func(*sql.Rows, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if !yield(rows, nil) {
				return
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			yield(nil, err)
		}
	}
}

// eachReply gives the replies that a query finds, compared with their checksums.
func eachReply(rows *sql.Rows, err error) iter.Seq2[*storedReply, error] {
	return func(yield func(*storedReply, error) bool) {
		for rows, err := range eachRow(rows, err) {
			var s *storedReply
			if err == nil {
				s, err = scanReply(rows, true)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}
