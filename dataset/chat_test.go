package dataset

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

func TestChat(t *testing.T) {
	responses, err := taxonomy.Open("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	const (
		system = `{"role":"system","content":"Be short."}`
		first  = `{"role":"user","content":"Hello."}`
		hello  = `{"role":"assistant","content":"Hello!"}`
		asks   = `{"role":"user","content":[{"type":"text","text":"Who built it?"}]}`
		says   = `{"role":"assistant","content":"A mason."}`
		calls  = `{"role":"assistant","content":null,"tool_calls":[{"type":"function","function":{"name":"find","arguments":"{\"q\":1}"}},{"function":{"name":"now"}}]}`
		tool   = `{"role":"tool","tool_call_id":"c1","content":"a mason"}`
		uses   = `{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"find","input":{"q":1}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"a mason"}]},{"type":"tool_result","content":"x"}]}`
		useOne = `{"role":"assistant","content":[{"type":"tool_use","name":"find","input":{}}]}`
		choice = `"choices":[{"index":0,"message":{"role":"assistant","content":"A mason."}}]`
	)
	chat := func(turns ...string) string { return `{"messages":[` + strings.Join(turns, ",") + `]}` }
	for name, c := range map[string]struct {
		line string
		opt  map[string]string
		want string // values, or the begin of the error
	}{
		"one question":          {chat(asks, says), nil, "A mason.|Who built it?"},
		"several turns":         {chat(system, first, hello, asks, says), nil, "A mason.|Who built it?\n\nThe whole conversation:\nsystem: Be short.\nuser: Hello.\nassistant: Hello!\nuser: Who built it?"},
		"turns behind it":       {chat(asks, says, first), nil, "A mason.|Who built it?"},
		"history, own response": {`{"messages":[` + asks + "," + says + "," + first + `],"response":"R"}`, nil, "R|Hello.\n\nThe whole conversation:\nuser: Who built it?\nassistant: A mason.\nuser: Hello."},
		"calls of tools": {chat(first, calls, tool, says), nil, "A mason.|Hello.\n\nThe whole conversation:\nuser: Hello.\n" +
			`assistant calls find({"q":1})` + "\nassistant calls now()\ntool: a mason"},
		"parts that call tools": {chat(first, uses, result, says), nil, "A mason.|Hello.\n\nThe whole conversation:\nuser: Hello.\n" +
			"assistant: I look.\n" + `assistant calls find({"q":1})` + "\ntool: a mason\ntool: x"},
		"text beside a call": {chat(first, uses), nil, "I look.|Hello."},
		"calls alone":        {chat(first, says, asks, calls), nil, "the last turn of the assistant only calls tools and has no text, which the response would be"},
		"parts, calls alone": {chat(first, useOne, result), nil, "the last turn of the assistant only calls tools and has no text, which the response would be"},
		"calls, own response": {`{"messages":[` + first + "," + useOne + `],"response":"R"}`, nil,
			"R|Hello.\n\nThe whole conversation:\nuser: Hello.\nassistant calls find({})"},
		"calls of another kind": {chat(`{"role":"user","content":"a","tool_calls":7}`, says), nil, "A mason.|a"},
		"no user":               {chat(system, says), nil, "A mason.|system: Be short."},
		"own response":          {`{"messages":[` + first + `],"response":"R"}`, nil, "R|Hello."},
		"as a cell of CSV":      {`{"messages":` + strconv.Quote("["+first+", "+says+"]") + `}`, nil, "A mason.|Hello."},
		"no chat, but named":    {`{"messages":"Hi.","response":"R"}`, map[string]string{"instruction": "messages"}, "R|Hi."},
		"prompt is a chat":      {`{"prompt":[` + system + "," + asks + `],"output":"R"}`, nil, "R|Who built it?\n\nThe whole conversation:\nsystem: Be short.\nuser: Who built it?"},
		"named":                 {`{"chat":[` + asks + "," + says + `]}`, map[string]string{"response": "chat", "instruction": "chat"}, "A mason.|Who built it?"},
		"a path":                {`{"request":{"messages":[` + asks + `]},` + choice + `}`, map[string]string{"response": "choices.0.message.content", "instruction": "request.messages"}, "A mason.|Who built it?"},
		"a column with dots":    {`{"a.b":"R","a":{"b":"no"},"prompt":"P"}`, map[string]string{"response": "a.b"}, "R|P"},
		"no assistant":          {chat(asks), nil, "the conversation has no turn of the assistant, which the response would be"},
		"no such place":         {`{"choices":[],"prompt":"P"}`, map[string]string{"response": "choices.0.message.content"}, `in.jsonl: no column "choices.0.message.content"`},
		"no list":               {`{"choices":3,"prompt":"P"}`, map[string]string{"response": "choices.0"}, `in.jsonl: no column "choices.0"`},
		"negative":              {`{"choices":["x"],"prompt":"P"}`, map[string]string{"response": "choices.-1"}, `in.jsonl: no column "choices.-1"`},
		"messages without role": {`{"messages":[{"content":"x"}]}`, nil, `in.jsonl: no columns "response", "instruction"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(c.line+"\n"), "in.jsonl", Options{Taxonomy: responses, Map: c.opt})
			row, err := r.Read()
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = strings.Join(row.Values, "|")
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("got  %s\nwant %s\nnotes %q", got, c.want, r.Notes())
			}
		})
	}
}

// TestChatsAndFields: rows with conversations and rows with fields may stand in one file, in any order.
func TestChatsAndFields(t *testing.T) {
	responses, err := taxonomy.Open("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{`{"messages":[{"role":"user","content":"Q1"},{"role":"assistant","content":"R1"},{"role":"user","content":"x"}]}`,
		`{"response":"R2","instruction":"Q2"}`, `{"response":"R3"}`,
		`{"messages":[{"role":"user","content":"Q4"},{"role":"assistant","content":null,"refusal":"No."}]}`,
		`{"messages":"[{\"role\":\"user\",\"content\":\"Q5\"},{\"role\":\"assistant\",\"content\":\"R5\"}]"}`, `{"messages":"oops"}`}
	want := map[string]string{lines[0]: "R1|Q1", lines[1]: "R2|Q2", lines[2]: `no column "`, lines[3]: "No.|Q4",
		lines[4]: "R5|Q5", lines[5]: `"messages" holds no conversation`}
	for _, order := range [][]int{{0, 1, 2, 3, 4, 5}, {1, 0, 2}} {
		var file []string
		for _, i := range order {
			file = append(file, lines[i])
		}
		r := NewReader(strings.NewReader(strings.Join(file, "\n")), "in.jsonl", Options{Taxonomy: responses})
		for _, line := range file {
			row, err := r.Read()
			if err == nil && strings.Join(row.Values, "|") == want[line] {
				continue
			}
			if err == nil || !strings.Contains(err.Error(), want[line]) {
				t.Errorf("%v, %s: %v, %v", order, line, row, err)
			}
		}
	}
}

// TestLastTurn: encoders read a single request, whatever the conversation was.
func TestLastTurn(t *testing.T) {
	turns := parseChat([]byte(`[{"role":"system","content":"Be short."},{"role":"user","content":"Wer?\n\nBitte."}]`))
	for input, want := range map[string]string{inputText(turns): "Wer?\n\nBitte.", inputText(turns[1:]): "Wer?\n\nBitte.",
		inputText(turns[:1]): "system: Be short.", "": "", "Who?": "Who?"} {
		if got := LastTurn(input); got != want {
			t.Errorf("%q: %q, want %q", input, got, want)
		}
	}
}

// TestTurnsLeftOut: turns behind the assistant's last one are left out, which is said once for the file, by its end.
func TestTurnsLeftOut(t *testing.T) {
	responses, err := taxonomy.Open("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	const asks, says = `{"role":"user","content":"Why?"}`, `{"role":"assistant","content":"So."}`
	lines := `{"messages":[` + asks + "," + says + "]}\n" + strings.Repeat(`{"messages":[`+asks+","+says+","+asks+"]}\n", 2)
	r := NewReader(strings.NewReader(lines), "in.jsonl", Options{Taxonomy: responses})
	for i, want := range []string{"", "left out in 1 conversation, as in line 2; where a call failed",
		"left out in 2 conversations, as in line 2; where a call failed"} {
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Notes(), "|"); !strings.Contains(notes, want) ||
			strings.Contains(notes, "left out in") != (i > 0) {
			t.Errorf("behind row %d: notes %q", i+1, notes)
		}
	}
}

// FuzzChat: no value breaks what takes texts out of it, and a path leads to JSON.
func FuzzChat(f *testing.F) {
	f.Add(`[{"role":"user","content":"a"},{"role":"assistant","content":[{"text":"b"}]}]`, "messages.0.content")
	f.Add(`{"a":[1,null,{"b":""}]}`, "messages.a.2.b")
	f.Add(`[{"role":"assistant","tool_calls":[{"function":{"arguments":{}}}]},{"role":"user","content":[{"type":"tool_result"}]}]`, "")
	f.Add(`null`, "messages..")
	f.Fuzz(func(t *testing.T, value, path string) {
		row, err := RowOf(map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		columns, err := parseObject([]byte(`{"messages":` + value + `}`))
		if err != nil {
			return
		}
		row.columns = columns
		for _, name := range []string{"messages", path} {
			raw, ok := row.Find(name)
			if !ok {
				continue
			}
			if len(raw) == 0 {
				t.Errorf("%q leads to nothing in %s", name, value)
			}
			for _, field := range []string{"response", "instruction", "answer"} {
				c := conversationOf(field, raw)
				if c == nil {
					continue
				}
				if _, err := c.text(field); err != nil && field != "response" {
					t.Errorf("%s: %v", field, err)
				}
			}
		}
	})
}

// TestOffered: a column that may be the answer is named, and not taken.
func TestOffered(t *testing.T) {
	for column, want := range map[string]string{
		"reference": `in.jsonl: no column "answer" in the first row; in rows without it, what needs it is not judged (--map answer=reference takes it from that column)`,
		"other":     `in.jsonl: no column "answer" in the first row; in rows without it, what needs it is not judged (--map answer=COLUMN names one)`,
		"answers":   `in.jsonl: reading answer from "answers", the first text in it (--map FIELD=COLUMN names others)`,
	} {
		t.Run(column, func(t *testing.T) {
			r := NewReader(strings.NewReader(`{"question":"q","passage":"p","`+column+`":{"text":["a"],"answer_start":[0]}}`), "in.jsonl",
				Options{Taxonomy: questions(t)})
			if _, err := r.Read(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.Notes(), "|"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAsAsked(t *testing.T) {
	turns := func(roles ...string) (all []turn) {
		for i, role := range roles {
			all = append(all, turn{Role: role, Content: json.RawMessage(fmt.Sprintf(`"text %d"`, i))})
		}
		return all
	}
	for _, c := range []struct{ told, plain []turn }{
		{turns("system", "user"), turns("system", "user")[1:]},
		{turns("system", "user", "assistant", "user"), turns("system", "user", "assistant", "user")[1:]},
		{turns("user"), turns("user")},
		{turns("user", "assistant", "user"), turns("user", "assistant", "user")},
		{turns("user", "tool"), turns("user")},
		{turns("system", "user", "assistant", "user", "tool"), turns("system", "user", "assistant", "user")[1:]},
	} {
		if got, want := AsAsked(inputText(c.told)), inputText(c.plain); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	for _, text := range []string{"", "system: x", "a\n\nThe whole conversation:\nsystem: alone"} {
		if got := AsAsked(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestOtherParts: a picture is read as what tells it from others, and what a model thinks is no text; a developer's turn
// is one of the system.
func TestOtherParts(t *testing.T) {
	for content, want := range map[string]string{
		`[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"a"}}]`:  "What is it?\n[image_url dc7bd5ee4747]",
		`[{"type":"text","text":"What is it?"},{"type":"image_url", "image_url":{"url":"a"}}]`: "What is it?\n[image_url dc7bd5ee4747]",
		`[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"It is."}]`:               "It is.",
		`[{"type":"tool_use","name":"f","input":{}}]`:                                          "",
	} {
		turns := parseChat(json.RawMessage(`[{"role":"developer","content":` + content + `}]`))
		if got := turns[0].text(); got != want || turns[0].Role != "system" {
			t.Errorf("%s: %q of %s", content, got, turns[0].Role)
		}
	}
}

// TestChatOfOwnFields: of a taxonomy with other names, the fields that a conversation is named for are of it.
func TestChatOfOwnFields(t *testing.T) {
	own := &taxonomy.Taxonomy{Name: "own", Fields: []taxonomy.Field{{Name: "mail"}, {Name: "message"}}}
	const line = `{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Hello."},` +
		`{"role":"assistant","content":"Hello!"}]}`
	named := map[string]string{"mail": "messages", "message": "messages"}
	for _, o := range []Options{{Map: named}, {Recorded: named}} {
		o.Taxonomy = own
		r := NewReader(strings.NewReader(line), "in.jsonl", o)
		row, err := r.Read()
		const want = "Hello!|Hello.\n\nThe whole conversation:\nsystem: Be kind.\nuser: Hello."
		if err != nil || strings.Join(row.Values, "|") != want {
			t.Errorf("%+v: %+v, %v", o, row, err)
		}
		if notes := strings.Join(r.Notes(), "|"); strings.Contains(notes, "another field") {
			t.Error(notes)
		}
	}
}

// TestChatOfPairs: of a pair's two conversations each has a response, and what they answer is the task's.
func TestChatOfPairs(t *testing.T) {
	task := &taxonomy.Taxonomy{Fields: []taxonomy.Field{{Name: "response_a"}, {Name: "response_b"}, {Name: "input"}}}
	turns := func(says string) string {
		return `[{"role":"user","content":"Who built it?"},{"role":"assistant","content":"` + says + `"}]`
	}
	line := `{"conversation_a":` + turns("A mason.") + `,"conversation_b":` + turns("A baker.") + `}`
	r := NewReader(strings.NewReader(line), "in.jsonl", Options{Taxonomy: task,
		Map: map[string]string{"response_a": "conversation_a", "response_b": "conversation_b", "input": "conversation_a"}})
	row, err := r.Read()
	if err != nil || strings.Join(row.Values, "|") != "A mason.|A baker.|Who built it?" {
		t.Errorf("%v, %v", row, err)
	}
}
