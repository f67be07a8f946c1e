package scorer

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/reply"
	"github.com/erreval/erreval/taxonomy"
)

// Verdict is what a reply says on one dimension.
type Verdict struct {
	Value       float64 // one of the dimension's scores; without meaning if Err is set
	Explanation string  // the judge's reasons as far as they can be told from the rest; may be empty
	Err         error   // a *reply.Fault, or nil
}

// ParseVerdict reads the verdict on d out of a reply to prompt (all its messages, see prompt.Join). Text of the prompt
// that the reply repeats is left out first. Then the most explicit form present decides: a JSON object; the form that
// the built-in templates ask for, [[verdict: 2]]; "Score: 2"; a line with nothing but a number; a sentence that gives a
// score. A reply with another verdict, of whatever form, is ambiguous. The error is a *reply.Fault.
func ParseVerdict(answer *llm.Reply, prompt string, d *taxonomy.Dimension) (value float64,
	explanation string, err error) {
	r, err := prepare(answer, prompt, nil, func(r *reading) bool { _, ok := r.verdict(d); return ok })
	if err != nil {
		return 0, "", err
	}
	m, ok := r.verdict(d)
	if !ok {
		return 0, "", r.Missing()
	}
	if err = m.alone(r.marks(d)); err == nil {
		value, err = m.on(d)
	}
	return value, cmp.Or(m.reason, explanationIn(r.Text)), err
}

// verdict is the verdict of the most explicit form.
func (r *reading) verdict(d *taxonomy.Dimension) (mark, bool) {
	inJSON, found := last(r.jsonMarks(d))
	if found && r.Only {
		return inJSON, true
	}
	if asked, ok := lastMark(r.Text, askedForm, 2, nil); ok {
		return asked, true
	}
	if found {
		return inJSON, true
	}
	return findLoose(r, d)
}

// reading is a reply in which verdicts or labels are looked for.
type reading struct{ *reply.Reading }

// prepare is reply.Prepare.
func prepare(answer *llm.Reply, asked string, own *regexp.Regexp, decided func(*reading) bool) (*reading, error) {
	r, err := reply.Prepare(answer, asked, own, func(before *reply.Reading) bool { return decided(&reading{before}) })
	return &reading{r}, err
}

// mark is a number found in a reply.
type mark struct {
	number string // digits, decimals or a word
	minus  bool
	of     string // what it is out of: "3" in 2/3; empty if not said
	unsure string // the rest of "2-3" or "2 or 3"; empty if there is one number
	reason string // that stood with it, in JSON
}

// alone is an error if one of the others is another verdict than m.
func (m mark) alone(others []mark) error {
	for _, other := range others {
		if other.text() != m.text() && (other.value() != m.value() || other.unsure != m.unsure) {
			return reply.Faultf(reply.Ambiguous, "two verdicts: %.40s and %.40s", other.text(), m.text())
		}
	}
	return nil
}

// on is the mark's value on the scale of d.
func (m mark) on(d *taxonomy.Dimension) (float64, error) {
	scores := scale(d)
	if m.unsure != "" {
		return 0, reply.Faultf(reply.Missing, "the verdict is not a single number: %s", m.text())
	}
	v := m.value()
	text := m.text()
	if !slices.Contains(scores, v) || m.of != "" && number(m.of) != scores[len(scores)-1] {
		return 0, reply.Faultf(reply.OffScale, "%.40s; the scale of %s is %s", text, d.Name, joinScores(scores))
	}
	return v, nil
}

func (m mark) value() float64 {
	if m.minus {
		return -number(m.number)
	}
	return number(m.number)
}

func (m mark) text() string {
	text := m.number
	if m.minus {
		text = "-" + text
	}
	if m.of != "" {
		text += "/" + m.of
	}
	return text + m.unsure
}

func scale(d *taxonomy.Dimension) []float64 {
	scores := make([]float64, len(d.Criteria))
	for i, c := range d.Criteria {
		scores[i] = float64(c.Score)
	}
	if len(scores) == 0 {
		return []float64{math.NaN()} // on which nothing lies
	}
	return scores
}

func joinScores(scores []float64) string {
	words := make([]string, len(scores))
	for i, s := range scores {
		words[i] = strconv.FormatFloat(s, 'f', -1, 64)
	}
	return strings.Join(words, ", ")
}

var numberWords = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// number is NaN for what is none: it lies on no scale.
func number(text string) float64 {
	if i := slices.Index(numberWords, strings.ToLower(text)); i >= 0 {
		return float64(i)
	}
	v, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Pieces of the patterns. A number may stand alone or out of another.
const (
	digits = `(\d+(?:[.,]\d+)?|(?:zero|one|two|three|four|five|six|seven|eight|nine|ten)\b)`
	outOf  = `(?:\s*(?:/|out\s+of|of)\s*(?:a\s+(?:possible|maximum)\s+(?:of\s+)?)?(\d+))?`
	mrk    = digits + outOf
	label  = `(?:(?:\b|_)(?:score|rating|verdict|grade|mark|overall|result|assessment|judge?ment)(?:\b|_)|评分|得分|分数)`
	// iGive: "I would give it a"
	iGive = `\b(?:I|we)(?:'d|'ll)?\b[^.\n]{0,40}?\b(?:rat|scor|giv|gav|assign|award|choos|chose|select|conclud|settle)(?:e|ed|ing)?\b(?:\s+[\p{L}']+){0,7}?`
	// opening and closing are what may stand around a label or a number.
	opening = `[\s"'“‘(\[<{|>]*`
	closing = `[\s"'”’)\]|]*`
)

var (
	// askedForm is that of the built-in templates; prompt.Clean keeps it out of texts. The name is that of a
	// dimension, in joint replies.
	askedForm = regexp.MustCompile(`(?i)\[\[[\s*_]*verdict([^\]\n:：]{0,80})[:：][^\]\n\d]{0,12}?` + mrk)

	// labelled: "Score: 2", "**Rating** = 2/3", `"score": 2`, "Score for Fluency - 2", "| Score | 2 |".
	labelled = regexp.MustCompile(`(?i)` + label + `(?:\s+(?:for|of|on|assigned|given)\b[^\n:=\d]{0,60}?)?` + closing +
		`(?:[:=|>→]|[-–—]+>?)+` + opening + `[-−]?` + mrk)
	// "### Score\n\n2"
	heading = regexp.MustCompile(`(?im)^\W*(?:\w+\s)?` + label + `\W*\n\s*` + mrk + `\W*$`)
	// JSON with a fault
	keyed = regexp.MustCompile(`(?i)["']\s*(?:score|rating|verdict|grade)\s*["']\s*:\s*["']?[-−]?` + mrk)
	boxed = regexp.MustCompile(`\\boxed\{\s*(?:\\text\{)?\s*` + mrk)

	bareLine = regexp.MustCompile(`(?i)^[\s"'“(\[{]*[-−]?` + mrk + `(?:\s*(?:points?|stars?))?[\s"'”)\]}.!]*$`)
	bareLead = regexp.MustCompile(`(?i)^\W*` + mrk + `\s*(?:[:–—-]\s|\n)`) // "2 - because …"

	// scoreIs: "the score is 2", "a rating of 2". said: "I would give it a 2", "it deserves a 2"; what follows must
	// look like the end of the sentence, since "give" and "get" stand before other numbers too.
	scoreIs = regexp.MustCompile(`(?i)` + label +
		`\s+(?:of|as|at|is|was|(?:would|should|will)\s+be)\s+(?:(?:an?|only|exactly|clearly|therefore|thus)\s+)*["'“(]?` +
		mrk)
	said = regexp.MustCompile(`(?i)(?:` + iGive + `|` +
		`\b(?:deserv|earn|receiv|gett?|merit|warrant|rat|scor)(?:e|es|ed|s|ing)?\b(?:\s+[\p{L}']+){0,3}?\s+an?)\s+["'“(]?` +
		mrk)
	sentenceEnd = regexp.MustCompile(`(?i)^["'”)]?\s*(?:$|[.,;!?\n)]|(?:because|since|points?|stars?)\b)`)
	// total: "Overall, 2/3." at the end of a line.
	total = regexp.MustCompile(`(?im)(?:^|\s)` + digits + `\s*(?:/|out\s+of)\s*(\d+)[\s.!)]*$`)
	// weak: "Score 2" at the beginning of a line.
	weak = regexp.MustCompile(`(?im)^\W*(?:\w+\s+)?(?:score|rating|verdict)\s+` + mrk)

	// notSo and ifSo are what makes a number the one that was not given.
	notSo = regexp.MustCompile(`(?i)\b(?:not|\w+n't|cannot|never|neither|nor|rather than|instead of|at least|at most|(?:more|less|higher|lower|better|worse|other) than|would (?:require|need|take|mean)|if|whether|unless)\b`)
	ifSo  = regexp.MustCompile(`(?i)^["'”)]?\s*(?:would|requires?|needs?|means?|if|when|could|might|is (?:for|reserved|given|when|too|not)|applies|should only)\b`)

	// clause is where a new thought begins: "not perfect, but it deserves a 2".
	clause = regexp.MustCompile(`(?i)[.,;:!?\n—(]|\b(?:but|so|hence|thus|therefore|and|yet|because)\b`)

	// more is what follows a number that is not a single one.
	more  = regexp.MustCompile(`(?i)^[ \t]*(?:[-–—/]|to|or|and)[ \t]*(?:\d|one\b|two\b|three\b|four\b|five\b)`)
	glued = regexp.MustCompile(`^(?:[A-Za-z_]|[.,]?\d)`)
)

// findLoose finds what models write instead, the more explicit first.
func findLoose(r *reading, d *taxonomy.Dimension) (mark, bool) {
	if r.IsJSON() {
		if r.Only {
			return mark{}, false
		}
		return lastMark(r.Text, keyed, 1, nil)
	}
	return findLooseIn(r.WithoutQuotes(r.Text), d)
}

func findLooseIn(text string, d *taxonomy.Dimension) (mark, bool) {
	text = withoutMarkup(text, d)
	for _, re := range []*regexp.Regexp{boxed, labelled, heading} {
		if m, ok := lastMark(text, re, 1, unlessConditional); ok {
			return m, true
		}
	}
	if m, ok := findBare(text); ok {
		return m, true
	}
	if m, ok := lastMark(text, scoreIs, 1, unlessNegated); ok {
		return m, true
	}
	if m, ok := lastMark(text, said, 1, endsSentence); ok {
		return m, true
	}
	for _, re := range []*regexp.Regexp{total, weak} {
		if m, ok := agreedMark(text, re); ok {
			return m, true
		}
	}
	return mark{}, false
}

// agreedMark finds what all matches of re agree on: criteria that are gone through one by one are no verdict.
func agreedMark(text string, re *regexp.Regexp) (mark, bool) {
	m, ok := lastMark(text, re, 1, unlessNegated)
	for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
		if other, _ := markAt(text, at, 1); other.value() != m.value() {
			return mark{}, false
		}
	}
	return m, ok
}

// guard tells whether a match counts, by what stands before and after it.
type guard func(before, after string) bool

func unlessConditional(_, after string) bool { return !ifSo.MatchString(after) }

func unlessNegated(before, after string) bool {
	if at := clause.FindAllStringIndex(before, -1); at != nil {
		before = before[at[len(at)-1][1]:]
	}
	return !notSo.MatchString(before) && !ifSo.MatchString(after)
}

func endsSentence(before, after string) bool {
	return unlessNegated(before, after) && (sentenceEnd.MatchString(after) || more.MatchString(after))
}

// lastMark finds the last match of re that is a number by itself and that ok accepts. group is the number's.
func lastMark(text string, re *regexp.Regexp, group int, ok guard) (mark, bool) {
	return last(allMarks(text, re, group, ok))
}

// allMarks finds all such matches, in order.
func allMarks(text string, re *regexp.Regexp, group int, ok guard) []mark {
	var found []mark
	for _, at := range re.FindAllStringSubmatchIndex(text, -1) {
		m, after := markAt(text, at, group)
		if !glued.MatchString(after) && (ok == nil || ok(text[max(0, at[0]-80):at[0]], after)) {
			found = append(found, m)
		}
	}
	return found
}

// markAt makes a mark of a match, and gives what follows its number.
func markAt(text string, at []int, group int) (m mark, after string) {
	from, to := at[2*group], at[2*group+1]
	m = mark{number: text[from:to], minus: isNegative(text[:from])}
	if of := 2 * (group + 1); len(at) > of && at[of] >= 0 {
		to = at[of+1]
		m.of = text[at[of]:to]
	}
	after = text[to:]
	m.unsure = more.FindString(after)
	if strings.HasPrefix(strings.TrimLeft(after, " "), "%") {
		m.of = "100"
	}
	return m, after
}

// isNegative tells a minus sign from a dash: "Score: -1" has one, "Score - 1" and "Score-1" have not.
func isNegative(before string) bool {
	for _, sign := range []string{"-", "−"} {
		if rest, ok := strings.CutSuffix(before, sign); ok {
			return rest == "" || strings.ContainsAny(rest[len(rest)-1:], " \t\n:=([")
		}
	}
	return false
}

// findBare finds a number that stands alone: as the whole text, its last or its first line, or in front of the reasons.
func findBare(text string) (mark, bool) {
	text = strings.TrimSpace(text)
	lines := strings.Split(text, "\n")
	for _, line := range []string{text, lines[len(lines)-1], lines[0]} {
		if m, ok := lastMark(line, bareLine, 1, nil); ok {
			return m, true
		}
	}
	for _, line := range lines[1:] { // "1 - read the texts" begins a list
		if bareLead.MatchString(line) {
			return mark{}, false
		}
	}
	return lastMark(text, bareLead, 1, nil)
}

var (
	ranges = regexp.MustCompile(`(?i)(?:\b(?:on|from|using|in|of)\s+)?(?:\b(?:an?|the)\s+)?(?:[\w-]+\s+)?\b(?:scale|range)\b\s*(?:of|from|is|:)?\s*[(\[]?\d+\s*(?:to|-|–|—|through|and)\s*\d+[)\]]?|\bbetween\s+\d+\s+and\s+\d+|[(\[]\s*\d+\s*(?:to|-|–|—)\s*\d+\s*[)\]]|\(\s*(?:out\s+of|max(?:imum)?\.?|/)\s*\d+\s*\)`)
	spell  = strings.NewReplacer("*", "", "`", "", "#", " ", "~", "", "\u00a0", " ", "\u202f", " ", "’", "'",
		"：", ":", "／", "/",
		"０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6", "７", "7", "８", "8", "９", "9", "\r\n", "\n")
)

// withoutMarkup is text without markup and without mentions of the scale's ends. Where a line begins with the
// dimension's name, "score" replaces it.
func withoutMarkup(text string, d *taxonomy.Dimension) string {
	text = ranges.ReplaceAllString(spell.Replace(text), " ")
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if rest, ok := afterName(line, d); ok {
			lines[i] = "score" + rest
		}
	}
	return strings.Join(lines, "\n")
}

// afterName is what follows the dimension's name or key at the beginning of a line.
func afterName(line string, d *taxonomy.Dimension) (string, bool) {
	line = strings.TrimLeft(line, " \t*#_`>|-–•\"'0123456789.)([{")
	for _, name := range []string{d.Name, d.Key} {
		if name != "" && len(line) >= len(name) && strings.EqualFold(line[:len(name)], name) &&
			!glued.MatchString(line[len(name):]) {
			return line[len(name):], true
		}
	}
	return "", false
}

var (
	reasonLabel = regexp.MustCompile(`(?is)^.{0,60}?\b(?:reason(?:ing|s)?|explanation|justification|rationale)\b[\s*_"]*[:：][\s*_]*`)
	askedWhole  = regexp.MustCompile(`(?i)\[\[[\s*_]*verdict[^\]\n]*\]?\]?`)
)

// maxExplanation of a judge's reasons is kept, in bytes.
const maxExplanation = 4000

// explanationIn is a reply's text without the verdict in the form asked for, and without a heading such as "Reason:".
func explanationIn(text string) string {
	text = strings.TrimSpace(askedWhole.ReplaceAllString(text, ""))
	if at := reasonLabel.FindStringIndex(text); at != nil {
		text = text[at[1]:]
	}
	return strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), maxExplanation)]), "")
}
