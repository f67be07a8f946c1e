package tokenfile

import (
	"github.com/erreval/erreval/identifier/bpe"
	"github.com/erreval/erreval/identifier/wordpiece"
)

// description is what a tokenizer's files say, whichever they are.
type description struct {
	vocab     map[string]int32
	added     []addedToken
	normalize *wordpiece.Normalizer // nil: text is left as it is
	bpe       *bpe.Config           // one of bpe and wordpiece is set
	wordpiece *wordpiece.Config
}

// addedToken is an entry of added_tokens.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // only if no word character touches it
	LStrip     bool   `json:"lstrip"`      // takes the white space before it
	RStrip     bool   `json:"rstrip"`      // takes the white space behind it
	Normalized bool   `json:"normalized"`  // looked for in the normalised text, in its own normalised form
	Special    bool   `json:"special"`
}
