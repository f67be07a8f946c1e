package browser

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
	"github.com/erreval/erreval/training/review/page"
)

var shots = flag.String("shots", "", "folder for pictures of the page")

// patience is for a machine that is busy with other things.
const patience = 2 * time.Minute

// freeze makes a batch of rows, each with the taxonomy's fields in order.
func freeze(t *testing.T, tax *taxonomy.Taxonomy, rows ...[]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "B001")
	var items []review.Item
	for i, values := range rows {
		row := map[string]string{"id": "r"}
		for j, f := range tax.FieldNames() {
			row[f] = values[j]
		}
		data, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		id := string(rune('a' + i))
		items = append(items, review.Item{ItemID: id, RowID: "r" + id, Reason: review.Uncertain, Why: "unsure", Row: data,
			TextSHA256: dataset.TextSHA256(values),
			Proposed: &review.Proposed{Labels: []string{tax.Types[4].Name},
				Probabilities: dataset.Probabilities{{Label: tax.Types[4].Name, P: 0.61}, {Label: tax.Types[7].Name, P: 0.38}}}})
	}
	b := &review.Batch{ID: "B001", Taxonomy: tax.ID(), TaxonomySHA256: tax.Hash()}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := review.Freeze(dir, b, items); err != nil {
		t.Fatal(err)
	}
	return dir
}

func builtin(t *testing.T, name string) *taxonomy.Taxonomy {
	t.Helper()
	tax, err := taxonomy.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	return tax
}

// serve starts a review of the batch, or of the items on which reviewers differ; stop ends it.
func serve(t *testing.T, dir string, tax *taxonomy.Taxonomy, r page.Review, differing ...review.Conflict) (address string,
	stop func()) {
	t.Helper()
	f, err := review.Open(dir, tax)
	if err != nil {
		t.Fatal(err)
	}
	r.Batch = f
	if len(differing) > 0 {
		r.Batch = f.Differing(&review.Earlier{Number: 1, Conflicts: differing})
	}
	r.Next = "erreval refine merge work " + r.Batch.ID
	l, err := loopback.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := page.New(r, l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return p.Address(), stop
}

// answered is the file of answers in short: "a: Vague; Factual Error (notes)".
func answered(t *testing.T, dir, reviewer string) []string {
	t.Helper()
	data, err := os.ReadFile(review.AnswersPath(dir, reviewer))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		var a review.Answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		words := a.ItemID + ": " + strings.Join(a.Labels, "; ")
		if a.Skipped {
			words += "skipped"
		}
		if a.Notes != "" {
			words += " (" + a.Notes + ")"
		}
		out = append(out, words)
	}
	return out
}

// tab is a tab of a Chromium of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string
	troubles []string // exceptions, console errors, dialogs
}

func newTab(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("user-data-dir", t.TempDir()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	b.size(1280, 860)
	return b
}

func (b *tab) event(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.Method+" "+e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, "exception: "+e.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		b.troubles = append(b.troubles, "console: "+e.Entry.Text+" "+e.Entry.URL)
	case *cdppage.EventJavascriptDialogOpening:
		b.troubles = append(b.troubles, "dialog: "+e.Message)
	}
}

// seen gives the requests and troubles so far, and forgets them.
func (b *tab) seen() (requests, troubles []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	requests, troubles, b.requests, b.troubles = b.requests, b.troubles, nil, nil
	return requests, troubles
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

func (b *tab) open(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address))
}

// press types keys one after the other, as fast as it goes. A key and its text are one event, as from a real keyboard:
// where the page takes the key for a command, nothing is typed.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, r := range keys {
			events := kb.Encode(r)
			down, up := *events[0], *events[len(events)-1]
			if down.Type = input.DispatchKeyEventTypeKeyDown; len(events) == 3 {
				down.Text, down.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			}
			for _, e := range []input.DispatchKeyEventParams{down, up} {
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, e); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// value is what an expression gives in the page.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// until waits for an expression to hold.
func (b *tab) until(expression string) {
	b.t.Helper()
	expression = `document.readyState === 'complete' && ` + expression
	loop := `new Promise((done) => { const look = () => (` + expression +
		`) ? done(true) : setTimeout(look, 5); look(); })`
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](loop, chromedp.EvalAwaitPromise))
	for err != nil && strings.Contains(err.Error(), "navigated") { // the page was loaded anew meanwhile
		_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](loop, chromedp.EvalAwaitPromise))
	}
	if err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
		b.t.Fatalf("never came: %s: %v\n%s", expression, err, text)
	}
}

// row waits for the row to be on the page.
func (b *tab) row(place string) {
	b.t.Helper()
	b.until(`document.getElementById('place')?.textContent === '` + place + `' && !document.getElementById('work').hidden`)
}

// saved waits for everything sent to be answered.
func (b *tab) saved() {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`waiting.then(() => true)`,
		chromedp.EvalAwaitPromise)); err != nil {
		b.t.Fatal(err)
	}
}

// chosen are the labels that are on.
func (b *tab) chosen() string {
	b.t.Helper()
	return value[string](b, `[...document.querySelectorAll('#groups input:checked')].map((i) => i.value).join('; ')`)
}

func (b *tab) text(id string) string {
	b.t.Helper()
	return value[string](b, `document.getElementById('`+id+`').innerText`)
}

// allSeen checks that there are n such elements, and that nothing of any lies outside the window or is scrolled away.
func (b *tab) allSeen(selector string, n int) {
	b.t.Helper()
	hidden := value[[]string](b, `(() => {
		const all = [...document.querySelectorAll('`+selector+`')], out = [];
		if (all.length !== `+fmt.Sprint(n)+`) out.push('there are ' + all.length);
		for (const e of all) {
			const r = e.getBoundingClientRect();
			let top = 0, bottom = innerHeight;
			for (let p = e.parentElement; p; p = p.parentElement) {
				if (getComputedStyle(p).overflowY === 'visible') continue;
				top = Math.max(top, p.getBoundingClientRect().top);
				bottom = Math.min(bottom, p.getBoundingClientRect().bottom);
			}
			if (!r.height || r.top < top - 1 || r.bottom > bottom + 1) {
				out.push(e.innerText.slice(0, 20) + ' ' + r.top + ' to ' + r.bottom + ', seen ' + top + ' to ' + bottom);
			}
		}
		return out;
	})()`)
	if len(hidden) > 0 {
		b.t.Errorf("%s: not in sight: %q", selector, hidden)
	}
}

// dark switches to the dark colours, or back.
func (b *tab) dark(on bool) {
	b.t.Helper()
	scheme := "light"
	if on {
		scheme = "dark"
	}
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	}))
}

// shoot takes a picture, where a folder for them is given.
func (b *tab) shoot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
