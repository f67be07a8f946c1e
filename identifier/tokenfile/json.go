package tokenfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/erreval/erreval/identifier/bpe"
	"github.com/erreval/erreval/identifier/wordpiece"
	"github.com/erreval/erreval/internal/regularfile"
)

// maxID bounds ids, so that a wrong one does not ask for gigabytes; the largest vocabularies have about 2^20 tokens.
const maxID = 1<<22 - 1

// sections are those of a tokenizer.json that decide about ids.
type sections struct {
	Version       string            `json:"version"`
	AddedTokens   []json.RawMessage `json:"added_tokens"`
	Normalizer    json.RawMessage   `json:"normalizer"`
	PreTokenizer  json.RawMessage   `json:"pre_tokenizer"`
	PostProcessor json.RawMessage   `json:"post_processor"`
	Model         json.RawMessage   `json:"model"`
}

func loadJSON(fsys fs.FS) (*description, error) {
	data, err := regularfile.ReadFS(fsys, jsonFile, regularfile.MaxTokenizer)
	if err != nil {
		return nil, err
	}
	d, err := parseJSON(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", jsonFile, err)
	}
	return d, nil
}

func parseJSON(data []byte) (*description, error) {
	var s sections
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, atLine(data, err)
	}
	if s.Version != "" && s.Version != "1.0" {
		return nil, fmt.Errorf("version %q is not known; only 1.0 is", s.Version)
	}
	d := &description{}
	if err := d.readAdded(s.AddedTokens); err != nil {
		return nil, err
	}
	if err := checkPostProcessor(s.PostProcessor); err != nil {
		return nil, err
	}
	var kind component
	if err := json.Unmarshal(s.Model, &kind); err == nil && kind.Type == "Unigram" {
		return d, d.readUnigram(&s)
	}
	if err := d.readNormalizer(s.Normalizer); err != nil {
		return nil, err
	}
	return d, d.readModel(s.Model, s.PreTokenizer)
}

// atLine adds the line to an error of encoding/json.
func atLine(data []byte, err error) error {
	var offset int64
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	} else if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = kind.Offset
	}
	line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
	return fmt.Errorf("line %d: %w; is the download complete?", line, err)
}

// decode reads a JSON object that must have all the keys.
func decode(raw json.RawMessage, to any, section string, keys ...string) error {
	var have map[string]json.RawMessage
	if err := json.Unmarshal(raw, &have); err != nil {
		return fmt.Errorf("%s: %w", section, err)
	}
	for _, key := range keys {
		if _, ok := have[key]; !ok {
			return fmt.Errorf("%s lacks %q; save the tokenizer again with Hugging Face's save_pretrained", section, key)
		}
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("%s: %w", section, err)
	}
	return nil
}

func (d *description) readAdded(entries []json.RawMessage) error {
	for i, raw := range entries {
		var a addedToken
		section := fmt.Sprintf("added_tokens[%d]", i)
		if err := decode(raw, &a, section, "id", "content", "single_word", "lstrip", "rstrip", "normalized",
			"special"); err != nil {
			return err
		}
		d.added = append(d.added, a)
	}
	return nil
}

// component is any stage of the pipeline; the fields that a type does not have stay unset.
type component struct {
	Type          string            `json:"type"`
	Normalizers   []json.RawMessage `json:"normalizers"`
	PreTokenizers []json.RawMessage `json:"pretokenizers"`
	Processors    []json.RawMessage `json:"processors"`

	CleanText    bool  `json:"clean_text"`
	ChineseChars bool  `json:"handle_chinese_chars"`
	StripAccents *bool `json:"strip_accents"` // unset: as Lowercase
	Lowercase    bool  `json:"lowercase"`

	AddPrefixSpace bool  `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"` // unset: true
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// flatten returns the members of a Sequence, or the one component, or none if the section is null. A Sequence within a
// Sequence is left as it is, for the caller to refuse.
func flatten(raw json.RawMessage, section string) ([]json.RawMessage, error) {
	if isNull(raw) {
		return nil, nil
	}
	var c component
	if err := decode(raw, &c, section, "type"); err != nil {
		return nil, err
	}
	if c.Type != "Sequence" {
		return []json.RawMessage{raw}, nil
	}
	return slices.Concat(c.Normalizers, c.PreTokenizers, c.Processors), nil
}

// only returns the one component of a section, nil if the section is null; several are refused.
func only(raw json.RawMessage, section string) (json.RawMessage, *component, error) {
	all, err := flatten(raw, section)
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	var c component
	if err := decode(all[0], &c, section); err != nil {
		return nil, nil, err
	}
	if len(all) > 1 {
		return nil, nil, fmt.Errorf("%s: a Sequence of %d stages is not implemented; only of one", section, len(all))
	}
	return all[0], &c, nil
}

func (d *description) readNormalizer(raw json.RawMessage) error {
	raw, c, err := only(raw, "normalizer")
	if err != nil || c == nil {
		return err
	}
	if c.Type != "BertNormalizer" {
		return fmt.Errorf("normalizer %q is not implemented; only BertNormalizer and none are", c.Type)
	}
	if err := decode(raw, c, "normalizer", "clean_text", "handle_chinese_chars", "lowercase"); err != nil {
		return err
	}
	d.normalize = &wordpiece.Normalizer{CleanText: c.CleanText, ChineseChars: c.ChineseChars,
		StripAccents: or(c.StripAccents, c.Lowercase), Lowercase: c.Lowercase}
	return nil
}

// checkPostProcessor refuses what it does not know; the known ones only put tokens around the ids.
func checkPostProcessor(raw json.RawMessage) error {
	all, err := flatten(raw, "post_processor")
	if err != nil {
		return err
	}
	for _, raw := range all {
		var c component
		if err := decode(raw, &c, "post_processor"); err != nil {
			return err
		}
		switch c.Type {
		case "RobertaProcessing", "BertProcessing", "TemplateProcessing", "ByteLevel":
		default:
			return fmt.Errorf("post_processor %q is not implemented; only RobertaProcessing, BertProcessing, "+
				"TemplateProcessing and ByteLevel are", c.Type)
		}
	}
	return nil
}

// modelSection is the section "model" of BPE and WordPiece.
type modelSection struct {
	Type     string          `json:"type"`
	Vocab    json.RawMessage `json:"vocab"`
	UnkToken *string         `json:"unk_token"`
	Prefix   *string         `json:"continuing_subword_prefix"`

	MaxChars int `json:"max_input_chars_per_word"`

	Merges       json.RawMessage `json:"merges"`
	Dropout      *float64        `json:"dropout"`
	Suffix       *string         `json:"end_of_word_suffix"`
	FuseUnk      bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
}

func (d *description) readModel(raw, preTokenizer json.RawMessage) error {
	if isNull(raw) {
		return errors.New("has no model; save the tokenizer again with Hugging Face's save_pretrained")
	}
	var m modelSection
	if err := decode(raw, &m, "model", "vocab"); err != nil {
		return err
	}
	if m.Type == "" { // older files leave it out
		m.Type = "WordPiece"
		if !isNull(m.Merges) {
			m.Type = "BPE"
		}
	}
	if m.Type != "BPE" && m.Type != "WordPiece" {
		return fmt.Errorf("model %q is not implemented; only BPE, WordPiece and Unigram are", m.Type)
	}
	var vocab map[string]int32
	if err := json.Unmarshal(m.Vocab, &vocab); err != nil {
		return fmt.Errorf("model vocab: %w", err)
	}
	if err := d.setVocab(vocab); err != nil {
		return err
	}
	preTokenizer, pre, err := only(preTokenizer, "pre_tokenizer")
	if err != nil {
		return err
	}
	if m.Type == "BPE" {
		return d.setBPE(&m, pre, preTokenizer)
	}
	return d.setWordPiece(&m, pre)
}

func (d *description) setVocab(vocab map[string]int32) error {
	for token, id := range vocab {
		if id < 0 || id > maxID {
			return fmt.Errorf("token %q has id %d; ids lie between 0 and %d", token, id, maxID)
		}
	}
	d.vocab = vocab
	return nil
}

func (d *description) setBPE(m *modelSection, pre *component, raw json.RawMessage) error {
	switch {
	case pre == nil || pre.Type != "ByteLevel":
		return fmt.Errorf("BPE with %s is not implemented; only with ByteLevel", title(pre))
	case d.normalize != nil:
		return errors.New("BPE with BertNormalizer is not implemented; only without a normalizer")
	case or(m.Dropout, 0) != 0:
		return fmt.Errorf("BPE dropout %g is not implemented: it makes ids random; set it to null", *m.Dropout)
	case or(m.Prefix, "") != "":
		return fmt.Errorf("BPE continuing_subword_prefix %q is not implemented", *m.Prefix)
	case or(m.Suffix, "") != "":
		return fmt.Errorf("BPE end_of_word_suffix %q is not implemented", *m.Suffix)
	case m.ByteFallback:
		return errors.New("BPE byte_fallback is not implemented")
	}
	merges, err := parseMerges(m.Merges)
	if err != nil {
		return err
	}
	if err := decode(raw, pre, "pre_tokenizer", "add_prefix_space"); err != nil {
		return err
	}
	d.bpe = &bpe.Config{Vocab: d.vocab, Merges: merges, Unk: or(m.UnkToken, ""), FuseUnk: m.FuseUnk,
		IgnoreMerges: m.IgnoreMerges, AddPrefixSpace: pre.AddPrefixSpace, Regex: or(pre.UseRegex, true)}
	return nil
}

func (d *description) setWordPiece(m *modelSection, pre *component) error {
	switch {
	case pre == nil || pre.Type != "BertPreTokenizer":
		return fmt.Errorf("WordPiece with %s is not implemented; only with BertPreTokenizer", title(pre))
	case m.UnkToken == nil || m.Prefix == nil || m.MaxChars <= 0:
		return errors.New("model lacks unk_token, continuing_subword_prefix or max_input_chars_per_word; save the " +
			"tokenizer again with Hugging Face's save_pretrained")
	}
	d.wordpiece = &wordpiece.Config{Vocab: d.vocab, Unk: *m.UnkToken, Prefix: *m.Prefix, MaxChars: m.MaxChars}
	return nil
}

func title(pre *component) string {
	if pre == nil {
		return "no pre_tokenizer"
	}
	return fmt.Sprintf("pre_tokenizer %q", pre.Type)
}

// parseMerges reads merges written as pairs, or as strings with a space between, as older files have them.
func parseMerges(raw json.RawMessage) ([][2]string, error) {
	var pairs [][]string
	if json.Unmarshal(raw, &pairs) != nil {
		var lines []string
		if err := json.Unmarshal(raw, &lines); err != nil {
			return nil, fmt.Errorf("model merges are neither strings nor pairs: %w", err)
		}
		pairs = nil // what was read before the first string
		for _, line := range lines {
			pairs = append(pairs, strings.Split(line, " "))
		}
	}
	merges := make([][2]string, len(pairs))
	for i, pair := range pairs {
		if len(pair) != 2 {
			return nil, fmt.Errorf("merge %d has %d parts; it needs two", i+1, len(pair))
		}
		merges[i] = [2]string(pair)
	}
	return merges, nil
}
