package llmsim

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/erreval/erreval/internal/replies"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

// maxReply is as much of a reply, in bytes, as is looked at: its end.
const maxReply = 64 << 10

// body is a reply without a reasoning model's thoughts; an error where it was withheld or cut. decided tells whether a
// text gives the answer asked for.
func body(reply *llm.Reply, decided func(string) bool) (string, error) {
	switch strings.ToLower(reply.Finish) {
	case llm.FinishFilter:
		return "", errors.New("filtered: the endpoint's content filter withheld the reply")
	case llm.FinishRefuse:
		return "", errors.New("refused: " + clip(reply.Text))
	case llm.FinishLength, "max_tokens":
		return "", errors.New("cut: the reply reached its token limit; raise --reply-tokens")
	}
	text, ok := replies.WithoutThoughts(reply.Text, decided)
	if !ok {
		return "", errors.New("cut: the reply ends within the model's thoughts; raise --reply-tokens")
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxReply):], "\uFFFD")), nil
}

// values are what the key has in the JSON objects of text that do not stand in the prompt, in order. rest is text
// without its objects.
func values(text, asked, key string) (found []any, rest string) {
	var outside strings.Builder
	for range 200 { // places that are tried as the beginning of JSON
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		outside.WriteString(text[:i])
		text = text[i:]
		v, n, err := replies.DecodeJSON(text)
		object, ok := v.(replies.Object)
		if err != nil || !ok {
			outside.WriteByte(text[0])
			text = text[1:]
			continue
		}
		raw := text[:n]
		if !strings.Contains(asked, raw) && !strings.Contains(asked, prompt.Clean(raw)) {
			for _, m := range object {
				if strings.EqualFold(m.Key, key) {
					found = append(found, m.Value)
				}
			}
		}
		text = text[n:]
	}
	return found, outside.String() + text
}

var (
	framed     = regexp.MustCompile(`(?is)\[\[\s*begin\s*\]\]\s*(.*?)\s*\[\[\s*end\s*\]\]`)
	askedShare = regexp.MustCompile(`(?i)\[\[[\s*_]*confidence[\s*_]*[:：][\s*_]*([0-9.,]+\s*%?)[^\[\]\n]*\]`)
	shareLine  = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:the\s+|my\s+|final\s+)*confidence(?:\s+score)?[\s*_]*[:：=][\s*_]*([0-9.,]+\s*%?)[\s*_.]*$`)
)

// readText is the text of a reply to a prompt of kind simulate: JSON's "text", or what stands between [[begin]] and
// [[end]].
func readText(reply *llm.Reply, asked string) (string, error) {
	text, err := body(reply, func(string) bool { return false })
	if err != nil {
		return "", err
	}
	var found string
	if all, _ := values(text, asked, "text"); len(all) > 0 {
		var ok bool
		if found, ok = all[len(all)-1].(string); !ok {
			return "", fmt.Errorf("missing: \"text\" holds no text: %s", clip(fmt.Sprint(all[len(all)-1])))
		}
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
// 0.9]], or a line "Confidence: 0.9". A percentage is one hundredth of its number; another number over 1 is none. A
// reply with two confidences that differ has none.
func readConfidence(reply *llm.Reply, asked string) (float64, error) {
	text, err := body(reply, func(before string) bool { return len(confidences(before, asked)) > 0 })
	if err != nil {
		return 0, err
	}
	all := confidences(text, asked)
	if len(all) == 0 {
		return 0, errors.New("missing: no confidence: " + clip(text))
	}
	p, err := share(all[0])
	for _, other := range all[1:] {
		if q, fault := share(other); other != all[0] && (err != nil || fault != nil || p != q) {
			return 0, fmt.Errorf("ambiguous: two confidences: %.40s and %.40s", all[0], other)
		}
	}
	return p, err
}

// confidences are the numbers in all forms, the most explicit first.
func confidences(text, asked string) (found []string) {
	given, rest := values(text, asked, "confidence")
	for _, v := range given {
		found = append(found, fmt.Sprint(v))
	}
	for _, form := range []*regexp.Regexp{askedShare, shareLine} {
		for _, m := range form.FindAllStringSubmatch(rest, -1) {
			found = append(found, m[1])
		}
	}
	return found
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
