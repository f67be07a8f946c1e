package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/discover/issues"
	"github.com/erreval/erreval/internal/words"
	"github.com/erreval/erreval/pairwise/verdicts"
	"github.com/erreval/erreval/report"
)

// makeFacets puts the facets into the catalogue.
func (b *builder) makeFacets() {
	b.meta.Catalog.Facets, b.meta.Facets, b.meta.NotOffered = []Facet{}, map[string]*facetColumn{}, map[string]string{}
	slices.SortStableFunc(b.facets, func(x, y *facetBuild) int { return facetPlace(x.key) - facetPlace(y.key) })
	for _, f := range b.facets {
		name, isColumn := strings.CutPrefix(f.key, prefixColumn)
		switch {
		case isColumn && name == b.system && b.isOffered(f): // it is that of systems
		case b.isOffered(f):
			out := b.describeFacet(f)
			f.setPlaces(&out)
			b.meta.Catalog.Facets, b.meta.Facets[f.key] = append(b.meta.Catalog.Facets, out), &f.facetColumn
		case isColumn:
			b.meta.NotOffered[name] = b.whyNotOffered(f, name)
		case f.dead:
			b.meta.Catalog.Notes = append(b.meta.Catalog.Notes, fmt.Sprintf(
				"%s: more than %d values; rows cannot be filtered by it", f.key, f.most))
		}
	}
}

// setPlaces puts places in the catalogue, whose names differ from those that were counted, into the sets.
func (f *facetBuild) setPlaces(out *Facet) {
	places := make([]int, len(f.names))
	for i := range out.Values {
		if n, counted := f.values[out.Values[i].key]; counted {
			places[n] = i
		}
	}
	for _, set := range f.Sets {
		for i, n := range set {
			set[i] = places[n]
		}
		slices.Sort(set)
	}
	for i := range out.Values {
		if out.Values[i].Role == RoleUnknown && f.key != facetUnscored {
			f.Rest = int32(len(f.Sets)) // rows are fewer
			f.Sets = append(f.Sets, []int{i})
		}
	}
}

func (b *builder) isOffered(f *facetBuild) bool {
	if f.dead || len(f.names) == 0 {
		return false
	}
	name, isColumn := strings.CutPrefix(f.key, prefixColumn)
	if f.key == facetBoth { // else it says what another does
		return len(f.names) > max(len(b.facetNo[facetRun].names), len(b.facetNo[facetSystem].names))
	}
	if !isColumn {
		return true
	}
	m := b.columns[name].measure
	return (m.dead || m.rows == 0) && 2*len(f.names) <= f.rows // else a measure, or names rather than kinds
}

// whyNotOffered says of the facet of a column that is not offered what is wrong with it.
func (b *builder) whyNotOffered(f *facetBuild, column string) string {
	switch m := b.columns[column].measure; {
	case !m.dead && m.rows > 0:
		return "holds numbers"
	case f.dead:
		return f.why
	}
	return fmt.Sprintf("has %s in %s", words.Plural(len(f.names), "value", "values"), words.Plural(f.rows, "row", "rows"))
}

func facetPlace(key string) int {
	for i, known := range []string{facetRun, facetSystem, facetBoth, facetLabel, facetGold, facetIssue, facetUnscored,
		facetTruncated, facetNotJudged} {
		if key == known {
			return i
		}
	}
	if strings.HasPrefix(key, prefixVerdict) {
		return 10
	}
	return 11
}

// describeFacet makes a facet with its values in order. Each value's key is the name that was counted.
func (b *builder) describeFacet(f *facetBuild) Facet {
	out := Facet{Key: f.key, Values: []Value{}}
	add := func(key, name, role, note string) {
		out.Values = append(out.Values, Value{key: key, Name: name, Role: role, Note: note})
	}
	rest := func() { // values that were not foreseen, by appearance
		for _, name := range f.names {
			if !slices.ContainsFunc(out.Values, func(v Value) bool { return v.key == name }) {
				add(name, name, "", "")
			}
		}
	}
	out.Title = map[string]string{facetRun: "Run", facetSystem: "System", facetBoth: "System and run",
		facetLabel: "Error", facetGold: "Gold label", facetIssue: "Issue", facetUnscored: "Unscored",
		facetTruncated: "Not read whole",
		facetNotJudged: "Not judged"}[f.key]
	if f.key == facetSystem && b.system != dataset.ColumnSystem {
		out.Title = b.system
	}
	switch f.key {
	case facetLabel, facetGold:
		out.Multi = true
		b.addTypes(add)
		rest()
		if f.key == facetLabel {
			moveLast(&out, dataset.StatusUntagged, add)
		}
	case facetIssue:
		out.Multi = true
		b.addListed(f, &out)
		moveLast(&out, issues.Unassigned, add)
	case facetUnscored:
		out.Multi = true
		add(allScore, allScore, RoleNone, "every dimension has a score")
		for _, d := range b.dimensions() {
			if slices.Contains(f.names, d.Key) {
				add(d.Key, d.Name, "", "")
			}
		}
		rest()
	case facetNotJudged:
		out.Multi = true
		rest()
	case facetTruncated:
		out.Multi = true
		add(whole, whole, RoleNone, "the model read all")
		rest()
	default:
		if out.Title == "" {
			b.describeOther(f, &out, add)
		}
		rest()
	}
	uniqueNames(out.Values)
	return out
}

// describeOther is of verdicts and of other columns.
func (b *builder) describeOther(f *facetBuild, out *Facet, add func(key, name, role, note string)) {
	if name, ok := strings.CutPrefix(f.key, prefixVerdict); ok {
		out.Title = name
		for _, value := range verdicts.Values() {
			add(value, value, "", "")
		}
		add(verdicts.Unjudged, verdicts.Unjudged, RoleUnknown, "")
		return
	}
	out.Title = strings.TrimPrefix(f.key, prefixColumn)
	for _, name := range slices.Sorted(slices.Values(f.names)) {
		add(name, name, "", "")
	}
}

// addTypes adds the taxonomy's types, that of rows without error first.
func (b *builder) addTypes(add func(key, name, role, note string)) {
	if b.task == nil || b.task.NoErrorIndex() < 0 {
		add(noError, noError, RoleNone, "")
	}
	if b.task == nil {
		return
	}
	if no := b.task.NoErrorIndex(); no >= 0 {
		t := &b.task.Types[no]
		add(t.Name, t.Name, RoleNone, t.Definition)
	}
	for i := range b.task.Types {
		if t := &b.task.Types[i]; !t.NoError {
			add(t.Name, t.Name, "", t.Definition)
		}
	}
}

// moveLast puts the value that stands for what is not known behind all others.
func moveLast(out *Facet, key string, add func(key, name, role, note string)) {
	out.Values = slices.DeleteFunc(out.Values, func(v Value) bool { return v.key == key })
	add(key, key, RoleUnknown, "")
}

// uniqueNames puts a number behind a name that came before.
func uniqueNames(values []Value) {
	seen := map[string]bool{}
	for i := range values {
		name := values[i].Name
		for n := 2; seen[values[i].Name]; n++ {
			values[i].Name = fmt.Sprintf("%s (%d)", name, n)
		}
		seen[values[i].Name] = true
	}
}

// addListed adds the issues: none first, then those of the lists, then others by appearance.
func (b *builder) addListed(f *facetBuild, out *Facet) {
	out.Values = append(out.Values, Value{key: noIssue, Name: noIssue, Role: RoleNone,
		Severity: b.issues[noIssue].meanSeverity(report.Undefined)})
	known := map[string]bool{}
	for _, s := range b.sources {
		if s.list == nil {
			continue
		}
		for i := range s.list.Issues {
			if issue := &s.list.Issues[i]; !known[issue.ID] {
				known[issue.ID] = true
				out.Values = append(out.Values, b.describeIssue(issue.ID, issue))
			}
		}
	}
	for _, name := range f.names {
		if id, ok := strings.CutPrefix(name, prefixID); ok && !known[id] {
			shown := id
			if id == issues.Unlisted {
				shown = issues.UnlistedName
			}
			out.Values = append(out.Values, b.describeIssue(id, &issues.Issue{Name: shown, Severity: report.Undefined}))
		}
	}
}

// meanSeverity is the severity that a list says, else that of the rows; nil where neither says one.
func (i *issueBuild) meanSeverity(said report.Number) *report.Number {
	switch {
	case said.Defined():
	case i != nil && i.severities > 0:
		said = report.Number(i.severity / float64(i.severities))
	case i != nil && i.scores > 0:
		said = report.Number(1 - i.score/float64(i.scores))
	default:
		return nil
	}
	return &said
}

// describeIssue is an issue as its list has it; what the list does not say follows from its rows.
func (b *builder) describeIssue(id string, issue *issues.Issue) Value {
	v := Value{key: prefixID + id, Name: cmp.Or(issue.Name, id), Note: issue.Description}
	rows := b.issues[id]
	v.Severity = rows.meanSeverity(issue.Severity)
	if issue.Stability != nil {
		stability := report.Number(*issue.Stability)
		v.Stability = &stability
	}
	for _, e := range issue.Examples {
		if e.Analysis != "" {
			v.Examples = append(v.Examples, exampleText(e))
		}
	}
	if v.Examples == nil && rows != nil {
		v.Examples = rows.examples
	}
	return v
}
