package journal

import (
	"crypto/sha256"
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
	rows, err := s.conn.QueryContext(background, "SELECT row_id, about, call, messages, checksum FROM prompt")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		k := &keptPrompt{}
		var id, messages, sum []byte
		if err = rows.Scan(&k.row, &k.about, &id, &messages, &sum); err == nil {
			copy(k.id[:], id)
			err = k.parse(messages, sum, hashes.read)
		}
		if err != nil {
			return n, fmt.Errorf("a prompt about row %.60q: %w: %w", k.row, errDamaged, err)
		}
	}
	return n, rows.Err()
}

func (s *store) verifyParts() error {
	rows, err := s.conn.QueryContext(background, "SELECT number, hash, size, text FROM part")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var number, size int64
		var hash, packed []byte
		if err = rows.Scan(&number, &hash, &size, &packed); err == nil {
			err = checkPart(hash, size, packed, io.Discard)
		}
		if err != nil {
			return fmt.Errorf("part %d of the prompts: %w: %w", number, errDamaged, err)
		}
	}
	return rows.Err()
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

// takePart copies a record that is a whole part, by its number, which prompts name.
func (r *recoverer) takePart(t *transaction, found record) error {
	hash, isHash := found.values[1].([]byte)
	size, isSize := found.values[2].(int64)
	packed, isText := found.values[3].([]byte)
	if found.values[0] != nil || !isHash || !isSize || !isText || checkPart(hash, size, packed, io.Discard) != nil {
		return nil
	}
	if !r.parts {
		if _, err := t.conn.ExecContext(background, promptTables); err != nil {
			return err
		}
		r.parts = true
	}
	_, err := t.conn.ExecContext(background, "REPLACE INTO part (number, hash, size, text) VALUES (?,?,?,?)", found.rowid,
		hash, size, packed)
	return err
}

// copyPrompts copies the prompts that are whole. The parts are there already.
func (r *recoverer) copyPrompts(t *transaction) (err error) {
	var hashes partHashes
	var put *sql.Stmt
	if r.parts {
		if hashes, err = newPartHashes(t.conn); err != nil {
			return err
		}
		defer hashes.Close()
		if put, err = t.conn.PrepareContext(background, putPrompt); err != nil {
			return err
		}
		defer put.Close()
	}
	type keySum [sha256.Size]byte
	kept, lost := map[keySum]bool{}, map[keySum]bool{}
	r.pages.joined = 0
	if err := r.pages.visitAll(func(found record) error {
		k, messages, sum, ok := promptOf(found.values)
		if !ok {
			return nil
		}
		key := keySum(sha256.Sum256(digest{}.text(k.row).text(k.about).text(string(k.id[:]))))
		if !r.parts || k.parse(messages, sum, hashes.read) != nil {
			lost[key] = true // unless another image of it is whole
			return nil
		}
		kept[key] = true
		_, err := put.ExecContext(background, k.row, k.about, k.id[:], messages, sum)
		return err
	}); err != nil {
		return err
	}
	r.found.Prompts = len(kept)
	for key := range lost {
		if !kept[key] {
			r.found.LostPrompts++
		}
	}
	return nil
}

// promptOf makes a prompt of the values of a row of prompt, without its messages.
func promptOf(v []any) (k *keptPrompt, messages, sum []byte, ok bool) {
	if len(v) != 5 {
		return nil, nil, nil, false
	}
	var b [5][]byte
	for i := range v {
		if b[i], ok = v[i].([]byte); !ok {
			return nil, nil, nil, false
		}
	}
	k = &keptPrompt{row: string(b[0]), about: string(b[1])}
	return k, b[3], b[4], copy(k.id[:], b[2]) == len(k.id) && len(b[2]) == len(k.id)
}
