package gate

import (
	"strings"
	"testing"
)

func label(name string) (string, bool) {
	full, ok := map[string]string{"vague": "Vague", "vag": "Vague", "a>b": "A>B",
		"no error": "No Error"}[strings.ToLower(name)]
	return full, ok
}

var counts = Counts{Rows: 25, Tagged: 20, Untagged: 5, Truncated: 2, WithoutError: 12, Rejected: 75,
	Labels: map[string]int{"Vague": 1, "A>B": 7, "No Error": 12}}

// TestCheck: shares and sums below are worked out by hand from counts.
func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"Vague>5%":       "held: Vague: 1 of 20 tagged rows (5.0 %), fails if > 5 %",
		"VAG >= 5 %":     "missed: Vague: 1 of 20 tagged rows (5.0 %), fails if >= 5 %: missed by 0 points",
		"vague>0.02":     "missed: Vague: 1 of 20 tagged rows (5.0 %), fails if > 2 %: missed by 3 points",
		"vague>0":        "missed: Vague: 1 of 20 tagged rows (5.0 %), fails if > 0: missed by 1",
		"vague>1":        "held: Vague: 1 of 20 tagged rows (5.0 %), fails if > 1",
		"a>b<=7":         "missed: A>B: 7 of 20 tagged rows (35.0 %), fails if <= 7: missed by 0",
		"any>20%":        "missed: any: 8 of 20 tagged rows (40.0 %), fails if > 20 %: missed by 20 points",
		"No Error<75%":   "missed: No Error: 12 of 20 tagged rows (60.0 %), fails if < 75 %: missed by 15 points",
		"no error<60%":   "held: No Error: 12 of 20 tagged rows (60.0 %), fails if < 60 %",
		"untagged>20%":   "held: untagged: 5 of 25 rows (20.0 %), fails if > 20 %",
		"Untagged>0":     "missed: untagged: 5 of 25 rows (20.0 %), fails if > 0: missed by 5",
		"truncated>=.1":  "missed: truncated: 2 of 20 tagged rows (10.0 %), fails if >= 10 %: missed by 0 points",
		"rejected>74.5%": "missed: rejected: 75 of 100 lines (75.0 %), fails if > 74.5 %: missed by 0.5 points",
	} {
		g, err := Parse(text, label)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		r := g.Check(counts)
		got := map[bool]string{true: "missed: ", false: "held: "}[r.Missed] + r.Reason
		if got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
}

// TestNamed: what counts no rows is listed, by ten names; where it is not known of all, the limit is missed.
func TestNamed(t *testing.T) {
	eleven := strings.Split("a b c d e f g h i j k", " ")
	for want, n := range map[string]Named{
		"held: new: 0 of 2 issues; fails if > 50 %":                              {Of: 2, Unit: "issues"},
		"held: new: 1 of 2 issues: a; fails if > 50 %":                           {Names: eleven[:1], Of: 2, Unit: "issues"},
		"held: new: 1 of 2 issues: a; not judged: b; fails if > 50 %":            {eleven[:1], 2, "issues", eleven[1:2], false, ""},
		"missed: new: 2 of 2 issues: a, b; fails if > 50 %: missed by 50 points": {Names: eleven[:2], Of: 2, Unit: "issues"},
		"missed: new: 11 of 11 issues: a, b, c, d, e, f, g, h, i, j and 1 more; fails if > 50 %: missed by 50 points": {
			Names: eleven, Of: 11, Unit: "issues"},
		"missed: new: 0 of 2 issues; not judged: b; fails if > 50 %: missed, as it is not known of all of them": {
			nil, 2, "issues", eleven[1:2], true, ""},
		"missed: new: 0 of 2 issues; missed, as that cannot be decided: few": {Of: 2, Unit: "issues", Few: "few"},
		"missed: new: there are no issues to count among":                    {Unit: "issues"},
	} {
		g := Gate{Subject: "new", Op: ">", Share: true, Limit: 0.5}
		r := g.Check(Counts{Tagged: 3, Named: map[string]Named{"new": n}})
		if got := map[bool]string{true: "missed: ", false: "held: "}[r.Missed] + r.Reason; got != want {
			t.Errorf("\ngot  %s\nwant %s", got, want)
		}
	}
	g := Gate{Subject: "new", Op: ">"}
	if r := g.Check(Counts{Named: map[string]Named{"new": {Of: 2, Unit: "issues"}}}); !r.Missed {
		t.Errorf("of no rows: %+v", r)
	}
}

// TestNothingKnown: of no rows one cannot say that few have an error, and a generator that wrote nothing fails.
func TestNothingKnown(t *testing.T) {
	for _, text := range []string{"Vague>5%", "Vague>0", "any>20%", "untagged>0", "untagged>1%", "rejected>0"} {
		g, err := Parse(text, label)
		if err != nil {
			t.Fatal(err)
		}
		if r := g.Check(Counts{}); !r.Missed || r.Share != nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

func TestParseFails(t *testing.T) {
	for text, want := range map[string]string{
		"":               "write it as NAME>LIMIT",
		"Vague":          "write it as NAME>LIMIT",
		"Vague=5%":       "write it as NAME>LIMIT",
		">5%":            "write it as NAME>LIMIT",
		"Vague>-5%":      "write it as NAME>LIMIT",
		"Vague>5%x":      "write it as NAME>LIMIT",
		"Vague>1.2.3":    "1.2.3 is no number",
		"Vague>101%":     "a share is at most 1",
		"Vague>5.5":      "a share is at most 1",
		"Rude>5%":        `there is no error type "Rude"; besides error types there are any, untagged, truncated, not_judged and rejected`,
		"Vague>5%,any>1": `there is no error type "Vague>5%,any"`,
	} {
		_, err := Parse(text, label)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"Vague>5%", "any>=0.2", "untagged>0", "a>b<=7", ">5%", "Vague>.", "vague>1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text, label)
		if err != nil {
			return
		}
		if g.Subject == "" || !(g.Limit >= 0) || g.Share && g.Limit > 1 {
			t.Errorf("%q became %+v", text, g)
		}
		g.Check(counts)
	})
}
