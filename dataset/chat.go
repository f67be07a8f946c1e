package dataset

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset/internal/jsontext"
)

// columnMessages holds the turns of a conversation, as in requests to OpenAI's API.
const columnMessages = "messages"

// turn is one message of a conversation.
type turn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or a list of parts of which some have one; null in calls of tools
	Calls   json.RawMessage `json:"tool_calls"`
	Refusal string          `json:"refusal"` // in the place of the content
}

// parseChat reads a list of turns; nil is none.
func parseChat(raw json.RawMessage) []turn {
	var turns []turn
	if bytes.HasPrefix(raw, []byte(`"[`)) { // as a cell of CSV
		text, _ := jsontext.Unquote(raw)
		raw = json.RawMessage(text)
	}
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &turns) != nil || len(turns) == 0 {
		return nil
	}
	for i, t := range turns {
		switch t.Role {
		case "":
			return nil
		case "developer": // as OpenAI calls it since 2024
			turns[i].Role = "system"
		}
	}
	return turns
}

// text is what a turn says: its text, or those of its parts.
func (t turn) text() string {
	var text string
	if json.Unmarshal(t.Content, &text) == nil {
		return cmp.Or(text, t.Refusal)
	}
	var texts []string
	for _, p := range t.parts() {
		switch {
		case p.Text != "":
			texts = append(texts, p.Text)
		case p.isOther():
			texts = append(texts, p.name())
		}
	}
	return strings.Join(texts, "\n")
}

// part is one of several of a turn.
type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
	raw  json.RawMessage
}

// parts are those of a turn; nil where it is a text.
func (t turn) parts() (parts []part) {
	var list []json.RawMessage
	if !bytes.HasPrefix(t.Content, []byte("[")) || json.Unmarshal(t.Content, &list) != nil {
		return nil
	}
	for _, raw := range list {
		p := part{raw: raw}
		if json.Unmarshal(raw, &p) == nil {
			parts = append(parts, p)
		}
	}
	return parts
}

// isOther tells of a picture, a sound or a file: nobody reads it, but what answers another one answers something else.
func (p part) isOther() bool {
	for _, kind := range []string{"image", "audio", "video", "file", "document"} {
		if p.Text == "" && strings.Contains(p.Type, kind) {
			return true
		}
	}
	return false
}

// name stands for a part that is not read, and tells it from others: [image_url 0a1b2c3d4e5f].
func (p part) name() string {
	var compact bytes.Buffer
	_ = json.Compact(&compact, p.raw) // of what was JSON
	sum := sha256.Sum256(compact.Bytes())
	return fmt.Sprintf("[%s %x]", p.Type, sum[:6])
}

// toolCall is a call of a tool as OpenAI writes it, with a function, or as Anthropic does, a part of a turn.
type toolCall struct {
	Type     string          `json:"type"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // JSON in a text
	} `json:"function"`
}

// String is what a call says, such as search({"q":"x"}).
func (c toolCall) String() string {
	raw := c.Input
	if len(raw) == 0 {
		raw = c.Function.Arguments
	}
	arguments := string(raw)
	_ = json.Unmarshal(raw, &arguments) // else they are JSON as they stand
	return cmp.Or(c.Function.Name, c.Name) + "(" + arguments + ")"
}

// calls are the tools that a turn calls.
func (t turn) calls() []toolCall {
	var calls, parts []toolCall
	if json.Unmarshal(t.Calls, &calls) != nil {
		calls = nil
	}
	if json.Unmarshal(t.Content, &parts) != nil {
		return calls
	}
	return append(calls, slices.DeleteFunc(parts, func(p toolCall) bool { return p.Type != "tool_use" })...)
}

// callsAlone tells whether a turn calls tools and says nothing.
func (t turn) callsAlone() bool { return t.text() == "" && len(t.calls()) > 0 }

// results are what tools replied, where the turn of the user has that, as Anthropic writes it.
func (t turn) results() (results []string) {
	var parts []struct {
		turn
		Type string `json:"type"`
	}
	if json.Unmarshal(t.Content, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		if p.Type == "tool_result" {
			results = append(results, p.text())
		}
	}
	return results
}

// lines are a turn as the input of a later one has it.
func (t turn) lines() (lines []string) {
	for _, result := range t.results() {
		lines = append(lines, "tool: "+result)
	}
	text, calls := t.text(), t.calls()
	if text != "" || len(lines)+len(calls) == 0 {
		lines = append(lines, t.Role+": "+text)
	}
	for _, c := range calls {
		lines = append(lines, fmt.Sprintf("%s calls %s", t.Role, c))
	}
	return lines
}

// isChatField tells whether a conversation has a field: the response, or what it answers.
func isChatField(field string) (response, input bool) {
	names := ColumnNames(field)
	return slices.Contains(names, "response"), slices.Contains(names, "instruction")
}

// conversation is a list of turns that fields are taken from.
type conversation struct {
	turns []turn
	last  int // the last turn of the assistant; -1 is none
}

// chatAs is a chat field that a field stands for: one that the user names a column for may be of a conversation
// whatever its name, the judged one as the response, any other as what it answers.
func (r *Reader) chatAs(field string) string {
	response, input := isChatField(field)
	switch named := r.opt.Map[field] + r.opt.Recorded[field]; {
	case response || input || named == "":
		return field
	case len(r.fields) > 0 && (field == r.fields[0] || field == otherText(r.fields[0])):
		return "response"
	}
	return "instruction"
}

// otherText is the field of a pair's other text; "" where the field is none of a pair.
func otherText(field string) string {
	if stem, of := strings.CutSuffix(field, "_a"); of {
		return stem + "_b"
	}
	return ""
}

// conversationOf reads the conversation that a field is taken from; nil where the field or the value is none of one.
func conversationOf(field string, raw json.RawMessage) *conversation {
	if !bytes.HasPrefix(bytes.TrimPrefix(raw, []byte(`"`)), []byte("[")) { // of each field of each row: most are texts
		return nil
	}
	response, input := isChatField(field)
	if !response && !input {
		return nil
	}
	c := &conversation{turns: parseChat(raw), last: -1}
	if c.turns == nil {
		return nil
	}
	for i, t := range c.turns {
		if t.Role == "assistant" {
			c.last = i
		}
	}
	return c
}

// goesOn tells whether turns follow the last one of the assistant.
func (c *conversation) goesOn() bool { return c.last >= 0 && c.last < len(c.turns)-1 }

// text is a field of the conversation: the last turn of the assistant is the response, what goes before it the input.
func (c *conversation) text(field string) (string, error) {
	switch response, _ := isChatField(field); {
	case response && c.last < 0:
		return "", fmt.Errorf("the conversation has no turn of the assistant, which the %s would be", field)
	case response && c.turns[c.last].callsAlone():
		return "", fmt.Errorf("the last turn of the assistant only calls tools and has no text, which the %s would be", field)
	case response:
		return c.turns[c.last].text(), nil
	case c.last >= 0:
		return inputText(c.turns[:c.last]), nil
	}
	return inputText(c.turns), nil
}

// chatText takes a field out of a row's conversation. Where the response stands in another column, a conversation that
// goes on behind the assistant's last turn is input as a whole; else these turns are left out, which Notes says.
func (r *Reader) chatText(row *Row, field string, c *conversation) (string, error) {
	isOther := func(t turn) bool { return slices.ContainsFunc(t.parts(), part.isOther) }
	place := func() string { return fmt.Sprintf("%s %d", cmp.Or(r.unit(), "line"), row.Line) }
	if r.otherParts == "" && slices.ContainsFunc(c.turns, isOther) {
		r.otherParts = place()
	}
	column, _, _ := r.findField(row, field)
	toolsAlone := c.last >= 0 && c.turns[c.last].callsAlone()
	isResponse := func(other string) bool {
		response, _ := isChatField(r.chatAs(other))
		name, _, _ := r.findField(row, other)
		return response && name == column
	}
	switch {
	case !c.goesOn() && !toolsAlone:
	case !slices.ContainsFunc(r.fields, isResponse):
		c.last = -1
	case !toolsAlone && row.Line != r.lastCut:
		r.turnsLeftOut = cmp.Or(r.turnsLeftOut, place())
		r.cut++
		r.lastCut = row.Line
	}
	return c.text(r.chatAs(field))
}

// wholeConversation stands between the last turn of the user and all turns.
const wholeConversation = "\n\nThe whole conversation:\n"

// LastTurn is the last turn of the user in an input that was taken from a conversation of several turns, and any other
// text as it is.
func LastTurn(input string) string {
	last, _, _ := strings.Cut(input, wholeConversation)
	return last
}

// AsAsked is an input that was taken from a conversation as its users made it, without the turn of the system that it
// begins with and what the model did before it answered, such as calls of tools; any other text is as it is.
func AsAsked(input string) string {
	last, all, whole := strings.Cut(input, wholeConversation)
	if !whole {
		return input
	}
	if strings.HasPrefix(all, "system: ") {
		_, rest, there := strings.Cut(all, "\nuser: ")
		if !there {
			return input
		}
		all = "user: " + rest
	}
	asked := "user: " + last
	if at := strings.LastIndex("\n"+all+"\n", "\n"+asked+"\n"); at >= 0 {
		all = all[:at+len(asked)]
	}
	if all == asked { // the only turn
		return last
	}
	return last + wholeConversation + all
}

// inputText is the last turn of the user, and behind it all turns before the response where there are several.
func inputText(turns []turn) string {
	var lines []string
	last := ""
	for _, t := range turns {
		lines = append(lines, t.lines()...)
		if text := t.text(); t.Role == "user" && (text != "" || len(t.results()) == 0) {
			last = text
		}
	}
	if len(turns) == 1 && last != "" {
		return last
	}
	if last != "" {
		last += wholeConversation
	}
	return last + strings.Join(lines, "\n")
}

// Find gives the JSON of a column, or where there is none of that name, what a path leads to: a column, and behind dots
// the keys of objects and the places in lists, from 0 on, as in choices.0.message.content. White space around a name,
// which nobody sees in a table, may be left out.
func (r *Row) Find(name string) (json.RawMessage, bool) {
	if raw, ok := r.Get(name); ok {
		return raw, true
	}
	if i := slices.IndexFunc(r.columns, func(c column) bool { return strings.TrimSpace(c.name) == name }); i >= 0 {
		return r.columns[i].value, true
	}
	parts := strings.Split(name, ".")
	raw, ok := r.Get(parts[0])
	for _, part := range parts[1:] {
		if !ok {
			return nil, false
		}
		raw, ok = child(raw, part)
	}
	return raw, ok && len(parts) > 1
}

// FindAnyCase is Find, and without such a column gives the only one whose name differs from this in case alone.
func (r *Row) FindAnyCase(name string) (json.RawMessage, bool) {
	raw, ok := r.Find(name)
	isMeant := func(c column) bool { return strings.EqualFold(strings.TrimSpace(c.name), name) }
	i := slices.IndexFunc(r.columns, isMeant)
	if ok || i < 0 || slices.ContainsFunc(r.columns[i+1:], isMeant) {
		return raw, ok
	}
	return r.columns[i].value, true
}

// child is the value of a key in an object, or of a place in a list.
func child(raw json.RawMessage, part string) (json.RawMessage, bool) {
	var object map[string]json.RawMessage
	if raw[0] == '{' && json.Unmarshal(raw, &object) == nil {
		value, ok := object[part]
		return value, ok
	}
	var list []json.RawMessage
	i, err := strconv.Atoi(part)
	if err != nil || raw[0] != '[' || json.Unmarshal(raw, &list) != nil || i < 0 || i >= len(list) {
		return nil, false
	}
	return list[i], true
}
