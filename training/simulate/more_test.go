package simulate

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

const races = "In 1931 Marta Lind gave the older boat to Jonas Berg. The lower quay was built before the war and " +
	"later sold to a smelter. Later Ida Holm called it the Swan, a name that stayed with it for many long winters."

// TestMechanisms triggers every mechanism of set 2 by a row made for it, often, and says what all results look like.
func TestMechanisms(t *testing.T) {
	ask := func(question, answer string) Row {
		return Row{ID: "x", Title: "races", Passage: races, Question: question, Answer: answer, Source: "own"}
	}
	who := ask("To whom did Marta Lind give the older boat in 1931?", "Jonas Berg")
	for name, c := range map[string]struct {
		row      Row
		question string // pattern
		answer   string // exact; "" is unchanged
	}{
		"no-mark":       {who, `^To whom did Marta Lind give the older boat in 1931$`, ""},
		"spacing":       {who, `^To whom did Marta Lind give the older boat in 1931 \?$`, ""},
		"yes-no":        {ask("Was the quay sold?", "Yes."), `^Was the quay sold\?$`, "No."},
		"excess-answer": {who, `^To whom did Marta Lind give the older boat in 1931\?$`, "*"},
		"other-choice": {ask("Which is older, the boat or the quay?", "the boat"),
			`^Which is younger, the boat or the quay\?$`, ""},
		"number-shift": {who,
			`^To whom did Marta Lind give the older boat in (1930|1929|1928|1921|1932|1933|1934|1941)\?$`, ""},
		"names-exchanged": {ask("What did Marta Lind give to Jonas Berg?", "the older boat"),
			`^What did Jonas Berg give to Marta Lind\?$`, ""},
		"comparison": {ask("Who got the older boat?", "Jonas Berg"), `^Who got the younger boat\?$`, ""},
		"added-detail": {who,
			`^To whom did Marta Lind give the older boat in 1931 (according to|with|besides|as in|in) \S.*\?$`, ""},
		"unasked-attribute": {who, `^[A-Z].*(Marta Lind|Jonas Berg|Ida Holm|Swan).*\?$`, ""},
		"trivia":            {who, `^(What|How|Who|Which|In which) .*\?$`, ""},
		"keyboard":          {who, `^To whom did Marta Lind give the \w{5} boat in 1931\?$`, ""},
		"phonetic":          {who, `^To whom did Marta Lind give the oldar boat in 1931\?$`, ""},
		"homophone":         {ask("Where was their quay?", "Sundby"), `^(Were was their|Where was there) quay\?$`, ""},
		"misspelt-name":     {who, `^To whom did M\w{3,5} Lind give the older boat in 1931\?$`, ""},
		"over-regular":      {ask("Who built the lower quay?", "a smith"), `^Who builded the lower quay\?$`, ""},
		"preposition":       {who, `^To whom did Marta Lind give the older boat (at|on) 1931\?$`, ""},
		"participle": {ask("When was the lower quay built?", "before the war"),
			`^When was the lower quay build\?$`, ""},
		"cut-ending": {who, `^To whom did Marta Lind give the older boat in\??$`, ""},
		"dangling":   {who, `^To whom did Marta Lind give the\??$`, ""},
		"cut-word": {ask("What is said about the older railway?", "it was sold"),
			`^What is said about the older rai?l?w?$`, ""},
		"cloze":            {who, `^In 1931 Marta Lind gave the older boat to (____|_____|\.\.\.|\[blank\])[.?]?$`, ""},
		"passage-sentence": {who, `^In 1931 Marta Lind gave the older boat to Jonas Berg[.?]$`, ""},
		"noun-to-pronoun":  {ask("What was the lower quay at the bank?", "sold"), `^What was (it|this|that)\?$`, ""},
		"all-names": {ask("What did Marta Lind give to Jonas Berg?", "the older boat"),
			`^What did (it|this|that) give to (it|this|that)\?$`, ""},
		"broad": {who, `^(What|How) .*Marta Lind\?$`, ""},
		"appended": {who, `^To whom did Marta Lind give the older boat in 1931(, given that|, when|, while| and) [a-z].*\?$`,
			""},
		"inserted": {ask("When did Marta Lind sell it?", "never"), `^When did Marta Lind, \S.*, sell it\?$`, ""},
	} {
		at := slices.IndexFunc(moreRules, func(r rule) bool { return r.name == name })
		if at < 0 {
			t.Errorf("no rule %s", name)
			continue
		}
		other := Row{ID: "y", Title: "races", Passage: races, Question: "Who called it the Swan?",
			Answer: "Ida Holm", Source: "own"}
		m := newMaker(append(slices.Clone(rows), c.row, other), DefaultOptions())
		made := 0
		for range 200 {
			e, ok := moreRules[at].apply(m, c.row)
			if !ok {
				continue
			}
			made++
			if want := c.answer; e.Answer != c.row.Answer && want != "*" && e.Answer != want ||
				!regexp.MustCompile(c.question).MatchString(e.Question) {
				t.Fatalf("%s: %q / %q, want %s / %q", name, e.Question, e.Answer, c.question, c.answer)
			}
			if e.Question == c.row.Question && e.Answer == c.row.Answer || e.Passage != c.row.Passage ||
				e.Labels[0] != moreRules[at].code {
				t.Errorf("%s: %+v differs in the wrong things from %+v", name, e, c.row)
			}
		}
		if made == 0 {
			t.Errorf("%s: not triggered by %q", name, c.row.Question)
		}
	}
	if n := len(moreRules); n != 28 {
		t.Errorf("%d rules, 28 are looked at", n)
	}
}

// TestMechanismsLeaveOthersAlone: rows that must not be made wrong by a rule, since what comes out would be right or
// another error.
func TestMechanismsLeaveOthersAlone(t *testing.T) {
	ask := func(question, answer string) Row {
		return Row{ID: "x", Passage: races, Question: question, Answer: answer}
	}
	for name, row := range map[string]Row{
		"yes-no":          ask("Was it sold?", "Yes, to a smelter"),
		"comparison":      ask("Which is older, the boat or the quay?", "the boat"),
		"other-choice":    ask("Who got the older boat?", "Jonas Berg"),
		"names-exchanged": ask("Who met Marta Lind and Jonas Berg?", "Ida Holm"),
		"preposition":     ask("What lies in Sundby?", "a smelter"),
		"cut-ending":      ask("What did the town buy old mills with?", "a boat"),
		"participle":      ask("Who built the lower quay?", "a smith"),
		"number-shift":    ask("Who sold it in 1860?", "Ida Holm"),
	} {
		m := newMaker(append(slices.Clone(rows), row), DefaultOptions())
		at := slices.IndexFunc(moreRules, func(r rule) bool { return r.name == name })
		for range 50 {
			if e, ok := moreRules[at].apply(m, row); ok {
				t.Fatalf("%s made %q / %q of %q", name, e.Question, e.Answer, row.Question)
			}
		}
	}
}

func TestQuotas(t *testing.T) {
	o := DefaultOptions()
	o.Mix, o.Total, o.Combined = map[string]float64{"OK": 1, "OTA": 2, "Spell": 1}, 20, 0
	count := map[string]int{}
	for _, e := range generate(t, o) {
		count[e.Labels[0]]++
	}
	if count["OK"] != 5 || count["OTA"] != 10 || count["Spell"] != 5 {
		t.Errorf("total 20 by 1:2:1 is %v", count)
	}
	o.Total, o.PerError, count = 0, 7, map[string]int{}
	ids := map[string]bool{}
	for _, e := range generate(t, o) {
		count[e.Labels[0]]++
		ids[e.ID] = true
	}
	if count["OK"] != 0 || count["OTA"] != 7 || count["Spell"] != 7 || len(ids) != 14 {
		t.Errorf("7 per error are %v, %d ids", count, len(ids))
	}
}

func TestCombined(t *testing.T) {
	o := DefaultOptions()
	o.Copies, o.Combined = 60, 1
	two := 0
	for _, e := range generate(t, o) {
		a, b, combined := strings.Cut(e.Mechanism, "+")
		if !combined {
			continue
		}
		two++
		first, second := e.Labels[0], e.Labels[len(e.Labels)-1]
		if !slices.Contains(Mechanisms(first), a) || !slices.Contains(Mechanisms(second), b) ||
			!slices.Contains(seconds[first], second) {
			t.Errorf("%s with labels %v", e.Mechanism, e.Labels)
		}
	}
	if two < 50 {
		t.Errorf("%d examples with two errors", two)
	}
	o.Mix = map[string]float64{"OTA": 1}
	for _, e := range generate(t, o) {
		if len(e.Labels) > 1 {
			t.Fatalf("%v: the mix has no second error", e.Labels)
		}
	}
}

func TestSetOneHasNoNewMechanism(t *testing.T) {
	o := DefaultOptions()
	o.Rules, o.Combined, o.Copies = 1, 0, 50
	for _, e := range generate(t, o) {
		if slices.ContainsFunc(moreRules, func(r rule) bool { return r.name == e.Mechanism }) {
			t.Fatalf("set 1 made %s", e.Mechanism)
		}
	}
}

func TestBind(t *testing.T) {
	own, err := taxonomy.Builtin(home)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Bind(own)
	if err != nil || !slices.Equal(b.Codes, Codes()) || len(b.Without) != 0 ||
		!slices.Equal(b.Labels([]string{"OTP", "INM"}), []string{"OTP", "INM"}) {
		t.Errorf("the built-in taxonomy: %+v, %v", b, err)
	}
	yaml, err := taxonomy.BuiltinYAML(home)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("code: Spell", "code: Typo", "name: Vague\n", "name: Rude\n", "code: Vague", "code: Rude",
		", Vague", ", Rude", "[Incomplete, Not A Question, Grammar Error, Vague", "[Incomplete, Not A Question, Grammar "+
			"Error, Rude").Replace(string(yaml))
	b, err = Bind(parse(t, text))
	if err != nil || !slices.Equal(b.Without, []string{"Rude"}) || slices.Contains(b.Codes, "Vague") ||
		!slices.Equal(b.Labels([]string{"Spell", "Vague"}), []string{"Typo"}) {
		t.Errorf("a taxonomy of one's own: %+v, %v", b, err)
	}
	if code, ok := b.Code("spell error"); code != "Spell" || !ok {
		t.Errorf("Code = %q, %v", code, ok)
	}
	if _, ok := b.Code("Rude"); ok {
		t.Error("there is no rule for Rude")
	}
	other, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Bind(other); err == nil || !strings.Contains(err.Error(), "--judge") {
		t.Errorf("other fields: %v", err)
	}
}

// FuzzRules throws any text at every rule of both sets.
func FuzzRules(f *testing.F) {
	f.Add("What is older, Mount Odd or the İda?", "Mount Odd", races)
	f.Add("?", "  ", "(\"' ____")
	f.Add("Who did A1b2c3 in 0 or 1999, the of the", "a and b", "A. \u2003 B, and C; which D.")
	f.Fuzz(func(t *testing.T, question, answer, passage string) {
		row := Row{"f", "bridge", passage, question, answer, "own"}
		m := newMaker(append(slices.Clone(rows), row), DefaultOptions())
		m.rng = rand.New(rand.NewPCG(1, 2))
		for _, ru := range table(newest) {
			for range 5 {
				if e, ok := ru.apply(m, row); ok && (e.Question == "" || e.Answer == "" || e.Passage != passage) {
					t.Errorf("%s: %+v", ru.name, e)
				}
			}
		}
	})
}

// TestPageNamesEveryMechanism keeps docs/simulate.md whole.
func TestPageNamesEveryMechanism(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulate.md")
	if err != nil {
		t.Fatal(err)
	}
	own, err := taxonomy.Builtin(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range Codes() {
		i, _ := own.Index(code)
		_, line, ok := strings.Cut(string(page), "\n| "+own.Types[i].Name+" |")
		line, _, _ = strings.Cut(line, "\n")
		for _, name := range Mechanisms(code) {
			if !ok || !strings.Contains(line, "`"+name+"`") {
				t.Errorf("the line of %s lacks %s", own.Types[i].Name, name)
			}
		}
		if got, want := strings.Count(line, "`")/2, len(Mechanisms(code)); got != want {
			t.Errorf("the line of %s names %d mechanisms, there are %d", own.Types[i].Name, got, want)
		}
	}
}
