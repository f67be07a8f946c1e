package tokenfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/erreval/erreval/identifier/unigram"
)

// unigramSection is the section "model" of a Unigram tokenizer.
type unigramSection struct {
	UnkID        *int32              `json:"unk_id"`
	Vocab        [][]json.RawMessage `json:"vocab"`
	ByteFallback bool                `json:"byte_fallback"`
}

// readUnigram reads all sections but the added tokens.
func (d *description) readUnigram(s *sections) error {
	var m unigramSection
	if err := decode(s.Model, &m, "model", "vocab", "unk_id"); err != nil {
		return err
	}
	if m.UnkID == nil {
		return errors.New("a Unigram tokenizer without an unk_id is not implemented: text that the vocabulary does not " +
			"cover would have no ids")
	}
	d.unigram = &unigram.Config{Unk: *m.UnkID, ByteFallback: m.ByteFallback}
	if err := d.setPieces(m.Vocab); err != nil {
		return err
	}
	if err := d.readMetaspace(s.PreTokenizer); err != nil {
		return err
	}
	stages, err := flatten(s.Normalizer, "normalizer")
	if err != nil {
		return err
	}
	for _, raw := range stages {
		if err := d.readStage(raw); err != nil {
			return err
		}
	}
	return nil
}

func (d *description) setPieces(vocab [][]json.RawMessage) error {
	pieces := make([]unigram.Piece, len(vocab))
	d.vocab = make(map[string]int32, len(vocab))
	for id, entry := range vocab {
		p := &pieces[id]
		if len(entry) != 2 || json.Unmarshal(entry[0], &p.Text) != nil || json.Unmarshal(entry[1], new(float64)) != nil {
			return fmt.Errorf("model vocab: entry %d is not a piece and its score; is the download complete?", id)
		}
		p.Score = score(string(entry[1]))
		d.vocab[p.Text] = int32(id) // of equal pieces the last counts
	}
	d.unigram.Pieces, d.size = pieces, len(pieces)
	return nil
}

// score reads a JSON number as Rust's serde_json does without its feature float_roundtrip: the digits that fit 64 bits,
// then one multiplication or division by a power of ten. It is off by one in the last bit now and then, and so are
// Hugging Face's sums.
func score(number string) float64 {
	digits, negative := strings.CutPrefix(number, "-")
	digits, exponent, _ := strings.Cut(strings.ToLower(digits), "e")
	power, _ := strconv.Atoi(exponent)
	whole, fraction, _ := strings.Cut(digits, ".")
	var mantissa uint64
	full := false
	for i, c := range whole + fraction {
		d := uint64(c - '0') // #nosec G115 -- JSON has digits there
		full = full || mantissa > (math.MaxUint64-d)/10
		switch {
		case !full:
			mantissa = mantissa*10 + d
			if i >= len(whole) {
				power--
			}
		case i < len(whole):
			power++
		}
	}
	f := float64(mantissa)
	for ; power < -308 && f != 0; power += 308 {
		f /= 1e308
	}
	ten, _ := strconv.ParseFloat("1e"+strconv.Itoa(max(power, -power)), 64) // math.Pow10 rounds twice
	if power < 0 {
		f /= ten
	} else {
		f *= ten
	}
	if negative {
		return -f
	}
	return f
}

// metaspaceSection is a pre-tokenizer Metaspace.
type metaspaceSection struct {
	Replacement    string          `json:"replacement"`
	AddPrefixSpace *bool           `json:"add_prefix_space"` // older files; false goes with "never" alone
	PrependScheme  *unigram.Scheme `json:"prepend_scheme"`   // unset: always
	Split          *bool           `json:"split"`            // unset: true
}

// readMetaspace reads the pre-tokenizer: Metaspace, alone or behind WhitespaceSplit.
func (d *description) readMetaspace(raw json.RawMessage) error {
	all, err := flatten(raw, "pre_tokenizer")
	if err != nil {
		return err
	}
	var kinds []string
	for _, raw := range all {
		var c component
		if err := decode(raw, &c, "pre_tokenizer", "type"); err != nil {
			return err
		}
		kinds = append(kinds, c.Type)
	}
	d.unigram.SplitSpace = len(kinds) == 2 && kinds[0] == "WhitespaceSplit"
	if n := len(kinds); n == 0 || kinds[n-1] != "Metaspace" || n > 1 && !d.unigram.SplitSpace {
		return fmt.Errorf("a Unigram tokenizer with pre_tokenizer %q is not implemented; only with Metaspace, alone or "+
			"behind WhitespaceSplit", kinds)
	}
	var m metaspaceSection
	if err := decode(all[len(all)-1], &m, "pre_tokenizer", "replacement"); err != nil {
		return err
	}
	scheme := or(m.PrependScheme, unigram.Always)
	if !or(m.AddPrefixSpace, true) && scheme != unigram.Never {
		return fmt.Errorf("pre_tokenizer Metaspace: add_prefix_space false with prepend_scheme %q, which Hugging Face "+
			"refuses too", scheme)
	}
	d.unigram.Replacement, d.unigram.Prepend, d.unigram.Split = m.Replacement, scheme, or(m.Split, true)
	return nil
}

// stageSection is any of the normalizers below; the fields that a type does not have stay unset.
type stageSection struct {
	Type     string `json:"type"`
	Charsmap []byte `json:"precompiled_charsmap"`
	Left     bool   `json:"strip_left"`
	Right    bool   `json:"strip_right"`
	Content  string `json:"content"`
	Pattern  struct {
		String *string
		Regex  *string
	} `json:"pattern"`
}

// stageKeys lists the normalizers that are implemented, each with the keys that it must have.
var stageKeys = map[string][]string{
	"Precompiled": {"precompiled_charsmap"},
	"Strip":       {"strip_left", "strip_right"},
	"Replace":     {"pattern", "content"},
	"NFC":         nil,
	"NFKC":        nil,
}

func (d *description) readStage(raw json.RawMessage) error {
	var c component
	if err := decode(raw, &c, "normalizer", "type"); err != nil {
		return err
	}
	keys, ok := stageKeys[c.Type]
	if !ok {
		return fmt.Errorf("a Unigram tokenizer with normalizer %q is not implemented; only with Precompiled, Strip, "+
			"Replace, NFC and NFKC", c.Type)
	}
	var s stageSection
	if err := decode(raw, &s, "normalizer "+c.Type, keys...); err != nil {
		return err
	}
	stage, err := s.stage()
	if err != nil {
		return fmt.Errorf("normalizer %s: %w", c.Type, err)
	}
	if s.Left && d.unigram.Prepend == unigram.First {
		return errors.New(`normalizer Strip of the left side with prepend_scheme "first" is not implemented`)
	}
	d.stages = append(d.stages, stage)
	return nil
}

func (s *stageSection) stage() (unigram.Stage, error) {
	switch s.Type {
	case "Precompiled":
		return unigram.NewCharsmap(s.Charsmap)
	case "Strip":
		return unigram.Strip{Left: s.Left, Right: s.Right}, nil
	case "NFC":
		return unigram.NFC, nil
	case "NFKC":
		return unigram.NFKC, nil
	}
	switch {
	case s.Pattern.Regex != nil:
		return unigram.ReplaceRegex(*s.Pattern.Regex, s.Content)
	case s.Pattern.String != nil:
		return unigram.ReplaceString(*s.Pattern.String, s.Content)
	}
	return nil, errors.New("the pattern is neither String nor Regex")
}
