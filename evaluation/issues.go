package evaluation

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/report"
	"github.com/erreval/erreval/taxonomy"
)

// IssueOptions say what discovered issues are compared with.
type IssueOptions struct {
	Taxonomy  *taxonomy.Taxonomy
	List      *issues.List
	Sentence  string // gold column: what people say is wrong, in a sentence
	Cluster   string // gold column: the group that people put the row into; empty in a row that is right
	Verdict   string // column of people's verdicts: does the row's analysis describe the same fault as the gold sentence?
	By        string // column of the gold rows by whose values there are figures besides; "" is none
	Intervals report.IntervalOptions
}

// Issues compares what erreval discover found with what people say: ReadGold, then ReadFound and, where there are any,
// ReadVerdicts; then, where a model is asked, Pairs and SetSame; then ComputeReport.
type Issues struct {
	o       IssueOptions
	gold    []goldIssue
	index   *dataset.Index
	match   *dataset.Match
	report  IssueReport
	people  map[int]bool // by row: their verdict
	judge   map[int]bool // the model's
	named   map[[2]string]bool
	faults  []error
	unclear int // pairs about which the model gave no verdict
}

// goldIssue is a row with what people say and what was found.
type goldIssue struct {
	cluster, sentence, group string
	by                       string // value of IssueOptions.By
	right                    bool
	found                    *issues.Finding // nil: the row is not in the file
}

// NewIssues checks the options.
func NewIssues(o IssueOptions) (*Issues, error) {
	if o.List == nil || o.Sentence == "" && o.Cluster == "" {
		return nil, errors.New("no list of issues, or no gold column")
	}
	i := &Issues{o: o, index: dataset.NewIndex(), people: map[int]bool{}, judge: map[int]bool{},
		named: map[[2]string]bool{}}
	return i, o.Intervals.Validate()
}

// ReadGold reads what people say. read gives the rows until io.EOF.
func (i *Issues) ReadGold(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	i.report.Gold = file
	err := i.each(ctx, read, func(row *dataset.Row) error {
		g := goldIssue{}
		var ok [2]bool
		g.cluster, ok[0] = plainColumn(row, i.o.Cluster)
		g.sentence, ok[1] = plainColumn(row, i.o.Sentence)
		if !ok[0] && !ok[1] {
			return report.NoColumn("--gold-cluster, --gold-sentence", row, i.o.Cluster+" or "+i.o.Sentence)
		}
		g.right = !ok[0] && isRight(g.sentence) || ok[0] && isRight(g.cluster)
		var err error
		if g.by, err = valueBy(row, i.o.By); err != nil {
			return err
		}
		if g.group, err = report.GroupOf(row, i.o.Taxonomy, i.o.Intervals.Group); err != nil {
			return err
		}
		i.index.Add(row, len(i.gold))
		i.gold = append(i.gold, g)
		return nil
	})
	if err == nil && len(i.gold) == 0 {
		err = fmt.Errorf("%s: there are no rows", file)
	}
	return err
}

// each calls visit for the rows, and keeps the lines that are none.
func (i *Issues) each(ctx context.Context, read func() (*dataset.Row, error), visit func(*dataset.Row) error) error {
	faults, err := dataset.EachRow(ctx, read, visit)
	i.faults = append(i.faults, faults...)
	return err
}

func plainColumn(row *dataset.Row, column string) (text string, ok bool) {
	raw, ok := row.Get(column)
	if !ok || string(raw) == "null" {
		return "", ok
	}
	return strings.TrimSpace(dataset.PlainText(raw)), true
}

// isRight tells whether a gold text says that nothing is wrong.
func isRight(text string) bool {
	switch issues.Fold(text) {
	case "", "none", "no issue", "no issues", "no error":
		return true
	}
	return false
}

// ReadFound reads what was found, the output of erreval discover. Call it after ReadGold.
func (i *Issues) ReadFound(ctx context.Context, file string, read func() (*dataset.Row, error)) error {
	i.report.File, i.match = file, i.index.NewMatch()
	return i.each(ctx, read, func(row *dataset.Row) error {
		f, err := issues.Of(row)
		if err != nil {
			return err
		}
		at, same, ok := i.match.Find(row)
		if ok && !same {
			i.report.Changed++
			return nil
		}
		if !ok || f == nil {
			i.report.WithoutGold++
			return nil
		}
		i.gold[at].found = f
		for _, id := range f.IDs {
			if i.o.List.Find(id) < 0 {
				return fmt.Errorf("row %s has the issue %q, which %s does not list", row.ID, id, issues.Path(file))
			}
		}
		return nil
	})
}

// ReadVerdicts reads whether people hold that a row's analysis describes the fault of the gold sentence.
func (i *Issues) ReadVerdicts(ctx context.Context, _ string, read func() (*dataset.Row, error)) error {
	match := i.index.NewMatch()
	return i.each(ctx, read, func(row *dataset.Row) error {
		text, ok := plainColumn(row, i.o.Verdict)
		if !ok {
			return report.NoColumn("--verdict", row, i.o.Verdict)
		}
		at, sameText, ok := match.Find(row)
		switch strings.ToLower(text) {
		case "yes", "same":
			text = "true"
		case "no", "different":
			text = "false"
		case "":
			return nil
		}
		same, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("row %s: column %q is %.40q; write yes or no", row.ID, i.o.Verdict, text)
		}
		if ok && sameText {
			i.people[at] = same
		}
		return nil
	})
}

// pairRows are the rows of which both people and the model say what is wrong.
func (i *Issues) pairRows() []int {
	var rows []int
	for at, g := range i.gold {
		if !g.right && g.sentence != "" && g.found != nil && g.found.Analysis != "" {
			rows = append(rows, at)
		}
	}
	return rows
}

// Pairs are statements of which a model can be asked whether they describe the same fault: first those of rows, then
// names of groups that were matched.
func (i *Issues) Pairs() [][2]string {
	var pairs [][2]string
	for _, at := range i.pairRows() {
		pairs = append(pairs, [2]string{i.gold[at].sentence, i.gold[at].found.Analysis})
	}
	for _, m := range i.partitions().matched(i.o.List) {
		pairs = append(pairs, [2]string{m.gold, m.text})
	}
	return pairs
}

// SetSame takes the verdicts on Pairs; known is false where there is none.
func (i *Issues) SetSame(same, known []bool) {
	rows := i.pairRows()
	for n, at := range rows {
		if known[n] {
			i.judge[at] = same[n]
		} else {
			i.unclear++
		}
	}
	for n, m := range i.partitions().matched(i.o.List) {
		if known[len(rows)+n] {
			i.named[[2]string{m.gold, m.found}] = same[len(rows)+n]
		}
	}
	i.report.Judged = true
}
