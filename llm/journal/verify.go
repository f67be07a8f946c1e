package journal

import (
	"cmp"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/erreval/erreval/internal/regularfile"
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
func Verify(path string) (found *Contents, err error) {
	c, err := copyJournal(path)
	if err == nil {
		found, err = c.verify()
		err = errors.Join(err, c.close())
	}
	if err != nil {
		err = explainFault(path, err)
	}
	return found, err
}

// journalCopy is a copy of a journal and its log, opened. SQLite would copy the log into the file, and remove it.
type journalCopy struct {
	path    string // in a folder of its own
	changed bool   // a run wrote to the journal while it was copied
	store   *store // which only reads
}

func copyJournal(path string) (*journalCopy, error) {
	dir, err := os.MkdirTemp("", "erreval-journal-") // only the user can read it
	if err != nil {
		return nil, err
	}
	c := &journalCopy{path: filepath.Join(dir, "journal"), store: &store{}}
	before := sizes(path)
	if err = copyWhole(path, c.path); err == nil {
		if err = copyWhole(path+"-wal", c.path+"-wal"); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	c.changed = sizes(path) != before
	if err == nil {
		c.store.writer, err = sql.Open("sqlite", dataSource(c.path))
	}
	if err == nil {
		c.store.conn, err = c.store.writer.Conn(background)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *journalCopy) close() error {
	return errors.Join(c.store.close(), os.RemoveAll(filepath.Dir(c.path)))
}

func (c *journalCopy) verify() (*Contents, error) {
	if c.changed {
		return nil, errors.New("a run writes to it; look at it again when that has ended")
	}
	if err := checkLog(c.path + "-wal"); err != nil {
		return nil, err
	}
	was, err := c.store.checkFormat()
	switch {
	case err != nil:
		return nil, err
	case was != format:
		return nil, fmt.Errorf("of format %d, which has no checksums; the next run with it makes them", was)
	}
	return c.store.verifyAll()
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

// maxLog is the largest log, in bytes, that is looked through: it is held in memory.
const maxLog = 1 << 30

func copyWhole(from, to string) error {
	in, err := regularfile.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return cmp.Or(err, error(&fs.PathError{Op: "read", Path: from, Err: errors.New("not a regular file")}))
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // #nosec G703 -- in a folder made for it
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Sizes in bytes, of https://sqlite.org/fileformat2.html.
const (
	fileHeader  = 100
	pageBytes   = 4096 // of every journal
	logHeader   = 32
	frameHeader = 24 // before each page in the log
)

// missingPages is how many pages less the file has than its header says.
func missingPages(path string) (int64, error) {
	f, err := os.Open(path) // #nosec G703 -- a copy in a folder made for it
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	header := make([]byte, fileHeader)
	if n, _ := f.ReadAt(header, 0); n < len(header) || string(header[:16]) != "SQLite format 3\x00" {
		return 0, nil
	}
	return max(int64(binary.BigEndian.Uint32(header[28:]))-info.Size()/pageBytes, 0), nil
}

// checkLog finds writes in a log that SQLite would not read: those behind one that is damaged. Frames behind the last
// one of the log have another salt.
func checkLog(path string) error {
	data, err := regularfile.Read(path, maxLog)
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
	for r, err := range eachReply(s.conn.QueryContext(background, "SELECT "+replyColumns+", checksum FROM reply")) {
		if err != nil {
			return nil, err
		}
		c.Replies++
		c.Rejected += int(r.rejected)
	}
	var err error
	if c.Prompts, err = s.verifyPrompts(); err != nil {
		return nil, err
	}
	perModel, err := readAccounts(s.conn.QueryContext(background, listAccounts))
	if err != nil {
		return nil, err
	}
	c.Spent = spentOf(perModel)
	err = s.conn.QueryRowContext(background, readCurrency).Scan(&c.Spent.Currency)
	t := &transaction{store: s}
	return c, errors.Join(err, t.readClaims())
}
