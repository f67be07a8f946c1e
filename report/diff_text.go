package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/internal/words"
)

// Report puts the figures into words and tables.
func (d *Diff) Report() *Report {
	r := &Report{Title: fmt.Sprintf("From A (%s) to B (%s)", d.A.File, d.B.File)}
	r.Facts = slices.Concat([]string{d.Pairing.Fact()}, d.pooled(), d.otherModel(), d.A.describe("A"),
		d.B.describe("B"), []string{d.describe()})
	if few := d.Interval.few(d.Compared); few != "" {
		r.Facts = append(r.Facts, few)
	}
	r.Method = []string{"taxonomy " + d.Taxonomy, d.Interval.method()}
	if d.otherModel() == nil {
		r.Method[0] = "model " + joinModels(d.B.Models) + ", " + r.Method[0]
	}
	r.addThresholds(d.Thresholds)
	if d.decided && !isAnyKnown(d.Thresholds) {
		r.Facts = append(r.Facts, differingThresholds(d.Thresholds))
	}
	changes, examples := d.tables()
	shares := Section{Title: "Share of the compared rows, and the difference in points (B minus A)", Table: changes}
	shares.Notes = d.notes()
	r.Sections = append(Limits(d.Gates), shares)
	first := ""
	if d.limit > 0 {
		first = fmt.Sprintf("the first %d of each; ", d.limit)
	}
	if len(examples.Rows) > 0 {
		r.Sections = append(r.Sections,
			Section{Title: fmt.Sprintf("Rows to look at (%s%s)", first, d.B.showing()), Table: examples})
	}
	if len(d.ChangedTexts) > 0 {
		r.Sections = append(r.Sections, d.texts())
	}
	return r
}

// notes say what the table of shares does not have, and of how many types p is corrected.
func (d *Diff) notes() []string {
	notes := []string{"p of errors: by Holm's correction for " + words.Plural(d.tested, "type", "types")}
	var none []string
	if n := d.WithoutError.NotJudged; n > 0 {
		notes = append(notes, fmt.Sprintf("without error: %s left out, as A and B were not judged for the same errors",
			words.Plural(n, "row is", "rows are")))
	}
	for _, l := range d.Labels {
		if l.NotJudged > 0 {
			notes = append(notes, NotJudgedText(l.Label, rowsText(l.NotJudged)))
		}
		if l.isInNoRow() {
			none = append(none, l.Label)
		}
	}
	if len(none) > 0 {
		notes = append(notes, inNoRow(none))
	}
	return notes
}

// texts shows rows whose text changed.
func (d *Diff) texts() Section {
	s := Section{Title: "Texts that changed", Table: NewTable("id", "in", "text")}
	s.Table.Columns[1].Right, s.Table.Columns[2].Right = false, false
	if d.limit > 0 {
		s.Title += fmt.Sprintf(" (the first %d)", d.limit)
	}
	for _, c := range d.ChangedTexts {
		s.Table.Rows = append(s.Table.Rows, []any{ShortID(c.ID), "A", clipText(c.A)}, []any{"", "B", clipText(c.B)})
	}
	return s
}

func clipText(text string) string {
	if short := words.First(text, shownText); short != text {
		return short + "…"
	}
	return text
}

// showing is the command that shows a row of the file.
func (s *Side) showing() string {
	text := fmt.Sprintf("erreval show %s --id ID", words.Quote(s.File))
	if s.id != nil {
		text += " --id-column " + words.Quote(strings.Join(s.id, ","))
	}
	return text
}

// describe says which rows of the file are not compared, if there are some.
func (s *Side) describe(name string) []string {
	var parts []string
	if s.Only > 0 {
		parts = append(parts, fmt.Sprintf("%d without a partner, as %s (%s)", s.Only, shortIDs(s.OnlyExamples),
			s.showing()))
	}
	if s.Rejected > 0 {
		parts = append(parts, rejectedText(s.Rejected))
	}
	if s.LeftOut > 0 {
		parts = append(parts, leftOutText(s.LeftOut))
	}
	if s.unlabelled > 0 {
		parts = append(parts, UnlabelledText(s.unlabelled))
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{name + ": " + strings.Join(parts, "; ")}
}

func (d *Diff) describe() string {
	text := fmt.Sprintf("%s compared, %d with other errors in B than in A", rowsText(d.Compared), d.ChangedLabels)
	if d.A.Untagged+d.B.Untagged > 0 {
		text += fmt.Sprintf("; left out as untagged: %d in A, %d in B", d.A.Untagged, d.B.Untagged)
	}
	if d.ChangedText > 0 {
		state := "compared nevertheless"
		if d.SameTextOnly {
			state = "left out"
		}
		text += fmt.Sprintf("; %d with another text, %s", d.ChangedText, state)
	}
	return text
}

// UnlabelledText is about tagged rows without any label, which erreval did not write so.
func UnlabelledText(rows int) string {
	return words.Plural(rows, "row counts", "rows count") + " as without error for want of any label, even that for no " +
		"error: was a cell emptied?"
}

func rejectedText(lines int) string {
	return words.Plural(lines, "line is no row", "lines are no rows")
}

// leftOutText is about lines of the inputs of earlier runs.
func leftOutText(lines int) string {
	return words.Plural(lines, "line was", "lines were") + " rejected when it was made"
}

func rowsText(n int) string { return words.Plural(n, "row", "rows") }

func (d *Diff) tables() (changes, examples Table) {
	changes.Columns = []Column{{"error", false}, {"code", false}, {"A", true}, {"B", true}, {"points", true},
		{fmt.Sprintf("%.0f %% interval", 100*d.Interval.Level), true}, {"p, corrected", true}, {"gained", true},
		{"lost", true}}
	examples.Columns = []Column{{"error", false}, {"change", false}, {"rows", true}, {"ids", false}}
	d.eachLabel(func(place int, l *LabelDiff) {
		if place > 0 && l.isInNoRow() {
			return
		}
		changes.Rows = append(changes.Rows, []any{l.Label, l.Code, l.A.Share.As(InPercent), l.B.Share.As(InPercent),
			(100 * l.Difference).As("%+.1f"), rangeText(100*l.Low, 100*l.High, "%+.1f"), l.PHolm.As(InP), l.Gained, l.Lost})
		if l.Gained > 0 {
			examples.Rows = append(examples.Rows, []any{l.Label, "gained", l.Gained, shortIDs(l.GainedIDs)})
		}
		if l.Lost > 0 {
			examples.Rows = append(examples.Rows, []any{l.Label, "lost", l.Lost, shortIDs(l.LostIDs)})
		}
	})
	return changes, examples
}

// isInNoRow tells whether no compared row has the error, and each was judged.
func (l *LabelDiff) isInNoRow() bool { return l.A.Rows+l.B.Rows+l.NotJudged == 0 }

// otherModel says that what differs may be the models', where they do.
func (d *Diff) otherModel() []string {
	if slices.Equal(d.A.Models, d.B.Models) || len(d.A.Models)*len(d.B.Models) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the models differ, and what differs may be theirs: A %s, B %s", joinModels(d.A.Models),
		joinModels(d.B.Models))}
}

// untaggedNotes warn of rows that are left out because they are untagged.
func (d *Diff) untaggedNotes() []string {
	if !areMany(d.untagged, d.Both) {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d rows in both files are not compared: %d are untagged in %s, %d in %s; "+
		"their diagnosis.reason says why", d.untagged, d.Both, d.A.Untagged, d.A.File, d.B.Untagged, d.B.File)}
}

func (c *Comparison) nothingCompared() error {
	a, b := &c.diff.A, &c.diff.B
	switch {
	case len(c.options.Where) > 0 && (a.Rows == 0) != (b.Rows == 0):
		none, some := a.File, b.File
		if a.Rows > 0 {
			none, some = some, none
		}
		return fmt.Errorf("no row of %s has what --where asks of both files; to choose rows of %[2]s alone: erreval show "+
			"%[2]s --where COLUMN=VALUE -o ONE", none, words.Quote(some))
	case a.Rows == 0 || b.Rows == 0:
		return c.tagged.NothingToShow(0)
	case c.diff.Both == 0:
		return fmt.Errorf("%s (ids as %s) and %s (ids as %s) have no id in common; %s", a.File,
			shortIDs(a.OnlyExamples[:1]), b.File, shortIDs(b.OnlyExamples[:1]), c.diff.Pairing.Advice())
	}
	tag := ""
	if a.Untagged == a.Rows || b.Untagged == b.Rows {
		tag = "; tag a file first, as in: erreval identify FILE -o OUT"
	}
	return fmt.Errorf("none of the %s in both files can be compared: %d untagged in %s, %d in %s, %d with changed text%s",
		rowsText(c.diff.Both), a.Untagged, a.File, b.Untagged, b.File, c.diff.ChangedText, tag)
}

// fromDifference leaves out of two texts what both begin with, but for a few characters.
func fromDifference(a, b string) (string, string) {
	const before = 20
	one, other := []rune(a), []rune(b)
	same := 0
	for same < min(len(one), len(other)) && one[same] == other[same] {
		same++
	}
	if same <= 2*before {
		return a, b
	}
	from := same - before
	return "…" + string(one[from:]), "…" + string(other[from:])
}

// Warnings say what the figures leave out.
func (d *Diff) Warnings() []FileWarning { return d.warnings }

// IsIncomplete tells whether a line was no row, or many rows have no partner or are untagged.
func (d *Diff) IsIncomplete() bool {
	return d.A.Rejected+d.B.Rejected > 0 || d.Pairing.IsPoor() || areMany(d.untagged, d.Both)
}

// eachLabel calls f for the rows without error (0), then for every error type.
func (d *Diff) eachLabel(f func(place int, l *LabelDiff)) {
	f(0, &d.WithoutError)
	for k := range d.Labels {
		f(1+k, &d.Labels[k])
	}
}
