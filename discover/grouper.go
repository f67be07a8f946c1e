package discover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/erreval/erreval/discover/cluster"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/faults"
	"github.com/erreval/erreval/internal/stats"
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/prompt"
)

// Ways in which analyses are grouped.
const (
	Cumulative = "cumulative" // one after the other: one of the issues so far, or a new one
	KeyPoints  = "keypoints"  // issues from batches, merged; then each row is mapped to any number of them
	Direct     = "direct"     // all in one prompt
	Offline    = "offline"    // by likeness, without a model
)

// Groupings are the ways, the default first.
func Groupings() []string { return []string{Cumulative, KeyPoints, Direct, Offline} }

// Item is a row that was analysed.
type Item struct {
	ID      string
	Group   string   // rows of one group, such as a passage, count together in intervals
	Labels  []string // errors that an identifier found; nil is not known
	Tagged  bool     // an identifier looked at it: Labels are all that it found
	Text    string   // of the row, which GroupLabels compares
	Finding *issues.Finding
}

// Options say how items are grouped.
type Options struct {
	Grouping string
	Seed     uint64 // of orders, samples and the order in which prompts list things
	Known    []issues.Issue
	// Orders is in how many orders Cumulative groups, >= 1; their consensus counts.
	Orders int
	// Shortlist is how many of the issues a prompt lists at most, the most similar: with more than that, a model overlooks
	// some. Block is how many statements are compared with the same issues at the same time.
	Shortlist, Block int
	// NameFrom is how many statements the name of an issue is made from at most.
	NameFrom int
	// Batch is how many statements KeyPoints puts into one prompt, MaxStatements how many it takes in all (by a draw that
	// prefers low scores), MaxIssues how many issues it keeps. CLEAR's are 100, 1000 and 15.
	Batch, MaxStatements, MaxIssues int
	// MaxDirect is how many statements Direct puts into its prompt.
	MaxDirect int
	Cluster   cluster.Options // of Offline
	// TagThreshold is in place of Cluster's where sentences are tags: few, and each of several rows.
	TagThreshold float64
	// MinSize is the number of rows from which ByLabels gives a part of a label's rows an issue of its own.
	MinSize int
	// Embed gives a vector for each sentence, by which sentences are compared besides their words; nil: words alone.
	Embed func(ctx context.Context, sentences []string) ([][]float32, error)
	// Progress is told how far a step is; may be nil. It may be called from several goroutines.
	Progress func(step string, done, of int)
}

// DefaultOptions group cumulatively in three orders.
func DefaultOptions() Options {
	return Options{Grouping: Cumulative, Seed: 1, Orders: 3, Shortlist: 40, Block: 16, NameFrom: 20, Batch: 100,
		MaxStatements: 1000, MaxIssues: 15, MaxDirect: 1000, Cluster: cluster.DefaultOptions(), TagThreshold: 0.8,
		MinSize: 5}
}

// maxOrders bounds Orders: agreement is compared for every pair.
const maxOrders = 50

// Validate joins all faults of o.
func (o *Options) Validate() error {
	var faults faults.List
	faults.Check(slices.Contains(Groupings(), o.Grouping), "grouping %q: it is one of %v", o.Grouping, Groupings())
	faults.Check(o.Orders >= 1 && o.Orders <= maxOrders, "%d orders; give 1 to %d", o.Orders, maxOrders)
	for name, n := range map[string]int{"shortlist": o.Shortlist, "block": o.Block, "statements for a name": o.NameFrom,
		"batch": o.Batch, "statements": o.MaxStatements, "issues": o.MaxIssues, "direct statements": o.MaxDirect,
		"least size": o.MinSize} {
		faults.Check(n >= 1 && n <= 1<<20, "%s: %d; give 1 to %d", name, n, 1<<20)
	}
	faults.Add(o.Cluster.Validate())
	return faults.Err()
}

// Result is what grouping gave.
type Result struct {
	Items     []*Item
	Issues    []Group
	Agreement *float64 // mean adjusted Rand index between two orders; nil with one
	Notes     []string // what a person should know of how it went
}

// Group is an issue before it has an id and counts.
type Group struct {
	Name, Description string
	Members           []int // indexes of items, rising
	Stability         *float64
	Known             *issues.Issue // that it is, of Options.Known; or nil
	Sentences         int           // different ones, of Offline alone
}

// knownGroups are the known issues.
func (o *Options) knownGroups() []Group {
	groups := make([]Group, len(o.Known))
	for i := range o.Known {
		k := &o.Known[i]
		groups[i] = Group{Name: k.Name, Description: k.Description, Known: k}
	}
	return groups
}

// Grouper sorts what was found into issues.
type Grouper struct {
	o     Options
	model *asking // nil if Grouping is Offline
}

// NewGrouper checks model and options. Offline needs no model: give nil.
func NewGrouper(m *Model, o Options) (*Grouper, error) {
	g := &Grouper{o: o}
	if err := o.Validate(); err != nil || o.Grouping == Offline {
		return g, err
	}
	if m == nil {
		return nil, fmt.Errorf("grouping %s needs a model", o.Grouping)
	}
	var err error
	g.model, err = newAsking(*m, prompt.Fit, prompt.Name, prompt.Synthesize, prompt.Merge, prompt.Map, prompt.Direct)
	return g, err
}

// Group sorts the items without a Status in their Finding, and fills in the Finding's Status and Reason (not its IDs,
// which Publish knows). The errors are those that end a run, as of Analyst.Analyse.
func (g *Grouper) Group(ctx context.Context, items []*Item) (*Result, error) {
	if g.model != nil {
		g.model.Reset()
	}
	units := unitsOf(items)
	found := &sorted{units: units, of: make([][]int, len(units)), faults: make([]string, len(units))}
	var err error
	switch {
	case len(units) == 0:
	case g.o.Grouping == Cumulative:
		err = g.cumulative(ctx, found)
	case g.o.Grouping == KeyPoints:
		err = g.keyPoints(ctx, found)
	case g.o.Grouping == Direct:
		err = g.direct(ctx, found)
	default:
		err = g.offline(ctx, found)
	}
	if err != nil {
		return nil, err
	}
	return found.result(items), nil
}

// unit is a sentence that one row has, or several: it is decided about once.
type unit struct {
	sentence string
	score    *float64 // of the first item, 0 to 1; nil is not known
	items    []int    // rising
}

// unitsOf are the distinct sentences, in the order of the items. Near-identical ones (see cluster.Key) are one.
func unitsOf(items []*Item) []unit {
	var units []unit
	at := stats.Numbers[string]{}
	for i, item := range items {
		if item.Finding.Status != "" {
			continue
		}
		n := at.Of(cluster.Key(item.Finding.Analysis))
		if n == len(units) {
			units = append(units, unit{sentence: item.Finding.Analysis, score: item.Finding.Score})
		}
		units[n].items = append(units[n].items, i)
	}
	return units
}

// sorted is how the units were sorted.
type sorted struct {
	units     []unit
	issues    []Group  // without Members
	of        [][]int  // by unit: the issues that it has; none where it has a fault, or where it has no issue after all
	faults    []string // by unit: why it could not be sorted, or ""
	agreement *float64
	notes     []string
}

func (s *sorted) result(items []*Item) *Result {
	r := &Result{Items: items, Agreement: s.agreement, Notes: s.notes}
	for u, of := range s.of {
		for _, i := range s.units[u].items {
			f := items[i].Finding
			switch {
			case s.faults[u] != "":
				f.Status, f.Reason, f.Unsorted = issues.Unassigned, s.faults[u], true
			case len(of) == 0 && f.Score == nil: // the sentence says that something is wrong
				f.Status, f.Reason = issues.Unassigned, issues.Unlisted
			case len(of) == 0:
				f.Status = issues.None
			default:
				f.Status = issues.Assigned
			}
			for _, n := range of {
				s.issues[n].Members = append(s.issues[n].Members, i)
			}
		}
	}
	for _, group := range s.issues {
		if slices.Sort(group.Members); len(group.Members) > 0 || group.Known != nil {
			r.Issues = append(r.Issues, group)
		}
	}
	return r
}

// draw is a source of random numbers for one purpose.
func (o *Options) draw(purpose, n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(o.Seed, purpose<<32|n))
}

// Purposes of draws.
const (
	drawOrder = iota + 1
	drawShown
	drawSample
	drawName
)

func (o *Options) report(step string, done, of int) {
	if o.Progress != nil {
		o.Progress(step, done, of)
	}
}

// Forecast calls visit with calls like those that n different statements would need if they had so many issues: as many
// calls, about as long.
func (g *Grouper) Forecast(n, known int, visit func(kind string, r *llm.Request) error) error {
	statement := strings.TrimSpace(strings.Repeat("word ", 30))
	issue := prompt.Issue{Name: "word word word", Description: statement}
	repeat := func(times int, kind string, statements, issues int, schema llm.Object) error {
		in := prompt.Input{Most: g.o.MaxIssues}
		for range statements {
			in.Statements = append(in.Statements, statement)
		}
		for range issues {
			in.Issues = append(in.Issues, issue)
		}
		q, err := g.model.question(kind, in, schema)
		for range times {
			if err == nil {
				err = visit(kind, q)
			}
		}
		return err
	}
	schema := llm.ObjectOf(text("name"), text("description"))
	var faults []error
	switch {
	case n == 0 || g.model == nil:
	case g.o.Grouping == Cumulative:
		faults = append(faults, repeat(n*g.o.Orders, prompt.Fit, 1, min(known, g.o.Shortlist), schema))
		faults = append(faults, repeat(known, prompt.Name, min(n, g.o.NameFrom), 0, schema))
	case g.o.Grouping == KeyPoints:
		sample := min(n, g.o.MaxStatements)
		faults = append(faults, repeat((sample+g.o.Batch-1)/g.o.Batch, prompt.Synthesize, min(sample, g.o.Batch),
			known, issueList))
		faults = append(faults, repeat(1, prompt.Merge, 0, 2*known, issueList))
		faults = append(faults, repeat(n, prompt.Map, 1, known, schema))
	case g.o.Grouping == Direct:
		faults = append(faults, repeat(1, prompt.Direct, n, 0, issueList))
	}
	return errors.Join(faults...)
}

// counter adds up what several goroutines did.
type counter struct {
	mu     sync.Mutex
	done   int
	of     int
	step   string
	report func(step string, done, of int)
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += n
	c.report(c.step, c.done, c.of)
}
