package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// fenceBytes of the hash stand in the prompt: 64 bits, 16 hex digits. A text would have to contain a number that
// depends on all its own bytes.
const fenceBytes = 8

// fence is the code that marks where texts begin and end: a hash of the template and of all values, each with its
// length in front. The same input has the same fence, so that prompts can be compared and replies be replayed. No
// value contains it: where one does, another code is taken.
func fence(templateHash string, values []string) string {
	h := sha256.New()
	for _, v := range append([]string{templateHash}, values...) {
		h.Write(binary.AppendUvarint(nil, uint64(len(v))))
		h.Write([]byte(v))
	}
	for {
		sum := h.Sum(nil)
		code := hex.EncodeToString(sum[:fenceBytes])
		if !containsAny(values, code) {
			return code
		}
		h.Write(sum)
	}
}

func containsAny(values []string, code string) bool {
	for _, v := range values {
		if strings.Contains(strings.ToLower(v), code) {
			return true
		}
	}
	return false
}

// block is a text between its fence lines.
func block(name, text, code string) string {
	return fmt.Sprintf("[begin %s %s]\n%s\n[end %s %s]", name, code, Clean(text), name, code)
}

// KeyMark stands before keys of verdicts in texts: see Clean.
const KeyMark = "[text] "

// Clean is text as a prompt shows it. Four things are changed, each so that a reader can see it: characters that
// are invisible or turn the direction of writing become [U+202E], since a model reads what a person cannot see;
// markers that chat models take for the boundary of a turn or for a call of a tool, such as <|im_start|> and
// <tool_call>, get a space after their first character, since some servers read them inside of messages too; so does
// the form in which verdicts and labels are asked for, [[verdict: 3]]; and the keys of verdicts in JSON, "score": 3,
// become "[text] score": 3, so that a reply which quotes them is known to quote.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b strings.Builder
	b.Grow(len(text))
	var before rune
	marker := false
	for _, r := range text {
		marker = mayBeMarker(marker, r)
		if invisible(r, before) || marker && joins(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	shown := b.String()
	if hasKey(shown) {
		shown = verdictKey.ReplaceAllString(shown, "${1}"+KeyMark+"$2")
	}
	if !strings.ContainsAny(shown, "<[") {
		return shown
	}
	return verdictForm.ReplaceAllString(chatMarker.ReplaceAllString(shown, "$1 $2"), "[ $1")
}

// hasKey tells whether a colon stands behind a quotation mark: most texts have none, which is seen faster so.
func hasKey(text string) bool {
	for {
		before, rest, found := strings.Cut(text, ":")
		if !found {
			return false
		}
		before = strings.TrimRightFunc(before, unicode.IsSpace)
		if strings.HasSuffix(before, "\"") || strings.HasSuffix(before, "'") || strings.HasSuffix(before, "”") {
			return true
		}
		text = rest
	}
}

// mayBeMarker tells whether a marker may have begun and not ended at r. was tells it for the character before.
func mayBeMarker(was bool, r rune) bool {
	if r == '<' || r == '[' {
		return true
	}
	return was && (r >= ' ' && r < 0x7F && r != '>' && r != ']' || joins(r))
}

// invisible tells which characters are spelt out: control, format and private use characters, line separators and
// fillers. Joiners and variation selectors have their place within words and emoji; a second one in a row has none.
func invisible(r, before rune) bool {
	switch {
	case r >= ' ' && r < 0x7F, r == '\n', r == '\t':
		return false
	case joins(r):
		return before == 0 || joins(before) || unicode.IsSpace(before)
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0: // Hangul fillers, letters by category
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

func joins(r rune) bool {
	return r == 0x200C || r == 0x200D || unicode.Is(unicode.Variation_Selector, r)
}

var (
	// chatMarker: ChatML, Llama 2 and 3, Mistral, Gemma, Phi, DeepSeek, the sentence marks of older models, the ends of
	// thoughts, behind which scorer looks for the verdict; and calls of tools in the manner of Hermes, Qwen and Llama 3.
	chatMarker = regexp.MustCompile(`(?i)([<\[])([|｜]|/?(?:s|bos|eos|pad|unk|cls|sep)>|/?(?:start|end)_of_turn>|/?(?:think|thinking|thought)>|/?tools?>|/?tool_(?:calls?|code|outputs?|responses?|results?)>|/?function_(?:calls?|results?)>|/?function[=>]|/?invoke\b|</?SYS>|/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])`)
	// verdictForm is what the parsers of scorer and training/llmsim look for, in every spelling that they take.
	verdictForm = regexp.MustCompile(`(?i)\[(\[[\s*_]*(?:verdict|labels|confidence|begin|end))`)
	// verdictKey is a key of a verdict in JSON, or in what looks like it.
	verdictKey = regexp.MustCompile(`(?i)(["'“])(\s*(?:(?:final|overall)?[\s_-]*(?:score|verdict|rating|grade)|labels|confidence)\s*["'”]\s*:)`)
)
