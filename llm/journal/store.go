package journal

import (
	"database/sql"
	"sync"
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

// write returns when c is in the file. Whoever comes first to a batch writes it.
func (s *store) write(c change) error {
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
		s.lead(b)
	}
	<-b.done
	return b.err
}

func (s *store) lead(b *batch) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.joining.Lock()
	s.next = nil
	s.joining.Unlock()
	b.err = s.transact(b.changes)
	close(b.done)
}

func (s *store) transact(changes []change) error {
	t := &transaction{store: s}
	err := t.run(changes)
	if err == nil {
		s.open += t.opened
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

// transaction is a batch being written.
type transaction struct {
	*store
	opened int // reservations made
	books  map[string]*account
}

func (t *transaction) run(changes []change) error {
	if _, err := t.begin.ExecContext(background); err != nil {
		return err
	}
	err := t.apply(changes)
	if err == nil {
		err = t.writeBooks()
	}
	if err == nil {
		_, err = t.commit.ExecContext(background)
	}
	if err != nil {
		// After some faults SQLite has rolled back by itself; then this fails and nothing is lost.
		_, _ = t.rollback.ExecContext(background)
	}
	return err
}

func (t *transaction) apply(changes []change) error {
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

// account is model's, to be changed in place.
func (t *transaction) account(model string) (*account, error) {
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

func (t *transaction) writeBooks() error {
	for model, a := range t.books {
		if !a.changed {
			continue
		}
		if _, err := t.setAccount.ExecContext(background, model, a.calls, a.open, a.input, a.output, a.cost,
			a.unpricedInput, a.unpricedOutput, a.overruns); err != nil {
			return err
		}
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
