package selection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/review"
)

// poolOf gives rows, parsed afresh in each pass.
func poolOf(t testing.TB, lines []string) Pool {
	t.Helper()
	tax := colourTaxonomy(t)
	return func(each func(*dataset.Row) error) error {
		r := dataset.NewReader(strings.NewReader(strings.Join(lines, "\n")), "pool.jsonl", dataset.Options{Taxonomy: tax})
		defer r.Close()
		for range lines {
			row, err := r.Read()
			if err != nil {
				return err
			}
			if err := each(row); err != nil {
				return err
			}
		}
		return nil
	}
}

// line is a tagged row; a negative verifier's probability is none.
func line(id, text, scene, system string, red, blue, verified float64) string {
	labels := `"Fine"`
	switch {
	case red >= 0.8 && blue >= 0.25:
		labels = `"Too Red","Too Blue"`
	case red >= 0.8:
		labels = `"Too Red"`
	case blue >= 0.25:
		labels = `"Too Blue"`
	}
	v := ""
	if verified >= 0 {
		v = fmt.Sprintf(`,"verification":{"probability":%v,"model":"v@1"}`, verified)
	}
	return fmt.Sprintf(`{"id":%q,"text":%q,"scene":%q,"system":%q,"diagnosis":{"labels":[%s],"probabilities":{"Too Red":%v,"Too Blue":%v,"Fine":0.5}}%s}`,
		id, text, scene, system, labels, red, blue, v)
}

// vocabulary gives texts that are not alike.
func vocabulary(rng *rand.Rand) string {
	var b strings.Builder
	for range 8 {
		for range 4 + rng.IntN(4) {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// generated is a pool of n different rows in which all kinds occur.
func generated(n int) []string {
	rng := rand.New(rand.NewPCG(7, 7))
	lines := make([]string, n)
	for i := range lines {
		verified := rng.Float64()
		if i%4 == 0 {
			verified = -1
		} else if i%4 == 1 {
			verified = 0.99
		}
		lines[i] = line(fmt.Sprintf("r%d", i), vocabulary(rng), fmt.Sprintf("scene %d", rng.IntN(n/8+1)),
			string(rune('A'+rng.IntN(3))),
			math.Pow(rng.Float64(), 4), math.Pow(rng.Float64(), 6), verified)
	}
	return lines
}

func input(t testing.TB, lines []string, size int) Input {
	o := DefaultOptions()
	o.Size, o.Automatic, o.Group = size, size/2, "scene"
	return Input{Options: o, Pool: poolOf(t, lines), Meter: colourMeter(t), Used: NewUsed(), Seed: 1}
}

func mustSelect(t testing.TB, in Input) *Batch {
	t.Helper()
	b, err := Select(in)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// brief is what a batch says, one line a row.
func brief(b *Batch) []string {
	var out []string
	for _, list := range [][]Pick{b.Items, b.Auto} {
		for _, p := range list {
			out = append(out, fmt.Sprint(p.Row.ID, " ", p.Reason, " ", p.ControlOf, ": ", p.Why))
		}
	}
	return out
}

func reasons(b *Batch) map[string]int {
	n := map[string]int{}
	for _, p := range append(slices.Clone(b.Items), b.Auto...) {
		n[p.Reason]++
	}
	return n
}

func TestSelectDependsOnRowsAndSeedAlone(t *testing.T) {
	lines := generated(2000)
	want := brief(mustSelect(t, input(t, lines, 60)))
	rng := rand.New(rand.NewPCG(3, 3))
	for range 3 {
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if got := brief(mustSelect(t, input(t, lines, 60))); !slices.Equal(got, want) {
			t.Fatalf("another order, another batch:\n%s\ninstead of\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	in := input(t, lines, 60)
	in.Seed = 2
	if got := brief(mustSelect(t, in)); slices.Equal(got, want) {
		t.Error("another seed, the same batch")
	}
}

func TestSelectFillsItsShares(t *testing.T) {
	in := input(t, generated(4000), 100)
	in.Shares = Shares{Random: 0.2, Control: 0.1, Inconsistent: 0.3, Rare: 0.1}
	b := mustSelect(t, in)
	want := map[string]int{Random: 20, Control: 10, Inconsistent: 30, Rare: 10, Uncertain: 30, Auto: 50}
	got := reasons(b)
	for reason, n := range want {
		if got[reason] != n {
			t.Errorf("%d rows are %s, want %d (all: %v)", got[reason], reason, n, got)
		}
	}
	if len(b.Items) != 100 {
		t.Errorf("%d items, want 100", len(b.Items))
	}
	seen, groups := map[string]int{}, map[string]int{}
	for i, p := range append(slices.Clone(b.Items), b.Auto...) {
		if p.Reason == Control {
			if of := b.Items[p.ControlOf]; of.ID != p.ID || of.Reason == Control || i-p.ControlOf < 40 {
				t.Errorf("item %d repeats item %d (%s, %s)", i, p.ControlOf, of.ID, of.Reason)
			}
			continue
		}
		if seen[p.ID]++; seen[p.ID] > 1 {
			t.Errorf("row %s is there twice", p.ID)
		}
		if p.Reason != Random {
			groups[review.ColumnText(p.Row, "scene")]++
		}
		ok := true
		switch g := p.Signals; p.Reason {
		case Uncertain:
			ok = g.Uncertainty >= in.Uncertainty
		case Inconsistent:
			ok = g.Verified != nil && g.Inconsistency >= in.Inconsistency
		case Rare:
			ok = max(g.centred[0], g.centred[1]) >= rareFrom
		case Auto:
			ok = g.Uncertainty < in.Uncertainty && (g.Verified == nil || g.Inconsistency < in.Inconsistency)
		}
		if !ok {
			t.Errorf("row %s is %s with %+v", p.ID, p.Reason, p.Signals)
		}
	}
	for g, n := range groups {
		if n > in.PerGroup {
			t.Errorf("%s gives %d rows, at most %d", g, n, in.PerGroup)
		}
	}
	least, most := math.MaxInt, 0
	for _, n := range b.Systems {
		least, most = min(least, n), max(most, n)
	}
	if len(b.Systems) != 3 || most-least > 1 {
		t.Errorf("systems did not take turns: %v", b.Systems)
	}
	if n := b.Counts; n.Pool != 4000 || n.Free != 4000 || n.Verified != 3000 {
		t.Errorf("counts: %+v", n)
	}
}

// TestSelectOfASmallPool: shares are parts of the rows that can be chosen, where those are fewer than Size.
func TestSelectOfASmallPool(t *testing.T) {
	in := input(t, generated(50), 200)
	in.Shares = Shares{Random: 0.2, Control: 0.1}
	if got := reasons(mustSelect(t, in)); got[Random] != 10 || got[Control] > 5 || got[Uncertain] < 20 {
		t.Errorf("%v; want 10 random, at most 5 control and many uncertain rows", got)
	}
}

// Uncertainties by hand (threshold of Too Blue 0.25, its probability 0): a 1, b 0.9375, c 0.75, d 0.5625, e and f 0.5.
func TestSelectTakesTheMostUncertain(t *testing.T) {
	lines := []string{
		line("f", "six figs ripen", "s6", "", 0, 0, -1), // as sure as e, but no verifier has seen it
		line("e", "one apple falls", "s1", "", 0, 0, 0.95),
		line("d", "two boats sail home", "s2", "", 0.1, 0, -1),
		line("c", "three cats sleep inside", "s3", "", 0.4, 0, -1),
		line("b", "four dogs bark outside", "s4", "", 0.7, 0, -1),
		line("a", "five eggs lie there", "s5", "", 0.8, 0, -1),
	}
	in := input(t, lines, 2)
	in.Shares, in.Automatic = Shares{}, 5
	b := mustSelect(t, in)
	var ids, auto []string
	for _, p := range b.Items {
		ids = append(ids, p.ID)
	}
	for _, p := range b.Auto {
		auto = append(auto, p.ID)
	}
	slices.Sort(ids)
	if strings.Join(ids, " ") != "a b" || strings.Join(auto, " ") != "e" {
		t.Errorf("items %v, automatic %v; want a b, e", ids, auto)
	}
	if why := b.Items[slices.IndexFunc(b.Items, func(p Pick) bool { return p.ID == "b" })].Why; why !=
		"the identifier is unsure: its confidence in the decision on Too Red is 0.56, uncertainty 0.94 (unreliable from "+
			"0.55 on)" {
		t.Errorf("why: %s", why)
	}
	in.Size = 10 // more than there are
	if b = mustSelect(t, in); len(b.Items) != 4 {
		t.Errorf("%d items, want the 4 unreliable rows", len(b.Items))
	}
}

func TestSelectLeavesOut(t *testing.T) {
	unsure := func(id, text, scene string) string { return line(id, text, scene, "", 0.8, 0, -1) }
	lines := []string{
		unsure("trained", "one apple falls from the tree", "s1"),
		unsure("same text", "two boats sail home at night", "s2"),
		unsure("near", "three cats sleep inside the old house!", "s3"),
		unsure("copy 1", "four dogs bark outside the gate", "s4"),
		unsure("copy 2", "Four dogs bark outside the gate.", "s4"),
		`{"id":"untagged","text":"five eggs","scene":"s5","diagnosis":{"status":"untagged","reason":"too long"}}`,
		`{"id":"plain","text":"six figs","scene":"s6"}`,
		unsure("good", "seven goats climb up the hill", "s7"),
	}
	in := input(t, lines, 10)
	in.Shares = Shares{}
	for _, u := range []struct{ line, where string }{
		{unsure("trained", "something else altogether", "s1"), "train/start.jsonl"},
		{unsure("dev 1", "two boats sail home at night", "s2"), "dev.jsonl"},
		{unsure("dev 2", "three cats sleep inside the old house", "s3"), "dev.jsonl"},
	} {
		in.Used.Add(parseRow(t, in.Meter.taxonomy, u.line), u.where)
	}
	b := mustSelect(t, in)
	var ids []string
	for _, p := range b.Items {
		ids = append(ids, strings.TrimRight(p.ID, "12"))
	}
	slices.Sort(ids)
	if strings.Join(ids, ",") != "copy ,good" {
		t.Errorf("chosen: %q; want one of the copies, and good", ids)
	}
	if n := b.Counts; n.Untagged != 2 || n.Used["train/start.jsonl"] != 1 || n.Used["dev.jsonl"] != 1 || n.Free != 4 {
		t.Errorf("counts: %+v", n)
	}
	for id, want := range map[string]string{
		"trained":   "It cannot be chosen: it is in train/start.jsonl.",
		"same text": "It cannot be chosen: its text is that of row dev 1 in dev.jsonl.",
		"near":      "It was not chosen: it is nearly the same as row dev 2.",
		"untagged":  "It cannot be measured: row untagged: not tagged: too long.",
		"plain":     `It cannot be measured: row plain: not tagged: it has no column "diagnosis"; tag it with erreval identify.`,
		"good": "It was chosen for review (uncertain): the identifier is unsure: its confidence in the decision on " +
			"Too Red is 0.50, uncertainty 1.00 (unreliable from 0.55 on).",
		"absent": "There is no such row in the pool.",
	} {
		in.Watch = id
		if got := mustSelect(t, in).Watched.Verdict; got != want {
			t.Errorf("%s: %s\nwant %s", id, got, want)
		}
	}
}

func TestSelectSpreadsOverGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var lines []string
	for i := range 30 { // the first group's rows are all less sure
		lines = append(lines, line(fmt.Sprint("big ", i), vocabulary(rng), "big", "", 0.8-float64(i)/1000, 0, -1))
	}
	for i := range 6 {
		lines = append(lines, line(fmt.Sprint("small ", i), vocabulary(rng), fmt.Sprint("small ", i/2), "", 0.5, 0, -1))
	}
	in := input(t, lines, 8)
	in.Shares = Shares{}
	count := func() map[string]int {
		n := map[string]int{}
		for _, p := range mustSelect(t, in).Items {
			n[strings.Fields(review.ColumnText(p.Row, "scene"))[0]]++
		}
		return n
	}
	if n := count(); n["big"] != 3 || n["small"] != 5 {
		t.Errorf("with room in other groups: %v", n)
	}
	in.Size = 20 // the others have only 6
	if n := count(); n["big"] != 14 || n["small"] != 6 {
		t.Errorf("with no room elsewhere: %v", n)
	}
	in.Size, in.PerGroup = 8, 0
	if n := count(); n["big"] != 8 {
		t.Errorf("without a limit: %v", n)
	}
	in.PerGroup, in.Watch = 3, "big 3"
	if got := mustSelect(t, in).Watched; !strings.Contains(got.Verdict, "its group already gives 3 rows") ||
		got.Ranks[1].Place != 4 || got.Ranks[1].Of != 36 {
		t.Errorf("explained as %q", got.Lines())
	}
}

func TestSelectBalancesLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var lines []string
	add := func(n int, name string, red, blue, verified float64) {
		for i := range n {
			lines = append(lines, line(fmt.Sprint(name, " ", i), vocabulary(rng), fmt.Sprint(name, i), "", red, blue, verified))
		}
	}
	add(100, "fine", 0, 0, 0.99)
	add(30, "red", 0.999, 0, 0.99)
	add(5, "blue", 0, 0.999, 0.99)
	add(40, "perhaps blue", 0, 0.2, 0.99)
	in := input(t, lines, 10)
	in.Automatic, in.Shares = 45, Shares{Rare: 1}
	in.Counts = map[string]int{"Too Red": 20, "Too Blue": 13, "Fine": 500}
	n := map[string]int{}
	for _, p := range append(mustSelect(t, in).Items, mustSelect(t, in).Auto...) {
		n[p.Reason+" "+strings.TrimRight(p.ID, " 0123456789")]++
	}
	// Rare: 7 of Blue make both 20, then Red, Blue and Red. Automatic: Fine and Red in turns, since Blue has no sure row
	// left.
	if n["rare blue"] != 5 || n["rare perhaps blue"] != 3 || n["rare red"] != 2 {
		t.Errorf("rare: %v", n)
	}
	if n["auto fine"] != 23 && n["auto fine"] != 22 || n["auto fine"]+n["auto red"] != 45 {
		t.Errorf("automatic: %v", n)
	}
}

// A uniform draw takes each row in a share of the seeds that the binomial distribution allows (five standard
// deviations).
func TestRandomSliceIsUniform(t *testing.T) {
	lines := generated(60)
	in := input(t, lines, 30)
	in.Shares = Shares{Random: 0.5}
	const seeds = 400
	n := map[string]int{}
	for seed := range int64(seeds) {
		in.Seed = seed
		for _, p := range mustSelect(t, in).Items {
			if p.Reason == Random {
				n[p.ID]++
			}
		}
	}
	p := 15.0 / 60
	for _, line := range lines {
		id := line[len(`{"id":"`):strings.Index(line, `","text"`)]
		if d := float64(n[id]) - p*seeds; math.Abs(d) > 5*math.Sqrt(seeds*p*(1-p)) {
			t.Errorf("row %s was drawn %d times of %d, want about %v", id, n[id], seeds, p*seeds)
		}
	}
}

func TestMistakesComeFromTheTrainingSet(t *testing.T) {
	in := input(t, generated(50), 20)
	in.Shares = Shares{Mistake: 0.1}
	for i, score := range []float64{0.9, 0.03, 0.5} {
		in.Mistakes = append(in.Mistakes, Doubt{Row: parseRow(t, in.Meter.taxonomy, line(fmt.Sprint("t", i), "x", "y", "", 0,
			0, -1)), Score: score})
	}
	got := map[string]string{}
	for _, p := range mustSelect(t, in).Items {
		if p.Reason == Mistake {
			got[p.ID] = p.Why
		}
	}
	if len(got) != 2 || got["t1"] != "the labels it has in the training set are doubtful: quality 0.03, rank 1 of 3" ||
		got["t2"] == "" {
		t.Errorf("mistakes: %v", got)
	}
}

func TestConflictingRowsAreChosen(t *testing.T) {
	judged := func(id, text string, warmth, balance int) string {
		l := line(id, text, "scene "+id, "", 0, 0, 0.99)
		return strings.TrimSuffix(l, "}") + fmt.Sprintf(`,"scores":{"warmth":{"value":%d},"balance":{"value":%d}}}`,
			warmth, balance)
	}
	in := input(t, []string{
		judged("agrees", "one apple falls from the tree", 3, 5),
		judged("warmth 1", "two boats sail home at night", 1, 5),     // 1 - 0
		judged("balance 2", "three cats sleep in the house", 3, 2),   // 1 - 1/4
		judged("balance 3", "four dogs bark outside the gate", 3, 3), // 1 - 2/4: below 0.75
	}, 2)
	in.Shares, in.Automatic = Shares{Conflict: 1}, 9
	b := mustSelect(t, in)
	got := brief(b)
	slices.Sort(got)
	want := []string{
		"agrees auto -1: reliable: uncertainty 0.50 (below 0.55), inconsistency 0.01 (below 0.20)",
		"balance 2 conflict -1: a judge scores Balance low, which none of the errors found explains: conflict 0.75 " +
			"(unreliable from 0.75 on)",
		"balance 3 auto -1: reliable: uncertainty 0.50 (below 0.55), inconsistency 0.01 (below 0.20)",
		"warmth 1 conflict -1: a judge scores Warmth low, which none of the errors found explains: conflict 1.00 " +
			"(unreliable from 0.75 on)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("chosen:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLines(t *testing.T) {
	in := input(t, generated(200), 10)
	in.Shares = Shares{Control: 0.2, Random: 0.2}
	b := mustSelect(t, in)
	items, auto, err := b.Lines("B007")
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range items {
		p := b.Items[i]
		row, err := it.Source(in.Meter.taxonomy)
		if err != nil {
			t.Fatal(err)
		}
		if it.ItemID != fmt.Sprintf("B007-%04d", i+1) || it.RowID != p.ID || it.Reason != p.Reason ||
			row.TextHash() != it.TextSHA256 ||
			*it.Uncertainty != p.Signals.Uncertainty || (it.Inconsistency == nil) != (p.Signals.Verified == nil) ||
			len(it.Proposed.Labels) == 0 {
			t.Errorf("item %d is %+v of %+v", i, it, p)
		}
		if want := p.ControlOf; want >= 0 && it.ControlOf != items[want].ItemID || want < 0 && it.ControlOf != "" {
			t.Errorf("item %s repeats %q", it.ItemID, it.ControlOf)
		}
	}
	if n := strings.Count(string(auto), `{"row_id":"r`); n != len(b.Auto) || n == 0 ||
		strings.Contains(string(auto), "item_id") {
		t.Errorf("%d lines of %d automatic rows: %s", n, len(b.Auto), auto)
	}
}

func TestRepeat(t *testing.T) {
	for n := range 40 {
		items := make([]Pick, n)
		for i := range items {
			items[i] = Pick{ID: fmt.Sprint(i), Reason: Uncertain, ControlOf: -1}
		}
		for k := range n/2 + 1 {
			out := repeat(items, n/2, k)
			if len(out) != n+k {
				t.Fatalf("%d items and %d repeated are %d", n, k, len(out))
			}
			for at, p := range out {
				if p.Reason == Control && (out[p.ControlOf].ID != p.ID || out[p.ControlOf].Reason == Control ||
					at-p.ControlOf <= n/2) {
					t.Errorf("%d items: number %d repeats number %d", n, at, p.ControlOf)
				}
			}
		}
	}
}

func section(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0].Content[1]
}

func TestReadConfig(t *testing.T) {
	want := DefaultOptions()
	if got, err := ReadConfig(section(t, ConfigText), "refine.yaml"); err != nil || got != want {
		t.Errorf("the commented section is not the default:\n%+v\n%+v (%v)", got, want, err)
	}
	if got, err := ReadConfig(nil, "refine.yaml"); err != nil || got != want {
		t.Errorf("no section: %+v, %v", got, err)
	}
	want.Size, want.Shares.Rare = 50, 0
	if got, err := ReadConfig(section(t, "select: {size: 50, shares: {rare: 0}}"), "refine.yaml"); err != nil ||
		got != want {
		t.Errorf("two settings: %+v, %v", got, err)
	}
	for text, fault := range map[string]string{
		"select:\n  sise: 3":                          `refine.yaml:2: unknown key "sise"`,
		"select:\n  size: 0":                          "refine.yaml:2: size",
		"select:\n  shares: 3":                        "refine.yaml:2: shares must be a mapping",
		"select:\n  uncertainty: 0.2":                 "refine.yaml:2: select: uncertainty is 0.2",
		"select:\n  shares: {random: 0.9, rare: 0.5}": "add up",
		"select:\n  near_duplicate: 0":                "near_duplicate",
		"select:\n  shares:\n    random: a lot":       "refine.yaml:3: random",
	} {
		if _, err := ReadConfig(section(t, text), "refine.yaml"); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: %v, want %q", text, err, fault)
		}
	}
}

func TestOptions(t *testing.T) {
	o := DefaultOptions()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o = Options{Automatic: -1, PerGroup: -1, Uncertainty: 0.4, Inconsistency: 2, Conflict: 0, NearDuplicate: math.NaN(),
		Shares: Shares{Random: 0.6, Rare: 0.6, Control: -0.1}}
	err := fmt.Sprint(o.Validate())
	for _, want := range []string{"size", "automatic", "per_group", "uncertainty", "inconsistency", "conflict",
		"near_duplicate", "control", "add up"} {
		if !strings.Contains(err, want) {
			t.Errorf("%s is not among the faults: %s", want, err)
		}
	}
}

// A group may be a number, and a field's column may have another name in a pool that was tagged elsewhere.
func TestGroups(t *testing.T) {
	var lines []string
	for i := range 20 {
		lines = append(lines, strings.Replace(line(fmt.Sprint("r", i), strings.Repeat(string(rune('a'+i)), 9), "", "", 0.7, 0,
			-1), `{`, fmt.Sprintf(`{"doc":%d,`, i%2), 1))
	}
	in := input(t, lines, 4)
	in.Group, in.PerGroup, in.Shares = "doc", 2, Shares{}
	if b := mustSelect(t, in); b.Groups != 2 || len(b.Items) != 4 {
		t.Errorf("%d groups, %d items", b.Groups, len(b.Items))
	}
	row := &dataset.Row{Values: []string{"a text", "a scene"}}
	in.Group = "scene"
	if in.groupOf(row) == 0 {
		t.Error("a field is no group")
	}
}

// Every row has a near twin: where the random slice has one, nothing else takes the other, so that it is not trained
// on.
func TestTwinsOfRandomRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var lines []string
	for i := range 30 {
		text := vocabulary(rng)
		for _, end := range []string{"x", "y"} {
			lines = append(lines, line(fmt.Sprint(i, end), text+end, fmt.Sprint("scene ", i), "", 0.7, 0, -1))
		}
	}
	in := input(t, lines, 40)
	in.PerGroup, in.Shares = 0, Shares{Random: 0.25}
	random, taken := map[string]bool{}, map[string]string{}
	b := mustSelect(t, in)
	for _, p := range b.Items {
		taken[p.ID] = p.Reason
		random[p.ID] = p.Reason == Random
	}
	for id, is := range random {
		twin := id[:len(id)-1] + map[byte]string{'x': "y", 'y': "x"}[id[len(id)-1]]
		if is && taken[twin] != "" && taken[twin] != Random {
			t.Errorf("%s is %s, and its twin %s is random", twin, taken[twin], id)
		}
	}
	if n := reasons(b); n[Random] != 10 || n[Uncertain] < 15 {
		t.Errorf("%v", n)
	}
}

// The slice is uniform over rows, however many say the same.
func TestRandomTakesRepeatedTexts(t *testing.T) {
	var lines []string
	for i := range 10 {
		lines = append(lines, line(fmt.Sprint("r", i), "one and the same", "s", "", 0.7, 0, -1))
	}
	in := input(t, lines, 5)
	in.Shares = Shares{Random: 1}
	if n := reasons(mustSelect(t, in)); n[Random] != 5 {
		t.Errorf("%v", n)
	}
}
