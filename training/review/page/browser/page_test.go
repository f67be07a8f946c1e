package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/page"
)

// rows are questions on one passage.
var rows = [][]string{
	{"Who paid for the second lighthouse on Marrow Point?", "the harbour guild", marrow},
	{"When was the lamp lit with oil for the last time?", "1911", marrow},
	{"What did they build after it?", "a stone tower", marrow},
	{"Which guild's master kept the log of every ship that passed Marrow Point between 1874 and 1911?",
		"Ottilie Brandt", marrow},
	{"The keeper's name was what?", "Ottilie Brandt", marrow},
}

const marrow = `The first lighthouse on Marrow Point was a wooden frame with an iron basket of coals, which the fishing families of the bay took turns to feed. It burned down in the winter of 1868. Six years later the harbour guild paid for a second one, a stone tower of thirty metres, and asked Ottilie Brandt, the widow of the guild's last master, to keep it.

Brandt kept the light for thirty-seven years. She wrote down every ship that passed, the weather, and what the gulls did, in a log of forty-one volumes that the town's museum still owns. The lamp burned oil until 1911, when the guild had it changed to gas; Brandt thought the new light too white and asked to be released. Her niece Ilse Maar took over the tower, and kept it until the guild sold it to the state in 1930.`

// everything checks that the page asked only its own server, and that nothing went wrong in it.
func everything(t *testing.T, b *tab, address string) {
	t.Helper()
	origin := address[:strings.Index(address, "/#")]
	requests, troubles := b.seen()
	for _, r := range requests {
		if _, url, _ := strings.Cut(r, " "); !strings.HasPrefix(url, origin+"/") || strings.Contains(url[len(origin):],
			"token") && !strings.Contains(url, "#token") {
			t.Errorf("the page asked for %s", r)
		}
	}
	if len(requests) < 4 {
		t.Errorf("only %d requests were seen", len(requests))
	}
	if len(troubles) > 0 {
		t.Errorf("troubles: %q", troubles)
	}
}

func TestByKeyboard(t *testing.T) {
	tax := builtin(t, "question-generation")
	dir := freeze(t, tax, rows...)
	address, _ := serve(t, dir, tax, page.Review{Reviewer: "anna"})
	b := newTab(t)
	b.open(address)
	b.row("Row 1 of 5")
	if url := value[string](b, `location.href`); strings.Contains(url, "token") {
		t.Errorf("the token is still in the address bar: %s", url)
	}
	if marks := value[string](b,
		`[...document.querySelectorAll('mark')].map((m) => m.textContent).join('|')`); marks != "the harbour guild" {
		t.Errorf("marked: %q", marks)
	}
	if strings.Contains(value[string](b, `document.body.innerText`), "0.61") {
		t.Error("probabilities are on the page")
	}
	b.shoot("1-light")

	// Labels go on and off; No Error and an error never stand together.
	for _, c := range []struct{ keys, want string }{{"85", "Vague; Factual Error"}, {"0", "No Error"},
		{"8", "Factual Error"}, {"a8", "Off Target Answer"}} {
		b.press(c.keys)
		if got := b.chosen(); got != c.want {
			t.Errorf("after %s: %s", c.keys, got)
		}
	}
	b.shoot("2-chosen")
	b.dark(true)
	b.shoot("3-dark")
	b.dark(false)
	b.press("a" + kb.Enter) // nothing is chosen: not an answer
	if got := b.text("alert"); !strings.Contains(got, "No Error with 0") || b.text("place") != "Row 1 of 5" {
		t.Errorf("an empty answer: %q on %s", got, b.text("place"))
	}

	// As fast as it goes: two answers and a skip, then notes.
	b.press("85" + kb.Enter + "0" + kb.Enter + "s")
	b.row("Row 4 of 5")
	b.press("n" + `who "is" <it>? s z u` + kb.Escape + "5" + kb.Enter)
	b.row("Row 5 of 5")
	b.saved()
	want := []string{"a: Vague; Factual Error", "b: No Error", "c: skipped", `d: Vague (who "is" <it>? s z u)`}
	if got := answered(t, dir, "anna"); !slices.Equal(got, want) {
		t.Errorf("saved\n%q, want\n%q", got, want)
	}

	// Undo takes it from the file, and keeps what was typed on the page.
	b.press("z")
	b.row("Row 4 of 5")
	if got := answered(t, dir, "anna"); !slices.Equal(got, want[:3]) {
		t.Errorf("after undo\n%q", got)
	}
	if b.text("state") != "not saved" || b.chosen() != "Vague" ||
		value[string](b, `document.getElementById('notes').value`) == "" {
		t.Errorf("after undo: %s, %s", b.text("state"), b.chosen())
	}
	b.shoot("4-undone")
	b.press("z") // drops the draft
	if b.chosen() != "" || b.text("place") != "Row 4 of 5" {
		t.Errorf("after a second undo: %s on %s", b.chosen(), b.text("place"))
	}
	b.press("z") // and now the skip
	b.row("Row 3 of 5")
	b.press("zs")
	b.row("Row 4 of 5")

	// The keys of commands: back and forth, the row that was skipped.
	b.press(kb.ArrowLeft + kb.ArrowLeft)
	b.row("Row 2 of 5")
	if b.text("state") != "saved" || b.chosen() != "No Error" {
		t.Errorf("row 2: %s, %s", b.text("state"), b.chosen())
	}
	b.press("jjj")
	b.row("Row 5 of 5")
	b.press("u")
	b.row("Row 3 of 5")
	if b.text("state") != "skipped" || b.text("counts") != "2 of 5 answered · 1 skipped" {
		t.Errorf("row 3: %s, %s", b.text("state"), b.text("counts"))
	}

	// A reload goes on at the first row without an answer.
	b.saved()
	b.do(chromedp.Reload())
	b.row("Row 4 of 5")
	if b.text("counts") != "2 of 5 answered · 1 skipped" {
		t.Errorf("after a reload: %s", b.text("counts"))
	}
	b.press("1" + kb.Enter + "9" + kb.Enter)
	b.until(`!document.getElementById('end').hidden`)
	b.shoot("5-end")
	b.press("u")
	b.row("Row 3 of 5")
	b.press("5" + kb.Enter)
	b.until(`!document.getElementById('end').hidden`)
	if got := b.text("end"); !strings.Contains(got, "All rows have an answer") || !strings.Contains(got,
		"erreval refine merge work B001") {
		t.Errorf("at the end: %s", got)
	}
	b.saved()
	want = []string{"a: Vague; Factual Error", "b: No Error", "c: skipped", "d: Incomplete",
		"e: Information Not Mentioned", "c: Vague"}
	if got := answered(t, dir, "anna"); !slices.Equal(got, want) {
		t.Errorf("at the end\n%q, want\n%q", got, want)
	}
	b.press("z")
	b.row("Row 3 of 5")
	if got := b.text("said"); !strings.Contains(got, "Taken back: Vague. The one given or merged before counts: the skip.") {
		t.Errorf("after undo: %s", got)
	}
	everything(t, b, address)
}

// TestDeciding: where reviewers differ a click takes what one of them said, and other labels are given as ever.
func TestDeciding(t *testing.T) {
	tax := builtin(t, "question-generation")
	dir := freeze(t, tax, rows...)
	address, _ := serve(t, dir, tax, page.Review{Reviewer: "cleo"},
		review.Conflict{ItemID: "a", Answers: map[string][]string{"anna": {"Vague"}, "ben": {"No Error"}}},
		review.Conflict{ItemID: "c", Answers: map[string][]string{"anna": {"Vague", "Factual Error"}, "ben": {"No Error"}}},
		review.Conflict{ItemID: "e", Answers: map[string][]string{"anna": {"Vague"}, "ben": {"No Error"}}})
	b := newTab(t)
	b.open(address)
	b.row("Row 1 of 3")
	if got := strings.ReplaceAll(b.text("choices"), "\n", " "); got != "as anna: Vague as ben: No Error other labels" {
		t.Errorf("to choose from: %q", got)
	}
	b.until(`document.getElementById('groups').hidden`)
	b.shoot("14-deciding")
	b.do(chromedp.Click("#choices button:nth-child(2)"))
	b.row("Row 2 of 3")
	b.do(chromedp.Click("#choices button:nth-child(1)"))
	b.row("Row 3 of 3")
	b.do(chromedp.Click("#choices button:nth-child(3)"))
	b.until(`!document.getElementById('groups').hidden`)
	b.press("8" + kb.Enter)
	b.until(`!document.getElementById('end').hidden`)
	if got := b.text("end"); !strings.Contains(got, "that merges what you decided") || strings.Contains(got, "erreval refine") {
		t.Errorf("at the end: %s", got)
	}
	b.saved()
	want := []string{"a: No Error", "c: Vague; Factual Error", "e: Factual Error"}
	if got := answered(t, review.ConflictsDir(dir, 1), "cleo"); !slices.Equal(got, want) {
		t.Errorf("saved\n%q, want\n%q", got, want)
	}
	everything(t, b, address)
}

// TestResume: a second start goes on, in the tab that is open too, once it has the new address.
func TestResume(t *testing.T) {
	tax := builtin(t, "question-generation")
	dir := freeze(t, tax, rows...)
	address, stop := serve(t, dir, tax, page.Review{Reviewer: "anna"})
	b := newTab(t)
	b.open(address)
	b.row("Row 1 of 5")
	b.press("5" + kb.Enter)
	b.row("Row 2 of 5")
	b.saved()
	stop()
	b.press("8" + kb.Enter)
	b.until(`!document.getElementById('alert').hidden`)
	if got := b.text("alert"); !strings.HasPrefix(got, "Not saved: erreval does not answer.") ||
		b.text("place") != "Row 2 of 5" || b.chosen() != "Factual Error" {
		t.Errorf("without a server: %q on %s with %s", got, b.text("place"), b.chosen())
	}
	b.shoot("6-lost")

	address, _ = serve(t, dir, tax, page.Review{Reviewer: "anna"})
	b = newTab(t)
	b.open(address)
	b.row("Row 2 of 5")
	if b.text("counts") != "1 of 5 answered" || b.chosen() != "" {
		t.Errorf("after the second start: %s, %s", b.text("counts"), b.chosen())
	}
	b.open(address[:strings.Index(address, "#")] + "#token=wrong")
	b.until(`!document.getElementById('alert').hidden`)
	if got := b.text("alert"); !strings.Contains(got, "open the address that the terminal shows") ||
		value[bool](b, `!document.getElementById('work').hidden`) {
		t.Errorf("with a wrong token: %q", got)
	}
	b.do(chromedp.Navigate(address)) // the same page but for its #: it must load anew
	b.row("Row 2 of 5")
	b.do(chromedp.Navigate(address + "&item=d")) // a link to a row
	b.row("Row 4 of 5")
	if url := value[string](b, `location.hash`); url != "#item=d" {
		t.Errorf("the address says %q", url)
	}
}

// TestFits: on a small screen a row with a passage of some 150 words, every label with its key, the notes and the
// buttons are seen at once, with what the identifier found and without; of a long passage its beginning, and the rest
// scrolls while question and answer stay.
func TestFits(t *testing.T) {
	tax := builtin(t, "question-generation")
	long := slices.Clone(rows[0])
	long[2] = strings.Repeat(marrow+"\n\n", 4)
	for _, show := range []bool{false, true} {
		dir := freeze(t, tax, append([][]string{rows[3]}, long)...)
		address, _ := serve(t, dir, tax, page.Review{Reviewer: "anna", ShowLabels: show, ShowProbabilities: show})
		b := newTab(t)
		b.size(1280, 900)
		b.open(address)
		for n, row := range []string{"Row 1 of 2", "Row 2 of 2"} {
			b.row(row)
			if n == 0 {
				b.allSeen("#groups label", 11)
				b.allSeen("#groups label kbd", 11)
				b.allSeen("#fields dd", 3)
			} else {
				b.allSeen(".field:not(.shared) dd", 2)
				if value[bool](b, `(() => { const p = document.querySelector('.shared'); return p.scrollHeight <= p.clientHeight; })()`) {
					t.Error("a long passage does not scroll")
				}
			}
			b.allSeen("#notes", 1)
			b.allSeen("button:not(dialog button)", 8)
			b.shoot(fmt.Sprintf("13-fits-%t-%d", show, n))
			b.press(kb.ArrowRight)
		}
	}
}

// TestHostile: markup in every field, in notes and in the reviewer's sight stays text.
func TestHostile(t *testing.T) {
	tax := builtin(t, "question-generation")
	evil := `</script><script>window.pwned = 1</script><img src="http://127.0.0.1:9/x" onerror="window.pwned = 1">" onfocus="window.pwned=1" autofocus`
	dir := freeze(t, tax, []string{evil, "<b>bold</b>", "before <b>bold</b> after " + evil + "\u202e\u0000end"},
		[]string{"", "", ""})
	address, _ := serve(t, dir, tax, page.Review{Reviewer: "anna", ShowLabels: true, ShowProbabilities: true})
	b := newTab(t)
	b.open(address)
	b.row("Row 1 of 2")
	if got := value[string](b, `document.querySelector('#fields dd').textContent`); got != evil {
		t.Errorf("shown: %q", got)
	}
	if marks := value[string](b,
		`[...document.querySelectorAll('mark')].map((m) => m.textContent).join('|')`); marks != "<b>bold</b>|"+evil {
		t.Errorf("marked: %q", marks)
	}
	if got := value[string](b,
		`[...document.querySelectorAll('.control')].map((m) => m.textContent).join('|')`); got != "U+202E|U+0000" {
		t.Errorf("characters that would turn the text round: %q", got)
	}
	b.shoot("7-hostile-proposed")
	b.press("n" + evil[:30] + kb.Escape + "0" + kb.Enter)
	b.row("Row 2 of 2")
	b.press(kb.ArrowLeft)
	b.row("Row 1 of 2")
	if got := value[string](b, `document.getElementById('notes').value`); got != evil[:30] {
		t.Errorf("notes: %q", got)
	}
	if value[bool](b, `'pwned' in window`) ||
		value[int](b, `document.querySelectorAll('#fields script, #fields img, #fields b').length`) != 0 {
		t.Error("text became markup")
	}
	everything(t, b, address)
	// Were text to become markup after all, the page's policy would stop it.
	value[bool](b, `{ const s = document.createElement('script'); try { s.textContent = 'window.pwned = 1'; document.body.append(s); } catch {} true }`)
	value[bool](b, `{ try { document.body.innerHTML = '<img src=x onerror="window.pwned=1">'; } catch {} true }`)
	if value[bool](b, `'pwned' in window`) {
		t.Error("an inline script ran")
	}
}

// TestWithoutMouse: what a keyboard and a screen reader need.
func TestWithoutMouse(t *testing.T) {
	tax := builtin(t, "question-generation")
	dir := freeze(t, tax, rows...)
	address, _ := serve(t, dir, tax, page.Review{Reviewer: "anna", ShowLabels: true, ShowProbabilities: true})
	b := newTab(t)
	b.open(address)
	b.row("Row 1 of 5")
	b.press(kb.Tab + kb.Tab + " ")
	if got := b.chosen(); got != "Incomplete" {
		t.Errorf("Tab over No Error, Tab, Space: %s", got)
	}
	if got := value[string](b, `getComputedStyle(document.activeElement.closest('label')).outlineStyle`); got != "solid" {
		t.Errorf("the focus is %q", got)
	}
	b.shoot("8-focus-proposed")
	if got := value[int](b,
		`[...document.querySelectorAll('input, textarea, button')].filter((e) => !(e.getAttribute('aria-label') || e.innerText || e.labels && e.labels.length)).length`); got != 0 {
		t.Errorf("%d controls have no name", got)
	}
	if got := b.text("said"); got != "Incomplete on" {
		t.Errorf("a screen reader hears %q", got)
	}
	b.press("?")
	b.until(`document.getElementById('help').open`)
	b.shoot("9-help")
	b.press("5" + kb.Escape) // keys of the page do nothing under the list
	b.until(`!document.getElementById('help').open`)
	if got := b.chosen(); got != "Incomplete" {
		t.Errorf("after the list: %s", got)
	}
	b.press("d")
	if value[bool](b, `document.querySelector('.about').offsetHeight > 0`) {
		t.Error("definitions are still shown")
	}
	b.shoot("10-brief")
	b.press("d")
	b.size(420, 860)
	if value[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		t.Error("on a narrow page something is cut off")
	}
	b.shoot("11-narrow")
}

// TestOtherTask: another taxonomy, more labels than keys of one stroke.
func TestOtherTask(t *testing.T) {
	tax := builtin(t, "instruction-following")
	for i := range 70 {
		extra := tax.Types[0]
		extra.Name, extra.Code, extra.Category = "Extra "+string(rune('A'+i/10))+string(rune('0'+i%10)), "", "More"
		tax.Types = append(tax.Types, extra)
	}
	dir := freeze(t, tax, []string{"Boil it.", "How do I cook rice?"}, []string{"No.", "Why?"})
	address, _ := serve(t, dir, tax, page.Review{Reviewer: "bo"})
	b := newTab(t)
	b.open(address)
	b.row("Row 1 of 2")
	b.shoot("12-other")
	b.press("1;1Z" + kb.Enter) // 54 keys of one stroke: ten for the taxonomy's own, 44 for Extra A0 to E3
	b.row("Row 2 of 2")
	b.saved()
	if got := answered(t, dir, "bo"); !slices.Equal(got, []string{"a: Request Following; Extra E3; Extra E4"}) {
		t.Errorf("%q", got)
	}
}
