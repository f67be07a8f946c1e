package merging

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/internal/run"
	"github.com/erreval/erreval/internal/runrecord"
)

// TestMergeShards takes the rows of shards in turn, whatever the order in which they are named; a part that was changed
// since is refused.
func TestMergeShards(t *testing.T) {
	dir := t.TempDir()
	var parts []string
	for i, rows := range [][]string{{"b", "d"}, {"a", "c", "e"}} {
		record := runrecord.New("identify", nil)
		record.Shard = &runrecord.Shard{Index: 2 - i, Of: 2}
		record.Inputs = []runrecord.Input{{File: "in.jsonl", SHA256: "0"}}
		path := filepath.Join(dir, rows[0]+".jsonl")
		out, err := run.Create(path, false, record)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range rows {
			row, err := dataset.RowOf(map[string]string{"id": id})
			if err != nil {
				t.Fatal(err)
			}
			if err := out.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		record.Counts[run.CountRows] = len(rows)
		if err := out.End(nil); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, path)
	}
	o := Options{Parts: parts, Output: filepath.Join(dir, "all.jsonl")}
	m, err := Merge(t.Context(), &run.Process{}, o)
	if err != nil || *m != (Merged{Rows: 5, Parts: 2}) {
		t.Fatal(m, err)
	}
	want := "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}\n{\"id\":\"d\"}\n{\"id\":\"e\"}\n"
	if all, err := os.ReadFile(o.Output); err != nil || string(all) != want {
		t.Errorf("%s, %v", all, err)
	}
	if err := os.WriteFile(parts[0], []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Overwrite = true
	if _, err := Merge(t.Context(), &run.Process{}, o); err == nil {
		t.Error("a changed part is merged")
	}
}

// TestAlike: two sheets of a workbook are two inputs.
func TestAlike(t *testing.T) {
	of := func(sheet string) *part {
		record := runrecord.New("identify", nil)
		record.Inputs, record.Sheet = []runrecord.Input{{File: "in.xlsx", SHA256: "0"}}, sheet
		return &part{path: sheet + ".xlsx", record: record}
	}
	for sheet, same := range map[string]bool{"Unit 1": true, "Unit 2": false} {
		if err := checkAlike(of("Unit 1"), of(sheet)); (err != nil) != same {
			t.Errorf("Unit 1 and %s: %v", sheet, err)
		}
	}
}
