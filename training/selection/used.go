package selection

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/erreval/erreval/dataset"
)

// Used are rows that cannot be chosen any more, since they are in the training set, measure quality, or were in a
// batch.
type Used struct {
	ids   map[string]string // to where
	texts map[uint64]string // to the id of the first
	rows  []liked
}

// NewUsed is empty.
func NewUsed() *Used { return &Used{ids: map[string]string{}, texts: map[uint64]string{}} }

// Add notes a row, read with its taxonomy, and where it is, as in "dev.jsonl". The first place of an id stays.
func (u *Used) Add(row *dataset.Row, where string) {
	if _, ok := u.ids[row.ID]; ok {
		return
	}
	u.ids[row.ID] = where
	text := textHash(row.Values, 0)
	if _, ok := u.texts[text]; !ok {
		u.texts[text] = row.ID
		u.rows = append(u.rows, liked{row.ID, newSketch(row.Values)})
	}
}

// why says why a row cannot be chosen, and where it is; "" if it can.
func (u *Used) why(row *dataset.Row) (why, where string) {
	if where, ok := u.ids[row.ID]; ok {
		return "it is in " + where, where
	}
	if id, ok := u.texts[textHash(row.Values, 0)]; ok {
		return "its text is that of row " + id + " in " + u.ids[id], u.ids[id]
	}
	return "", ""
}

// textHash is equal for equal fields of one group.
func textHash(values []string, group uint64) uint64 {
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], group)
	h.Write(n[:])
	for _, v := range values {
		binary.BigEndian.PutUint64(n[:], uint64(len(v)))
		h.Write(n[:])
		h.Write([]byte(v))
	}
	return binary.BigEndian.Uint64(h.Sum(nil))
}

// keys are four random numbers of a row, which depend on seed and id alone.
func keys(seed int64, id string) (k [4]uint64) {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(id)), uint64(seed))
	sum := sha256.Sum256(append(b, id...))
	for i := range k {
		k[i] = binary.BigEndian.Uint64(sum[8*i:])
	}
	return k
}
