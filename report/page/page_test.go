package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestFileHoldsPageAndData(t *testing.T) {
	records := []json.RawMessage{json.RawMessage(`{"a": "</script>"}`), json.RawMessage(`null`)}
	data := `{"catalog":{"title":"</script><script>alert(1)</script>"}}`
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		err := File(w, `</title><script>alert(1)</script>`, `</noscript><script>alert(1)</script>`, []byte(data), records)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("equal data give different files")
	}
	text := first.String()
	for id, want := range map[string]string{"data": data, "records": "{\"a\": \"</script>\"}\nnull"} {
		packed := regexp.MustCompile(`id="` + id + `">([^<]*)</script>`).FindStringSubmatch(text)
		if packed == nil {
			t.Fatal("the file has no", id)
		}
		r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(packed[1])))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != want {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	if err := File(full{}, "", "", nil, records); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
	if !strings.Contains(text, "<pre>&lt;/noscript&gt;") {
		t.Error("what is read without JavaScript is not there, or no text")
	}
	if n := strings.Count(text, "<script"); n != 3+bytes.Count(Script, []byte("<script")) {
		t.Errorf("the file has %d script elements, want data, records and page", n)
	}
	if strings.Contains(text, "unsafe") || !strings.Contains(text, "script-src '"+hash(Script)+"'") {
		t.Error("the policy does not name the script by its hash alone")
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// What ends or changes a script or style element may not stand in one, and a policy without unsafe-eval refuses code
// that is made of text.
func TestScriptCanStandInline(t *testing.T) {
	for _, bad := range []string{"</script", "<!--", "<script", "eval(", "new Function"} {
		if bytes.Contains(bytes.ToLower(Script), []byte(strings.ToLower(bad))) {
			t.Errorf("dist/page.js has %q", bad)
		}
	}
	if bytes.Contains(bytes.ToLower(Style), []byte("</style")) || bytes.Contains(Style, []byte("url(")) {
		t.Error("dist/page.css ends its element, or loads something")
	}
	if bytes.Contains(Script, []byte{'\r'}) || bytes.Contains(Style, []byte{'\r'}) {
		t.Error("a carriage return: browsers hash the text without it")
	}
}

func TestScriptIsSmall(t *testing.T) {
	const most = 120_000 // bytes, as sent, with its style
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(slices.Concat(Script, Style)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > most {
		t.Errorf("dist/page.js and page.css are %d bytes in gzip, want at most %d", packed.Len(), most)
	}
}

func TestServedLinksScriptAndStyle(t *testing.T) {
	text := string(Served())
	for _, want := range []string{`href="/page.css"`, `src="/page.js"`, `id="app"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the document lacks %s", want)
		}
	}
}
