package llmsim

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
)

// values are what the key has in the JSON objects of text that do not stand in the prompt, in order. rest is text
// without its objects.
func values(text, asked, key string) (found []any, rest string) {
	objects, rest, _ := reply.Objects(text, asked)
	for _, o := range objects {
		for _, m := range o {
			if strings.EqualFold(m.Key, key) {
				found = append(found, m.Value)
			}
		}
	}
	return found, rest
}

var (
	framed     = regexp.MustCompile(`(?is)\[\[\s*begin\s*\]\]\s*(.*?)\s*\[\[\s*end\s*\]\]`)
	askedShare = regexp.MustCompile(`(?i)\[\[[\s*_]*confidence[\s*_]*[:：][\s*_]*([0-9.,]+\s*%?)[^\[\]\n]*\]`)
	shareLine  = regexp.MustCompile(`(?im)^[\s>*_#-]*(?:the\s+|my\s+|final\s+)*confidence(?:\s+score)?[\s*_]*[:：=][\s*_]*([0-9.,]+\s*%?)[\s*_.]*$`)
)

// readText is the text of a reply to a prompt of kind simulate: JSON's "text", or what stands between [[begin]] and
// [[end]].
func readText(answer *llm.Reply, asked string) (string, error) {
	text, err := reply.Body(answer, func(string) bool { return false })
	if err != nil {
		return "", err
	}
	var found string
	if all, _ := values(text, asked, "text"); len(all) > 0 {
		var ok bool
		if found, ok = all[len(all)-1].(string); !ok {
			return "", reply.Faultf(reply.Missing, "\"text\" holds no text: %s", reply.Clip(fmt.Sprint(all[len(all)-1])))
		}
	}
	if all := framed.FindAllStringSubmatch(text, -1); found == "" && all != nil {
		found = all[len(all)-1][1]
	}
	if found = strings.TrimSpace(found); found == "" {
		return "", reply.Faultf(reply.Missing, "no text: %s", reply.Clip(text))
	}
	return found, nil
}

// readConfidence is the number of a reply to a prompt of kind confirm, 0 to 1: JSON's "confidence", [[confidence:
// 0.9]], or a line "Confidence: 0.9". A percentage is one hundredth of its number; another number over 1 is none. A
// reply with two confidences that differ has none.
func readConfidence(answer *llm.Reply, asked string) (float64, error) {
	text, err := reply.Body(answer, func(before string) bool { return len(confidences(before, asked)) > 0 })
	if err != nil {
		return 0, err
	}
	all := confidences(text, asked)
	if len(all) == 0 {
		return 0, reply.Faultf(reply.Missing, "no confidence: %s", reply.Clip(text))
	}
	p, err := share(all[0])
	for _, other := range all[1:] {
		if q, fault := share(other); other != all[0] && (err != nil || fault != nil || p != q) {
			return 0, reply.Faultf(reply.Ambiguous, "two confidences: %.40s and %.40s", all[0], other)
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
		return 0, reply.Faultf(reply.OffScale, "a confidence of 0 to 1 was asked for, not %.40q", text)
	}
	return p, nil
}

// sameText tells whether two texts differ in nothing but blank space.
func sameText(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
