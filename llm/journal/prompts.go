package journal

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"database/sql"
	"errors"
	"io"
	"strings"

	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/llm"
)

// promptTables are made when prompts are kept for the first time: other journals do without, and a program that does
// not know them reads the rest as before.
const promptTables = `
CREATE TABLE IF NOT EXISTS part (
	number INTEGER PRIMARY KEY,
	hash BLOB NOT NULL UNIQUE,      -- SHA-256 of the text
	size INTEGER NOT NULL,          -- of the text, in bytes
	text BLOB NOT NULL              -- deflated, unless that makes it no shorter
);
CREATE TABLE IF NOT EXISTS prompt (
	row_id TEXT NOT NULL,
	about TEXT NOT NULL,
	call BLOB NOT NULL,             -- as in reply
	messages BLOB NOT NULL,         -- of each its role, and the numbers of its parts
	checksum BLOB NOT NULL,
	PRIMARY KEY (row_id, about, call)
) WITHOUT ROWID;
`

const putPrompt = "REPLACE INTO prompt (row_id, about, call, messages, checksum) VALUES (?,?,?,?,?)"

const (
	roleSchema   = "schema" // of what stands for a request's schema among the messages
	maxKnownPart = 1 << 16
)

// prompts is what a store needs to keep prompts; nil where it keeps none.
type prompts struct {
	hasPrompt *sql.Stmt // on reader
	putPrompt *sql.Stmt
	findPart  *sql.Stmt
	putPart   *sql.Stmt
	packer    *flate.Writer
	known     map[partHash]int64 // numbers of parts that are in the file; nil after a transaction was undone
}

type partHash [sha256.Size]byte

// KeepPrompts makes c keep what is asked, beside each reply, replayed ones included. Texts that many calls share are
// kept once: see llm.Message. clean takes out of a text what must not be in the file, such as keys.
func (c *Client) KeepPrompts(clean func(string) string) error {
	if err := c.journal.store.keepPrompts(); err != nil {
		return explainFault(c.journal.path, err)
	}
	c.clean = clean
	return nil
}

// keepPrompts makes the store ready to write prompts.
func (s *store) keepPrompts() error {
	if err := s.writeChange(change{apply: func(t *transaction) error {
		_, err := t.conn.ExecContext(background, promptTables)
		return err
	}}); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.prompts != nil {
		return nil
	}
	p := &prompts{}
	p.packer, _ = flate.NewWriter(nil, flate.DefaultCompression) // the level is a valid one
	var faults faults.List
	on := s.preparer(&faults)
	p.hasPrompt = on(s.reader.PrepareContext,
		"SELECT EXISTS (SELECT 1 FROM prompt WHERE row_id = ? AND about = ? AND call = ?)")
	p.putPrompt = on(s.conn.PrepareContext, putPrompt)
	p.findPart = on(s.conn.PrepareContext, "SELECT number FROM part WHERE hash = ?")
	p.putPart = on(s.conn.PrepareContext, "INSERT INTO part (hash, size, text) VALUES (?,?,?)")
	if err := faults.Err(); err != nil {
		return err
	}
	s.prompts = p
	return nil
}

// keptPrompt is a row of the table prompt.
type keptPrompt struct {
	row, about string
	id         callID
	messages   []keptMessage
}

type keptMessage struct {
	role  string
	parts []string
}

// keepPrompt writes what r asks, unless it is there.
func (c *Client) keepPrompt(id callID, r *llm.Request) error {
	s := c.journal.store
	k := &keptPrompt{row: c.clean(r.Row), about: c.clean(r.About), id: id}
	var there bool
	err := s.prompts.hasPrompt.QueryRowContext(background, k.row, k.about, id[:]).Scan(&there)
	if err != nil || there {
		return c.journal.brokenError(err)
	}
	for _, m := range r.Messages {
		k.messages = append(k.messages, keptMessage{m.Role, c.cleanParts(m.Content, m.Fence)})
	}
	if r.Schema != nil {
		k.messages = append(k.messages, keptMessage{roleSchema, c.cleanParts(string(r.Schema.JSON), "")})
	}
	return c.journal.brokenError(s.writeChange(change{apply: func(t *transaction) error { return t.writePrompt(k) }}))
}

// cleanParts are the parts of a text, cleaned. Where something that is cleaned stands across parts, there is only one.
func (c *Client) cleanParts(text, fence string) []string {
	parts := splitText(text, fence)
	for i := range parts {
		parts[i] = c.clean(parts[i])
	}
	if whole := c.clean(text); whole != strings.Join(parts, "") {
		return []string{whole}
	}
	return parts
}

// splitText cuts a text at each fence, and at the first and last line end between two: what stands in the lines between
// is what rows, or questions about a row, have in common.
func splitText(text, fence string) []string {
	if fence == "" || !strings.Contains(text, fence) {
		return []string{text}
	}
	var parts []string
	add := func(part string) {
		if part != "" {
			parts = append(parts, part)
		}
	}
	for i, between := range strings.Split(text, fence) {
		if i > 0 {
			add(fence)
		}
		first, last := strings.IndexByte(between, '\n'), strings.LastIndexByte(between, '\n')
		if first >= last {
			add(between)
			continue
		}
		add(between[:first+1])
		add(between[first+1 : last])
		add(between[last:])
	}
	return parts
}

func (t *transaction) writePrompt(k *keptPrompt) error {
	var messages digest // of the same form
	var hashes []partHash
	for _, m := range k.messages {
		messages = messages.text(m.role).numbers(int64(len(m.parts)))
		for _, part := range m.parts {
			hash := partHash(sha256.Sum256([]byte(part)))
			number, err := t.numberOf(hash, part)
			if err != nil {
				return err
			}
			hashes, messages = append(hashes, hash), messages.numbers(number)
		}
	}
	_, err := t.prompts.putPrompt.ExecContext(background, k.row, k.about, k.id[:], []byte(messages), k.checksum(hashes))
	return err
}

// checksum covers the texts through hashes, those of the parts in order.
func (k *keptPrompt) checksum(hashes []partHash) []byte {
	d := digest{}.text("prompt").text(k.row).text(k.about).text(string(k.id[:]))
	for _, m := range k.messages {
		d = d.text(m.role).numbers(int64(len(m.parts)))
	}
	for _, hash := range hashes {
		d = append(d, hash[:]...)
	}
	return d.sum()
}

// numberOf is the number of a part, which is written if it is not in the file.
func (t *transaction) numberOf(hash partHash, part string) (number int64, err error) {
	p := t.prompts
	if number, ok := p.known[hash]; ok {
		return number, nil
	}
	err = p.findPart.QueryRowContext(background, hash[:]).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		var text []byte
		if text, err = p.pack(part); err != nil {
			return 0, err
		}
		var written sql.Result
		if written, err = p.putPart.ExecContext(background, hash[:], len(part), text); err == nil {
			number, err = written.LastInsertId()
		}
	}
	if err != nil {
		return 0, err
	}
	if p.known == nil || len(p.known) >= maxKnownPart {
		p.known = map[partHash]int64{}
	}
	p.known[hash] = number
	return number, nil
}

// pack deflates a part, unless that makes it no shorter.
func (p *prompts) pack(part string) ([]byte, error) {
	var b bytes.Buffer
	p.packer.Reset(&b)
	_, err := io.WriteString(p.packer, part)
	if err := errors.Join(err, p.packer.Close()); err != nil {
		return nil, err
	}
	if b.Len() >= len(part) {
		return []byte(part), nil
	}
	return b.Bytes(), nil
}
