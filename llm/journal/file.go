package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/internal/wholefile"
	"github.com/erreval/erreval/internal/words"
	"modernc.org/sqlite"
)

const (
	format        = 3          // of the schema below; PRAGMA user_version
	unchecked     = 2          // the format before there were checksums
	applicationID = 0x65727276 // "errv": marks a journal among SQLite files
	busyTimeout   = 30 * time.Second
	readers       = 4
	// of 4 KiB, after which a writer itself copies the log into the file; usually checkpointEvery comes first
	logPages = 65536
)

// Accounts count open calls with their reservation, so a call that a crash lost stays charged.
const schema = `
CREATE TABLE reply (
	call BLOB NOT NULL,             -- SHA-256 over all of the call but its attempt
	attempt INTEGER NOT NULL,
	rejected INTEGER NOT NULL DEFAULT 0,
	text TEXT NOT NULL,
	finish TEXT NOT NULL,
	model TEXT NOT NULL,
	input INTEGER NOT NULL,         -- tokens, as reported
	output INTEGER NOT NULL
);
CREATE UNIQUE INDEX reply_call ON reply (call, attempt);
CREATE TABLE account (
	model TEXT PRIMARY KEY,
	calls INTEGER NOT NULL,
	open INTEGER NOT NULL,
	input INTEGER NOT NULL,
	output INTEGER NOT NULL,
	cost INTEGER NOT NULL,          -- 1e-9 of the currency
	unpriced_input INTEGER NOT NULL,
	unpriced_output INTEGER NOT NULL,
	overruns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
`

// background is for all statements: they take microseconds, and nothing interrupts them.
var background = context.Background()

// openStore opens path. synchronous is SQLite's: in WAL mode NORMAL loses nothing when a process dies, and at worst the
// last calls when the machine does.
func openStore(path, synchronous string) (*store, error) {
	abs, err := regularFile(path)
	if err != nil {
		return nil, err
	}
	s := &store{freed: make(chan struct{}), claims: newClaims()}
	s.checkpoints.SetLimit(1)
	if err := s.connect(abs, synchronous); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// regularFile checks that path is a regular file, and that no links are planted where SQLite has its files. If there is
// none, it makes an empty one that only its owner can read.
func regularFile(path string) (abs string, err error) {
	if abs, err = filepath.Abs(path); err != nil {
		return "", err
	}
	// SQLite resolves links in the name of the file, and opens no others.
	for _, beside := range []string{"-wal", "-shm", "-journal"} {
		if err := wholefile.RefuseLink(abs + beside); err != nil {
			return "", err
		}
	}
	f, err := wholefile.OpenUnlinked(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	return abs, err
}

// restrictAccess lets only the owner read the journal, and the files that a killed run left beside it. SQLite gives new
// files beside it the same mode.
func restrictAccess(abs string) error {
	for _, name := range []string{abs, abs + "-wal", abs + "-shm"} {
		err := os.Chmod(name, 0o600) // #nosec G703 -- the file that the user named
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// dataSource is the data source name; the path is escaped since it is a URI's.
func dataSource(abs string, pragmas ...string) string {
	slashed := filepath.ToSlash(abs)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows drive
	}
	q := url.Values{"_pragma": append(pragmas, fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + q.Encode()
}

func (s *store) connect(abs, synchronous string) (err error) {
	if s.writer, err = sql.Open("sqlite", dataSource(abs, "synchronous("+synchronous+")",
		fmt.Sprintf("wal_autocheckpoint(%d)", logPages))); err != nil {
		return err
	}
	if s.conn, err = s.writer.Conn(background); err != nil {
		return err
	}
	was, err := s.checkFormat() // before anything in it is changed: it may be somebody else's
	if err != nil {
		return err
	}
	if err := restrictAccess(abs); err != nil {
		return err
	}
	if was != format {
		if err := s.migrate(); err != nil {
			return err
		}
	}
	if err := s.checkIntegrity(); err != nil {
		return err
	}
	if s.reader, err = sql.Open("sqlite", dataSource(abs, "query_only(1)")); err != nil {
		return err
	}
	s.reader.SetMaxOpenConns(readers)
	s.reader.SetMaxIdleConns(readers)
	if err := s.prepareStatements(); err != nil {
		return err
	}
	return s.readState()
}

// readState reads the file's version. If the file has no replies, it starts the filter of those that are written.
func (s *store) readState() error {
	var replies bool
	err := s.conn.QueryRowContext(background, "SELECT EXISTS (SELECT 1 FROM reply)").Scan(&replies)
	if err == nil {
		s.version, err = s.dataVersion()
	}
	if err == nil && !replies {
		s.stored.Store(new(filter))
	}
	return err
}

// migrate makes an empty file a journal, and gives one of an older format what it lacks. Another process may be doing
// the same.
func (s *store) migrate() error {
	if err := s.setWriteAhead(); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(background, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	was, err := s.checkFormat()
	if err == nil && was == 0 {
		_, err = s.conn.ExecContext(background, schema)
	}
	if err == nil && was != format {
		_, err = s.conn.ExecContext(background, addChecksums+
			fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, format))
	}
	if err == nil && was == unchecked {
		err = s.fillChecksums()
	}
	end := "COMMIT"
	if err != nil {
		end = "ROLLBACK"
	}
	_, ended := s.conn.ExecContext(background, end)
	return errors.Join(err, ended)
}

// setWriteAhead sets the journal mode to WAL. SQLite does not wait for other processes here, so setWriteAhead does.
func (s *store) setWriteAhead() error {
	deadline := time.Now().Add(busyTimeout)
	for {
		var mode string
		err := s.conn.QueryRowContext(background, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("the file system does not allow a write-ahead log (journal mode %q); use a local disk", mode)
		case err == nil || errorCode(err) != codeBusy || time.Now().After(deadline):
			return err
		}
		<-time.After(10 * time.Millisecond)
	}
}

// checkFormat gives the format of a journal, 0 for an empty file, and refuses every other file.
func (s *store) checkFormat() (version int, err error) {
	var id, tables int
	if err := s.conn.QueryRowContext(background, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&id, &version, &tables); err != nil {
		return 0, err
	}
	switch {
	case id == 0 && version == 0 && tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, errors.New("an SQLite file, but not a journal of erreval; give another name")
	case version > format:
		return 0, fmt.Errorf("written by a newer erreval (format %d, this one reads %d); "+
			"upgrade erreval, or give another name", version, format)
	case version < unchecked:
		return 0, fmt.Errorf("of the unknown format %d; give another name", version)
	}
	return version, nil
}

const (
	accountColumns = "model, calls, open, input, output, cost, unpriced_input, unpriced_output, overruns"
	listAccounts   = "SELECT " + accountColumns + ", checksum FROM account"
)

func (s *store) prepareStatements() error {
	var faults faults.List
	on := s.preparer(&faults)
	s.begin = on(s.conn.PrepareContext, "BEGIN IMMEDIATE")
	s.commit = on(s.conn.PrepareContext, "COMMIT")
	s.rollback = on(s.conn.PrepareContext, "ROLLBACK")
	s.accounts = on(s.conn.PrepareContext, listAccounts)
	s.setAccount = on(s.conn.PrepareContext, "REPLACE INTO account ("+accountColumns+
		", checksum) VALUES (?,?,?,?,?,?,?,?,?,?)")
	s.setClaim = on(s.conn.PrepareContext, "REPLACE INTO claim (owner, machine, pid, expires, calls) VALUES (?,?,?,?,?)")
	s.putReply = on(s.conn.PrepareContext, "REPLACE INTO reply ("+replyColumns+", checksum) VALUES (?,?,?,?,?,?,?,?,?)")
	const findReplies = "SELECT " + replyColumns + ", checksum FROM reply WHERE call = ? AND attempt >= ?"
	s.toReject = on(s.conn.PrepareContext, findReplies+" AND text = ? AND rejected = 0")
	s.getReply = on(s.reader.PrepareContext, findReplies+" ORDER BY attempt")
	return faults.Err()
}

// preparer prepares statements on connections, and notes faults.
func (s *store) preparer(faults *faults.List) func(func(context.Context, string) (*sql.Stmt, error), string) *sql.Stmt {
	return func(prepare func(context.Context, string) (*sql.Stmt, error), query string) *sql.Stmt {
		stmt, err := prepare(background, query)
		if faults.Add(err); err == nil {
			s.prepared = append(s.prepared, stmt)
		}
		return stmt
	}
}

func (s *store) close() error {
	faults := []error{s.checkpoints.Wait(), s.removeClaims()}
	for _, stmt := range s.prepared { // a connection with an open statement stays open, and keeps the log beside the file
		faults = append(faults, stmt.Close())
	}
	if s.reader != nil {
		faults = append(faults, s.reader.Close())
	}
	if s.conn != nil {
		faults = append(faults, s.conn.Close())
	}
	if s.writer != nil {
		faults = append(faults, s.writer.Close())
	}
	return errors.Join(faults...)
}

// Primary result codes of SQLite: https://sqlite.org/rescode.html
const (
	codeBusy    = 5
	codeIO      = 10
	codeCorrupt = 11
	codeFull    = 13
	codeNotADB  = 26
)

func errorCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return 0
}

// explainFault says what an error means for the file, and what to do.
func explainFault(path string, err error) error {
	advice := ""
	code := errorCode(err)
	if errors.Is(err, errDamaged) {
		code = codeCorrupt
	}
	switch code {
	case codeBusy:
		advice = fmt.Sprintf("another process held it for more than %v: ", busyTimeout)
	case codeCorrupt, codeNotADB:
		to := strings.TrimSuffix(path, Suffix) + ".recovered" + Suffix
		advice = fmt.Sprintf("damaged, or not a journal; copy what is whole with: erreval journal recover %s -o %s, "+
			"and go on with --journal %[2]s (what is lost is asked and paid for again): ", words.Quote(path), words.Quote(to))
	case codeIO:
		advice = "it cannot be read or written; see whether the disk, a quota or a limit of file sizes is at its end: "
	case codeFull:
		advice = "the disk is full; free some space and run the same command again: "
	}
	return fmt.Errorf("journal %s: %s%w", path, advice, err)
}
