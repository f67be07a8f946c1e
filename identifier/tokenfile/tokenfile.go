// Package tokenfile reads a model's tokenizer and encodes text with the ids of Hugging Face's tokenizers. What is not
// implemented is refused by name, never approximated.
package tokenfile

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/erreval/erreval/identifier/bpe"
	"github.com/erreval/erreval/identifier/unigram"
	"github.com/erreval/erreval/identifier/wordpiece"
)

// ErrInvalidUTF8 is what Append's error wraps for text that is not valid UTF-8.
var ErrInvalidUTF8 = errors.New("not valid UTF-8")

// Names of the files that Load looks for.
const (
	jsonFile   = "tokenizer.json"
	vocabFile  = "vocab.json"
	mergesFile = "merges.txt"
	wordsFile  = "vocab.txt"
	configFile = "tokenizer_config.json"
	addedFile  = "added_tokens.json"
)

// Load reads tokenizer.json (BPE of bytes, WordPiece, Unigram); without one, vocab.json and merges.txt as RoBERTa's, or
// vocab.txt as BERT's, with the options of tokenizer_config.json. The sections truncation, padding, post_processor and
// decoder of a tokenizer.json do not concern ids of plain text and are left out. Errors name the file, what is wrong,
// and what to do.
func Load(fsys fs.FS) (*Tokenizer, error) {
	for _, source := range []struct {
		file string
		load func(fs.FS) (*description, error)
	}{
		{jsonFile, loadJSON},
		{vocabFile, loadMerges},
		{wordsFile, loadWords},
	} {
		if _, err := fs.Stat(fsys, source.file); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		d, err := source.load(fsys)
		if err != nil {
			return nil, err
		}
		t, err := newTokenizer(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", source.file, err)
		}
		return t, nil
	}
	return nil, fmt.Errorf("no tokenizer: none of %s, %s with %s, or %s is there; save one with Hugging Face's "+
		"save_pretrained",
		jsonFile, vocabFile, mergesFile, wordsFile)
}

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
