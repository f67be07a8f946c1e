package identifier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// When the language of a text is told. docs/models.md has what these do to rows of English systems.
const (
	lettersLooked   = 600 // characters from a text's begin; more change nothing
	lettersTelling  = 200 // of a shorter text only function words tell another language in the same letters
	sureOfLanguage  = 0.9 // whatlanggo's confidence in another language beside the model's, 0..1
	reasonLanguage  = "language"
	wayAnyLanguages = "--any-language tags it all the same"
)

// languages tell which rows a model does not read. nil reads all.
type languages struct {
	fields []string
	only   int    // the field that counts, or -1
	model  string // its id
	read   map[whatlanggo.Lang]bool
	script map[*unicode.RangeTable]bool // that these are written in
	names  string                       // of read, for people
	short  *lexicon                     // for short texts; nil looks at none
}

// newLanguages is nil for a model that reads every language, or one that the detector does not know.
func newLanguages(m *models.Manifest, t *taxonomy.Taxonomy) *languages {
	l := &languages{fields: t.FieldNames(), only: slices.Index(t.FieldNames(), m.LanguageField), model: m.ID(),
		read: map[whatlanggo.Lang]bool{}, names: m.LanguagesText()}
	for _, code := range m.Languages {
		lang, ok := languageOf(code)
		if !ok {
			return nil
		}
		l.read[lang] = true
		if lang == whatlanggo.Jpn { // a short Japanese text may have Chinese characters alone
			l.read[whatlanggo.Cmn] = true
		}
	}
	if len(l.read) == 0 {
		return nil
	}
	l.script, l.short = scriptsOf(l.read), newLexicon(l.read)
	return l
}

// scriptsOf asks the detector, which has no list of them, about a letter of each script and one language at a time.
func scriptsOf(read map[whatlanggo.Lang]bool) map[*unicode.RangeTable]bool {
	scripts := map[*unicode.RangeTable]bool{}
	for table := range whatlanggo.Scripts {
		letter := firstLetter(table)
		for lang := range read {
			found := whatlanggo.DetectWithOptions(letter, whatlanggo.Options{Whitelist: map[whatlanggo.Lang]bool{lang: true}})
			if found.Lang == lang {
				scripts[found.Script] = true
			}
		}
	}
	return scripts
}

// firstLetter is a letter of a script.
func firstLetter(table *unicode.RangeTable) string {
	for _, r := range table.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			if unicode.IsLetter(c) {
				return string(c)
			}
		}
	}
	return ""
}

// languageOf finds a language by its code of ISO 639-1.
func languageOf(code string) (whatlanggo.Lang, bool) {
	for lang := range whatlanggo.Langs {
		if lang.Iso6391() == code {
			return lang, true
		}
	}
	return 0, false
}

// check says that the field that counts, else the longest one or the one that is judged, is in a language or script
// that the model does not read.
func (l *languages) check(values []string) error {
	if l == nil {
		return nil
	}
	longest := max(l.only, 0)
	for i := range values {
		if l.only < 0 && len(values[i]) > len(values[longest]) {
			longest = i
		}
	}
	text := words.First(dataset.LastTurn(values[longest]), lettersLooked)
	if other := cmp.Or(l.otherScript(text), l.otherLanguage(text)); other != "" {
		return l.unread(longest, other)
	}
	if len([]rune(text)) < lettersTelling {
		if l.only < 0 {
			text = strings.Join(values, "\n") // all are short
		}
		if other := l.short.otherLanguage(text, 1); other != "" {
			return l.unread(longest, other)
		}
	}
	if l.only >= 0 {
		return nil
	}
	judged := words.First(values[0], lettersLooked)
	// beside a long text that the model reads
	if other := cmp.Or(l.otherScript(judged), l.short.otherLanguage(judged, 2)); other != "" {
		return l.unread(0, other)
	}
	return nil
}

func (l *languages) unread(field int, other string) error {
	return fmt.Errorf("%s: the %s is in %s; %s reads %s (%s)", reasonLanguage, l.fields[field], other, l.model, l.names,
		wayAnyLanguages)
}

// otherScript names the letters of text where they are those of no language that the model reads.
func (l *languages) otherScript(text string) string {
	script := whatlanggo.DetectScript(text)
	if script == nil || l.script[script] {
		return ""
	}
	if name := whatlanggo.Scripts[script]; name != "" {
		return name + " script"
	}
	return whatlanggo.Jpn.String() // its two syllabaries are one script, which the list of names lacks
}

// otherLanguage names the language of text where that is long enough to tell, and the model does not read it.
func (l *languages) otherLanguage(text string) string {
	if len([]rune(text)) < lettersTelling {
		return ""
	}
	other := whatlanggo.Detect(text).Lang
	if l.read[other] {
		return ""
	}
	both := map[whatlanggo.Lang]bool{other: true}
	for lang := range l.read {
		both[lang] = true
	}
	beside := whatlanggo.DetectWithOptions(text, whatlanggo.Options{Whitelist: both})
	if beside.Lang != other || beside.Confidence < sureOfLanguage {
		return ""
	}
	return other.String()
}
