package exchange

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/training/review"
)

// readBack is what is read of a file that was filled in, without places and times.
func readBack(t *testing.T, f *review.Frozen, path string) []review.Answer {
	t.Helper()
	got, err := Read(path, f, "anna")
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Place, got[i].Time = review.Place{}, review.Answer{}.Time
	}
	return got
}

// People put sheets of their own before that of the items, move it, and call it something else.
func TestOtherSheets(t *testing.T) {
	f := batches(t)[0]
	all := sayings(f)
	_, data := fillers[XLSX](t, f, export(t, f, XLSX, Options{}), all)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	changed := func(change func(book *excelize.File)) string { return write(t, "review.xlsx", editor(t, data, change)) }
	added := changed(func(book *excelize.File) {
		_, err := book.NewSheet("to do")
		must(err)
		must(book.SetCellStr("to do", "A1", "ask Ben"))
		must(book.MoveSheet("to do", reviewSheet))
	})
	moved := changed(func(book *excelize.File) {
		must(book.SetSheetName(reviewSheet, "Anna"))
		must(book.MoveSheet(definitionsSheet, "Anna"))
	})
	for _, path := range []string{added, moved} {
		if got, want := readBack(t, f, path), want(f, all, "anna"); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want\n%+v", got, want)
		}
	}
	twice := changed(func(book *excelize.File) {
		i, err := book.NewSheet("review (2)")
		must(err)
		must(book.CopySheet(0, i))
	})
	if _, err := Read(twice, f, "anna"); err == nil || !strings.Contains(err.Error(),
		`review.xlsx: the sheets ["review" "review (2)"] all have items; delete those that do not count`) {
		t.Errorf("the items twice: %v", err)
	}
	none := changed(func(book *excelize.File) { must(book.DeleteSheet(reviewSheet)) })
	if _, err := Read(none, f, "anna"); err == nil || !strings.Contains(err.Error(),
		`no column "item_id"; the columns are label, short`) {
		t.Errorf("no sheet with items: %v", err)
	}
}

// The folder that Argilla's to_disk writes is as good as the file in it.
func TestArgillaFolder(t *testing.T) {
	f := batches(t)[0]
	all := sayings(f)
	all[2].skipped = false
	name, data := fillers[Argilla](t, f, export(t, f, Argilla, Options{}), all)
	path := write(t, name, data)
	if got, want := readBack(t, f, filepath.Dir(path)), want(f, all, "anna"); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(filepath.Dir(path), f, "anna"); err == nil || !strings.Contains(err.Error(),
		"it is a folder, and not one that Argilla wrote (records.json); name the file that was filled in") {
		t.Errorf("a folder of something else: %v", err)
	}
}

// What a file's reader says of it names the file once.
func TestFileNamedOnce(t *testing.T) {
	path := write(t, "review.csv", []byte("BZh91AY&SY"))
	_, err := Read(path, batches(t)[0], "anna")
	if err == nil || !strings.Contains(err.Error(), "bzip2") || strings.Count(err.Error(), path) != 1 {
		t.Error(err)
	}
}

// Who answered is asked for once, and not for every row.
func TestReviewerAskedOnce(t *testing.T) {
	f := batches(t)[0]
	name, data := fillers[JSONL](t, f, export(t, f, JSONL, Options{}), sayings(f))
	_, err := Read(write(t, name, data), f, "")
	if err == nil || strings.Count(err.Error(), "no reviewer is named") != 1 || strings.Count(err.Error(), "\n") != 0 {
		t.Errorf("%v", err)
	}
}

// The workbook of what reviewers differ on shows what they said, and what is filled in decides; so does a file of answers
// of its page. Sheets of the batch itself decide nothing.
func TestDecisions(t *testing.T) {
	for _, f := range batches(t) {
		say := sayings(f)[:2]
		e := &review.Earlier{Number: 1, Answers: append(want(f, say, "anna"), want(f, []said{say[1], say[0]}, "ben")...)}
		for _, it := range f.All[:2] {
			e.Conflicts = append(e.Conflicts, review.Conflict{ItemID: it.ItemID})
		}
		d := f.Differing(e)
		data := editor(t, export(t, d, XLSX, Options{})[WorkbookFile], func(book *excelize.File) {
			text, err := book.GetCellValue(reviewSheet, cellOf(t, book, review.ColumnAnswered, 1))
			if err != nil || !strings.HasPrefix(text, "anna: ") || !strings.Contains(text, "\nben: ") {
				t.Errorf("shown: %q, %v", text, err)
			}
			setCell(t, book, clean(f.Taxonomy), 0, "yes")
		})
		page, err := d.OpenLog("cleo")
		if err != nil {
			t.Fatal(err)
		}
		decision := want(f, []said{{labels: []string{clean(f.Taxonomy)}}}, "cleo")[0]
		if err := errors.Join(page.Add(decision), page.Close()); err != nil {
			t.Fatal(err)
		}
		decision.Resolves = true
		for _, path := range []string{write(t, WorkbookFile, data), review.AnswersPath(d.Dir, "cleo")} {
			got, err := Read(path, f, "cleo")
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: %+v, %v", path, got, err)
			}
			if got[0].Place = (review.Place{}); !reflect.DeepEqual(got[0], decision) {
				t.Errorf("%s: %+v, want %+v", path, got[0], decision)
			}
		}
	}
}
