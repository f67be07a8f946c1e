package tokenfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/erreval/erreval/identifier/bpe"
	"github.com/erreval/erreval/identifier/wordpiece"
	"github.com/erreval/erreval/internal/regularfile"
)

// options are those of tokenizer_config.json that decide about ids, with the defaults of transformers.
type options struct {
	AddPrefixSpace bool     `json:"add_prefix_space"`
	DoLowerCase    *bool    `json:"do_lower_case"`          // true
	ChineseChars   *bool    `json:"tokenize_chinese_chars"` // true
	StripAccents   *bool    `json:"strip_accents"`          // as DoLowerCase
	BasicTokenize  *bool    `json:"do_basic_tokenize"`      // true
	NeverSplit     []string `json:"never_split"`            // none

	Unk   named `json:"unk_token"`
	Sep   named `json:"sep_token"`
	Pad   named `json:"pad_token"`
	Cls   named `json:"cls_token"`
	Mask  named `json:"mask_token"`
	Bos   named `json:"bos_token"`
	EOS   named `json:"eos_token"`
	Added map[string]struct {
		Content string `json:"content"`
	} `json:"added_tokens_decoder"`
}

// named is a special token, written as a string or as an object with its content.
type named string

func (n *named) UnmarshalJSON(data []byte) error {
	var object struct{ Content string }
	if len(data) > 0 && data[0] == '{' {
		err := json.Unmarshal(data, &object)
		*n = named(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(n))
}

// or is what p points to, or otherwise where a file says nothing.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// readOptions reads tokenizer_config.json if there is one, and refuses what would change ids and is not implemented.
func readOptions(fsys fs.FS) (*options, error) {
	o := &options{}
	if _, err := fs.Stat(fsys, addedFile); err == nil {
		return nil, fmt.Errorf("%s is not read without a %s; save one with Hugging Face's save_pretrained",
			addedFile, jsonFile)
	}
	data, err := regularfile.ReadFS(fsys, configFile, regularfile.MaxTokenizer)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("%s: %w", configFile, atLine(data, err))
	}
	for name, set := range map[string]bool{"do_basic_tokenize: false": !or(o.BasicTokenize, true),
		"never_split": len(o.NeverSplit) > 0} {
		if set {
			return nil, fmt.Errorf("%s: %s is not implemented; save a %s with Hugging Face's save_pretrained",
				configFile, name, jsonFile)
		}
	}
	return o, nil
}

// specials makes added tokens of the names, all of which the vocabulary must have, and refuses that
// tokenizer_config.json names others.
func (o *options) specials(d *description, file string, names ...string) error {
	for _, name := range names {
		id, ok := d.vocab[name]
		if !ok {
			return fmt.Errorf("%s lacks %s, and without a %s only the usual special tokens are known; save one with Hugging "+
				"Face's save_pretrained", file, name, jsonFile)
		}
		d.added = append(d.added, addedToken{ID: id, Content: name, Special: true, LStrip: name == "<mask>"})
	}
	for option, token := range map[string]named{"unk_token": o.Unk, "sep_token": o.Sep, "pad_token": o.Pad,
		"cls_token": o.Cls, "mask_token": o.Mask, "bos_token": o.Bos, "eos_token": o.EOS} {
		if token != "" && !slices.Contains(names, string(token)) {
			return fmt.Errorf("%s: %s %q is not implemented without a %s; save one with Hugging Face's save_pretrained",
				configFile, option, token, jsonFile)
		}
	}
	for _, a := range o.Added {
		if !slices.Contains(names, a.Content) {
			return fmt.Errorf("%s adds the token %q, which is not implemented without a %s; save one with Hugging Face's "+
				"save_pretrained", configFile, a.Content, jsonFile)
		}
	}
	return nil
}

// loadMerges reads vocab.json and merges.txt as RoBERTa's.
func loadMerges(fsys fs.FS) (*description, error) {
	o, err := readOptions(fsys)
	if err != nil {
		return nil, err
	}
	data, err := regularfile.ReadFS(fsys, vocabFile, regularfile.MaxTokenizer)
	if err != nil {
		return nil, err
	}
	d := &description{}
	var vocab map[string]int32
	if err := json.Unmarshal(data, &vocab); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabFile, atLine(data, err))
	}
	if err := d.setVocab(vocab); err != nil {
		return nil, fmt.Errorf("%s: %w", vocabFile, err)
	}
	merges, err := readMerges(fsys)
	if err != nil {
		return nil, err
	}
	d.bpe = &bpe.Config{Vocab: vocab, Merges: merges, Unk: "<unk>", AddPrefixSpace: o.AddPrefixSpace, Regex: true}
	return d, o.specials(d, vocabFile, "<s>", "<pad>", "</s>", "<unk>", "<mask>")
}

func readMerges(fsys fs.FS) ([][2]string, error) {
	data, err := regularfile.ReadFS(fsys, mergesFile, regularfile.MaxTokenizer)
	if err != nil {
		return nil, fmt.Errorf("%s needs %s beside it: %w", vocabFile, mergesFile, err)
	}
	var merges [][2]string
	for i, line := range lines(data) {
		if strings.HasPrefix(line, "#version") {
			continue
		}
		pair := strings.Split(line, " ")
		if len(pair) != 2 {
			return nil, fmt.Errorf("%s:%d: %q is not two tokens with a space between", mergesFile, i+1, line)
		}
		merges = append(merges, [2]string(pair))
	}
	return merges, nil
}

// loadWords reads vocab.txt as BERT's.
func loadWords(fsys fs.FS) (*description, error) {
	o, err := readOptions(fsys)
	if err != nil {
		return nil, err
	}
	data, err := regularfile.ReadFS(fsys, wordsFile, regularfile.MaxTokenizer)
	if err != nil {
		return nil, err
	}
	d := &description{vocab: map[string]int32{}}
	for i, line := range lines(data) {
		if !utf8.ValidString(line) {
			return nil, fmt.Errorf("%s:%d: %w", wordsFile, i+1, ErrInvalidUTF8)
		}
		d.vocab[strings.TrimRightFunc(line, unicode.IsSpace)] = int32(i)
	}
	lower := or(o.DoLowerCase, true)
	d.normalize = &wordpiece.Normalizer{CleanText: true, ChineseChars: or(o.ChineseChars, true),
		StripAccents: or(o.StripAccents, lower), Lowercase: lower}
	d.wordpiece = &wordpiece.Config{Vocab: d.vocab, Unk: "[UNK]", Prefix: "##", MaxChars: 100}
	return d, o.specials(d, wordsFile, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
}

// lines cuts a file into its lines; a line break at the end makes no line of its own.
func lines(data []byte) (all []string) {
	for line := range strings.Lines(string(data)) {
		all = append(all, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"))
	}
	return all
}
