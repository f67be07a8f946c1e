package report

import (
	"strings"

	"github.com/erreval/erreval/internal/words"
)

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">",
	"&gt;", "&", "&amp;",
	"](", `]\(`, "~", `\~`)

// escapeMarkdown makes a text one line, and escapes it so that a Markdown page shows it unchanged. Table escapes "|"
// itself.
func escapeMarkdown(s string) string { return markdownEscapes.Replace(words.Printable(s)) }
