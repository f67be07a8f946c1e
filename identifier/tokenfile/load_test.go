package tokenfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// parts are those of a recorded tokenizer.json that the plain files hold.
type parts struct {
	Model struct {
		Vocab  map[string]int32
		Merges [][2]string
	}
}

func recordedParts(t *testing.T, name string) parts {
	var p parts
	if err := json.Unmarshal(tokenizerJSON(t, "testdata", name), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func files(contents map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range contents {
		fsys[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return fsys
}

// vocabTxt writes a vocabulary a token a line, in the order of the ids.
func vocabTxt(p parts) string {
	lines := make([]string, len(p.Model.Vocab))
	for token, id := range p.Model.Vocab {
		lines[id] = token
	}
	return strings.Join(lines, "\n") + "\n"
}

// The plain files of a tokenizer give the ids that Hugging Face gives with its tokenizer.json.
func TestPlainFiles(t *testing.T) {
	roberta := recordedParts(t, "roberta")
	vocab, err := json.Marshal(roberta.Model.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	merges := "#version: 0.2\n"
	for _, pair := range roberta.Model.Merges {
		merges += pair[0] + " " + pair[1] + "\n"
	}
	for name, fsys := range map[string]fstest.MapFS{
		"minilm": files(map[string]string{wordsFile: vocabTxt(recordedParts(t, "minilm")),
			configFile: `{"do_lower_case": true, "strip_accents": null}`}),
		"roberta": files(map[string]string{vocabFile: string(vocab), mergesFile: merges}),
	} {
		tok, err := Load(fsys)
		if err != nil {
			t.Fatal(err)
		}
		compareCases(t, tok.NewEncoder(), open(t, filepath.Join("testdata", name+".cases")))
	}
}

func TestVocabTxtOptions(t *testing.T) {
	tok, err := Load(files(map[string]string{wordsFile: "[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\nÉcole\r\n京\r\n##都\r\n", configFile: `{"do_lower_case": false, "tokenize_chinese_chars": false}`}))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.NewEncoder().Append(nil, "École 京都 [MASK]", true)
	if want := []int32{5, 6, 7, 4}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("got %v, %v, want %v", ids, err, want)
	}
}

func TestNames(t *testing.T) {
	tok := fixture(t, "gpt2")
	if n := tok.VocabSize(); n != 50257 {
		t.Errorf("size %d", n)
	}
	if id, ok := tok.ID("<|endoftext|>"); id != 50256 || !ok || tok.Token(id) != "<|endoftext|>" {
		t.Errorf("got %d, %t, %q", id, ok, tok.Token(id))
	}
	if id, ok := tok.ID("Ġthe"); id != 262 || !ok || tok.Token(id) != "Ġthe" { // as published with GPT-2
		t.Errorf("got %d, %t, %q", id, ok, tok.Token(id))
	}
	if _, ok := tok.ID("no such token"); ok || tok.Token(-1) != "" || tok.Token(50257) != "" {
		t.Error("found what is not there")
	}
}

func TestInvalidUTF8(t *testing.T) {
	e := fixture(t, "minilm").NewEncoder()
	for text, offset := range map[string]int{"\xff": 0, "abc\xc3": 3, "é\xed\xa0\x80": 2, "\ufffd\xf5": 3} {
		dst, err := e.Append([]int32{7}, text, true)
		if !errors.Is(err, ErrInvalidUTF8) || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("byte %d:", offset)) ||
			len(dst) != 1 {
			t.Errorf("%q: %v, %v", text, dst, err)
		}
	}
}

// Complete files, of which each case of TestRefused spoils one place.
const (
	goodBPE = `{"version": "1.0", "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
"normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "post_processor": {"type": "RobertaProcessing"},
"model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "", "end_of_word_suffix": "", "byte_fallback": false,
"vocab": {"<s>": 0, "a": 1, "b": 2, "ab": 3}, "merges": [["a", "b"]]}}`
	goodWordPiece = `{"version": "1.0", "added_tokens": [], "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
"pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null,
"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}}`
	goodUnigram = `{"version": "1.0", "added_tokens": [], "normalizer": {"type": "Sequence", "normalizers": [{"type": "Strip", "strip_left": true, "strip_right": true},
{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}, "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}, "post_processor": null,
"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [["<unk>", 0.0], ["▁", -2.5], ["a", -2], ["▁ab", -1e0]]}}`
)

func TestGood(t *testing.T) {
	for _, data := range []string{
		goodBPE, goodWordPiece, goodUnigram,
		strings.Replace(goodUnigram, `, "split": true`, "", 1),
		strings.Replace(goodUnigram, `"prepend_scheme": "always"`, `"add_prefix_space": true`, 1),
		strings.Replace(goodBPE, `["a", "b"]`, `"a b"`, 1),
		strings.Replace(goodBPE, `"type": "BPE", `, "", 1),
		strings.Replace(goodBPE, `{"type": "ByteLevel", "add_prefix_space": false}`,
			`{"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false}]}`, 1),
	} {
		ids, err := loadBytes(t, []byte(data)).NewEncoder().Append(nil, "ab", true)
		if err != nil || len(ids) == 0 || len(ids) > 2 {
			t.Errorf("%v, %v", ids, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{goodBPE, `"type": "BPE"`, `"type": "WordLevel"`,
			`tokenizer.json: model "WordLevel" is not implemented; only BPE, WordPiece and Unigram are`},
		{goodBPE, `"type": "ByteLevel"`, `"type": "Metaspace"`, `BPE with pre_tokenizer "Metaspace" is not implemented`},
		{goodBPE, `{"type": "ByteLevel", "add_prefix_space": false}`, `null`, `BPE with no pre_tokenizer is not implemented`},
		{goodBPE, `"normalizer": null`, `"normalizer": {"type": "NFC"}`, `normalizer "NFC" is not implemented`},
		{goodBPE, `"normalizer": null`,
			`"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}`,
			`normalizer: a Sequence of 2 stages is not implemented`},
		{goodBPE, `"RobertaProcessing"`, `"Other"`, `post_processor "Other" is not implemented`},
		{goodBPE, `"dropout": null`, `"dropout": 0.1`, `BPE dropout 0.1 is not implemented`},
		{goodBPE, `"continuing_subword_prefix": ""`, `"continuing_subword_prefix": "@@"`,
			`continuing_subword_prefix "@@" is not implemented`},
		{goodBPE, `"end_of_word_suffix": ""`, `"end_of_word_suffix": "</w>"`, `end_of_word_suffix "</w>" is not implemented`},
		{goodBPE, `"byte_fallback": false`, `"byte_fallback": true`, `byte_fallback is not implemented`},
		{goodBPE, `"add_prefix_space": false`, `"x": 1`, `pre_tokenizer lacks "add_prefix_space"`},
		{goodBPE, `["a", "b"]`, `["a"]`, `merge 1 has 1 parts`},
		{goodBPE, `["a", "b"]`, `["b", "a"]`, `merge 1 ("b" "a"): the vocabulary lacks "ba"`},
		{goodBPE, `[["a", "b"]]`, `7`, `merges are neither strings nor pairs`},
		{goodBPE, `"unk_token": null`, `"unk_token": "<unk>"`, `unk_token "<unk>" is not in the vocabulary`},
		{goodBPE, `"ab": 3`, `"ab": -3`, `token "ab" has id -3`},
		{goodBPE, `"ab": 3`, `"ab": 2000000000`, `token "ab" has id 2000000000`},
		{goodBPE, `"id": 0, "content"`, `"id": 9, "content"`,
			`added token "<s>" has id 9, but Hugging Face would number it 0`},
		{goodBPE, `"lstrip": false, `, ``, `added_tokens[0] lacks "lstrip"`},
		{goodBPE, `"version": "1.0"`, `"version": "2.0"`, `version "2.0" is not known`},
		{goodBPE, `"vocab"`, `"words"`, `model lacks "vocab"`},
		{goodBPE, `"model"`, `"modell"`, `has no model`},
		{goodBPE, `"merges": [["a", "b"]]}}`, `"merges": [["a",`,
			`line 4: unexpected end of JSON input; is the download complete?`},
		{goodWordPiece, `"BertPreTokenizer"`, `"Whitespace"`, `WordPiece with pre_tokenizer "Whitespace" is not implemented`},
		{goodWordPiece, `"clean_text": true, `, ``, `normalizer lacks "clean_text"`},
		{goodWordPiece, `"unk_token": "[UNK]"`, `"unk_token": "?"`, `unk_token "?" is not in the vocabulary`},
		{goodWordPiece, `"max_input_chars_per_word": 100`, `"x": 1`,
			`model lacks unk_token, continuing_subword_prefix or max_input_chars_per_word`},
		{goodUnigram, `"unk_id": 0`, `"unk_id": null`, `a Unigram tokenizer without an unk_id is not implemented`},
		{goodUnigram, `"unk_id": 0`, `"unk_id": 4`, `unk_id 4 is not in the vocabulary of 4 pieces`},
		{goodUnigram, `["a", -2]`, `["a"]`, `model vocab: entry 2 is not a piece and its score`},
		{goodUnigram, `["a", -2]`, `["a", -2e999]`, `model vocab: entry 2 is not a piece and its score`},
		{goodUnigram, `"Metaspace"`, `"ByteLevel"`,
			`a Unigram tokenizer with pre_tokenizer ["ByteLevel"] is not implemented; only with Metaspace`},
		{goodUnigram, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}`, `null`,
			`a Unigram tokenizer with pre_tokenizer [] is not implemented`},
		{goodUnigram, `{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}`,
			`{"type": "Sequence", "pretokenizers": [{"type": "Punctuation"}, {"type": "Metaspace"}]}`,
			`a Unigram tokenizer with pre_tokenizer ["Punctuation" "Metaspace"] is not implemented`},
		{goodUnigram, `"prepend_scheme": "always"`, `"prepend_scheme": "last"`, `prepend_scheme "last" is not known`},
		{goodUnigram, `"prepend_scheme": "always"`, `"prepend_scheme": "first"`,
			`normalizer Strip of the left side with prepend_scheme "first" is not implemented`},
		{goodUnigram, `"prepend_scheme": "always"`, `"add_prefix_space": false`,
			`add_prefix_space false with prepend_scheme "always"`},
		{goodUnigram, `"replacement": "▁"`, `"replacement": "▁▁"`, `replacement "▁▁" is not one character`},
		{goodUnigram, `"replacement": "▁", `, ``, `pre_tokenizer lacks "replacement"`},
		{goodUnigram, `" {2,}"`, `"\\s+"`, `normalizer Replace: the expression "\\s+" is not implemented`},
		{goodUnigram, `"content": " "`, `"content": "$1"`,
			`normalizer Replace: the replacement "$1" of an expression may hold a group`},
		{goodUnigram, `{"Regex": " {2,}"}`, `{"String": ""}`, `normalizer Replace: an empty pattern`},
		{goodUnigram, `{"Regex": " {2,}"}`, `{}`, `normalizer Replace: the pattern is neither String nor Regex`},
		{goodUnigram, `{"type": "Strip"`, `{"type": "Lowercase"`,
			`a Unigram tokenizer with normalizer "Lowercase" is not implemented; only with Precompiled, Strip, Replace, NFC and NFKC`},
		{goodUnigram, `{"type": "Strip"`, `{"type": "Sequence"`,
			`a Unigram tokenizer with normalizer "Sequence" is not implemented`},
		{goodUnigram, `{"type": "Strip"`, `{"type": "Precompiled", "precompiled_charsmap": "AAAA"`,
			`normalizer Precompiled: precompiled_charsmap is damaged: 3 bytes`},
		{goodUnigram, `"strip_left": true, `, ``, `normalizer Strip lacks "strip_left"`},
		{goodWordPiece, `"added_tokens": []`, `"added_tokens": [{"id": 3, "content": "A", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false},
{"id": 1, "content": "a", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}]`, `look alike once normalised`},
		{goodWordPiece, `"added_tokens": []`,
			`"added_tokens": [{"id": 3, "content": "\u0301", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false}]`, `is empty once normalised`},
	} {
		data := strings.Replace(c.file, c.old, c.new, 1)
		if data == c.file {
			t.Fatalf("%q is not there", c.old)
		}
		_, err := Load(files(map[string]string{jsonFile: data}))
		if err == nil || !strings.HasPrefix(err.Error(), jsonFile+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v\nwant %s", c.new, c.old, err, c.want)
		}
	}
}

func TestRefusedPlain(t *testing.T) {
	const words, vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", `{"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "a": 5}`
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "no tokenizer: none of tokenizer.json, vocab.json with merges.txt, or vocab.txt is there"},
		{map[string]string{vocabFile: vocab}, "vocab.json needs merges.txt beside it"},
		{map[string]string{vocabFile: vocab, mergesFile: "#version: 0.2\na b c\n"},
			`merges.txt:2: "a b c" is not two tokens`},
		{map[string]string{vocabFile: vocab, mergesFile: "a b\n"}, `vocab.json: merge 1 ("a" "b"): the vocabulary lacks "b"`},
		{map[string]string{vocabFile: `{"a": 0}`, mergesFile: ""}, "vocab.json lacks <s>"},
		{map[string]string{vocabFile: `{"a": "b"}`, mergesFile: ""}, "vocab.json: line 1"},
		{map[string]string{vocabFile: vocab, mergesFile: "", addedFile: "{}"}, "added_tokens.json is not read"},
		{map[string]string{wordsFile: "a\n"}, "vocab.txt lacks [PAD]"},
		{map[string]string{wordsFile: "a\n\xff\n"}, "vocab.txt:2: not valid UTF-8"},
		{map[string]string{wordsFile: words, configFile: `{"do_basic_tokenize": false}`},
			"tokenizer_config.json: do_basic_tokenize: false is not implemented"},
		{map[string]string{wordsFile: words, configFile: `{"never_split": ["x"]}`},
			"tokenizer_config.json: never_split is not implemented"},
		{map[string]string{wordsFile: words, configFile: `{"unk_token": "?"}`},
			`tokenizer_config.json: unk_token "?" is not implemented`},
		{map[string]string{wordsFile: words, configFile: `{"added_tokens_decoder": {"5": {"content": "X"}}}`},
			`tokenizer_config.json adds the token "X"`},
		{map[string]string{wordsFile: words, configFile: `{`}, "tokenizer_config.json: line 1"},
	} {
		if _, err := Load(files(c.files)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}

// Doubles that Hugging Face tokenizers 0.23.3 wrote back (Tokenizer.from_str(…).to_str()) after it read the number.
func TestScore(t *testing.T) {
	for number, want := range map[string]float64{
		"0":                               0.0,
		"-5":                              -5.0,
		"-5.123456954956055":              -5.123456954956055,
		"1e-05":                           1e-05,
		"-2.5E+3":                         -2500.0,
		"-123456789012345678901234567890": -1.2345678901234568e+29,
		"-0.1234567890123456789012345":    -0.12345678901234568,
		"-1.7976931348623157e308":         -1.7976931348623157e+308,
		"-4.9e-324":                       -5e-324,
		"-1234567.891011e-320":            -1.234567891e-314,
		"-18.359100861754378":             -18.359100861754374,
		"-12.539512048262601":             -12.5395120482626,
		"-1.7343650526984367":             -1.7343650526984369,
		"-12.117037674397597":             -12.117037674397595,
		"-13.434029130329465":             -13.434029130329463,
		"-10.119075514208307":             -10.119075514208308,
	} {
		if got := score(number); got != want {
			t.Errorf("%s: got %v, want %v", number, got, want)
		}
	}
}
