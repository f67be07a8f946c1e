package discover

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/taxonomy"
)

// oracle is a model that knows what is wrong with each text, and errs as often as it is told to.
type oracle struct {
	t       *testing.T
	wrong   float64 // share of decisions about issues that are wrong
	mu      sync.Mutex
	calls   int
	truth   map[string]int // sentence to kind of fault
	kinds   int
	spoil   func(call int, text string) *llm.Reply // another reply, or nil
	analyse map[string]string                      // response to sentence; "" is no issue
}

var (
	blockOf = regexp.MustCompile(`(?s)\[begin ([\w ]+) [0-9a-f]{16}\]\n(.*?)\n\[end `)
	kindOf  = regexp.MustCompile(`^Fault (\d+)`)
)

func (o *oracle) Complete(_ context.Context, r *llm.Request) (*llm.Reply, error) {
	o.mu.Lock()
	o.calls++
	n := o.calls
	o.mu.Unlock()
	asked := r.Messages[len(r.Messages)-1].Content
	if o.spoil != nil {
		if reply := o.spoil(n, asked); reply != nil {
			return reply, nil
		}
	}
	text, err := o.reply(r.Schema.Name, asked)
	return &llm.Reply{Text: text, Finish: llm.FinishStop}, err
}

// reply is the right one.
func (o *oracle) reply(kind, asked string) (string, error) {
	var blocks [][]string
	for _, m := range blockOf.FindAllStringSubmatch(asked, -1) {
		blocks = append(blocks, m[1:])
	}
	data, err := json.Marshal(o.answer(kind, asked, blocks))
	return string(data), err
}

func (o *oracle) answer(kind, asked string, blocks [][]string) any {
	var statements []string
	var known []int
	for _, b := range blocks {
		switch {
		case strings.HasPrefix(b[0], "statement"):
			statements = append(statements, b[1])
		case strings.HasPrefix(b[0], "issue"):
			n, err := strconv.Atoi(kindOf.FindStringSubmatch(b[1])[1])
			if err != nil {
				o.t.Error(err)
			}
			known = append(known, n)
		}
	}
	named := func(n int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("Fault %d", n), "description": "It has this fault."}
	}
	switch kind {
	case "analyze":
		text := blocks[0][1]
		sentence, ok := o.analyse[text]
		if !ok {
			o.t.Errorf("asked about %q", text)
		}
		if sentence == "" {
			return map[string]any{"analysis": "Fine.", "issue": "none", "quote": "", "severity": 0}
		}
		return map[string]any{"analysis": "It is wrong.", "issue": sentence, "quote": text[:8], "severity": 2}
	case "fit":
		n := o.kindOf(statements[0])
		// the same question has the same answer, as at temperature 0
		random := rand.New(rand.NewPCG(uint64(len(asked)), hash(asked)))
		if random.Float64() < o.wrong {
			n = random.IntN(o.kinds)
		}
		if at := slices.Index(known, n); at >= 0 {
			return map[string]any{"reason": "", "issue": strconv.Itoa(at + 1), "name": "", "description": ""}
		}
		reply := named(n)
		reply["issue"] = "none"
		return reply
	case "name":
		count := map[int]int{}
		best := o.kindOf(statements[0])
		for _, s := range statements {
			if count[o.kindOf(s)]++; count[o.kindOf(s)] > count[best] {
				best = o.kindOf(s)
			}
		}
		return named(best)
	case "synthesize":
		var all []any
		for _, s := range statements {
			if n := o.kindOf(s); !slices.Contains(known, n) {
				known = append(known, n)
				all = append(all, named(n))
			}
		}
		return map[string]any{"issues": all}
	case "merge":
		var all []any
		for i, n := range known {
			g := named(n)
			g["members"] = []int{i + 1}
			all = append(all, g)
		}
		return map[string]any{"groups": all}
	case "map":
		applies := make([]int, len(known))
		for i, n := range known {
			if n == o.kindOf(statements[0]) {
				applies[i] = 1
			}
		}
		return map[string]any{"applies": applies}
	case "direct":
		byKind := map[int][]int{}
		for i, s := range statements {
			byKind[o.kindOf(s)] = append(byKind[o.kindOf(s)], i+1)
		}
		var all []any
		for n := range o.kinds {
			if byKind[n] != nil {
				g := named(n)
				g["statements"] = byKind[n]
				all = append(all, g)
			}
		}
		return map[string]any{"issues": all}
	}
	o.t.Errorf("a call of kind %s", kind)
	return nil
}

func (o *oracle) kindOf(sentence string) int {
	n, ok := o.truth[sentence]
	if !ok {
		o.t.Errorf("no kind for %q", sentence)
	}
	return n
}

func hash(text string) uint64 {
	var h uint64 = 14695981039346656037
	for _, c := range []byte(text) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// world is rows of the task response with known faults.
type world struct {
	rows []*dataset.Row
	gold []int // by row: kind of fault, or -1
	*oracle
}

func newWorld(t *testing.T, rows, kinds int, wrong float64) *world {
	w := &world{oracle: &oracle{t: t, wrong: wrong, kinds: kinds, truth: map[string]int{}, analyse: map[string]string{}}}
	for i := range rows {
		row, err := dataset.RowOf(map[string]any{"response": "x"})
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("Response number %d of the system.", i)
		row.ID, row.Values = fmt.Sprintf("r%d", i), []string{text, fmt.Sprintf("Request %d", i/2), "", ""}
		n := i % (kinds + 1) // one part has no fault
		if n == kinds {
			n = -1
		}
		w.rows, w.gold = append(w.rows, row), append(w.gold, n)
		sentence := ""
		if n >= 0 {
			sentence = fmt.Sprintf("The response has a fault of the kind %s, case %d.", spelled(n), i)
			w.truth[sentence] = n
		}
		w.analyse[text] = sentence
	}
	return w
}

func spelled(n int) string { return strings.Repeat(string(rune('a'+n%26)), 5+n/26) }

func (w *world) model() Model {
	task, err := taxonomy.Builtin("response")
	if err != nil {
		w.t.Fatal(err)
	}
	return Model{Model: llm.Model{Name: "oracle", Model: "oracle", Client: w.oracle, MaxTokens: 512}, Taxonomy: task,
		Attempts: 3, Workers: 8}
}

func (w *world) items() []*Item { return w.analysed(w.model()) }

func (w *world) analysed(m Model) []*Item {
	a, err := NewAnalyst(m, DefaultAnalystOptions())
	if err != nil {
		w.t.Fatal(err)
	}
	var items []*Item
	at := 0
	err = a.Analyse(context.Background(), func() (*dataset.Row, error) {
		if at == len(w.rows) {
			return nil, io.EOF
		}
		at++
		return w.rows[at-1], nil
	}, func(row *dataset.Row, f *issues.Finding) error {
		items = append(items, &Item{ID: row.ID, Group: row.Values[1], Finding: f})
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return items
}

// partition is each row's first issue; rows without issue are one group, and each unassigned row is its own.
func partition(items []*Item) []int {
	out, ids := make([]int, len(items)), map[string]int{}
	for i, item := range items {
		switch f := item.Finding; f.Status {
		case issues.Assigned:
			if _, ok := ids[f.IDs[0]]; !ok {
				ids[f.IDs[0]] = len(ids) + 1
			}
			out[i] = ids[f.IDs[0]]
		case issues.Unassigned:
			out[i] = len(items) + i + 1
		}
	}
	return out
}

// An oracle finds every group, by every grouping; one that is wrong in a tenth of its decisions finds nearly all of
// them in five orders.
func TestOracle(t *testing.T) {
	for _, c := range []struct {
		grouping string
		wrong    float64
		orders   int
		least    float64
	}{
		{Cumulative, 0, 3, 0.995}, {KeyPoints, 0, 1, 0.995}, {Direct, 0, 1, 0.995}, {Cumulative, 0, 1, 0.995},
		{Cumulative, 0.1, 5, 0.93},
	} {
		w := newWorld(t, 160, 7, c.wrong)
		items := w.items()
		o := DefaultOptions()
		o.Grouping, o.Orders, o.Seed = c.grouping, c.orders, 3
		model := w.model()
		g, err := NewGrouper(&model, o)
		if err != nil {
			t.Fatal(err)
		}
		before := w.calls
		r, err := g.Group(context.Background(), items)
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Publish(context.Background(), PublishOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ari := stats.NewContingency(w.gold, partition(items)).AdjustedRand()
		t.Logf("%s, %v wrong, %d orders: ARI %.3f, %d issues, %d calls for %d rows, agreement %v", c.grouping,
			c.wrong, c.orders,
			ari, len(l.Issues), w.calls-before, len(items), l.Agreement)
		if !(ari >= c.least) || l.Rows != len(w.rows) || l.Assigned+l.NoIssue != l.Rows {
			t.Errorf("%s, %v wrong: ARI %v, want at least %v; %d rows of %d, %v unassigned", c.grouping, c.wrong, ari, c.least,
				l.Rows, len(w.rows), l.Unassigned)
		}
	}
}
