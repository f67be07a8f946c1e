package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// synonyms are columns that stand for the same thing in common files, the likelier first: SQuAD,
// Hugging Face exports, question generators' and chat models' outputs. A field is looked for in the
// group that its own name is in.
var synonyms = [][]string{
	{"passage", "context", "paragraph", "document", "source", "text"},
	{"answer", "answers", "answer text", "gold answer", "target answer"},
	{"question", "generated question", "predicted question", "prediction", "generated", "hypothesis"},
	{"instruction", "prompt", "input", "query"},
	{"response", "output", "completion", "prediction", "generated text", "model output"},
	{"reference", "gold", "ground truth", "target"},
}

// guessMissing looks for the columns of fields that are neither there nor mapped, in the first row of the file.
func (r *Reader) guessMissing(row *Row) {
	taken := map[string]bool{}
	for _, f := range r.fields {
		r.readByOwnName(row, f)
		if _, ok := row.Get(r.column[f]); ok {
			taken[r.column[f]] = true
		}
	}
	for _, f := range r.fields {
		if taken[r.column[f]] || r.opt.Map[f] != "" {
			continue
		}
		if c, ok := findColumn(f, row.Columns(), taken); ok {
			raw, _ := row.Get(c)
			r.column[f], taken[c] = c, true
			r.said = append(r.said, fmt.Sprintf("no column %q; taking %q for it%s (--map %s=COLUMN names another)", f, c,
				firstHint(raw), f))
		} else if r.optional[f] {
			r.said = append(r.said, r.noteMissing(f))
		}
	}
}

// noteMissing says that an optional field is missing, and what follows. Where no error type needs it, other rows may
// have it.
func (r *Reader) noteMissing(field string) string {
	for _, y := range r.opt.Taxonomy.Types {
		if slices.Contains(y.Needs, field) {
			return fmt.Sprintf("no column %q; what needs it is not judged (--map %s=COLUMN names one)", field, field)
		}
	}
	return fmt.Sprintf("no column %q in the first row (--map %s=COLUMN names one)", field, field)
}

// readByOwnName reads a field by its own name where the file does not have the column that was named.
func (r *Reader) readByOwnName(row *Row, field string) {
	named := r.opt.Map[field]
	_, own := row.Get(field)
	if named == "" && !own {
		r.readByRecord(row, field)
	}
	if named == "" || !own || !r.opt.OwnNames {
		return
	}
	if _, given := row.Get(named); !given {
		r.column[field] = field
		r.said = append(r.said, fmt.Sprintf("no column %q; taking %q", named, field))
	}
}

// readByRecord reads a field from the column that the run which made the file read it from.
func (r *Reader) readByRecord(row *Row, field string) {
	was := r.opt.Recorded[field]
	if _, there := row.Get(was); there {
		r.column[field] = was
		r.said = append(r.said, fmt.Sprintf("no column %q; taking %q for it, as the run that made the file did "+
			"(--map %s=COLUMN names another)", field, was, field))
	}
}

func firstHint(raw json.RawMessage) string {
	if bytes.Equal(firstText(raw), raw) {
		return ""
	}
	return ", the first text in it"
}

// findColumn finds the column that stands for a field.
func findColumn(field string, columns []string, taken map[string]bool) (string, bool) {
	for _, name := range columnNames(field) {
		for _, c := range columns {
			if !taken[c] && plainName(c) == name {
				return c, true
			}
		}
	}
	return "", false
}

// columnNames are what a field's column may be called, in plain form.
func columnNames(field string) []string {
	all := []string{plainName(field)}
	for _, group := range synonyms {
		for _, name := range group {
			if plainName(name) == all[0] {
				for _, other := range group {
					all = append(all, plainName(other))
				}
				return all
			}
		}
	}
	return all
}

// plainName is a name without case, spaces and punctuation.
func plainName(name string) string {
	return strings.NewReplacer(" ", "", "_", "", "-", "").Replace(strings.ToLower(name))
}

// firstText takes the text out of {"text": [ … ]}, [{"text": …}] and [ … ], as answers stand in SQuAD
// and its relatives; anything else stays as it is.
func firstText(raw json.RawMessage) json.RawMessage {
	for range 3 {
		var object struct {
			Text json.RawMessage `json:"text"`
		}
		var list []json.RawMessage
		switch {
		case raw[0] == '{' && json.Unmarshal(raw, &object) == nil && object.Text != nil:
			raw = object.Text
		case raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 0:
			raw = list[0]
		default:
			return raw
		}
	}
	return raw
}
