package identifier

import (
	"strings"
	"unicode"

	"github.com/abadojack/whatlanggo"
)

// functionWords are frequent words, by ISO 639-1: what tells the language of a text that is too short for whatlanggo.
// docs/models.md has how often that is right.
var functionWords = map[string]string{
	"en": "the of and to was were what who which how when where why did does are that with by from for is it he " +
		"she they i his her at this be has had have an do in a or as on not can you your my me we our will " +
		"would should could if there give write make some any all one about into than then them their no but " +
		"so",
	"fr": "le en la les des du une est et dans qui que quel quelle pour avec sur été ont aux ce cette son où comment " +
		"se je vous moi un pas nous ne",
	"de": "der das und ist wurde nicht mit dem den ein eine einen auf wer welche welcher welchem wie viele zu " +
		"von im sich für des sie wo ich mir bitte kann wir",
	"es": "el la los las del una qué quién cuándo dónde cómo en para por se su que y es fue desde cuántas un " +
		"puedes mi",
	"it": "il gli che chi della delle nel nella quale quali dove quando per una si è fu di i più suo nei un mi " +
		"puoi scrivi",
	"pt": "os da dos das uma que quem onde quando em para por se não foi na ao seu mais um você meu escreva é",
	"nl": "het een van de en dat die wie welke wanneer waar hoe werd met voor niet zijn op is deze wat der er " +
		"hun ik kun mij je",
	"pl": "i w z się na nie jest że jak do od po czy który która które kto co gdzie kiedy dlaczego ile był była było " +
		"przez dla oraz przy są tym jego jej mi",
	"cs": "a v se na je že jak do od po který která které kdo co kde kdy proč kolik byl byla bylo pro při jsou jeho " +
		"její z mi ve si",
	"sv": "och att det som en ett är av på med för den till inte var vad vem när hur varför vilken vilket från har " +
		"hade jag du kan mig de sin",
	"da": "og at det som en et er af på med for den til ikke var hvad hvem hvornår hvor hvordan hvorfor hvilken hvilket " +
		"fra har havde jeg du kan mig de sin blev",
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

// lexicon has the function words of the languages that a model reads, and of others.
type lexicon struct {
	own    []map[string]bool
	others map[whatlanggo.Lang]map[string]bool
}

// newLexicon is nil where the words of a language that the model reads are not known.
func newLexicon(read map[whatlanggo.Lang]bool) *lexicon {
	l := &lexicon{others: map[whatlanggo.Lang]map[string]bool{}}
	for code, text := range functionWords {
		lang, _ := languageOf(code)
		set := map[string]bool{}
		for word := range strings.FieldsSeq(text) {
			set[word] = true
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

// otherLanguage names the language of which a short text has at least two function words, and by margin more than of
// each language that the model reads, but where it has none of these; "" where there is none.
func (l *lexicon) otherLanguage(text string, margin int) string {
	if l == nil {
		return ""
	}
	found := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) // so that hexadecimal numbers have no words
	})
	count := func(set map[string]bool) (n int) {
		for _, word := range found {
			if set[word] {
				n++
			}
		}
		return n
	}
	most, name := 1, ""
	for _, set := range l.own {
		if own := count(set); own > 0 {
			most = max(most, own+margin-1)
		}
	}
	for lang, set := range l.others {
		switch n := count(set); {
		case n > most:
			most, name = n, lang.String()
		case n == most && name != "" && lang.String() < name: // the same one each time
			name = lang.String()
		}
	}
	return name
}
