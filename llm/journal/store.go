package journal

import (
	"database/sql"
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"modernc.org/sqlite"
)

// store is the file: one connection that writes, in transactions that serve all who wait, and a few that read.
type store struct {
	writer, reader *sql.DB
	conn           *sql.Conn
	begin, commit  *sql.Stmt
	rollback       *sql.Stmt
	accounts       *sql.Stmt
	setAccount     *sql.Stmt
	putReply       *sql.Stmt
	rejectReply    *sql.Stmt
	getReply       *sql.Stmt   // on reader
	prepared       []*sql.Stmt // all of these

	joining sync.Mutex // guards next
	next    *batch
	writing sync.Mutex // held by the one that writes; guards what follows
	open    int        // reservations of this process without an outcome
	freed   chan struct{}
	overrun error // why no further call is made

	// What this process knows of the file as long as nobody else writes to it, which its data version tells.
	version uint32              // after the last transaction
	books   map[string]*account // nil: to be read
	held    atomic.Pointer[filter]
	looked  atomic.Int64 // when the version was looked at last, in Unix nanoseconds

	written int            // transactions
	folding errgroup.Group // see fold
}

// change is something to be written. A change that settles a reservation goes before those that make one, so that
// what it sets free can be had at once.
type change struct {
	apply   func(*transaction) error // an error undoes the whole transaction, for all in it
	settles bool
}

// batch is what one transaction writes: all that came while the one before it was being written.
type batch struct {
	changes []change
	done    chan struct{}
	err     error
}

// writeChange returns when c is in the file. Whoever comes first to a batch writes it.
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

// waitForOthers lets those who are about to write come along, where there are many: a transaction costs the more of a
// processor the fewer share it, and calls do not wait for it at the endpoint (see llm.Limiter).
func (s *store) waitForOthers() {
	if s.open < crowd {
		runtime.Gosched()
		return
	}
	<-time.After(gathering)
}

const (
	crowd     = 8                      // calls under way
	gathering = 500 * time.Microsecond // about a tenth of the fastest call
)

func (s *store) writeChanges(changes []change) error {
	t := &transaction{store: s}
	err := t.execute(changes)
	if err == nil {
		s.open += t.opened
		if s.written++; s.written%foldEvery == 0 {
			s.folding.TryGo(s.checkpointLog)
		}
	}
	settled := 0
	for _, c := range changes {
		if c.settles {
			settled++
		}
	}
	if settled > 0 { // also if it could not be written: nobody shall wait for it
		s.open -= settled
		close(s.freed)
		s.freed = make(chan struct{})
	}
	return err
}

// foldEvery is in transactions, of some four pages each.
const foldEvery = 1024

// checkpointLog brings the log into the file beside the writer, whom SQLite would otherwise make wait for that, syncs
// included: most of it while others write, then what came meanwhile, so that the log begins anew.
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

// transaction is a batch being written.
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
		_, err = t.commit.ExecContext(background)
	}
	if err == nil {
		t.version, err = t.dataVersion()
	}
	if err != nil {
		// After some faults SQLite has rolled back by itself; then this fails and nothing is lost.
		_, _ = t.rollback.ExecContext(background)
		t.books = nil
	}
	return err
}

// forgetStale forgets what another process may have changed since.
func (s *store) forgetStale() error {
	version, err := s.dataVersion()
	if err == nil && version != s.version {
		s.books = nil
		s.held.Store(nil)
	}
	s.looked.Store(time.Now().UnixNano())
	return err
}

// dataVersion changes with every transaction on the file, whoever makes it.
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

// accountOf is model's, to be changed in place.
func (t *transaction) accountOf(model string) (*account, error) {
	if t.books == nil {
		books, err := readAccounts(t.accounts.QueryContext(background))
		if err != nil {
			return nil, err
		}
		t.books = books
	}
	a := t.books[model]
	if a == nil {
		a = &account{}
		t.books[model] = a
	}
	return a, nil
}

func (t *transaction) writeAccounts() error {
	for model, a := range t.books {
		if !a.changed {
			continue
		}
		if _, err := t.setAccount.ExecContext(background, model, a.calls, a.open, a.input, a.output, a.cost,
			a.unpricedInput, a.unpricedOutput, a.overruns); err != nil {
			return err
		}
		a.changed = false
	}
	return nil
}

func readAccounts(rows *sql.Rows, err error) (map[string]*account, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	books := map[string]*account{}
	for rows.Next() {
		var model string
		a := &account{}
		if err := rows.Scan(&model, &a.calls, &a.open, &a.input, &a.output, &a.cost,
			&a.unpricedInput, &a.unpricedOutput, &a.overruns); err != nil {
			return nil, err
		}
		books[model] = a
	}
	return books, rows.Err()
}

// filter tells of most calls that are not in the file that they are not (a Bloom filter): asking SQLite for a new
// call takes longer than looking here. Its size is fixed, 1 MiB; of a million calls it misses 1 in 40, later on it is
// of no use.
type filter [1 << filterBits / 64]atomic.Uint64

const (
	filterBits   = 23
	filterProbes = 4
)

// visitBits are where id's are: id is a hash, so any of its bits will do.
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

// noteReply notes that id is being put into the file.
func (s *store) noteReply(id callID) {
	if f := s.held.Load(); f != nil {
		f.add(id)
	}
}

// fresh is how long what is known of the file is taken for true: another process may write to it while this one does
// not.
const fresh = 100 * time.Millisecond

// surelyLacks tells that id is not in the file; if it says no, nobody knows.
func (s *store) surelyLacks(id callID) bool {
	f := s.held.Load()
	return f != nil && time.Since(time.Unix(0, s.looked.Load())) < fresh && !f.mayHave(id)
}
