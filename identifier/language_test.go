package identifier_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
)

const (
	english = "The harbour bridge was begun in 1926 and opened to traffic in 1931. It carried trams until 1958, when " +
		"the rails were lifted. Since then cars and buses have used all six lanes, and people walk on the eastern side."
	french = "Le pont du port a été commencé en 1926 et ouvert à la circulation en 1931. Il a porté des tramways " +
		"jusqu'en 1958, année où les rails ont été retirés. Depuis, les voitures et les autobus utilisent les six voies."
	german = "Die Hafenbrücke wurde 1926 begonnen und 1931 für den Verkehr geöffnet. Bis 1958 fuhren Straßenbahnen " +
		"darüber, dann wurden die Schienen entfernt. Seitdem nutzen Autos und Busse alle sechs Spuren der Brücke."
	arabic   = "بدأ بناء جسر الميناء عام 1926 وافتتح أمام حركة المرور عام 1931."
	hebrew   = "בניית גשר הנמל החלה בשנת 1926 והוא נפתח לתנועה בשנת 1931."
	chinese  = "海港大桥于一九二六年动工，一九三一年通车。"
	japanese = "港の橋は1926年に着工し、1931年に開通しました。"
)

func TestLanguage(t *testing.T) {
	for name, c := range map[string]struct {
		reads  []string
		values []string
		any    bool
		want   string // begin of the reason; "" is tagged
		field  string // the model's language_field
	}{
		"one field counts":         {[]string{"en"}, []string{"When did it open?", "in 1931", french}, false, "", "question"},
		"another does not":         {[]string{"en"}, []string{"متى افتتح الجسر؟", "in 1931", english}, false, "", "passage"},
		"one field, in Arabic":     {[]string{"en"}, []string{"متى افتتح الجسر؟", "in 1931", english}, false, "language: the question is in Arabic script; ", "question"},
		"English":                  {[]string{"en"}, []string{"When did it open?", "in 1931", english}, false, "", ""},
		"French":                   {[]string{"en"}, []string{"Quand a-t-il ouvert ?", "en 1931", french}, false, "language: the passage is in French; ", ""},
		"German":                   {[]string{"en"}, []string{"Wann wurde sie geöffnet?", "1931", german}, false, "language: the passage is in German; ", ""},
		"Arabic, short":            {[]string{"en"}, []string{"متى افتتح الجسر؟", "1931", arabic}, false, "language: the passage is in Arabic script; ", ""},
		"Hebrew, short":            {[]string{"en"}, []string{"מתי נפתח?", "1931", hebrew}, false, "language: the passage is in Hebrew script; ", ""},
		"Chinese, short":           {[]string{"en"}, []string{"何时通车？", "1931", chinese}, false, "language: the passage is in Han script; ", ""},
		"Japanese, short":          {[]string{"en"}, []string{"いつ？", "1931", japanese}, false, "language: the passage is in Japanese; ", ""},
		"judged field alone":       {[]string{"en"}, []string{"متى افتتح الجسر؟", "in 1931", english}, false, "language: the question is in Arabic script; ", ""},
		"answer alone":             {[]string{"en"}, []string{"What is Okinawa in Japanese?", "沖縄", english}, false, "", ""},
		"names among English":      {[]string{"en"}, []string{"Who?", "a", english + " (" + arabic + ")"}, false, "", ""},
		"French, too short":        {[]string{"en"}, []string{"Ouvert ?", "1931", "Le pont ouvert."}, false, "", ""},
		"French, one telling word": {[]string{"en"}, []string{"Quand ?", "1931", "Pont ouvert."}, false, "language: the passage is in French; ", ""},
		"German, words of English": {[]string{"en"}, []string{"Was kostet das Abo?", "5", english}, false, "language: the question is in German; ", ""},
		"English, a telling word":  {[]string{"en"}, []string{"Who sang Warum?", "Abba", english}, false, "", ""},
		"French, short": {[]string{"en"}, []string{"Qui a construit le pont ?", "la ville", "La ville a construit le pont " +
			"qui est sur le fleuve."}, false, "language: the passage is in French; ", ""},
		"a short request in Dutch": {[]string{"en"}, []string{"Geef me een lijst van de rivieren die naar zee gaan.", "a", english},
			false, "language: the question is in Dutch; ", "question"},
		"English with names": {[]string{"en"}, []string{"Who wrote Die Welle and La vie est belle?", "a", "Die Welle was " +
			"written by the author of La vie est belle."}, false, "", ""},
		"short, words not known": {[]string{"en", "et"}, []string{"Qui a construit le pont ?", "la ville", "Elle est dans la " +
			"ville."}, false, "", ""},
		"no letters":              {[]string{"en"}, []string{"1 + 1 = ?", "2", "1 + 1 = 2"}, false, "", ""},
		"not UTF-8":               {[]string{"en"}, []string{"a", "b", strings.Repeat("\xff", 700)}, false, "passage: ", ""},
		"any language":            {[]string{"en"}, []string{"Quand ?", "en 1931", french}, true, "", ""},
		"a model of any":          {nil, []string{"Quand ?", "en 1931", french}, false, "", ""},
		"a model of two":          {[]string{"en", "fr"}, []string{"Quand ?", "en 1931", french}, false, "", ""},
		"two, and a third":        {[]string{"en", "fr"}, []string{"Wann?", "1931", german}, false, "language: the passage is in German; ", ""},
		"a model of Chinese":      {[]string{"zh"}, []string{"When?", "in 1931", english}, false, "language: the passage is in Latin script; ", ""},
		"a language nobody tells": {[]string{"en", "cy"}, []string{"Quand ?", "en 1931", french}, false, "", ""},
		"Japanese, Han alone":     {[]string{"ja"}, []string{"何年?", "1931", "港橋開通年"}, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, batch := range []int{0, 4096} {
				d := tagOne(t, c.reads, c.field, c.any, batch, c.values)
				if c.want == "" && d.Status != "" || !strings.HasPrefix(d.Reason, c.want) {
					t.Errorf("batches of %d tokens: %q %q; want the reason %q", batch, d.Status, d.Reason, c.want)
				}
				if strings.HasPrefix(c.want, "language") && !strings.Contains(d.Reason, "--any-language") {
					t.Errorf("%q does not say what to do", d.Reason)
				}
			}
		})
	}
}

// tagOne tags a row with a model that finds no error.
func tagOne(t *testing.T, reads []string, field string, every bool, batch int, values []string) *dataset.Diagnosis {
	t.Helper()
	var got *dataset.Diagnosis
	o := identifier.DefaultOptions()
	o.AnyLanguage, o.BatchTokens = every, batch
	m := open(t, "bert", models.JoinFields)
	m.Manifest.Languages, m.Manifest.LanguageField = reads, field
	id, err := identifier.New(m, questions(t), fake(func(context.Context, identifier.Input, []float32) error {
		return nil
	}), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := []*dataset.Row{{ID: "1", Values: values}}
	err = id.Identify(t.Context(), func() (*dataset.Row, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		defer func() { rows = nil }()
		return rows[0], nil
	}, func(_ *dataset.Row, d *dataset.Diagnosis) error { got = d; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return got
}
