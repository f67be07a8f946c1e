package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// TestColumns: a column that a file lacks is one fault; one that single rows lack is theirs.
func TestMissingColumns(t *testing.T) {
	lacking := `{"question":"q","answer":"a"}` + "\n"
	for _, c := range []struct {
		name, data string
		opt        Options
		want       string // the fault, or "" where reading goes on
		rows, bad  int
	}{
		{"none.csv", "Frage;Antwort;Absatz\nq;a;p\nq;a;p\n", Options{},
			`none.csv: no columns "question", "passage"; the columns are Frage, Antwort, Absatz; name those that hold them, as in: --map question=COLUMN --map passage=COLUMN (and, where there is one, --map answer=COLUMN)`, 0, 0},
		{"typo.csv", "Frage,passage\nq,p\n", Options{Map: map[string]string{"question": "Farge"}},
			`typo.csv: no column "Farge"; the columns are Frage, passage; name the one that holds the question with --map question=Frage`, 0, 0},
		{"optional.csv", "question,passage\nq,p\n", Options{Map: map[string]string{"answer": "key"}},
			`optional.csv: no column "key"; the columns are question, passage; name the one that holds the answer with --map answer=COLUMN`, 0, 0},
		{"after a bad line.tsv", "Frage\tpassage\nq\nq\tp\n", Options{},
			`after a bad line.tsv: no column "question"; the columns are Frage, passage; `, 0, 1},
		{"no rows.csv", "Frage,passage\n", Options{}, "", 0, 0},
		{"all.jsonl", strings.Repeat(lacking, 30), Options{},
			`all.jsonl: no column "passage" in the first 20 rows; the columns are question, answer; `, 0, 0},
		{"few.jsonl", lacking + "no row\n" + lacking, Options{}, `few.jsonl: no column "passage" in the first 2 rows; `, 0,
			0},
		{"empty.jsonl", "{}", Options{},
			`empty.jsonl: no columns "question", "passage" in the first row; the row has no columns; `, 0, 0},
		{"twentieth.jsonl", strings.Repeat(lacking, 19) + good + "\n" + lacking, Options{}, "", 1, 20},
		{"first.json", "[" + strings.TrimSpace(lacking) + ",\n" + good + "]", Options{}, "", 1, 1},
		{"broken.json", "[" + strings.TrimSpace(lacking) + ", ]", Options{}, "broken.json: item 2: not JSON: ", 0, 1},
	} {
		f, _ := FormatOf(c.name)
		c.opt.Format, c.opt.Taxonomy = f, questions(t)
		r, err := NewSource(strings.NewReader(c.data), c.name, c.opt)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		rows, bad, err := readErr(r)
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.HasPrefix(err.Error(), c.want)) ||
			rows != c.rows || len(bad) != c.bad {
			t.Errorf("%s: %d rows, %d bad lines\ngot  %v\nwant %s", c.name, rows, len(bad), err, c.want)
		}
		if missing := new(ColumnsError); errors.As(err, &missing) && errors.As(err, new(*LineError)) {
			t.Errorf("%s: the fault of the file is one of a line", c.name)
		}
	}
}

// TestRecorded: columns that the run before read are taken where nothing else names them, and there are any.
func TestRecorded(t *testing.T) {
	o := Options{Recorded: map[string]string{"question": "Frage", "passage": "Absatz"}}
	for _, c := range []struct {
		line string
		opt  map[string]string
		want string
	}{
		{`{"Frage":"q","answer":"a","Absatz":"p","text":"t"}`, nil,
			"q a p"},
		{`{"Frage":"q","answer":"a","passage":"own","Absatz":"p","other":"o"}`,
			map[string]string{"question": "other"},
			"o a p"},
		{`{"question":"q","answer":"a","text":"t"}`, nil,
			`q a t|in.jsonl: reading passage from "text" (--map FIELD=COLUMN names others)`},
	} {
		o.Taxonomy, o.Map = questions(t), c.opt
		r := NewReader(strings.NewReader(c.line), "in.jsonl", o)
		row, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(append([]string{strings.Join(row.Values, " ")}, r.Notes()...), "|"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.line, got, c.want)
		}
	}
}

// TestListOfTexts: of a list with several texts none is taken for a field that every row needs, though one of an answer
// is, as SQuAD has them.
func TestListOfTexts(t *testing.T) {
	o := Options{Taxonomy: questions(t), Map: map[string]string{"passage": "pg", "answer": "key"}}
	for line, want := range map[string]string{
		`{"question":"q","key":["a","b"],"pg":["One.","Two."]}`: `"pg" holds a list of 2, and the passage is one text`,
		`{"question":"q","key":["a","b"],"pg":["One."]}`:        "",
	} {
		row, err := NewReader(strings.NewReader(line), "in.jsonl", o).Read()
		if want == "" && (err != nil || strings.Join(row.Values, " ") != "q a One.") || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", line, row, err)
		}
	}
}

// TestNoText: what stands for no text is said to be read as one, of the text under evaluation, and before it is tagged
// of fields that a row may lack.
func TestNoText(t *testing.T) {
	for line, want := range map[string]string{
		`{"question":"q","answer":" N/A ","passage":"p"}`: `in.jsonl: 2 rows have " N/A " or the like in answer, ` +
			`which is read as a text (first in line 1): leave it empty where there is none`,
		`{"question":"nano","answer":"nano","passage":"-"}`: "",
		`{"question":"q","answer":"a","passage":"n/a"}`: `in.jsonl: 2 rows have "n/a" or the like in passage, which is read ` +
			`as a text (first in line 1): leave it empty where there is none`,
		`{"question":"nan","answer":"a","passage":"p","diagnosis":{"labels":[]}}`: `in.jsonl: 2 rows have "nan" or the like ` +
			`in question, which is read as a text (first in line 1): leave it empty where there is none`,
		`{"question":"q","answer":"-","passage":"p","diagnosis":{"labels":[]}}`: "",
	} {
		r := NewReader(strings.NewReader(line+"\n"+line), "in.jsonl", Options{Taxonomy: questions(t), CopiesSaid: true})
		if _, _, err := readErr(r); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Notes(), "|"); notes != want {
			t.Errorf("%s: %s", line, notes)
		}
	}
}

// TestOneWord: a field of which every text is one word is doubted, but not one with an empty text, or with one in a
// language without spaces.
func TestOneWord(t *testing.T) {
	for _, c := range []struct {
		before int
		last   string
		want   bool
	}{{9, "Müller", true}, {8, "Ann", false}, {9, " Or two. ", false}, {9, " ", false}, {9, "何时通车？", false},
		{9, strings.Repeat("x", 61), false}} {
		line := `{"question":"Q 1?","answer":"a","passage":"p1"}` + "\n"
		text := strings.Repeat(line, c.before) + strings.ReplaceAll(line, "p1", c.last)
		r := NewReader(strings.NewReader(text), "in.jsonl", Options{Taxonomy: questions(t)})
		if _, _, err := readErr(r); err != nil {
			t.Fatal(err)
		}
		const note = `the passage of every row is one word, as "p1": if the text stands elsewhere, name its column`
		notes := strings.Join(r.Notes(), "|")
		if strings.Contains(notes, note) != c.want {
			t.Errorf("%d and %q: notes %q", c.before, c.last, notes)
		}
	}
}

// TestOptions: an answer that is the name of an option is doubted, a number only where the row has options.
func TestOptions(t *testing.T) {
	for answer, want := range map[string][2]bool{"B": {true, true}, "(c)": {true, true}, "D.": {true, true},
		"a": {false, true}, "2)": {false, true}, "3": {false, true}, "9": {}, "vitamin C": {}, "Bo": {}, "": {}} {
		for i, more := range []string{"", `,"Option A":"x","Option B":"y"`} {
			text := fmt.Sprintf(`{"question":"Q 1?","answer":%q,"passage":"p 1"%s}`+"\n", answer, more)
			r := NewReader(strings.NewReader(strings.Repeat(text, 2)), "in.jsonl", Options{Taxonomy: questions(t)})
			if _, _, err := readErr(r); err != nil {
				t.Fatal(err)
			}
			note := fmt.Sprintf(`2 rows have %q or the like in answer, which is read as a text (first in line 1): if that `+
				`stands for an option, put its text there, or name a column that has it with --map answer=COLUMN`, answer)
			if notes := strings.Join(r.Notes(), "|"); strings.Contains(notes, note) != want[i] {
				t.Errorf("%q%s: notes %q", answer, more, notes)
			}
		}
	}
}

// TestExchanged: passages that are mostly no longer than their questions are doubted.
func TestExchanged(t *testing.T) {
	const line = `{"question":"%s","passage":"%s"}` + "\n"
	short, long := "Who built it?", "It was built by Ann in 1802."
	for n, want := range map[int]bool{5: false, 6: true} {
		text := strings.Repeat(fmt.Sprintf(line, long, short), n) + strings.Repeat(fmt.Sprintf(line, short, long), 10-n)
		r := NewReader(strings.NewReader(text), "in.jsonl", Options{Taxonomy: questions(t)})
		if _, _, err := readErr(r); err != nil {
			t.Fatal(err)
		}
		const note = "in 6 of 10 rows the passage is no longer than the question: are their columns exchanged?"
		notes := strings.Join(r.Notes(), "|")
		if strings.Contains(notes, note) != want {
			t.Errorf("%d: %s", n, notes)
		}
	}
}

// TestEndingIn: the last word of a heading is a kind of the field, but not where it says what something is of.
func TestEndingIn(t *testing.T) {
	for columns, want := range map[string]string{"source passage": "source passage", "Type of passage": "",
		"passage type": "", "probability.Not A passage": "", "a passage|b passage": ""} {
		if got, ok := endingIn("passage", strings.Split(columns, "|"), nil); got != want || ok != (want != "") {
			t.Errorf("%s: %q", columns, got)
		}
	}
}

// TestSameText: a text of several words that many rows have for different inputs may be the message of a failed call.
func TestSameText(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		passage string
		rows    int // of 100
		want    string
	}{
		"a message": {"The quota is used up", "A passage with several words, numbered %d", 3,
			`in.jsonl: 3 rows of different inputs have the same question, "The quota is used up" (as in line 2): leave`},
		"two rows":   {"The quota is used up", "A passage with several words, numbered %d", 2, ""},
		"one input":  {"The quota is used up", "A passage with several words", 3, ""},
		"two words":  {"Yes, sir", "A passage with several words, numbered %d", 50, ""},
		"few of all": {"The quota is used up", "A passage with several words, numbered %d", 3, ""},
	} {
		var lines strings.Builder
		all := map[bool]int{true: 200, false: 100}[name == "few of all"]
		for i := range all {
			text, passage := fmt.Sprint("Which one is ", i), c.passage
			if strings.Contains(passage, "%") {
				passage = fmt.Sprintf(passage, i)
			}
			if i < c.rows {
				text = c.text
			}
			fmt.Fprintf(&lines, `{"question":%q,"answer":"a","passage":%q}`+"\n", text, passage)
		}
		r := NewReader(strings.NewReader(lines.String()), "in.jsonl", Options{Taxonomy: questions(t), CopiesSaid: true})
		if _, _, err := readErr(r); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Notes(), "|"); !strings.HasPrefix(notes, c.want) || (notes == "") != (c.want == "") {
			t.Errorf("%s: %s", name, notes)
		}
	}
}

// TestFailedCalls: messages of calls that failed are no texts, and refusals where the task knows none.
func TestFailedCalls(t *testing.T) {
	tasks := map[string]*taxonomy.Taxonomy{"question-generation": questions(t)}
	var err error
	if tasks["instruction-following"], err = taxonomy.Builtin("instruction-following"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]bool{ // of either task
		"Error code: 429 - {'error': {'message': 'Rate limit reached, try again in 607ms'}}": {true, true},
		"ERROR": {true, true}, "[]": {true, true}, `{"error": "timeout"}`: {true, true}, "timeout": {true, true},
		"Cannot generate a question.": {true, true}, "503 Server Error": {true, true}, "<empty response>": {true, true},
		"I'm sorry, but I cannot do that.": {true, false}, "As an AI language model, I cannot": {true, false},
		"Who failed?": {false, false}, "Erroneous claims were made by whom?": {false, false}, "No": {false, false},
		"Can't birds fly?": {false, false}, "Is 429 a prime?": {false, false},
	} {
		for k, name := range []string{"question-generation", "instruction-following"} {
			r := &Reader{opt: Options{Taxonomy: tasks[name]}}
			if got := r.isFailed(text); got != want[k] {
				t.Errorf("%s: %s: %v", name, text, got)
			}
		}
	}
}

// TestBesideQuestion: options, numbers and points are no part of a question; a passage is longer than its question.
func TestBesideQuestion(t *testing.T) {
	const passage = "The mill was built in 1911 by Ana, and it burned down in 1938."
	for text, want := range map[string]string{
		"How many rooms?\nA) one\nB) two": "options, a number", "Who built it? a. Ana b. Ben": "options, a number",
		"1. Who built it?": "options, a number", "Q3: Who built it?": "options, a number", "12) Who?": "options, a number",
		"**Question 4:** Who?": "options, a number", "Who built it? (2 points)": "options, a number", "Who built it?": "",
		"1938 was the year of what?": "", "Who was born in 1911 (a. D.)?": "", "What is a. and what is b. in it?": "",
		passage + " " + passage: "exchanged",
	} {
		line, err := json.Marshal(map[string]string{"question": text, "answer": "Ana", "passage": passage})
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(strings.NewReader(strings.Repeat(string(line)+"\n", 12)), "in.jsonl",
			Options{Taxonomy: questions(t), CopiesSaid: true})
		if _, _, err := readErr(r); err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Notes(), "|"); !strings.Contains(notes, want) || (notes == "") != (want == "") {
			t.Errorf("%s: %s", text, notes)
		}
	}
	lines := strings.Repeat(`{"question":"Who built it?","answer":"Ana","passage":"`+passage+"\"}\n", 12) +
		`{"question":"Who built it?","answer":"Ana","passage":"see p. 12"}`
	r := NewReader(strings.NewReader(lines), "in.jsonl", Options{Taxonomy: questions(t), CopiesSaid: true})
	if _, _, err := readErr(r); err != nil {
		t.Fatal(err)
	}
	const want = `in.jsonl: in 1 of 13 rows the passage is no longer than the question, as "see p. 12" (first in line 13): put`
	if notes := strings.Join(r.Notes(), "|"); !strings.HasPrefix(notes, want) {
		t.Error(notes)
	}
}
