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
	wayAnyLanguages = "--any-language tags it all the same, as a guess"
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

// functionWords are frequent words, by ISO 639-1: what tells the language of a text that is too short for whatlanggo,
// besides tellingWords.
// docs/models.md has how often that is right.
var functionWords = map[string]string{
	"en": "the of and to was were what who which how when where why did does are that with by from for is it he " +
		"she they i his her at this be has had have an do in a or as on not can you your my me we our will " +
		"would should could if there give write make some any all one about into than then them their no but " +
		"so",
	"fr": "comment c l il mon ma le en la les des du une est et dans que pour avec sur été ont aux ce son se moi " +
		"un pas nous ne",
	"de": "die es noch auch bei der das und wurde mit dem den ein eine einen auf viele zu von im sich für des sie " +
		"wo mir bitte wir",
	"es": "como hay cuesta el la los las del una en para por se su que y es fue desde un mi",
	"it": "come dove mio mia l la c il gli che chi della delle nel nella per una si fu di più suo nei un mi scrivi",
	"pt": "como o os da dos das uma que em para por se foi na ao seu mais um escreva",
	"nl": "nog ook bij een van de en dat die hoe werd met voor niet op deze wat der er hun kun mij je",
	"pl": "i w z się na nie jest że jak do od po czy który która które kto co gdzie kiedy dlaczego ile był była było " +
		"przez dla oraz przy są tym jego jej mi",
	"cs": "a v se na je že jak do od po který která které kdo co kde kdy proč kolik byl byla bylo pro při jsou jeho " +
		"její z mi ve si",
	"sv": "och att det som en ett är av på med för den till inte var vad vem när hur varför vilken vilket från har " +
		"hade jag du kan mig de sin",
	"da": "og at det som en et er af på med for den til ikke var hvad hvem hvornår hvor hvordan hvorfor " +
		"hvilken hvilket fra har havde jeg du kan mig de sin blev",
	"fi": "ja on ei oli että mikä mitä kuka missä milloin miten miksi kuinka joka hän se ne myös mutta kun ovat " +
		"tämä voit minulle",
	"ro": "și în de la cu pe nu este a fost care cine ce unde când cum câte din pentru o un mai sunt se lui ei îmi să " +
		"al ale",
	"hu": "a az és hogy nem van volt ki mi hol mikor miért hány melyik egy ez meg is mint aki ami nekem milyen",
	"tr": "ve bir bu için ne kim nerede nasıl neden kaç hangi ile de da olan olarak daha değil mi gibi sonra kadar " +
		"bana zaman",
	"id": "dan yang di ke dari untuk dengan ini itu tidak adalah apa siapa mana kapan bagaimana mengapa berapa pada " +
		"oleh dalam akan telah saya anda bisa",
	"vi": "và của là có không cho được một các những này đó ở với khi nào ai gì sao bao nhiêu trong người đã tôi bạn",
}

// tellingWords are words of short questions that English does not have: one of them is enough where no English word
// stands beside it.
var tellingWords = map[string]string{
	"fr": "combien pourquoi quand quel quelle quels quelles où qui quoi lequel laquelle faut peut peux puis " +
		"avez êtes vous sont cette ça je qu",
	"de": "wann warum wieso weshalb wer wem wen wie woher wohin womit wofür welche welcher welches welchen " +
		"welchem ist sind wird werden gibt kostet habt haben kann kannst können muss darf ich nicht mein " +
		"meine meinen",
	"es": "¿ cuánto cuánta cuántos cuántas cuándo dónde adónde cómo qué quién " + //nolint:misspell // Spanish
		"quiénes cuál cuáles cuanto cuantos cuando donde quien cual puedo puedes tengo tienes tienen está están",
	"it": "quanto quanta quanti quante quando perché quale quali qual cosa posso puoi può è sono avete " +
		"siete questo questa anche",
	"pt": "quanto quanta quantos quantas quando onde quem qual quais você vocês não há é são está posso " +
		"preciso pode meu minha",
	"nl": "hoeveel wanneer waarom waar waarheen welke wie zijn heb hebben heeft mijn jullie moet mag ik geen het",
}

// alsoEnglish are function words that are English ones, too, by the other language: they speak for neither of the two.
var alsoEnglish = map[string]string{
	"fr": "a as me on", "de": "was in an so will", "es": "a me no", "it": "a i in", "pt": "a as do no me",
	"nl": "is in of me we had",
}

// lexicon has the function words of the languages that a model reads, and of others. A telling word has the weight 2,
// one that is English, too, 0.
type lexicon struct {
	own    []map[string]int
	others map[whatlanggo.Lang]map[string]int
}

// newLexicon is nil where the words of a language that the model reads are not known.
func newLexicon(read map[whatlanggo.Lang]bool) *lexicon {
	l := &lexicon{others: map[whatlanggo.Lang]map[string]int{}}
	for code, text := range functionWords {
		lang, _ := languageOf(code)
		set := map[string]int{}
		for weight, words := range []string{alsoEnglish[code], text, tellingWords[code]} {
			for word := range strings.FieldsSeq(words) {
				set[word] = weight
			}
		}
		if read[lang] {
			l.own = append(l.own, set)
		} else {
			l.others[lang] = set
		}
	}
	if len(l.own) < len(read) {
		return nil
	}
	return l
}

// otherLanguage names the language of which a short text has at least two function words, or a telling one, and by
// margin more than of each language that the model reads, but where it has none of these; "" where there is none.
func (l *lexicon) otherLanguage(text string, margin int) string {
	if l == nil {
		return ""
	}
	text = strings.ReplaceAll(strings.ToLower(text), "¿", " ¿ ")
	found := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '¿' // so that hexadecimal numbers have no words
	})
	most, name := 1, ""
	for lang, set := range l.others {
		n, least := l.count(found, set, margin)
		switch {
		case n > max(most, least):
			most, name = n, lang.String()
		case n == most && n > least && name != "" && lang.String() < name: // the same one each time
			name = lang.String()
		}
	}
	return name
}

// count gives how much of a text's words is of another language, and what that has to exceed.
func (l *lexicon) count(found []string, other map[string]int, margin int) (n, least int) {
	own, telling := 0, 0
	for _, set := range l.own {
		words := 0
		for _, word := range found {
			if weight, known := other[word]; set[word] > 0 && (weight > 0 || !known) {
				words++
			}
		}
		own = max(own, words)
	}
	for _, word := range found {
		n += min(other[word], 1)
		telling += max(other[word]-1, 0)
	}
	if own > 0 {
		return n, max(1, own+margin-1)
	}
	return n + telling, 1
}
