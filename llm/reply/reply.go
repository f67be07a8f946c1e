// Package reply reads what language models reply. It finds out how a reply ended, its text without a reasoning model's
// thoughts, and the JSON in it that is not the prompt's. What a reply does not hold is a Fault, with one of the
// Reasons.
package reply

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/llm"
)

// Reasons why a reply does not give the answer asked for, as records hold them.
const (
	Missing       = "missing"       // it does not hold what was asked for, or not a single one
	Ambiguous     = "ambiguous"     // it holds two answers that differ
	OffScale      = "off_scale"     // its answer is none of those that it could choose from
	Refused       = "refused"       // the model, or the endpoint, would not answer
	Filtered      = "filtered"      // the endpoint's content filter stepped in
	Cut           = "cut"           // it ended at its token limit, or in the middle
	Unavailable   = "unavailable"   // there is no reply: retries are used up
	UnknownLabel  = "unknown_label" // a name that the taxonomy does not have
	UnknownIssue  = "unknown_issue" // an issue that is not on the list
	Contradiction = "contradiction" // the label for "no error" beside others
)

// Fault is why there is no answer. It is never one: unknown is not zero.
type Fault struct {
	Reason string // one of the Reasons, or a caller's own
	Detail string // for people; may be empty
}

// Error is reason and detail, as records hold them.
func (f *Fault) Error() string {
	if f.Detail == "" {
		return f.Reason
	}
	return f.Reason + ": " + f.Detail
}

// Faultf is a *Fault with a formatted detail.
func Faultf(reason, format string, args ...any) error {
	return &Fault{reason, fmt.Sprintf(format, args...)}
}

// ReasonOf is the reason of a call that gave no reply.
func ReasonOf(unanswered error) string {
	switch llm.KindOf(unanswered) {
	case llm.Refused:
		return Refused
	case llm.Filtered:
		return Filtered
	}
	return Unavailable
}

// Unanswered is the Fault of a call that gave no reply.
func Unanswered(err error) *Fault { return &Fault{ReasonOf(err), Clip(err.Error())} }

// clipped is how many bytes of a reply stand in a message.
const clipped = 160

// Clip is the end of a reply, where its answer should be, for a message.
func Clip(text string) string { return words.Clip(text, clipped) }

// maxText is how many bytes of a reply are looked at, its end: that is where the answer stands.
const maxText = 64 << 10

// Body is a reply without a reasoning model's thoughts; a *Fault where it was withheld or cut. decided tells whether a
// text gives the answer asked for.
func Body(reply *llm.Reply, decided func(string) bool) (string, error) {
	switch strings.ToLower(reply.Finish) {
	case llm.FinishFilter:
		return "", &Fault{Filtered, "the endpoint's content filter withheld the reply"}
	case llm.FinishRefuse:
		return "", &Fault{Refused, Clip(reply.Text)}
	case llm.FinishAmbiguous:
		return "", &Fault{Ambiguous, Clip(reply.Text)}
	case llm.FinishLength, "max_tokens":
		return "", &Fault{Cut, "the reply reached its token limit; raise --reply-tokens"}
	}
	text, ok := withoutThoughts(reply.Text, decided)
	if !ok {
		return "", &Fault{Cut, "the reply ends within the model's thoughts; raise --reply-tokens"}
	}
	return end(text), nil
}

// end is the part of a reply's text that is looked at.
func end(text string) string {
	return strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxText):], "\uFFFD"))
}

var (
	thoughts     = regexp.MustCompile(`^\s*<(think|thinking|thought)>`)
	thoughtEnd   = regexp.MustCompile(`(?m)^[ \t]*</(?:think|thinking|thought)>|</(?:think|thinking|thought)>[ \t\r]*$`)
	thoughtLater = regexp.MustCompile(`<(?:think|thinking|thought)>`)
)

// withoutThoughts is the text after a reasoning model's thoughts; false if these do not end. Some endpoints leave out
// the mark of their beginning. An end mark within a line of a reply without a beginning is part of the text. So are
// thoughts that begin after an answer, which decided finds in the text before them: they may take the answer back.
func withoutThoughts(text string, decided func(before string) bool) (string, bool) {
	for {
		begin := thoughts.FindStringSubmatch(text)
		if begin == nil {
			break
		}
		_, rest, ends := strings.Cut(text, "</"+begin[1]+">")
		if !ends {
			return "", false
		}
		text = rest
	}
	if later := thoughtLater.FindStringIndex(text); later != nil && decided(text[:later[0]]) {
		return text, true
	}
	if ends := thoughtEnd.FindAllStringIndex(text, -1); ends != nil {
		text = text[ends[len(ends)-1][1]:]
	}
	return text, true
}
