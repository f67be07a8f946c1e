// Package page holds the page that shows rows in a browser. It has the program in src, built into dist by make page,
// the document that a server gives for it, and report files, in which page and data are one file.
package page

import (
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // dist
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
)

// Script is the whole program. It asks the server that gave the page, unless the document holds data.
//
//go:embed dist/page.js
var Script []byte

// Style is the style sheet.
//
//go:embed dist/page.css
var Style []byte

// Policy is the Content-Security-Policy of a served page. Nothing is loaded from elsewhere, and no text becomes markup
// or program.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
	always +
	"; frame-ancestors 'none'"

const always = "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

const (
	head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
`
	middle = `<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
`
	body = `</head>
<body>
<div id="app"><noscript>This page shows its rows with JavaScript, which is switched off.%s</noscript></div>
`
	tail = "</body>\n</html>\n"
)

// Served is the document of a server that has Script at /page.js, Style at /page.css, and the answers under /view/.
func Served() []byte {
	return []byte(head + middle + "<title>erreval</title>\n<link rel=\"stylesheet\" href=\"/page.css\">\n" +
		fmt.Sprintf(body, "") + "<script src=\"/page.js\"></script>\n" + tail)
}

// File writes a report file: page, data (the JSON of view.Data without its records) and records, in one document that
// opens offline. Records are most of it, and the first view needs none: they are unpacked later. None has a line break.
// Where there is no JavaScript, as in the preview of a mail, summary stands there. Equal texts, data and records give
// equal bytes. The errors are those of w.
func File(w io.Writer, title, summary string, data []byte, records []json.RawMessage) error {
	policy := fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; %s",
		hash(Script), hash(Style), always)
	_, err := fmt.Fprintf(w, head+"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"+middle+
		"<title>%s</title>\n<style>%s</style>\n"+body, policy, html.EscapeString(title), Style,
		"\n<pre>"+html.EscapeString(summary)+"</pre>")
	if err != nil {
		return err
	}
	if err := writePacked(w, "data", "", data); err != nil {
		return err
	}
	if err := writePacked(w, "records", "\n", records...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "<script>%s</script>\n%s", Script, tail)
	return err
}

// writePacked writes texts, with a separator between them, as a packed element.
func writePacked[T ~[]byte](w io.Writer, id, between string, texts ...T) error {
	if _, err := fmt.Fprintf(w, "<script type=\"application/gzip+base64\" id=%q>", id); err != nil {
		return err
	}
	text := base64.NewEncoder(base64.StdEncoding, w)
	packed := gzip.NewWriter(text)
	for i, one := range texts {
		if i > 0 {
			_, _ = io.WriteString(packed, between) // Close says what went wrong
		}
		_, _ = packed.Write(one)
	}
	if err := errors.Join(packed.Close(), text.Close()); err != nil {
		return err
	}
	_, err := io.WriteString(w, "</script>\n")
	return err
}

// hash is what a policy calls an inline script or style by.
func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
