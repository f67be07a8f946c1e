package journal

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/erreval/erreval/llm"
)

// errDamaged is in the chain of errors about what is not as it was written.
var errDamaged = errors.New("its checksum differs")

// checksumBytes of the hash stand in the file.
const checksumBytes = 16

// digest is a checksum under way. Texts have their length in front.
type digest []byte

func (d digest) text(s string) digest {
	return append(binary.AppendVarint(d, int64(len(s))), s...)
}

func (d digest) numbers(all ...int64) digest {
	for _, n := range all {
		d = binary.AppendVarint(d, n)
	}
	return d
}

func (d digest) sum() []byte {
	sum := sha256.Sum256(d)
	return sum[:checksumBytes]
}

// storedReply is a row of the table reply.
type storedReply struct {
	id       callID
	attempt  int64
	rejected int64 // 0 or 1
	reply    llm.Reply
}

func (s *storedReply) checksum() []byte {
	u := s.reply.Usage
	return make(digest, 0, 128+len(s.reply.Text)).text("reply").text(string(s.id[:])).numbers(s.attempt, s.rejected).
		text(s.reply.Text).text(s.reply.Finish).text(s.reply.Model).numbers(int64(u.Input), int64(u.Output)).sum()
}

const replyColumns = "call, attempt, rejected, text, finish, model, input, output"

// scanReply reads a row of replyColumns and its checksum, which it compares where the row has to have one. Columns
// before these go to before.
func scanReply(rows *sql.Rows, checked bool, before ...any) (*storedReply, error) {
	s := &storedReply{}
	var id, sum []byte
	if err := rows.Scan(append(before, &id, &s.attempt, &s.rejected, &s.reply.Text, &s.reply.Finish, &s.reply.Model,
		&s.reply.Usage.Input, &s.reply.Usage.Output, &sum)...); err != nil {
		return nil, fmt.Errorf("a reply cannot be read: %w: %w", errDamaged, err)
	}
	copy(s.id[:], id)
	if checked && (len(id) != len(s.id) || !bytes.Equal(sum, s.checksum())) {
		return nil, fmt.Errorf("the reply to call %x, attempt %d: %w", id[:min(len(id), 4)], s.attempt, errDamaged)
	}
	return s, nil
}

func (a *account) checksum(model string) []byte {
	return digest{}.text("account").text(model).numbers(a.calls, a.open, a.input, a.output, a.cost, a.unpricedInput,
		a.unpricedOutput, a.overruns).sum()
}

func settingChecksum(name, value string) []byte {
	return digest{}.text("setting").text(name).text(value).sum()
}

// addChecksums turns a journal of format 2, which has none, into one of the present format. What was changed in it
// before cannot be known any more. It also adds the calls in flight: see claims.
const addChecksums = `
CREATE TABLE claim (
	owner INTEGER PRIMARY KEY,
	machine TEXT NOT NULL,
	pid INTEGER NOT NULL,
	expires INTEGER NOT NULL,       -- Unix seconds
	calls BLOB NOT NULL             -- hash and attempt of each
);
ALTER TABLE reply ADD COLUMN checksum BLOB;
ALTER TABLE account ADD COLUMN checksum BLOB;
ALTER TABLE setting ADD COLUMN checksum BLOB;
`

// fillChecksums gives all rows of a journal without checksums theirs.
func (s *store) fillChecksums() error {
	if err := s.fillReplies(); err != nil {
		return err
	}
	rows, err := s.conn.QueryContext(background, listAccounts)
	perModel, err := scanAccounts(rows, err, false)
	if err != nil {
		return err
	}
	for model, a := range perModel {
		if _, err := s.conn.ExecContext(background, "UPDATE account SET checksum = ? WHERE model = ?",
			a.checksum(model), model); err != nil {
			return err
		}
	}
	var name, value string
	err = s.conn.QueryRowContext(background, "SELECT name, value FROM setting").Scan(&name, &value) // there is one
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = s.conn.ExecContext(background, "UPDATE setting SET checksum = ? WHERE name = ?",
			settingChecksum(name, value), name)
	}
	return err
}

// fillReplies goes through the replies in parts, since a table must not be changed while it is read.
func (s *store) fillReplies() error {
	const part = 1000
	for from := int64(0); ; {
		replies, last, err := s.replyPart(from, part)
		if err != nil || len(replies) == 0 {
			return err
		}
		for _, r := range replies {
			if _, err := s.conn.ExecContext(background, "UPDATE reply SET checksum = ? WHERE call = ? AND attempt = ?",
				r.checksum(), r.id[:], r.attempt); err != nil {
				return err
			}
		}
		from = last
	}
}

// replyPart reads up to n replies behind a row's number, and the number of the last one.
func (s *store) replyPart(from int64, n int) (replies []*storedReply, last int64, err error) {
	if err := s.conn.QueryRowContext(background,
		"SELECT coalesce(max(rowid), 0) FROM (SELECT rowid FROM reply WHERE rowid > ? ORDER BY rowid LIMIT ?)", from, n).
		Scan(&last); err != nil {
		return nil, 0, err
	}
	for rows, err := range eachRow(s.conn.QueryContext(background, "SELECT "+replyColumns+
		", NULL FROM reply WHERE rowid > ? AND rowid <= ?", from, last)) {
		if err != nil {
			return nil, 0, err
		}
		r, err := scanReply(rows, false)
		if err != nil {
			return nil, 0, err
		}
		replies = append(replies, r)
	}
	return replies, last, nil
}

// checkIntegrity compares pages and indexes, so that no reply is missing unnoticed, and what is small with its
// checksums. A reply is compared when it is read.
func (s *store) checkIntegrity() error {
	var fault string
	if err := s.conn.QueryRowContext(background, "PRAGMA integrity_check(1)").Scan(&fault); err != nil {
		return err
	}
	if fault != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, fault)
	}
	if _, err := readAccounts(s.conn.QueryContext(background, listAccounts)); err != nil {
		return err
	}
	for rows, err := range eachRow(s.conn.QueryContext(background, "SELECT name, value, checksum FROM setting")) {
		if err != nil {
			return err
		}
		var name, value string
		var sum []byte
		if err := rows.Scan(&name, &value, &sum); err != nil {
			return fmt.Errorf("a setting cannot be read: %w: %w", errDamaged, err)
		}
		if !bytes.Equal(sum, settingChecksum(name, value)) {
			return fmt.Errorf("setting %.20q: %w", name, errDamaged)
		}
	}
	return nil
}
