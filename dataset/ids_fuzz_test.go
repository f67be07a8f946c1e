package dataset

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzIDs: whatever the columns of the id hold, ids are unique, and two rows have the same given one only if they hold
// the same texts.
func FuzzIDs(f *testing.F) {
	for _, s := range [][4]string{{"a|b", "c", "a", "b|c"}, {`a\`, "|b", `a\|`, "b"}, {"x", "", "x#2", ""}, {"", "", "", ""},
		{"x#2", "", "x", ""}, {"1", "2", "1", "2"}} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		var lines strings.Builder
		values := [][2]string{{a, b}, {c, d}, {a, b}, {a + "#2", b}, {a, d}}
		for _, v := range values {
			columns := map[string]any{"a": nil, "b": nil, "question": "q", "answer": "a", "passage": "p"}
			for i, name := range []string{"a", "b"} {
				if v[i] != "" {
					columns[name] = v[i]
				}
			}
			line, err := json.Marshal(columns)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
		r := NewReader(strings.NewReader(lines.String()), "f", Options{Taxonomy: questions(t), ID: []string{"a", "b"}})
		seen, given := map[string]bool{}, map[string][2]string{}
		for {
			row, err := r.Read()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if seen[row.ID] || row.ID == "" {
				t.Fatalf("%q is the id of two rows of %q", row.ID, lines.String())
			}
			seen[row.ID] = true
			if row.GivenID() == "" {
				continue
			}
			var v [2]string
			for i, name := range []string{"a", "b"} {
				if raw, ok := row.Get(name); ok {
					if err := json.Unmarshal(raw, &v[i]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if first, ok := given[row.GivenID()]; ok && first != v {
				t.Fatalf("%q is the id of %q and of %q", row.GivenID(), first, v)
			}
			given[row.GivenID()] = v
		}
		if len(seen) != len(values) {
			t.Fatalf("%d ids of %d rows", len(seen), len(values))
		}
	})
}
