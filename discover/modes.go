package discover

import "github.com/erreval/erreval/discover/issues"

// Keys of CountModes, each with "labels." or "none." in front: what the analyses with labels and without found.
const (
	modeIssue     = "issue"
	modeNone      = "no_issue"
	modeUnfounded = "unfounded"
	modeOther     = "unassigned"
	// modeBoth counts rows in which both found an issue.
	modeBoth = "issue_in_both"
)

// CountModes counts what the analyses with labels and those without found, before the rows are sorted; nil where rows
// were not analysed in both ways. It says whether the labels help to see issues, or lead the model to see what is not
// there.
func CountModes(items []*Item) map[string]int {
	counts := map[string]int{}
	for _, item := range items {
		other := item.Finding.Other
		if other == nil {
			continue
		}
		counts[EvidenceLabels+"."+modeOf(item.Finding)]++
		counts[EvidenceNone+"."+modeOf(other)]++
		if modeOf(item.Finding) == modeIssue && modeOf(other) == modeIssue {
			counts[modeBoth]++
		}
	}
	if len(counts) == 0 {
		return nil
	}
	return counts
}

func modeOf(f *issues.Finding) string {
	switch {
	case f.Status == issues.None:
		return modeNone
	case f.Reason == issues.Unfounded:
		return modeUnfounded
	case f.Status == "" || f.Reason == notSorted:
		return modeIssue
	}
	return modeOther
}
