package exchange

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/training/review"
)

// spoken are answers as item, last letter of the reviewer, labels and notes.
func spoken(answers []review.Answer) (lines []string) {
	for _, a := range answers {
		labels := strings.Join(a.Labels, ";")
		if a.Skipped {
			labels = "skipped"
		}
		lines = append(lines,
			strings.TrimSpace(a.ItemID[len(a.ItemID)-1:]+" "+a.Reviewer[len(a.Reviewer)-1:]+" "+labels+" "+a.Notes))
	}
	return lines
}

// Argilla's flat records say of each response whether it is a draft, submitted or discarded: testdata/make_argilla.py.
func TestArgillaStatus(t *testing.T) {
	f := batches(t)[0]
	got, err := Read("testdata/argilla_flat.json", f, "")
	if want := []string{"1 5 Incomplete;Vague two", "2 5 skipped", "2 6 Vague"}; err != nil ||
		!reflect.DeepEqual(spoken(got), want) {
		t.Errorf("%q %v, want %q", spoken(got), err, want)
	}
	data, err := os.ReadFile("testdata/argilla_flat.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`["submitted", "draft"]`, `["submitted"]`,
			`"labels.responses" has 2 values, 2 users and 1 states; want as many of each`},
		{`["submitted", "draft"]`, `["submitted", "lost"]`,
			`has the unknown status "lost"; it is draft, submitted or discarded`},
		{`[["Vague", "Incomplete"], ["No Error"]]`, `[3, ["No Error"]]`,
			`the labels of 00000000-0000-0000-0000-000000000005 are no list of names`},
		{`["submitted", "draft"]`, `"draft"`, `"labels.responses.status" is not as the tool writes it`},
	} {
		path := write(t, "flat.json", []byte(strings.Replace(string(data), c.old, c.new, 1)))
		if _, err := Read(path, f, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// The nested records of to_json have no such status. Of one that the server holds for pending nothing counts; where a
// response has a status, that decides.
func TestArgillaPending(t *testing.T) {
	f := batches(t)[0]
	data, err := os.ReadFile("testdata/argilla_answered.json")
	if err != nil {
		t.Fatal(err)
	}
	first, second := []string{"1 5 Incomplete;Vague two", "1 6 No Error"}, "2 5 No Error"
	local := `"status": "pending", "_server_id": null`
	ben := `"user_id": "00000000-0000-0000-0000-000000000006"`
	for _, c := range []struct {
		old, new string
		want     []string
	}{
		{local, local, append(first[:2:2], second)},
		{local, `"status": "pending", "_server_id": "7"`, []string{second}},
		{local, `"status": "completed", "_server_id": "7"`, append(first[:2:2], second)},
		{ben, ben + `, "status": "draft"`, []string{first[0], second}},
		{ben, ben + `, "status": "discarded"`, []string{first[0], "1 6 skipped", second}},
		{ben, ben + `, "status": "submitted"`, append(first[:2:2], second)},
	} {
		got, err := Read(write(t, "records.json", []byte(strings.Replace(string(data), c.old, c.new, 1))), f, "")
		if err != nil || !reflect.DeepEqual(spoken(got), c.want) {
			t.Errorf("%s: %q %v, want %q", c.new, spoken(got), err, c.want)
		}
	}
}

// Label Studio's short export leaves out the labels of a task that has none, and has what is left of the annotation. It
// is as the converter of label-studio-sdk 2.1 (convert_to_json_min) writes it: one choice is a text, several are a list
// of choices.
func TestStudioMin(t *testing.T) {
	for _, f := range batches(t) {
		all := sayings(f)
		all[2] = said{} // it leaves skipped tasks out
		var tasks []struct{ Data map[string]any }
		decode(t, export(t, f, LabelStudio, Options{})["label-studio.json"], &tasks)
		var rows []map[string]any
		for i, s := range all {
			row := tasks[i].Data
			row["id"], row["annotator"], row["annotation_id"], row["lead_time"] = i+70, 10, i, 4.2
			row["created_at"], row["updated_at"] = "2026-03-09T22:16:08.728353Z", "2026-03-09T22:16:08.728378Z"
			switch {
			case len(s.labels) == 1:
				row["labels"] = s.labels[0]
			case s.labels != nil:
				row["labels"] = map[string]any{"choices": s.labels}
			}
			if s.notes != "" {
				row["notes"] = s.notes
			}
			rows = append(rows, row)
		}
		rows[3]["annotation_id"], rows[3]["annotator"], rows[3]["notes"] = nil, nil, "a word without labels"
		if got, want := readBack(t, f, write(t, "project-3.json", encode(t, rows))), want(f, all,
			"anna"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want\n%+v", f.ID, got, want)
		}
		delete(rows[3], "annotation_id")
		if _, err := Read(write(t, "other.json", encode(t, rows)), f, "anna"); err == nil || !strings.Contains(err.Error(),
			`and no column "labels"; the columns are`) {
			t.Errorf("%s: neither labels nor Label Studio's mark: %v", f.ID, err)
		}
	}
}

// TestFormulaWithoutValue: an answer that a formula would give, had anything computed it, is a fault of its cell, never
// "no mark". Excel leaves out <v>, programs without a calculator write an empty one.
func TestFormulaWithoutValue(t *testing.T) {
	f := batches(t)[0]
	var cell string
	data := editor(t, export(t, f, "xlsx", Options{Reviewer: "ana"})["review.xlsx"], func(book *excelize.File) {
		cell = cellOf(t, book, clean(f.Taxonomy), 0)
		err := book.SetCellStr(reviewSheet, cellOf(t, book, f.Taxonomy.Types[0].Name, 0), "yes")
		if err := errors.Join(err, book.SetCellFormula(reviewSheet, cell, `IF(1=1,"yes","no")`)); err != nil {
			t.Fatal(err)
		}
	})
	data = replaceInParts(t, data, ` t="str"><f>`, `><f>`) // what excelize says of a result that is not there
	for _, value := range []string{"", "<v></v>", "<v/>"} {
		path := write(t, "review.xlsx", replaceInParts(t, data, "</f>", "</f>"+value))
		got, err := Read(path, f, "")
		if want := "the cell " + cell + " is a formula without its result"; err == nil ||
			!strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%q: %v %v, want %s", value, got, err, want)
		}
	}
}

// replaceInParts changes the parts of a ZIP.
func replaceInParts(t *testing.T, data []byte, before, after string) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, file := range in.File {
		text, err := fs.ReadFile(in, file.Name)
		if err != nil {
			t.Fatal(err)
		}
		part, err := z.Create(file.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, strings.ReplaceAll(string(text), before, after)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
