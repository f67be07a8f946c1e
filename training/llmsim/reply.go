package llmsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
)

// maxReply is as much of a reply, in bytes, as is looked at: its end.
const maxReply = 64 << 10

// body is a reply without a reasoning model's thoughts; an error where it was withheld or cut.
func body(reply *llm.Reply) (string, error) {
	switch strings.ToLower(reply.Finish) {
	case llm.FinishFilter:
		return "", errors.New("filtered: the endpoint's content filter withheld the reply")
	case llm.FinishRefuse:
		return "", errors.New("refused: " + clip(reply.Text))
	case llm.FinishLength, "max_tokens":
		return "", errors.New("cut: the reply reached its token limit; raise --reply-tokens")
	}
	text, ok := replies.WithoutThoughts(reply.Text)
	if !ok {
		return "", errors.New("cut: the reply ends within the model's thoughts; raise --reply-tokens")
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxReply):], "\uFFFD")), nil
}

// object finds the last JSON object in text that has the key and does not stand in the prompt.
func object(text, prompt, key string) (found json.RawMessage) {
	for rest, tries := text, 0; tries < 200; tries++ { // places that are tried as the beginning of JSON
		i := strings.IndexByte(rest, '{')
		if i < 0 {
			break
		}
		rest = rest[i:]
		var o map[string]json.RawMessage
		dec := json.NewDecoder(strings.NewReader(rest))
		if dec.Decode(&o) != nil {
			rest = rest[1:]
			continue
		}
		n := int(dec.InputOffset())
		for name, v := range o {
			if strings.EqualFold(name, key) && !strings.Contains(prompt, rest[:n]) {
				found = v
			}
		}
		rest = rest[n:]
	}
	return found
}

var (
	framed     = regexp.MustCompile(`(?is)\[\[\s*begin\s*\]\]\s*(.*?)\s*\[\[\s*end\s*\]\]`)
	askedShare = regexp.MustCompile(`(?i)\[\[[\s*_]*confidence[\s*_]*[:：][\s*_]*([0-9.,]+\s*%?)[^\[\]\n]*\]`)
	shareLine  = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:the\s+|my\s+|final\s+)*confidence(?:\s+score)?[\s*_]*[:：=][\s*_]*([0-9.,]+\s*%?)[\s*_.]*$`)
)

// readText is the text of a reply to a prompt of kind simulate: JSON's "text", or what stands between [[begin]] and
// [[end]].
func readText(reply *llm.Reply, prompt string) (string, error) {
	text, err := body(reply)
	if err != nil {
		return "", err
	}
	var found string
	if v := object(text, prompt, "text"); v != nil && json.Unmarshal(v, &found) != nil {
		return "", errors.New("missing: \"text\" holds no text: " + clip(string(v)))
	}
	if all := framed.FindAllStringSubmatch(text, -1); found == "" && all != nil {
		found = all[len(all)-1][1]
	}
	if found = strings.TrimSpace(found); found == "" {
		return "", errors.New("missing: no text: " + clip(text))
	}
	return found, nil
}

// readConfidence is the number of a reply to a prompt of kind confirm, 0 to 1: JSON's "confidence", [[confidence:
// 0.9]], or a line "Confidence: 0.9". A percentage is one hundredth of its number; another number over 1 is none.
func readConfidence(reply *llm.Reply, prompt string) (float64, error) {
	text, err := body(reply)
	if err != nil {
		return 0, err
	}
	if v := object(text, prompt, "confidence"); v != nil {
		return share(strings.Trim(string(v), `" `))
	}
	for _, form := range []*regexp.Regexp{askedShare, shareLine} {
		if all := form.FindAllStringSubmatch(text, -1); all != nil {
			return share(all[len(all)-1][1])
		}
	}
	return 0, errors.New("missing: no confidence: " + clip(text))
}

func share(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	number = strings.TrimRight(strings.TrimSpace(number), ".,")
	if strings.Count(number, ",") == 1 && !strings.Contains(number, ".") {
		number = strings.Replace(number, ",", ".", 1)
	}
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("off_scale: a confidence of 0 to 1 was asked for, not %.40q", text)
	}
	return p, nil
}

// clip is a reply for a message.
func clip(text string) string { return replies.Clip(text, 160) }

// sameText tells whether two texts differ in nothing but blank space.
func sameText(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
