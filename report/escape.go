package report

import (
	"strings"

	"github.com/erreval/erreval/internal/words"
)

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"](", `]\(`, "~", `\~`)

// escapeMarkdown makes one line of a text that a Markdown page shows as it is. Table renders "|" itself.
func escapeMarkdown(s string) string { return markdownEscapes.Replace(words.Printable(s)) }
