package identifier

import (
	"fmt"
	"strings"

	"github.com/erreval/erreval/dataset"
)

// Tokens is what a model sees of a row.
type Tokens struct {
	ID        string         `json:"id"` // of the row
	IDs       []int64        `json:"ids"`
	Tokens    []string       `json:"tokens"`
	Truncated map[string]int `json:"truncated"` // field to tokens cut
	// field to the parts of it that are read, as in dataset.Diagnosis; absent where all of it is
	Read map[string][]int `json:"read,omitempty"`
}

// String is the tokens on one line.
func (t *Tokens) String() string {
	return fmt.Sprintf("%s: %d tokens: %s", t.ID, len(t.IDs), strings.Join(t.Tokens, " "))
}

// Tokens encodes a row and names its tokens. The IDs hold until the encoder's next row.
func (e *Encoder) Tokens(row *dataset.Row) (*Tokens, error) {
	encoded, err := e.Encode(row.Values)
	if err != nil {
		return nil, fmt.Errorf("row %s: %w", row.ID, err)
	}
	out := &Tokens{ID: row.ID, IDs: encoded.IDs, Truncated: e.Truncated(), Read: e.Read()}
	for _, id := range encoded.IDs {
		out.Tokens = append(out.Tokens, e.Token(id))
	}
	return out, nil
}
