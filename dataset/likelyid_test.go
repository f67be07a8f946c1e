package dataset

import (
	"strings"
	"testing"
)

func TestNamesID(t *testing.T) {
	for _, name := range []string{"Frage Nr", "Nr.", "No.", "Question #", "item_no", "questionId", "row-id",
		"Laufnummer", "N°",
		"Item Number", "QUESTION_ID", "qID"} {
		if !namesID(name) {
			t.Errorf("%q is no id", name)
		}
	}
	for _, name := range []string{"", "#1 choice", "grid", "question", "paid", "note", "no answer", "Numbering", "."} {
		if namesID(name) {
			t.Errorf("%q is an id", name)
		}
	}
}

// TestLikelyID: a column is proposed for the id where its name and its values fit, and no row is read differently.
func TestLikelyID(t *testing.T) {
	const table = "Absatz Nr,Frage Nr.,question,answer,passage\n1,1,q,a,p\n1,2,q2,a,p\n"
	const note = `no column "id"; "Frage Nr." looks like one (--id 'Frage Nr.' takes it)`
	for name, c := range map[string]struct {
		text string
		opt  Options
		want bool
	}{
		"unique":   {table, Options{}, true},
		"given":    {table, Options{ID: []string{"question"}}, false},
		"none":     {table, Options{ID: []string{NoID}}, false},
		"recorded": {table, Options{RecordedID: []string{NoID}}, false},
		"alone":    {table, Options{Alone: true}, false},
		"a server": {table, Options{MapOption: "?map="}, false},
		"a field":  {table, Options{Map: map[string]string{"answer": "Frage Nr."}}, false},
		"repeated": {table + "1,2,q3,a,p\n", Options{}, false},
		"empty":    {table + "1,,q3,a,p\n", Options{}, false},
		"one row":  {table[:strings.LastIndex(table, "1,2")], Options{}, false},
		"an id":    {strings.Replace(table, "Absatz Nr", "id", 1), Options{}, false},
		"an ID":    {strings.Replace(table, "Absatz Nr", "ID", 1), Options{}, false},
		"tagged":   {strings.Replace(table, "Absatz Nr", "diagnosis", 1), Options{}, false},
	} {
		c.opt.Taxonomy, c.opt.Format = questions(t), Format{Name: CSV}
		r, err := NewSource(strings.NewReader(c.text), "in.csv", c.opt)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := readErr(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		notes := strings.Join(r.Notes(), "|")
		if strings.Contains(notes, "looks like one") != c.want || c.want && !strings.Contains(notes, note) {
			t.Errorf("%s: notes %s", name, notes)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}
