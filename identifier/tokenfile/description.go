package tokenfile

import (
	"github.com/erreval/erreval/identifier/bpe"
	"github.com/erreval/erreval/identifier/unigram"
	"github.com/erreval/erreval/identifier/wordpiece"
)

// description is what a tokenizer's files say, whichever they are.
type description struct {
	vocab     map[string]int32
	size      int // of the vocabulary, equal pieces of Unigram counted each
	added     []addedToken
	normalize *wordpiece.Normalizer // nil: text is left as it is
	stages    unigram.Normalizer    // Unigram's
	bpe       *bpe.Config           // one of bpe, wordpiece and unigram is set
	wordpiece *wordpiece.Config
	unigram   *unigram.Config
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
