package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/erreval/erreval/internal/words"
)

// synonyms are columns that stand for the same thing in common files, the likelier first: SQuAD,
// Hugging Face exports, question generators' and chat models' outputs. A field is looked for in the
// group that its own name is in.
var synonyms = [][]string{
	{"passage", "context", "paragraph", "document", "source text", "text", "source"},
	{"answer", "answers", "answer text", "gold answer", "target answer", "correct answer", "right answer",
		"expected answer", "reference answer"},
	{"question", "question text", "generated question", "predicted question", "prediction", "generated", "hypothesis"},
	{"instruction", "prompt", "input", "query", "request"},
	{"response", "output", "completion", "prediction", "generated text", "model output", "reply"},
	{"reference", "gold", "ground truth", "target"},
}

// compared are columns, in plain form, of texts that others are compared with. In some files they hold what offered
// names: they are named and not taken.
var (
	compared = []string{"reference", "gold", "groundtruth", "target"}
	offered  = map[string][]string{"answer": compared}
)

// abouts are the last words of columns that say something about a field, and do not hold it.
var abouts = []string{"type", "kind", "category", "level", "difficulty", "topic", "length", "format", "score", "source"}

// guessMissing looks for the columns of fields that are neither there nor mapped, in the first row of the file.
func (r *Reader) guessMissing(row *Row) {
	messages, _ := row.Get(columnMessages)
	r.chats = parseChat(messages) != nil
	taken := map[string]bool{}
	for _, f := range r.fields {
		r.readByOwnName(row, f)
		if _, ok := row.Find(r.column[f]); ok {
			taken[r.column[f]] = true
		}
	}
	saidBefore := r.opt.Recorded != nil // by the run that made the file
	var guessed, missing []string
	for _, f := range r.fields {
		if taken[r.column[f]] || r.opt.Map[f] != "" {
			continue
		}
		c, ok := findColumn(f, row.Columns(), taken)
		if !ok && !r.optional[f] {
			c, ok = endingIn(f, row.Columns(), taken)
		}
		if ok {
			raw, _ := row.Get(c)
			r.column[f], taken[c] = c, true
			guessed = append(guessed, fmt.Sprintf("%s from %q%s", f, c, firstHint(raw)))
		} else if part := chatPart(f, row); part != "" {
			if r.column[f] = columnMessages; !saidBefore {
				guessed = append(guessed, fmt.Sprintf("%s from %s in %q", f, part, columnMessages))
			}
		} else if r.optional[f] && !saidBefore && !r.noteMissing(f, row) {
			missing = append(missing, strconv.Quote(f))
		}
	}
	if len(guessed) > 0 {
		r.said = append(r.said, fmt.Sprintf("reading %s (%sFIELD=COLUMN names others)", strings.Join(guessed, ", "),
			r.opt.mapOption()))
	}
	r.noteOther(row, taken)
	if len(missing) > 0 {
		r.said = append(r.said, fmt.Sprintf("no column %s in the first row (%sFIELD=COLUMN names one)",
			strings.Join(missing, " or "), r.opt.mapOption()))
	}
}

// noteOther says where beside a column with the name of the text under evaluation stands one that may hold it as well:
// in some files the former is the reference.
func (r *Reader) noteOther(row *Row, taken map[string]bool) {
	f := r.judged()
	if f == "" {
		return
	}
	if plainName(r.column[f]) != plainName(f) || !taken[r.column[f]] || r.opt.Map[f] != "" {
		return
	}
	if c, ok := findColumn(f, row.Columns(), taken); ok {
		r.said = append(r.said, fmt.Sprintf("taking the column %q; if that is the reference, and %q what was generated: "+
			"%s%s=%s", r.column[f], c, r.opt.mapOption(), f, words.Quote(c)))
	}
}

// noteMissing says what follows of a missing optional field, or which column may hold it. It tells false where nothing
// follows: no error type needs it, and other rows may have it.
func (r *Reader) noteMissing(field string, row *Row) bool {
	follows, hint := "", "COLUMN names one"
	for _, c := range row.Columns() {
		if slices.Contains(offered[field], plainName(c)) {
			hint = c + " takes it from that column"
		}
	}
	for _, y := range r.opt.Taxonomy.Types {
		if slices.Contains(y.Needs, field) {
			follows = "; what needs it is not judged"
			if !r.opt.Format.storage().table {
				follows = " in the first row; in rows without it, what needs it is not judged"
			}
		}
	}
	if follows == "" && hint == "COLUMN names one" {
		return false
	}
	r.said = append(r.said, fmt.Sprintf("no column %q%s (%s%s=%s)", field, follows, r.opt.mapOption(), field, hint))
	return true
}

// readByOwnName reads a field by its own name where the file does not have the column that was named.
func (r *Reader) readByOwnName(row *Row, field string) {
	named := r.opt.Map[field]
	_, own := row.Get(field)
	if named == "" { // also beside a column of the field's own name, of which the record's run made nothing
		r.readByRecord(row, field)
	}
	if named == "" || !own || !r.opt.OwnNames {
		return
	}
	if _, given := row.Find(named); !given {
		r.column[field] = field
		r.said = append(r.said, fmt.Sprintf("no column %q; taking %q", named, field))
	}
}

// readByRecord reads a field from the column that the run which made the file read it from.
func (r *Reader) readByRecord(row *Row, field string) {
	was := r.opt.Recorded[field]
	if _, there := row.Find(was); there && was != "" {
		r.column[field] = was
	}
}

// chatPart says for people which part of the row's conversation a field is; "" is none.
func chatPart(field string, row *Row) string {
	raw, _ := row.Get(columnMessages)
	response, input := isChatField(field)
	switch {
	case parseChat(raw) == nil:
		return ""
	case response:
		return "the last turn of the assistant"
	case input:
		return "the turns before"
	}
	return ""
}

const (
	longestWord = 60 // bytes of an id or a name
	fewTexts    = 10 // that are all one word tell nothing
)

// watchWords notes which of the fields hold but one word in every row, as those do that are read from a column of ids,
// texts that are none, of fields that rows may lack names of options, and what stands beside a question in its text.
func (r *Reader) watchWords(row *Row) {
	_, tagged := row.Get(ColumnDiagnosis)
	for i, f := range r.fields {
		judged := f == r.judged()
		if judged {
			input := strings.Join(row.Values[1:], "\n")
			if at := slices.Index(r.fields, r.opt.Taxonomy.GroupField()); at > 0 { // of pairs, the other text is no input
				input = row.Values[at]
			}
			r.same.add(row, input, r.placeOf)
		}
		if !judged && tagged {
			continue
		}
		isJudged := judged || r.optional[f] || strings.ContainsFunc(row.Values[i], unicode.IsLetter) // else it is no text
		if isJudged && slices.Contains(noTexts, strings.ToLower(strings.TrimSpace(row.Values[i]))) {
			r.noText[f] = r.noText[f].and(row.Values[i], r.placeOf(row))
		} else if judged && r.isFailed(row.Values[i]) {
			r.failed = r.failed.and(row.Values[i], r.placeOf(row))
		}
		if r.optional[f] && isOption(row.Values[i], row) {
			r.options[f] = r.options[f].and(row.Values[i], r.placeOf(row))
		}
		if f == "question" && besideQuestion.MatchString(row.Values[i]) {
			r.beside = r.beside.and(row.Values[i], r.placeOf(row))
		}
	}
	if question, passage := slices.Index(r.fields, "question"), slices.Index(r.fields, "passage"); question >= 0 &&
		passage >= 0 && !tagged && len(row.Values[passage]) <= len(row.Values[question]) && row.Values[passage] != "" {
		r.short = r.short.and(row.Values[passage], r.placeOf(row))
	}
	if r.rows == 0 {
		r.oneWord = map[string]string{}
		for i, f := range r.fields {
			if !tagged {
				r.oneWord[f] = row.Values[i]
			}
		}
	}
	maps.DeleteFunc(r.oneWord, func(f, _ string) bool {
		text := row.Values[slices.Index(r.fields, f)]
		return r.optional[f] || !isWord(text)
	})
}

// leastBeside rows have something beside the question before it is said: one may begin with the name of a club.
const leastBeside = 3

// besideQuestion is a question with its options, its number, or its points.
var besideQuestion = regexp.MustCompile(`(?s)\?.*[\s(]a[.):]\s.*[\s(]b[.):]\s|\?.*[\s(]A[.):]\s.*[\s(]B[.):]\s|` +
	`^[\s*(]*(Q|Question|No\.?)? ?\d{1,3}[.):]\**\s|\(\d+(\.\d+)? (points?|pts?\.?|marks?)\)\s*$`)

// noTexts are what people and programs write where there is no text, in small letters.
var noTexts = []string{"n/a", "na", "nan", "none", "null", "nil", "-", "–", "—", "?", "#n/a", "n.a."}

// optionName is a letter or number by which a question has its options, as "B", "(b)" or "2."; the first alternative
// is hardly anything else.
var optionName = regexp.MustCompile(`^(?:(\(?[A-H][.):]?|\(?[a-h]\))|\(?[a-h1-8][.):]?)$`)

// optionColumn is the heading of a column that holds an option.
var optionColumn = regexp.MustCompile(`(?i)^((option|choice|distractor)s?[ _-]*([a-h]|[1-8])?|[a-h])$`)

// isOption tells whether a text is the name of an option, and not its text.
func isOption(text string, row *Row) bool {
	m := optionName.FindStringSubmatch(strings.TrimSpace(text))
	return m != nil && (m[1] != "" || slices.ContainsFunc(row.Columns(), optionColumn.MatchString))
}

// someTexts are rows that have texts of a kind in a field.
type someTexts struct {
	rows        int
	text, place string // of the first
}

func (t someTexts) and(text, place string) someTexts {
	return someTexts{t.rows + 1, cmp.Or(t.text, text), cmp.Or(t.place, place)}
}

// doubtfulNote says which fields have texts that may be none, or names of options.
func (r *Reader) doubtfulNote() string {
	var notes []string
	for _, f := range r.fields {
		if no := r.noText[f]; no.rows > 0 {
			notes = append(notes, fmt.Sprintf("%s %q or the like in %s, which is read as a text (first in %s): leave it empty "+
				"where there is none", words.Plural(no.rows, "row has", "rows have"), no.text, f, no.place))
		}
		if of := r.options[f]; of.rows > 1 { // one may be a word of the passage, as "A"
			notes = append(notes, fmt.Sprintf("%s %q or the like in %s, which is read as a text (first in %s): if that stands "+
				"for an option, put its text there, or name a column that has it with %s%[3]s=COLUMN",
				words.Plural(of.rows, "row has", "rows have"), of.text, f, of.place, r.opt.mapOption()))
		}
	}
	if r.beside.rows >= leastBeside {
		notes = append(notes, fmt.Sprintf("%s options, a number or points beside the question, as %.60q (first in %s): take "+
			"them out of that column, since the model judges its text as it stands",
			words.Plural(r.beside.rows, "row has", "rows have"), words.Printable(r.beside.text), r.beside.place))
	}
	if r.failed.rows > 0 {
		notes = append(notes, fmt.Sprintf("%s %.60q or the like as the %s (first in %s): leave it empty where a call failed",
			words.Plural(r.failed.rows, "row has", "rows have"), words.Printable(r.failed.text), r.judged(), r.failed.place))
	} else if same := r.same.note(r.judged(), r.rows); same != "" {
		notes = append(notes, same)
	}
	return strings.Join(notes, "; ")
}

// judged is the field of the text under evaluation; "" where it is not read.
func (r *Reader) judged() string {
	if len(r.fields) == 0 || len(r.opt.Taxonomy.Fields) == 0 || r.fields[0] != r.opt.Taxonomy.Fields[0].Name {
		return ""
	}
	return r.fields[0]
}

// isWord tells whether a text may be an id or a name. Letters without case are those of languages that may have no
// spaces.
func isWord(text string) bool {
	return len(text) <= longestWord && len(strings.Fields(text)) == 1 &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Lo, r) })
}

// oneWordNote doubts that fields are read from the right columns.
func (r *Reader) oneWordNote() string {
	var notes []string
	for _, f := range r.fields {
		text, there := r.oneWord[f]
		if there && r.rows >= fewTexts {
			notes = append(notes, fmt.Sprintf("the %s of every row is one word, as %q: if the text stands elsewhere, name its "+
				"column with %s%[1]s=COLUMN", f, text, r.opt.mapOption()))
		}
	}
	switch {
	case r.rows >= fewTexts && 2*r.short.rows > r.rows:
		notes = append(notes, fmt.Sprintf("in %d of %d rows the passage is no longer than the question: are their columns "+
			"exchanged?", r.short.rows, r.rows))
	case r.rows >= fewTexts && r.short.rows > 0 && r.ended:
		notes = append(notes, fmt.Sprintf("in %d of %d rows the passage is no longer than the question, as %.40q (first in "+
			"%s): put the text there, or leave it empty", r.short.rows, r.rows, words.Printable(r.short.text), r.short.place))
	}
	return strings.Join(notes, "; ")
}

func firstHint(raw json.RawMessage) string {
	if bytes.Equal(firstText(raw), raw) {
		return ""
	}
	return ", the first text in it"
}

// findColumn finds the column that stands for a field.
func findColumn(field string, columns []string, taken map[string]bool) (string, bool) {
	for _, name := range ColumnNames(field) {
		for _, c := range columns {
			if !taken[c] && plainName(c) == name {
				return c, true
			}
		}
	}
	return "", false
}

// endingIn finds the only column whose last word is the field's name, as in "source passage". What it says is a kind of
// the field; a column such as "question type" or "type of question" holds something else, and so does one of a field's
// parts, such as "probability.Not A Question".
func endingIn(field string, columns []string, taken map[string]bool) (string, bool) {
	var found []string
	for _, c := range columns {
		all := strings.FieldsFunc(strings.ToLower(c), func(r rune) bool { return strings.ContainsRune(" _-", r) })
		kind := len(all) > 1 && all[len(all)-1] == field && !slices.Contains(all, "of") && !strings.Contains(c, ".")
		if kind && !taken[c] && !slices.Contains(compared, all[0]) {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// ColumnNames are what a field's column may be called, in plain form (lower case, without spaces, _ and -), the
// likelier first.
func ColumnNames(field string) []string {
	all := []string{plainName(field)}
	for _, group := range synonyms {
		for _, name := range group {
			if plainName(name) == all[0] {
				for _, other := range group {
					all = append(all, plainName(other))
				}
				return all
			}
		}
	}
	return all
}

// plainName is a name without case, spaces and punctuation.
func plainName(name string) string { return withoutPunctuation.Replace(strings.ToLower(name)) }

var withoutPunctuation = strings.NewReplacer(" ", "", "_", "", "-", "")

// firstText takes the text out of {"text": [ … ]}, [{"text": …}] and [ … ], as answers stand in SQuAD
// and its relatives; anything else stays as it is.
func firstText(raw json.RawMessage) json.RawMessage {
	for range 3 {
		var object struct {
			Text json.RawMessage `json:"text"`
		}
		var list []json.RawMessage
		switch {
		case raw[0] == '{' && json.Unmarshal(raw, &object) == nil && object.Text != nil:
			raw = object.Text
		case raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 0:
			raw = list[0]
		default:
			return raw
		}
	}
	return raw
}
