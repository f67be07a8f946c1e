package exchange

import (
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
