package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	rows, _ := read(t, `{"b":1.0, "question":"q","answer":"a","passage":"p","a":[1,  2]}`, Options{})
	r := rows[0]
	for _, c := range []struct {
		name  string
		value any
	}{{"b", "<b> & ü"}, {"new", json.RawMessage("[1,\n2]")}} {
		if err := r.Set(c.name, c.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Set("bad", math.NaN()); err == nil || !strings.Contains(err.Error(),
		`column "bad": json: unsupported value: NaN`) {
		t.Errorf("NaN as a value: %v", err)
	}
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := errors.Join(w.Write(r), w.Write(&Row{}), w.Flush()); err != nil {
		t.Fatal(err)
	}
	const want = `{"b":"<b> & ü","question":"q","answer":"a","passage":"p","a":[1,  2],"new":[1,2]}` + "\n{}\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	if got := strings.Join(r.Columns(), " "); got != "b question answer passage a new" {
		t.Errorf("columns %s", got)
	}
}

func TestLabels(t *testing.T) {
	tax := questions(t)
	for _, c := range []struct{ labels, want, fault string }{
		{`"labels":["Off Target Answer","Vague"]`, "Vague|Off Target Answer", ""},
		{`"labels":["OTA","vague"]`, "Vague|Off Target Answer", ""},
		{`"labels":["OTA","vague","Vague"]`, "", `column "labels": the label "Vague" is there twice; keep one of them`},
		{`"labels":"Inc; Vague;Incomplete"`, "", `column "labels": the label "Incomplete" is there twice; keep one of them`},
		{`"labels":"Spell Error; Inc;"`, "Incomplete|Spell Error", ""},
		{`"labels":["OK"]`, "No Error", ""},
		{`"x":1`, "", `no column "labels" with gold labels; the columns are id, x, question, answer, passage`},
		{`"labels":null`, "", `no column "labels" with gold labels; the columns are id, labels, question, answer, passage`},
		{`"labels":[]`, "", `column "labels": no label; write "No Error" for a row in which nothing is wrong`},
		{`"labels":" ; "`, "", `column "labels": no label; write "No Error" for a row in which nothing is wrong`},
		{`"labels":3`, "", `column "labels": want a list of label names, as in ["Vague","Factual Error"], or one text "Vague; Factual Error"`},
		{`"labels":["Vague",null]`, "",
			`column "labels": want a list of label names, as in ["Vague","Factual Error"], or one text "Vague; Factual Error"`},
		{`"labels":["OK","Vague"]`, "",
			`column "labels": "No Error" stands beside other labels; it means that there is none`},
		{`"labels":["Gramar Error"]`, "",
			`column "labels": ` + tax.ID() + ` has no label "Gramar Error"; did you mean "Grammar Error" or "Spell Error"?`},
	} {
		t.Run(c.labels, func(t *testing.T) {
			rows, bad := read(t, with(`"id":"r1",`+c.labels), Options{})
			if len(rows) != 1 {
				t.Fatalf("%d rows, want 1: %v", len(rows), bad)
			}
			labels, err := rows[0].Labels(tax)
			got := strings.Join(labels, "|")
			if err != nil {
				got = err.Error()
			}
			want := c.want
			if c.fault != "" {
				want = "row r1: " + c.fault
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestLabelsWithoutNoError: where the taxonomy has no label for it, none found is an empty list.
func TestLabelsWithoutNoError(t *testing.T) {
	tax := *questions(t)
	tax.Types = tax.Types[:10]
	rows, _ := read(t, with(`"labels":[]`), Options{})
	if labels, err := rows[0].Labels(&tax); err != nil || labels == nil || len(labels) != 0 {
		t.Errorf("got %v, %v, want an empty list", labels, err)
	}
	for text, known := range map[string]bool{`""`: false, `" "`: false, `"[]"`: true, `"(none)"`: true, `[]`: true, `["(none)"]`: true} {
		rows, _ := read(t, with(`"labels":`+text), Options{})
		labels, err := rows[0].Labels(&tax)
		if (err == nil) != known || len(labels) > 0 {
			t.Errorf("%s: %q, %v", text, labels, err)
		}
	}
}

func TestDiagnosis(t *testing.T) {
	for _, c := range []struct{ diagnosis, fault string }{
		{`{"status":"untagged","reason":"too long"}`, ""},
		{`{"labels":["Vague"],"probabilities":{"Vague":0.9,"No Error":0}}`, ""},
		{`{"labels":[]}`, ""}, // of a taxonomy without a no-error label
		{`{}`, `neither "labels" nor a "status"`},
		{`{"labels":["Vague","Incomplete","Vague"]}`, `the label "Vague" is there twice; keep one of them`},
		{`{"labels":["Vague"],"not_judged":["Off Topic","Off Topic"]}`,
			`the label "Off Topic" is there twice; keep one of them`},
		{`{"labels":["Vague"],"truncated":{"passage":-3}}`, `-3 tokens of the passage are truncated; give 0 or more`},
		{`{"status":"lost"}`, `unknown status "lost"; it is "untagged" or absent`},
		{`{"labels":["Vague"],"probabilities":{"Vague":"high"}}`, `probability of "Vague" is "high", not a number`},
		{`{"labels":["Vague"],"probabilities":{"Vague":null}}`, `probability of "Vague" is null, not a number`},
		{`{"labels":["Vague"],"probabilities":{"Vague":1.5}}`, `probability of "Vague" is 1.5, not within 0 and 1`},
		{`{"labels":["Vague"],"probabilities":{"Vague":0.5,"Vague":0.6}}`,
			`the column "Vague" is there twice; keep one of them`},
		{`[]`, `it is not as erreval writes it; a column of the file's own needs another name`},
		{`"flu"`, `it is not as erreval writes it; a column of the file's own needs another name`},
	} {
		rows, _ := read(t, with(`"id":"r1","diagnosis":`+c.diagnosis), Options{})
		d, err := rows[0].Diagnosis()
		switch {
		case c.fault == "" && (err != nil || d == nil):
			t.Errorf("%s: %v", c.diagnosis, err)
		case c.fault != "" && (err == nil || err.Error() != `row r1: column "diagnosis": `+c.fault):
			t.Errorf("%s:\ngot  %v\nwant %s", c.diagnosis, err, c.fault)
		}
	}
	for _, text := range []string{good, with(`"diagnosis":null`)} {
		rows, _ := read(t, text, Options{})
		if d, err := rows[0].Diagnosis(); d != nil || err != nil {
			t.Errorf("%s: %v, %v, want neither", text, d, err)
		}
	}
}

func TestProbabilities(t *testing.T) {
	p := Probabilities{{"Z", 0.123456789}, {"A", 1}, {"M", 1.23456789e-7}, {"0", 0}, {"T", 1e-320}, {"N", 0.9999999}}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Z":0.123457,"A":1,"M":1.23457e-7,"0":0,"T":0,"N":1}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	var back Probabilities
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if v, ok := back.Get("A"); v != 1 || !ok || back[0].Label != "Z" {
		t.Errorf("came back as %v", back)
	}
	if _, ok := back.Get("none"); ok {
		t.Error("a label that is not there has a probability")
	}
	for _, v := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1)} {
		if _, err := json.Marshal(Probabilities{{"A", v}}); err == nil {
			t.Errorf("probability %v was written", v)
		}
	}
}

// A row without an id is called by the hash of its text, which other programs can make as well.
func TestTextSHA256(t *testing.T) {
	rows, _ := read(t, `{"question":"Who?","answer":"a","passage":"","id":""}`, Options{}) // an empty id is none
	// printf '\0\0\0\0\0\0\0\4Who?\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\0' | sha256sum
	const want = "063a9109d73db4e6281079efa52282606bf801f68a13a00929e08244325ee5e5"
	if got := TextSHA256(rows[0].Values); got != want || rows[0].ID != want {
		t.Errorf("%s, id %s, want %s", got, rows[0].ID, want)
	}
}
