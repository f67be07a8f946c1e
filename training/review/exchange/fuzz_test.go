package exchange

import (
	"bytes"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/training/review"
)

// Whatever a file holds: no panic, and each answer that is read fits the batch and its taxonomy.
func fuzz(f *testing.F, format string) {
	batch := batches(f)[0]
	file, data := fillers[format](f, batch, export(f, batch, format, Options{Proposals: review.ShowProbabilities}),
		sayings(batch))
	f.Add(data)
	f.Add(bytes.ReplaceAll(data, []byte("Vague"), []byte("OK")))
	f.Add([]byte("{}"))
	kind, _ := dataset.FormatOf(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		checkRead(t, batch, data, kind)
	})
}

func checkRead(t *testing.T, batch *review.Frozen, data []byte, kind dataset.Format) {
	rows, err := dataset.NewSource(bytes.NewReader(data), "f", dataset.Options{Format: kind, TempDir: t.TempDir()})
	if err != nil {
		return
	}
	defer rows.Close()
	answers, _ := read(rows, "f", kind, batch, "anna")
	for _, a := range answers {
		if err := batch.Fits(&a); err != nil {
			t.Error(err)
		}
		if err := a.Check(batch.Taxonomy); err != nil {
			t.Error(err)
		}
	}
}

func FuzzReadCSV(f *testing.F)         { fuzz(f, CSV) }
func FuzzReadJSONL(f *testing.F)       { fuzz(f, JSONL) }
func FuzzReadArgilla(f *testing.F)     { fuzz(f, Argilla) }
func FuzzReadLabelStudio(f *testing.F) { fuzz(f, LabelStudio) }

// The texts of a workbook's cells; the container is package dataset's to fuzz.
func FuzzReadWorkbook(f *testing.F) {
	batch := batches(f)[0]
	data := export(f, batch, XLSX, Options{})["review.xlsx"]
	f.Add("E1", "Incomplete", "yes")
	f.Add("A2", "", "no")
	f.Add("O3", "No Error", "perhaps")
	f.Fuzz(func(t *testing.T, cell, header, text string) {
		if _, _, err := excelize.CellNameToCoordinates(cell); err != nil || len(cell) > 4 {
			return
		}
		filled := editor(t, data, func(book *excelize.File) {
			for at, s := range map[string]string{cell: text, "F2": header} {
				if err := book.SetCellStr(reviewSheet, at, s); err != nil {
					return
				}
			}
		})
		checkRead(t, batch, filled, dataset.Format{Name: dataset.XLSX})
	})
}
