package journal

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Contents is what a journal holds.
type Contents struct {
	Replies  int   `json:"replies"`
	Rejected int   `json:"rejected"` // of them: replies that could not be used
	Prompts  int   `json:"prompts"`  // kept with --keep-prompts
	Spent    Spent `json:"spent"`
}

// Verify reads all of a journal and compares it with its checksums: replies, prompts, sums, settings and calls in
// flight. Unlike Open it changes nothing, neither the file nor the log that a killed run left beside it. The error says
// what differs, and names the file.
func Verify(path string) (*Contents, error) {
	c, err := verify(path)
	if err != nil {
		return c, explainFault(path, err)
	}
	return c, nil
}

func verify(path string) (c *Contents, err error) {
	dir, err := os.MkdirTemp("", "erreval-journal-") // only the user can read it
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	// SQLite would copy the log into the file, and remove it.
	copied := filepath.Join(dir, "journal")
	before := sizes(path)
	if err := copyWhole(path, copied); err != nil {
		return nil, err
	}
	if err := copyWhole(path+"-wal", copied+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if sizes(path) != before {
		return nil, errors.New("a run writes to it; look at it again when that has ended")
	}
	if err := checkLog(copied + "-wal"); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dataSource(copied))
	if err != nil {
		return nil, err
	}
	s := &store{writer: db}
	defer func() { err = errors.Join(err, s.close()) }()
	if s.conn, err = db.Conn(background); err != nil {
		return nil, err
	}
	was, err := s.checkFormat()
	switch {
	case err != nil:
		return nil, err
	case was != format:
		return nil, fmt.Errorf("of format %d, which has no checksums; the next run with it makes them", was)
	}
	return s.verifyAll()
}

// sizes says of a journal and its log what changes when a run writes to them.
func sizes(path string) string {
	all := ""
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			all += fmt.Sprintln(info.Size(), info.ModTime().UnixNano())
		}
	}
	return all
}

func copyWhole(from, to string) error {
	in, err := os.Open(from) // #nosec G703 -- the file that the user named
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G703 -- in a folder made for it
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// checkLog finds writes in a log that SQLite would not read: those behind one that is damaged. Frames behind the last
// one of the log have another salt.
func checkLog(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || len(data) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	fault := fmt.Errorf("the log beside it (-wal) ends at a write that is damaged, or not whole since its run was "+
		"killed: %w", errDamaged)
	if len(data) < logHeader || binary.BigEndian.Uint32(data)&^1 != 0x377f0682 {
		return fault
	}
	big := data[3]&1 != 0
	sum := logSum{}.add(data[:24], big)
	if !sum.is(data[24:]) {
		return fault
	}
	salt, ended := string(data[16:24]), false
	for rest := data[logHeader:]; len(rest) >= frameHeader+pageBytes; rest = rest[frameHeader+pageBytes:] {
		sum = sum.add(rest[:8], big).add(rest[frameHeader:frameHeader+pageBytes], big)
		ofLog := string(rest[8:16]) == salt
		if whole := sum.is(rest[16:]); ofLog != whole || ofLog && ended {
			return fault
		}
		ended = !ofLog
	}
	return nil
}

// logSum is the checksum of SQLite's log.
type logSum [2]uint32

func (s logSum) add(data []byte, big bool) logSum {
	read := binary.LittleEndian.Uint32
	if big {
		read = binary.BigEndian.Uint32
	}
	for ; len(data) >= 8; data = data[8:] {
		s[0] += read(data) + s[1]
		s[1] += read(data[4:]) + s[0]
	}
	return s
}

func (s logSum) is(data []byte) bool {
	return s[0] == binary.BigEndian.Uint32(data) && s[1] == binary.BigEndian.Uint32(data[4:])
}

// verifyAll compares all that is in the file.
func (s *store) verifyAll() (*Contents, error) {
	if err := s.checkIntegrity(); err != nil {
		return nil, err
	}
	c := &Contents{}
	rows, err := s.conn.QueryContext(background, "SELECT "+replyColumns+", checksum FROM reply")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanReply(rows, true)
		if err != nil {
			return nil, err
		}
		c.Replies++
		c.Rejected += int(r.rejected)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if c.Prompts, err = s.verifyPrompts(); err != nil {
		return nil, err
	}
	perModel, err := readAccounts(s.conn.QueryContext(background, listAccounts))
	if err != nil {
		return nil, err
	}
	var sum account
	for _, a := range perModel {
		sum.addAccount(*a)
	}
	c.Spent = sum.toSpent()
	err = s.conn.QueryRowContext(background, readCurrency).Scan(&c.Spent.Currency)
	t := &transaction{store: s}
	return c, errors.Join(err, t.readClaims())
}
