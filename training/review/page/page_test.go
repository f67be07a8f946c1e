package page

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/loopback"
	"github.com/erreval/erreval/internal/wordmatch"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

const (
	passage = `The wall was built by Ines Caldwell in 1802. "It leans", <they> say.`
	evil    = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'&` + "\u2028"
)

var noon = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)

// newBatch freezes four rows of the taxonomy question-generation: a plain one, its repetition, one of markup, an empty
// one.
func newBatch(t testing.TB) *review.Frozen {
	t.Helper()
	tax, err := taxonomy.Builtin("question-generation")
	if err != nil {
		t.Fatal(err)
	}
	proposed := &review.Proposed{Labels: []string{"Vague"}, Probabilities: dataset.Probabilities{{Label: "Vague",
		P: 0.6125}, {Label: "No Error", P: 0.3}}}
	items := []review.Item{
		{ItemID: "B001-0001", RowID: "wall", Reason: review.Uncertain, Why: "uncertainty 0.97"},
		{ItemID: "B001-0002", RowID: "wall", Reason: review.Control, Why: "again", ControlOf: "B001-0001"},
		{ItemID: "B001-0003", RowID: "evil", Reason: review.Random, Why: "random"},
		{ItemID: "B001-0004", RowID: "none", Reason: review.Rare, Why: "rare"},
	}
	values := [][]string{{"Who built the wall?", "Ines Caldwell", passage}, {"Who built the wall?", "Ines Caldwell",
		passage}, {evil, evil, evil + " " + evil}, {"", "", ""}}
	for i, v := range values {
		data, err := json.Marshal(map[string]any{"id": items[i].RowID, "question": v[0], "answer": v[1], "passage": v[2],
			"system": "secret-system", "diagnosis": proposed})
		if err != nil {
			t.Fatal(err)
		}
		items[i].Row, items[i].TextSHA256, items[i].Proposed = data, dataset.TextSHA256(v), proposed
	}
	dir := filepath.Join(t.TempDir(), "B001")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := review.Freeze(dir, &review.Batch{ID: "B001", Taxonomy: tax.ID(), TaxonomySHA256: tax.Hash()},
		items); err != nil {
		t.Fatal(err)
	}
	f, err := review.Open(dir, tax)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newPage(t testing.TB, r Review) *Page {
	t.Helper()
	if r.Batch == nil {
		r.Batch = newBatch(t)
	}
	if r.Reviewer == "" {
		r.Reviewer = "anna"
	}
	r.Now = func() time.Time { return noon }
	p, err := New(r, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8123})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// ask makes a request as the page does; edit changes it.
func ask(p *Page, method, path, body string, edit func(*http.Request)) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = "127.0.0.1:40000", p.guard.Hosts[0]
	r.Header.Set("Authorization", "Bearer "+p.guard.Token)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "http://"+p.guard.Hosts[0])
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const vague = `{"item_id":"B001-0001","labels":["Vague"],"notes":"","skipped":false}`

func saved(t testing.TB, p *Page) string {
	t.Helper()
	data, err := os.ReadFile(review.AnswersPath(p.review.Batch.Dir, p.review.Reviewer))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestGuards: whoever is not this machine's browser on this very page gets nothing, and changes nothing.
func TestGuards(t *testing.T) {
	p := newPage(t, Review{})
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, c := range map[string]struct {
		edit func(*http.Request)
		code int
	}{
		"as it should be": {nil, 200},
		"by the name localhost": {func(r *http.Request) {
			r.Host = p.guard.Hosts[1]
			r.Header.Set("Origin",
				"http://"+p.guard.Hosts[1])
		}, 200},
		"over IPv6's form of IPv4": {func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:40000" },
			200},
		"a program, no browser": {func(r *http.Request) { r.Header.Del("Origin"); r.Header.Del("Sec-Fetch-Site") }, 200},
		"no token":              {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"a scheme in any case":  {set("Authorization", "bEARER "+p.guard.Token), 200},
		"another scheme":        {set("Authorization", "Basic "+p.guard.Token), 401},
		"an empty token":        {set("Authorization", "Bearer "), 401},
		"a wrong token":         {set("Authorization", "Bearer "+strings.Repeat("A", len(p.guard.Token))), 401},
		"the token's beginning": {set("Authorization", "Bearer "+p.guard.Token[:20]), 401},
		"the token and more":    {set("Authorization", "Bearer "+p.guard.Token+"A"), 401},
		"no scheme":             {set("Authorization", p.guard.Token), 401},
		"the token as a cookie": {func(r *http.Request) {
			r.Header.Del("Authorization")
			r.Header.Set("Cookie",
				"token="+p.guard.Token)
		}, 401},
		"from another machine":                      {func(r *http.Request) { r.RemoteAddr = "192.0.2.7:40000" }, 403},
		"from nowhere":                              {func(r *http.Request) { r.RemoteAddr = "" }, 403},
		"a name that resolves here (DNS rebinding)": {func(r *http.Request) { r.Host = "evil.example:8123" }, 421},
		"another port":                              {func(r *http.Request) { r.Host = "127.0.0.1:8124" }, 421},
		"no port":                                   {func(r *http.Request) { r.Host = "127.0.0.1" }, 421},
		"no Host":                                   {func(r *http.Request) { r.Host = "" }, 421},
		"another origin":                            {set("Origin", "http://evil.example"), 403},
		"another port's origin":                     {set("Origin", "http://127.0.0.1:8124"), 403},
		"the origin of a sandboxed frame":           {set("Origin", "null"), 403},
		"an empty origin":                           {set("Origin", ""), 403},
		"two origins": {func(r *http.Request) {
			r.Header["Origin"] = []string{"http://" +
				p.guard.Hosts[0], "http://" + p.guard.Hosts[0]}
		}, 403},
		"another site":                {set("Sec-Fetch-Site", "cross-site"), 403},
		"the same site, another port": {set("Sec-Fetch-Site", "same-site"), 403},
		"a form":                      {set("Content-Type", "text/plain"), 415},
	} {
		code, body := ask(p, "POST", "/answer", vague, c.edit)
		if code != c.code {
			t.Errorf("%s: %d %s, want %d", name, code, body, c.code)
		}
		if wrote := saved(t, p) != ""; wrote != (c.code == 200) {
			t.Errorf("%s: written: %v", name, wrote)
		}
		if _, _, err := p.log.Undo(); err != nil {
			t.Fatal(err)
		}
		if c.code == 200 || c.code == 415 {
			continue
		}
		if !strings.Contains(body, `{"error":"`) || strings.Contains(body, p.guard.Token) {
			t.Errorf("%s: it says %s", name, body)
		}
		for _, path := range []string{"/batch", "/"} {
			if path == "/" && c.code == 401 {
				continue // the empty page needs no token
			}
			if code, body := ask(p, "GET", path, "", c.edit); code != c.code || strings.Contains(body, "Ines") {
				t.Errorf("%s: GET %s: %d %s", name, path, code, body)
			}
		}
	}
}

// TestHeaders: every reply, refusals too, tells the browser to run and to load nothing but the page's own files; the
// files hold nothing inline and name no other machine.
func TestHeaders(t *testing.T) {
	p := newPage(t, Review{})
	for path, kind := range map[string]string{"/": "text/html; charset=utf-8",
		"/page.js": "text/javascript; charset=utf-8", "/page.css": "text/css; charset=utf-8",
		"/icon.svg": "image/svg+xml", "/batch": "application/json", "/none": "text/plain; charset=utf-8",
		"/page.go": "text/plain; charset=utf-8"} {
		r := httptest.NewRequest("GET", path, nil)
		r.RemoteAddr, r.Host = "127.0.0.1:1", p.guard.Hosts[0]
		r.Header.Set("Authorization", "Bearer "+p.guard.Token)
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		h := w.Header()
		if h.Get("Content-Type") != kind || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
		policy := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: the policy lacks %s: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %s", path, policy)
		}
	}
	code, _ := ask(p, "GET", "/answer", "", nil)
	if code != 405 {
		t.Errorf("GET /answer: %d", code)
	}
	foreign := regexp.MustCompile(`(?i)https?://|//[a-z]|\son[a-z]+=|style=|<script>|innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|@import|url\(`)
	for _, name := range []string{"index.html", "page.js", "page.css"} {
		data, err := static.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if found := foreign.FindString(string(data)); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// TestShown: what the browser gets has nothing by which a control row could be known, nor what the settings hide;
// markup in a field is text.
func TestShown(t *testing.T) {
	hidden := newPage(t, Review{})
	code, body := ask(hidden, "GET", "/batch", "", nil)
	for _, secret := range []string{"control", "reason", "uncertain", "why", "secret-system", "wall\"", "0.97", "proposed",
		"probab", "0.6125", "diagnosis", "sha256", "<", ">", "\u2028"} {
		if code != 200 || strings.Contains(body, secret) {
			t.Errorf("%d: %q is in %s", code, secret, body)
		}
	}
	var got shownBatch
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	first, again := got.Items[0], got.Items[1]
	if first.ID = again.ID; fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("a control row shows: %v, %v", first, again)
	}
	want := []wordmatch.Piece{{Text: "The wall was built by "}, {Text: "Ines Caldwell", Mark: true},
		{Text: " in 1802. \"It leans\", <they> say."}}
	if !slices.Equal(got.Items[0].Texts[2], want) {
		t.Errorf("the passage is %v", got.Items[0].Texts[2])
	}
	if got.Items[2].Texts[0][0].Text != evil || len(got.Items[3].Texts) != 3 || len(got.Items[3].Texts[0]) != 0 {
		t.Errorf("texts %v, %v", got.Items[2].Texts, got.Items[3].Texts)
	}
	if len(got.Types) != 11 || got.Types[0].Name != "No Error" || got.Types[0].Key != "0" || got.Types[10].Key != "a" ||
		got.Fields[2].Name != "passage" {
		t.Errorf("types %v, fields %v", got.Types, got.Fields)
	}
	for _, c := range []struct {
		labels, probabilities bool
		want                  string
	}{{true, false, `"proposed":["Vague"],"answer"`}, {false, true,
		`"probabilities":{"Vague":0.6125,"No Error":0.3},"answer"`}} {
		p := newPage(t, Review{ShowLabels: c.labels, ShowProbabilities: c.probabilities})
		if _, body := ask(p, "GET", "/batch", "", nil); strings.Count(body, c.want) != 4 || strings.Contains(body, "secret") {
			t.Errorf("%+v: %s", c, body)
		}
	}
}

// TestDecisions: the page of what reviewers differ on shows those rows alone, with what was said, and its answers decide.
func TestDecisions(t *testing.T) {
	batch := newBatch(t)
	id := batch.All[2].ItemID
	p := newPage(t, Review{Reviewer: "cleo", Batch: batch.Differing(&review.Earlier{Number: 1,
		Conflicts: []review.Conflict{{ItemID: id, Answers: map[string][]string{"dan": {"Vague"}, "ben": {"No Error"},
			"anna": {"Vague"}}}}, Answers: []review.Answer{{ItemID: id, Reviewer: "anna",
			Labels: []string{"Vague"}, Notes: evil}, {ItemID: id, Reviewer: "ben", Labels: []string{"No Error"}}}})})
	_, body := ask(p, "GET", "/batch", "", nil)
	var got shownBatch
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	said := []wordmatch.Piece{{Text: "anna: Vague (" + evil + ")\nben: No Error"}}
	if len(got.Items) != 1 || got.Fields[3].Name != review.ColumnAnswered || !slices.Equal(got.Items[0].Texts[3], said) {
		t.Errorf("shown: %s", body)
	}
	if want := []choice{{"anna, dan", []string{"Vague"}}, {"ben", []string{"No Error"}}}; !got.Merges ||
		!reflect.DeepEqual(got.Items[0].Choices, want) {
		t.Errorf("to choose from: %+v", got.Items[0].Choices)
	}
	if p.Done() {
		t.Error("done without an answer")
	}
	if code, body := ask(p, "POST", "/answer", vague, nil); code != 422 {
		t.Errorf("a row that nobody differs on: %d %s", code, body)
	}
	if code, body := ask(p, "POST", "/answer", strings.Replace(vague, "0001", "0003", 1), nil); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	if file := saved(t, p); !strings.Contains(file, `"resolves":true`) || strings.Count(file, "\n") != 1 {
		t.Errorf("saved: %s", file)
	}
	if a, s, n := p.Progress(); a != 1 || s != 0 || n != 1 || !p.Done() {
		t.Errorf("progress %d %d %d", a, s, n)
	}
}

func TestAnswers(t *testing.T) {
	p := newPage(t, Review{})
	long := strings.Repeat("ä", review.LongestNotes/2)
	for _, c := range []struct {
		body string
		code int
		says string
	}{
		{vague, 200, "{}"},
		{`{"item_id":"B001-0002","labels":["Off Topic","Vague"],"notes":"` + long + `","skipped":false}`, 200, "{}"},
		{`{"item_id":"B001-0003","labels":[],"notes":"not sure","skipped":true}`, 200, "{}"},
		{`{"item_id":"B001-0009","labels":["Vague"]}`, 422, "has no such item"},
		{`{"item_id":"../../x","labels":["Vague"]}`, 422, "has no such item"},
		{`{"item_id":"B001-0001","labels":["Vague","No Error"]}`, 422, "No Error"},
		{`{"item_id":"B001-0001","labels":["Wrong"]}`, 422, "Wrong"},
		{`{"item_id":"B001-0001","labels":[]}`, 422, "B001-0001"},
		{`{"item_id":"B001-0001","labels":["Vague"],"skipped":true}`, 422, "is skipped and has labels"},
		{`{"item_id":"B001-0001","labels":["Vague"],"notes":"` + long + `x"}`, 400, "longer than 20000 bytes"},
		{`{"item_id":"B001-0001","labels":["Vague"],"reviewer":"bob"}`, 400, "unknown field"},
		{`{"item_id":"B001-0001","labels":"Vague"}`, 400, "no answer"},
		{vague + vague, 400, "something follows"},
		{"", 400, "no answer"},
		{"[]", 400, "no answer"},
		{strings.Repeat(" ", bodyLimit+1), 413, "at most 131072 bytes"},
	} {
		code, body := ask(p, "POST", "/answer", c.body, nil)
		if code != c.code || !strings.Contains(body, c.says) {
			t.Errorf("%.90s: %d %s, want %d %s", c.body, code, body, c.code, c.says)
		}
	}
	file := saved(t, p)
	if strings.Count(file, "\n") != 3 || !strings.Contains(file,
		`{"item_id":"B001-0002","reviewer":"anna","labels":["Vague","Off Topic"],"notes":"ää`) ||
		!strings.Contains(file,
			`"skipped":true,"time":"2026-01-02T03:04:05Z","text_sha256":"`+p.review.Batch.All[2].TextSHA256) {
		t.Errorf("saved: %s", file)
	}
	if a, s, n := p.Progress(); a != 2 || s != 1 || n != 4 {
		t.Errorf("progress %d %d %d", a, s, n)
	}

	// Undo gives what it took, and what counts then.
	if _, body := ask(p, "POST", "/answer", strings.Replace(vague, "Vague", "Incomplete", 1), nil); body != "{}" {
		t.Fatal(body)
	}
	code, body := ask(p, "POST", "/undo", "{}", nil)
	want := `{"answer":{"item_id":"B001-0001","labels":["Vague"],"notes":"","skipped":false},"taken":{"item_id":"B001-0001","labels":["Incomplete"],"notes":"","skipped":false}}`
	if code != 200 || body != want {
		t.Errorf("undo: %d %s", code, body)
	}
	if code, body = ask(p, "POST", "/undo", "{}", nil); code != 200 || !strings.HasPrefix(body,
		`{"answer":null,"taken":{"item_id":"B001-0003"`) {
		t.Errorf("undo: %d %s", code, body)
	}
	for range 2 {
		ask(p, "POST", "/undo", "{}", nil)
	}
	if code, body = ask(p, "POST", "/undo", "{}", nil); code != 409 || !strings.Contains(body, "no answer to take back") ||
		saved(t, p) != "" {
		t.Errorf("undo of nothing: %d %s", code, body)
	}
}

// TestResume: what a killed review left is there at the next start, a line cut off is not.
func TestResume(t *testing.T) {
	p := newPage(t, Review{})
	ask(p, "POST", "/answer", vague, nil)
	killed := saved(t, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	path := review.AnswersPath(p.review.Batch.Dir, "anna")
	if err := os.WriteFile(path, []byte(killed+killed[:len(killed)-9]), 0o644); err != nil {
		t.Fatal(err)
	}
	p = newPage(t, Review{Batch: p.review.Batch})
	if a, _, _ := p.Progress(); a != 1 || saved(t, p) != killed {
		t.Errorf("%d answered; %s", a, saved(t, p))
	}
	if _, body := ask(p, "GET", "/batch", "", nil); strings.Count(body, `"answer":{"item_id"`) != 1 {
		t.Errorf("the page gets %s", body)
	}
}

// TestMerged: what a merge used of the reviewer, as of a workbook, is answered; what is said here goes before it.
func TestMerged(t *testing.T) {
	p := newPage(t, Review{Merged: []review.Answer{{ItemID: "B001-0001", Reviewer: "anna", Labels: []string{"Off Topic"}},
		{ItemID: "B001-0003", Reviewer: "anna", Skipped: true}}})
	if answered, skipped, _ := p.Progress(); answered != 1 || skipped != 1 {
		t.Errorf("%d answered, %d skipped", answered, skipped)
	}
	ask(p, "POST", "/answer", vague, nil)
	_, body := ask(p, "GET", "/batch", "", nil)
	if strings.Count(body, `"answer":{"item_id"`) != 2 || !strings.Contains(body, `"answer":`+vague) {
		t.Errorf("the page gets %s", body)
	}
	if _, body = ask(p, "POST", "/undo", "{}", nil); !strings.Contains(body, `"answer":{"item_id":"B001-0001","labels":["Off Topic"]`) {
		t.Errorf("after undo the merged answer counts, and not %s", body)
	}
}

// TestNotWritten: a disk that takes nothing is said, and the answer does not count.
func TestNotWritten(t *testing.T) {
	p := newPage(t, Review{})
	if err := p.log.Close(); err != nil {
		t.Fatal(err)
	}
	if code, body := ask(p, "POST", "/answer", vague, nil); code != 500 || !strings.Contains(body, "anna.jsonl") {
		t.Errorf("%d %s", code, body)
	}
	if a, _, _ := p.Progress(); a != 0 {
		t.Errorf("%d answered", a)
	}
}

// TestTwoReviewers work at once on a batch, over real connections, and end in good order.
func TestTwoReviewers(t *testing.T) {
	batch := newBatch(t)
	var all sync.WaitGroup
	for _, who := range []string{"anna", "bob"} {
		all.Go(func() {
			l, err := loopback.Listen(0)
			if err != nil {
				t.Error(err)
				return
			}
			if !loopback.IsLoopback(l.Addr().String()) {
				t.Errorf("it listens on %s", l.Addr())
			}
			p, err := New(Review{Batch: batch, Reviewer: who}, l.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- p.Serve(ctx, l) }()
			var answers sync.WaitGroup
			for _, item := range batch.All {
				answers.Go(func() { post(t, p, fmt.Sprintf(`{"item_id":%q,"labels":["Vague"]}`, item.ItemID)) })
			}
			answers.Wait()
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := batch.Answers(); err != nil || len(got) != 8 {
		t.Errorf("%v, %v", got, err)
	}
}

// post sends an answer to the printed address.
func post(t *testing.T, p *Page, body string) {
	base, token, _ := strings.Cut(p.Address(), "#token=")
	r, err := http.NewRequestWithContext(t.Context(), "POST", base+"answer", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return
	}
	defer reply.Body.Close()
	if text, err := io.ReadAll(reply.Body); err != nil || reply.StatusCode != 200 {
		t.Errorf("%s: %s, %v", reply.Status, text, err)
	}
}

// TestTokens: a new one at every start, too long to guess.
func TestTokens(t *testing.T) {
	batch := newBatch(t)
	a, b := newPage(t, Review{Batch: batch}), newPage(t, Review{Batch: batch, Reviewer: "bob"})
	if a.guard.Token == b.guard.Token || len(a.guard.Token) < 26 {
		t.Errorf("tokens %q, %q", a.guard.Token, b.guard.Token)
	}
	if _, err := New(Review{Batch: batch, Reviewer: "anna"}, &net.TCPAddr{}); err == nil || !strings.Contains(err.Error(),
		"in use by another review") {
		t.Errorf("a second start: %v", err)
	}
}

// TestKeys: for any number of labels each has a key, none is a command's, none begins another.
func TestKeys(t *testing.T) {
	types := []taxonomy.Type{{Name: "fine", Category: "none", NoError: true}}
	for i := range 300 {
		types = append(types, taxonomy.Type{Name: fmt.Sprint(i), Category: fmt.Sprint("c", i%7)})
	}
	got := keys(types)
	if got[0] != "0" || got[1] != "1" || got[9] != "9" || got[10] != "a" || got[54] != "Z" || got[55] != ";1" ||
		got[109] != ";;1" {
		t.Errorf("keys %q", got)
	}
	script, err := static.ReadFile("static/page.js")
	if err != nil {
		t.Fatal(err)
	}
	commands := ""
	for _, m := range regexp.MustCompile(`(?:key|also): '(.)'`).FindAllStringSubmatch(string(script), -1) {
		commands += m[1]
	}
	if len(commands) != 8 {
		t.Errorf("the page's commands are %q", commands)
	}
	for i, a := range got {
		if strings.ContainsAny(a, commands) {
			t.Errorf("%q is a command", a)
		}
		for j, b := range got {
			if i != j && strings.HasPrefix(b, a) {
				t.Errorf("%q begins %q", a, b)
			}
		}
	}
}

// TestInOrder: categories in the order of their first labels, No Error in front.
func TestInOrder(t *testing.T) {
	var names []string
	for _, y := range inOrder([]taxonomy.Type{{Name: "a", Category: "x"}, {Name: "b", Category: "y"},
		{Name: "c", Category: "x"}, {Name: "ok", Category: "z", NoError: true}, {Name: "d", Category: "y"}}) {
		names = append(names, y.Name)
	}
	if fmt.Sprint(names) != "[ok a c b d]" {
		t.Errorf("%v", names)
	}
}

// FuzzGiven: what is taken for an answer reads the same when it is written again.
func FuzzGiven(f *testing.F) {
	f.Add([]byte(vague))
	f.Add([]byte(`{"item_id":"B001-0003","labels":null,"notes":"\ud800\u0000","skipped":true}`))
	f.Add([]byte(`{"ITEM_ID":1}`))
	f.Add([]byte(strings.Repeat("[", 100)))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := parseGiven(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		h, err := parseGiven(again)
		if err != nil && len(g.Notes) <= review.LongestNotes || err == nil && fmt.Sprintf("%#v", g) != fmt.Sprintf("%#v", h) {
			t.Errorf("%#v became %#v, %v", g, h, err)
		}
	})
}
