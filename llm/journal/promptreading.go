package journal

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/erreval/erreval/llm"
)

// maxPrompt is how many bytes of one prompt are read.
const maxPrompt = 1 << 28

// unpackPart is the text of a part.
func unpackPart(hash []byte, size int64, packed []byte) (string, error) {
	var text bytes.Buffer
	err := checkPart(hash, size, packed, &text)
	return text.String(), err
}

// checkPart compares the text of a part with its hash. The text goes to out, too.
func checkPart(hash []byte, size int64, packed []byte, out io.Writer) error {
	var text io.Reader = bytes.NewReader(packed)
	if int64(len(packed)) != size {
		text = io.LimitReader(flate.NewReader(text), min(size, maxPrompt)+1)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, out), text); err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if !bytes.Equal(sum.Sum(nil), hash) {
		return errDamaged
	}
	return nil
}

// Prompt is a call whose prompt was kept, with its replies.
type Prompt struct {
	Row, About string // of the llm.Request
	// Messages are those of the request; behind them, with the role "schema", the schema that the reply was asked for in.
	Messages []llm.Message
	Replies  []PromptReply // in the order of attempts
}

// PromptReply is a reply in a journal.
type PromptReply struct {
	llm.Reply
	Rejected bool // it was of no use: see Client.Reject
}

// Prompts are those kept about a row, by what they are about; of several about the same, the one that was answered
// first is first. None is not an error.
func (j *Journal) Prompts(row string) ([]Prompt, error) {
	all, err := j.store.readPrompts(row)
	if err != nil {
		return nil, explainFault(j.path, fmt.Errorf("a prompt about row %.60q: %w", row, err))
	}
	return all, nil
}

const hasPrompts = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'prompt')"

func (s *store) readPrompts(row string) ([]Prompt, error) {
	var there bool
	if err := s.reader.QueryRowContext(background, hasPrompts).Scan(&there); err != nil || !there {
		return nil, err
	}
	var all []Prompt
	for rows, err := range eachRow(s.reader.QueryContext(background, `SELECT about, call, messages, checksum FROM prompt
		WHERE row_id = ? ORDER BY about, (SELECT min(rowid) FROM reply WHERE reply.call = prompt.call)`, row)) {
		if err != nil {
			return nil, err
		}
		k := &keptPrompt{row: row}
		var id, messages, sum []byte
		if err := rows.Scan(&k.about, &id, &messages, &sum); err != nil {
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		copy(k.id[:], id)
		p, err := s.readPrompt(k, messages, sum)
		if err != nil {
			return nil, err
		}
		all = append(all, *p)
	}
	return all, nil
}

// readPrompt puts the parts of a prompt together, and adds its replies.
func (s *store) readPrompt(k *keptPrompt, messages, sum []byte) (*Prompt, error) {
	left := maxPrompt
	if err := k.parse(messages, sum, func(number int64) (partHash, string, error) {
		hash, text, err := s.readPart(number)
		if left -= len(text); err == nil && left < 0 {
			err = fmt.Errorf("%w: it has more than %d bytes", errDamaged, maxPrompt)
		}
		return hash, text, err
	}); err != nil {
		return nil, err
	}
	p := &Prompt{Row: k.row, About: k.about}
	for _, m := range k.messages {
		p.Messages = append(p.Messages, llm.Message{Role: m.role, Content: strings.Join(m.parts, "")})
	}
	var err error
	p.Replies, err = s.readReplies(k.id)
	return p, err
}

// parse reads the messages of a prompt, whose parts read gives by their numbers, and compares them with its checksum.
func (k *keptPrompt) parse(messages, sum []byte, read func(number int64) (partHash, string, error)) (err error) {
	var hashes []partHash
	k.messages, err = parseMessages(messages, func(number int64) (string, error) {
		hash, text, err := read(number)
		hashes = append(hashes, hash)
		return text, err
	})
	if err == nil && !bytes.Equal(sum, k.checksum(hashes)) {
		err = errDamaged
	}
	return err
}

// parseMessages reads what writePrompt writes. read gives the text of the part with a number.
func parseMessages(data []byte, read func(number int64) (string, error)) (all []keptMessage, err error) {
	number := func() (n int64) {
		n, size := binary.Varint(data)
		if size <= 0 || n < 0 {
			err, data = errDamaged, nil
			return 0
		}
		data = data[size:]
		return n
	}
	for err == nil && len(data) > 0 {
		length := number()
		if err != nil || length > int64(len(data)) {
			return nil, errDamaged
		}
		m := keptMessage{role: string(data[:length])}
		data = data[length:]
		for parts := number(); parts > 0 && err == nil; parts-- {
			at := number()
			if err != nil {
				break
			}
			var text string
			text, err = read(at)
			m.parts = append(m.parts, text)
		}
		all = append(all, m)
	}
	return all, err
}

// readPart reads the text of a part and compares it with its hash.
func (s *store) readPart(number int64) (hash partHash, text string, err error) {
	var sum, packed []byte
	var size int64
	err = s.reader.QueryRowContext(background, "SELECT hash, size, text FROM part WHERE number = ?", number).
		Scan(&sum, &size, &packed)
	if err == nil {
		copy(hash[:], sum)
		text, err = unpackPart(sum, size, packed)
	} else {
		err = fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		err = fmt.Errorf("its part %d: %w", number, err)
	}
	return hash, text, err
}

// readReplies reads all replies to a call.
func (s *store) readReplies(id callID) (all []PromptReply, err error) {
	for r, err := range eachReply(s.getReply.QueryContext(background, id[:], 0)) {
		if err != nil {
			return nil, err
		}
		all = append(all, PromptReply{r.reply, r.rejected != 0})
	}
	return all, nil
}

// verifyPrompts compares all kept prompts and their parts with their checksums, and counts the prompts.
func (s *store) verifyPrompts() (n int, err error) {
	var there bool
	if err := s.conn.QueryRowContext(background, hasPrompts).Scan(&there); err != nil || !there {
		return 0, err
	}
	if err := s.verifyParts(); err != nil {
		return 0, err
	}
	hashes, err := newPartHashes(s.conn)
	if err != nil {
		return 0, err
	}
	defer hashes.Close()
	for rows, err := range eachRow(s.conn.QueryContext(background,
		"SELECT row_id, about, call, messages, checksum FROM prompt")) {
		if err != nil {
			return n, err
		}
		k := &keptPrompt{}
		var id, messages, sum []byte
		if err = rows.Scan(&k.row, &k.about, &id, &messages, &sum); err == nil {
			copy(k.id[:], id)
			err = k.parse(messages, sum, hashes.read)
		}
		if err != nil {
			return n, fmt.Errorf("a prompt about row %.60q: %w: %w", k.row, errDamaged, err)
		}
		n++
	}
	return n, nil
}

func (s *store) verifyParts() error {
	for rows, err := range eachRow(s.conn.QueryContext(background, "SELECT number, hash, size, text FROM part")) {
		if err != nil {
			return err
		}
		var number, size int64
		var hash, packed []byte
		if err = rows.Scan(&number, &hash, &size, &packed); err == nil {
			err = checkPart(hash, size, packed, io.Discard)
		}
		if err != nil {
			return fmt.Errorf("part %d of the prompts: %w: %w", number, errDamaged, err)
		}
	}
	return nil
}

// partHashes finds the hashes of parts, whose texts were compared with them before.
type partHashes struct{ *sql.Stmt }

func newPartHashes(conn *sql.Conn) (partHashes, error) {
	find, err := conn.PrepareContext(background, "SELECT hash FROM part WHERE number = ?")
	return partHashes{find}, err
}

// read is for keptPrompt.parse; it gives no text.
func (h partHashes) read(number int64) (hash partHash, text string, err error) {
	var sum []byte
	if err := h.QueryRowContext(background, number).Scan(&sum); err != nil {
		return hash, "", fmt.Errorf("its part %d: %w", number, err)
	}
	copy(hash[:], sum)
	return hash, "", nil
}
