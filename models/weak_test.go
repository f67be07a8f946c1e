package models

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestWeakLabels: what was measured to be no better than a constant, or has a limit, is weak; what is unknown is not.
func TestWeakLabels(t *testing.T) {
	m := &Manifest{Labels: []string{"Better", "Same", "Limited", "Both", "Unjudged", "Unknown", "Other"},
		NotJudged: []string{"Unjudged"}}
	if err := json.Unmarshal([]byte(`{
		"Better": {"test_f1": 0.46, "test_always_f1": 0.4}, "Same": {"test_f1": 0.24, "test_always_f1": 0.2},
		"Limited": {"limit": "it knows\u001b no facts"}, "Both": {"test_f1": 0.77, "test_always_f1": 0.64, "limit": "a guess"},
		"Unjudged": {"test_f1": 0.1, "test_always_f1": 0.2}, "Unknown": {"test_f1": 0.1}, "Other": 0.3}`), &m.Quality); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"do not rely on Same: F1 0.24 where the model was measured (always saying it: 0.20)",
		`do not rely on Limited: it knows no facts`,
		"do not rely on Both: F1 0.77 where the model was measured (always saying it: 0.64); a guess",
	}
	if got := m.WeakLabels(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
