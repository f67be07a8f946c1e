package journal

import (
	"database/sql"
	"fmt"
	"io"
)

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
