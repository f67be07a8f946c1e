// Package tokenfile reads the tokenizer of a model directory and encodes text with the ids of Hugging Face's
// tokenizers. What is not implemented is refused by name, never approximated.
package tokenfile

import (
	"errors"
	"fmt"
	"io/fs"
)

// Tokenizer turns text into ids. It is safe for concurrent use.
type Tokenizer interface {
	// NewEncoder returns an encoder for one goroutine; it holds about 512 KiB of memory.
	NewEncoder() Encoder
	// ID returns the id of a token of the vocabulary or of an added one, written as in the file.
	ID(token string) (int32, bool)
	// Token returns the token of an id, "" if there is none.
	Token(id int32) string
	// VocabSize is the largest id plus one: the rows that an embedding table needs.
	VocabSize() int
}

// Encoder encodes text; it serves one goroutine.
type Encoder interface {
	// Append appends the ids of text, without start and end tokens, and does not allocate when dst has room.
	// With specials, special tokens that stand in the text are recognised (Hugging Face's default); without, they are
	// text like any other (encode_special_tokens=True). Added tokens that are not special are recognised either way.
	// Text that is not valid UTF-8 gives ErrInvalidUTF8, with the offset, and leaves dst as it was.
	Append(dst []int32, text string, specials bool) ([]int32, error)
}

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
func Load(fsys fs.FS) (Tokenizer, error) {
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
