package dataset

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/erreval/erreval/dataset/internal/textfile"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func encoded(t testing.TB, encode func(string) (string, error), text string) string {
	t.Helper()
	out, err := encode(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEncodings reads one row in each encoding: named, or found out and said.
func TestEncodings(t *testing.T) {
	const csv, line = "question;answer;passage\nWer führte „Ü“?;Käthe;10 € ß\n", `{"question":"Wer führte „Ü“?","answer":"Käthe","passage":"10 € ß"}` + "\n"
	windows := charmap.Windows1252.NewEncoder().String
	latin9 := charmap.ISO8859_15.NewEncoder().String
	little := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String
	big := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String
	bare := unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String
	const found = "not UTF-8; read as Windows-1252, so see whether letters with accents are right (--encoding names " +
		"another)"
	const marked = "UTF-16, by the byte order mark"
	want := []string{"Wer führte „Ü“?", "Käthe", "10 € ß"}
	for _, c := range []struct {
		name, data, encoding, note string
		want                       []string
	}{
		{"windows.csv", encoded(t, windows, csv), "", found, want},
		{"windows.tsv", encoded(t, windows, strings.ReplaceAll(csv, ";", "\t")), "", found, want},
		{"windows.csv", encoded(t, windows, csv), "cp1252", "", want},
		{"windows.jsonl", encoded(t, windows, line), "Latin1", "", want},
		{"windows.json", encoded(t, windows, "["+line+"]"), "windows-1252", "", want},
		{"latin9.csv", encoded(t, latin9, "question;answer;passage\nä;ö;10 €\n"), "iso-8859-15", "",
			[]string{"ä", "ö", "10 €"}},
		{"japanese.csv", encoded(t, japanese.ShiftJIS.NewEncoder().String, "question,answer,passage\n東京,a,p\n"), "sjis", "",
			[]string{"東京", "a", "p"}},
		{"little.csv", encoded(t, little, csv), "", marked, want},
		{"big.tsv", encoded(t, big, strings.ReplaceAll(csv, ";", "\t")), "", marked, want},
		{"little.jsonl", encoded(t, little, line), "", marked, want},
		{"big.json", encoded(t, big, "["+line+"]"), "utf-16", "", want},
		{"bare.csv", encoded(t, bare, csv), "utf-16le", "", want},
		{"utf-8.csv", csv, "", "", want},
		{"utf-8.csv", csv, "utf8", "", want},
		{"utf-8 with a mark.csv", "\ufeff" + csv, "windows-1252", "", want},
	} {
		o := Options{Taxonomy: questions(t)}
		o.Format, _ = FormatOf(c.name)
		if c.encoding != "" {
			var err error
			if o.Encoding, err = ParseEncoding(c.encoding); err != nil {
				t.Fatal(err)
			}
		}
		for _, in := range []io.Reader{strings.NewReader(c.data), iotest.OneByteReader(strings.NewReader(c.data))} {
			if _, slow := in.(*strings.Reader); !slow && c.note == found {
				continue // of a pipe, what is there counts
			}
			r, err := NewSource(in, "in", o)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			row, err := r.Read()
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if got := strings.Join(row.Values, "|"); got != strings.Join(c.want, "|") {
				t.Errorf("%s as %q: got %s", c.name, c.encoding, got)
			}
			if notes := strings.Join(r.Notes(), "|"); !strings.Contains(notes, c.note) || c.note == "" &&
				strings.Contains(notes, "UTF") {
				t.Errorf("%s as %q: notes %s", c.name, c.encoding, notes)
			}
		}
	}
}

func TestParseEncoding(t *testing.T) {
	for name, want := range map[string]string{
		"windows1252": `there is no encoding "windows1252"; did you mean "windows-1252" or `,
		"hz-gb-2312":  `there is no encoding "hz-gb-2312"; did you mean `, // HTML gives it no characters
		"":            `there is no encoding ""`,
	} {
		if got, err := ParseEncoding(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %q, %v, want %s", name, got, err, want)
		}
	}
	for _, name := range commonEncodings {
		if _, err := ParseEncoding(name); err != nil {
			t.Error(err)
		}
	}
}

// TestEncodingWaitsForNothing: the rows that are there come out while whoever writes the pipe waits.
func TestEncodingWaitsForNothing(t *testing.T) {
	in, w := io.Pipe()
	defer w.Close()
	done := make(chan error, 1)
	go func() {
		r, err := NewSource(in, "in", Options{Taxonomy: questions(t), Format: Format{Name: CSV}, Delimiter: ';'})
		if err == nil {
			_, err = r.Read()
		}
		done <- err
	}()
	if _, err := w.Write([]byte("question;answer;passage\nWer f\xfchrte?;K\xe4the;p\n")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a row that is there does not come out")
	}
}

// TestRawOfDecoded: a rejected line is kept as text, with the bytes that do not fit marked.
func TestRawOfDecoded(t *testing.T) {
	r, err := NewSource(strings.NewReader(head+"f\xfc\x81,a,p\n"), "in.csv", Options{Taxonomy: questions(t),
		Format: Format{Name: CSV}, Encoding: textfile.Windows})
	if err != nil {
		t.Fatal(err)
	}
	_, bad := readAll(t, r)
	if len(bad) != 1 || !bytes.Equal(bad[0].Raw, []byte("fü\xff,a,p")) {
		t.Errorf("got %v", bad)
	}
}
