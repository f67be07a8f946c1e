package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/dataset/hostiletest"
	"github.com/erreval/erreval/taxonomy"
	"github.com/erreval/erreval/training/review"
)

const passage = "The wall was built by Ines Caldwell in 1802.\nIt \"leans\", <they> say; Ines Caldwell knew."

// batches are a batch of question generation, and one of a task of another kind, without a label for "nothing wrong".
func batches(t testing.TB) []*review.Frozen {
	return []*review.Frozen{
		freeze(t, "question-generation", "B001", [][]string{
			{"Who built the wall?", "Ines Caldwell", passage}, {"When was it built?", "1802", passage},
			{"=1+1; what, \"then\"?", "It \"leans\"", passage}, {"Who built the wall?", "Ines Caldwell", passage}}),
		freeze(t, "testdata/recipes.yaml", "B002", [][]string{
			{"Beat two eggs.", "three eggs,\nflour"}, {"Add flour.", "three eggs,\nflour"}, {"-Stir.", "@flour"}, {"Wait…\r\n",
				"fl\x01our\r\n"}}),
	}
}

// freeze makes a batch whose last item repeats the first of the first batch.
func freeze(t testing.TB, tax, id string, rows [][]string) *review.Frozen {
	t.Helper()
	tx, err := taxonomy.Open(tax)
	if err != nil {
		t.Fatal(err)
	}
	var items []review.Item
	for i, values := range rows {
		row := map[string]any{"id": "row"}
		for k, f := range tx.FieldNames() {
			row[f] = values[k]
		}
		data, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		it := review.Item{ItemID: id + "-000" + string(rune('1'+i)), RowID: "row", Reason: review.Uncertain,
			Why: "secret why", Row: data, TextSHA256: dataset.TextSHA256(values),
			Proposed: &review.Proposed{Labels: []string{tx.Types[0].Name},
				Probabilities: dataset.Probabilities{{Label: tx.Types[0].Name, P: 0.625}, {Label: tx.Types[1].Name, P: 0.125}}}}
		if i > 0 && it.TextSHA256 == items[0].TextSHA256 {
			it.Reason, it.ControlOf = review.Control, items[0].ItemID
		}
		items = append(items, it)
	}
	dir := filepath.Join(t.TempDir(), id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := review.Freeze(dir, &review.Batch{ID: id, Taxonomy: tx.ID(), TaxonomySHA256: tx.Hash()}, items); err != nil {
		t.Fatal(err)
	}
	f, err := review.Open(dir, tx)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// said is what a reviewer says of the items, in their order; nil is nothing.
type said struct {
	labels  []string
	skipped bool
	notes   string
}

// sayings of the two batches: two labels with a note, nothing wrong, skipped, not answered.
func sayings(f *review.Frozen) []said {
	t := f.Taxonomy
	return []said{{labels: []string{t.Types[0].Name, t.Types[2].Name}, notes: "two; \"of\" them\n= yes"},
		{labels: []string{clean(t)}}, {skipped: true}, {}}
}

// want are the answers which that makes.
func want(f *review.Frozen, all []said, reviewer string) []review.Answer {
	var out []review.Answer
	for i, s := range all {
		a := review.Answer{ItemID: f.All[i].ItemID, Reviewer: reviewer, Labels: []string{}, Notes: s.notes,
			Skipped: s.skipped, TextSHA256: f.All[i].TextSHA256}
		if s.labels == nil && !s.skipped {
			continue
		}
		if !slices.Equal(s.labels, []string{None}) && s.labels != nil {
			a.Labels = s.labels
		}
		out = append(out, a)
	}
	return out
}

func export(t testing.TB, f *review.Frozen, format string, o Options) map[string][]byte {
	t.Helper()
	files, err := Export(f, format, o)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string][]byte{}
	for _, file := range files {
		m[file.Name] = file.Data
	}
	return m
}

func write(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// editor opens a workbook, lets a change be made, and gives it as Excel would save it.
func editor(t testing.TB, data []byte, change func(book *excelize.File)) []byte {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	change(book)
	var b bytes.Buffer
	if err := errors.Join(book.Write(&b), book.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cellOf is the cell under a header, of an item from 0.
func cellOf(t testing.TB, book *excelize.File, header string, item int) string {
	t.Helper()
	rows, err := book.GetRows(reviewSheet)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], header)
	if at < 0 {
		t.Fatalf("no column %q in %q", header, rows[0])
	}
	cell, err := excelize.CoordinatesToCellName(at+1, item+2)
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

func setCell(t testing.TB, book *excelize.File, header string, item int, text string) {
	t.Helper()
	if err := book.SetCellValue(reviewSheet, cellOf(t, book, header, item), text); err != nil {
		t.Fatal(err)
	}
}

// fillers fill an export in as a person does with the tool, and give the file that comes back.
var fillers = map[string]func(t testing.TB, f *review.Frozen, files map[string][]byte, all []said) (string, []byte){
	XLSX: func(t testing.TB, f *review.Frozen, files map[string][]byte, all []said) (string, []byte) {
		return "review.xlsx", editor(t, files["review.xlsx"], func(book *excelize.File) {
			for i, s := range all {
				for _, label := range s.labels {
					setCell(t, book, label, i, "yes")
				}
				if len(s.labels) == 1 {
					setCell(t, book, f.Taxonomy.Types[1].Name, i, "no")
				}
				if s.skipped {
					setCell(t, book, "skipped", i, "Yes")
				}
				setCell(t, book, "notes", i, s.notes)
			}
		})
	},
	CSV: func(t testing.TB, f *review.Frozen, files map[string][]byte, all []said) (string, []byte) {
		rows, err := csv.NewReader(bytes.NewReader(files["review.csv"])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := func(name string) int { return slices.Index(rows[0], name) }
		for i, s := range all {
			rows[i+1][at("labels")] = strings.Join(s.labels, "; ")
			rows[i+1][at("notes")] = s.notes
			if s.skipped {
				rows[i+1][at("skipped")] = "x"
			}
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := w.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		return "review.csv", b.Bytes()
	},
	JSONL: func(t testing.TB, f *review.Frozen, files map[string][]byte, all []said) (string, []byte) {
		var b bytes.Buffer
		i := 0
		for line := range bytes.Lines(files["review.jsonl"]) {
			var m map[string]any
			if err := json.Unmarshal(line, &m); err != nil {
				t.Fatal(err)
			}
			m["labels"], m["skipped"], m["notes"] = all[i].labels, all[i].skipped, all[i].notes
			if err := json.NewEncoder(&b).Encode(m); err != nil {
				t.Fatal(err)
			}
			i++
		}
		return "review.jsonl", b.Bytes()
	},
	// As records.to_json writes responses: testdata/make_argilla.py does it with Argilla's own classes.
	Argilla: func(t testing.TB, f *review.Frozen, files map[string][]byte, all []said) (string, []byte) {
		var records []map[string]any
		decode(t, files["argilla/records.json"], &records)
		const user = "00000000-0000-0000-0000-000000000005"
		for i, s := range all {
			responses := map[string]any{}
			if s.labels != nil {
				responses["labels"] = []any{map[string]any{"value": s.labels, "user_id": user}}
			}
			if s.notes != "" {
				responses["notes"] = []any{map[string]any{"value": s.notes, "user_id": user}}
			}
			records[i]["responses"], records[i]["status"], records[i]["_server_id"] = responses, "completed", "7"
		}
		return "records.json", encode(t, records)
	},
	// As the guide "Label Studio task format" shows an export of annotated tasks.
	LabelStudio: func(t testing.TB, f *review.Frozen, files map[string][]byte, all []said) (string, []byte) {
		var tasks []map[string]any
		decode(t, files["label-studio.json"], &tasks)
		for i, s := range all {
			result := []any{}
			if s.labels != nil {
				result = append(result, map[string]any{"id": "a", "from_name": "labels", "to_name": "field0", "type": "choices",
					"origin": "manual", "value": map[string]any{"choices": s.labels}})
			}
			if s.notes != "" {
				result = append(result, map[string]any{"id": "b", "from_name": "notes", "to_name": "field0", "type": "textarea",
					"value": map[string]any{"text": []string{s.notes}}})
			}
			tasks[i]["id"], tasks[i]["project"] = i+70, 3
			tasks[i]["annotations"] = []any{}
			if s.labels != nil || s.skipped {
				tasks[i]["annotations"] = []any{map[string]any{"id": i, "completed_by": 10, "was_cancelled": s.skipped,
					"ground_truth": false, "result": result,
					"created_at": "2026-03-09T22:16:08.728353Z", "updated_at": "2026-03-09T22:16:08.728378Z", "lead_time": 4.2}}
			}
		}
		return "project-3.json", encode(t, tasks)
	},
}

func decode(t testing.TB, data []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%v: %.200s", err, data)
	}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrips(t *testing.T) {
	for _, f := range batches(t) {
		for _, format := range Formats() {
			for _, show := range review.Shows() {
				all := sayings(f)
				if format == Argilla { // its export does not tell who skipped what
					all[2].skipped = false
				}
				name, data := fillers[format](t, f, export(t, f, format, Options{Proposals: show}), all)
				got, err := Read(write(t, name, data), f, "anna")
				if err != nil {
					t.Errorf("%s %s: %v", f.ID, format, err)
				}
				for i := range got {
					got[i].Place = review.Place{}
					if format == LabelStudio && got[i].Time.IsZero() {
						t.Errorf("no time in %+v", got[i])
					}
					got[i].Time = review.Answer{}.Time
				}
				if want := want(f, all, "anna"); !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s %s:\n%+v, want\n%+v", f.ID, format, show, got, want)
				}
			}
		}
	}
}

// What tells a reviewer why a row is there stays inside, whatever is shown of the proposals.
func TestNothingLeaks(t *testing.T) {
	f := batches(t)[0]
	for _, format := range Formats() {
		for _, show := range review.Shows() {
			for name, data := range export(t, f, format, Options{Proposals: show}) {
				if strings.HasSuffix(name, ".xlsx") {
					data = unzipped(t, data)
				}
				for _, secret := range []string{"control", "secret why", "uncertain"} {
					if bytes.Contains(data, []byte(secret)) {
						t.Errorf("%s, proposals %s: %s holds %q", format, show, name, secret)
					}
				}
				shown := bytes.Contains(data, []byte("0.62"))
				if shown != (show == review.ShowProbabilities) && !strings.HasSuffix(name, ".xml") &&
					!strings.Contains(name, ".argilla") {
					t.Errorf("%s, proposals %s: %s shows a probability: %v", format, show, name, shown)
				}
			}
		}
	}
	if _, err := Export(f, "pdf", Options{}); err == nil || !strings.Contains(err.Error(),
		"xlsx, csv, jsonl, argilla, label-studio") {
		t.Error(err)
	}
	if _, err := Export(f, CSV, Options{Proposals: "some"}); err == nil {
		t.Error("proposals may be some")
	}
}

// unzipped are the texts of a workbook.
func unzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	book.Pkg.Range(func(_, part any) bool {
		if text, ok := part.([]byte); ok {
			all = append(all, text...)
		}
		return true
	})
	for _, sheet := range book.GetSheetList() {
		rows, err := book.GetRows(sheet)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			all = append(all, strings.Join(r, "\n")...)
		}
	}
	if err := book.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWorkbook(t *testing.T) {
	f := batches(t)[0]
	data := export(t, f, XLSX, Options{})["review.xlsx"]
	editor(t, data, func(book *excelize.File) {
		if text, err := book.GetCellValue(reviewSheet, cellOf(t, book, "question", 2)); err != nil ||
			text != "=1+1; what, \"then\"?" {
			t.Errorf("a text like a formula: %q, %v", text, err)
		}
		if formula, err := book.GetCellFormula(reviewSheet, cellOf(t, book, "question", 2)); err != nil || formula != "" {
			t.Errorf("it became the formula %q, %v", formula, err)
		}
		var marked []string
		rich, err := book.GetCellRichText(reviewSheet, cellOf(t, book, "passage", 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rich {
			if r.Font != nil && r.Font.Bold {
				marked = append(marked, r.Text)
			}
		}
		if !slices.Equal(marked, []string{"Ines Caldwell", "Ines Caldwell"}) {
			t.Errorf("marked in the passage: %q", marked)
		}
		locked := func(cell string) bool {
			id, err := book.GetCellStyle(reviewSheet, cell)
			if err != nil {
				t.Fatal(err)
			}
			style, err := book.GetStyle(id)
			if err != nil {
				t.Fatal(err)
			}
			return style.Protection == nil || style.Protection.Locked
		}
		for header, want := range map[string]bool{"item_id": true, "question": true, "passage": true, "Vague": false,
			"No Error": false, "skipped": false, "notes": false, "text_sha256": true} {
			if got := locked(cellOf(t, book, header, 1)); got != want {
				t.Errorf("%s is locked: %v", header, got)
			}
		}
		if p, err := book.GetSheetProtection(reviewSheet); err != nil || p.FormatColumns == false {
			t.Errorf("protection %+v, %v", p, err)
		}
		validations, err := book.GetDataValidations(reviewSheet)
		if err != nil || len(validations) != len(f.Taxonomy.Types)+1 || !strings.Contains(validations[0].Formula1, "yes,no") {
			t.Errorf("drop-downs: %d, %v", len(validations), err)
		}
		rows, err := book.GetRows(definitionsSheet)
		if err != nil || rows[1][0] != f.Taxonomy.Types[0].Name || rows[1][3] != f.Taxonomy.Types[0].Definition {
			t.Errorf("definitions %q, %v", rows, err)
		}
	})
	if _, err := Export(freeze(t, "question-generation", "B009", [][]string{{"q", "a", strings.Repeat("é", maxCell+1)}}),
		XLSX, Options{}); err == nil || !strings.Contains(err.Error(), "export another format") {
		t.Errorf("a text too long for a cell: %v", err)
	}
}

func TestLabelStudioConfig(t *testing.T) {
	for _, f := range batches(t) {
		var view struct {
			Texts []struct {
				Name  string `xml:"name,attr"`
				Value string `xml:"value,attr"`
			} `xml:"Text"`
			Choices struct {
				Choice string `xml:"choice,attr"`
				ToName string `xml:"toName,attr"`
				Items  []struct {
					Value string `xml:"value,attr"`
				} `xml:"Choice"`
			}
		}
		if err := xml.Unmarshal(export(t, f, LabelStudio, Options{})["label-studio.xml"], &view); err != nil {
			t.Fatal(err)
		}
		if len(view.Texts) != len(f.Taxonomy.Fields) || view.Texts[0].Value != "$"+f.Taxonomy.Fields[0].Name ||
			view.Choices.ToName != view.Texts[0].Name ||
			view.Choices.Choice != "multiple" || len(view.Choices.Items) != len(choices(f.Taxonomy)) {
			t.Errorf("%+v", view)
		}
	}
}

// A field or a label may be called as a column of erreval's own.
func TestNameClash(t *testing.T) {
	f := freeze(t, "testdata/clash.yaml", "B003", [][]string{{"one", "two"}})
	all := []said{{labels: []string{"Notes", "Labels"}, notes: "n"}}
	data := editor(t, export(t, f, XLSX, Options{})["review.xlsx"], func(book *excelize.File) {
		setCell(t, book, "Notes_", 0, "yes")
		setCell(t, book, "Labels", 0, "yes")
		setCell(t, book, "notes__", 0, "n")
	})
	got, err := Read(write(t, "r.xlsx", data), f, "anna")
	if err != nil || len(got) != 1 || !slices.Equal(got[0].Labels, all[0].labels) || got[0].Notes != "n" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The export is what Argilla's own classes were given, and the answers are as they wrote them:
// testdata/make_argilla.py.
func TestArgillaSDK(t *testing.T) {
	f := batches(t)[0]
	files := export(t, f, Argilla, Options{Proposals: review.ShowProbabilities})
	for _, name := range []string{"records.json", ".argilla/settings.json", ".argilla/dataset.json"} {
		golden, err := os.ReadFile(filepath.Join("testdata/argilla", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(golden, files["argilla/"+name]) {
			t.Errorf("%s is not the one in testdata/argilla; if the change is meant, replace it and run make_argilla.py\n%s",
				name, files["argilla/"+name])
		}
	}
	got, err := Read("testdata/argilla_answered.json", f, "")
	if err != nil {
		t.Fatal(err)
	}
	type line struct{ item, reviewer, labels, notes string }
	var lines []line
	for _, a := range got {
		lines = append(lines, line{a.ItemID, a.Reviewer[len(a.Reviewer)-1:], strings.Join(a.Labels, ";"), a.Notes})
	}
	want := []line{{"B001-0001", "5", "Incomplete;Vague", "two"}, {"B001-0001", "6", "No Error", ""},
		{"B001-0002", "5", "No Error", ""}}
	if !reflect.DeepEqual(lines, want) {
		t.Errorf("%v, want %v", lines, want)
	}
	if _, err := Read("testdata/argilla_answered.json", f, "anna"); err == nil || !strings.Contains(err.Error(),
		"cannot be that of anna alone") {
		t.Errorf("two users under one name: %v", err)
	}
}

// TestWorkbookBomb: the sheet with the items is found, and its rows are read, without the shared texts in memory.
func TestWorkbookBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bomb.xlsx")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(hostiletest.Named("shared-text-of-100-MiB.xlsx").Write(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if sheet, err := sheetOf(path, "item_id"); sheet != "review" || err != nil {
		t.Errorf("sheet %q, %v", sheet, err)
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 100 {
		t.Errorf("%d MiB were allocated", n)
	}
}

// TestTwoWaysOfLabels: a table with a list of labels and a column for each says two things. Text with tabs is a table.
func TestTwoWaysOfLabels(t *testing.T) {
	f := batches(t)[0]
	all := sayings(f)
	_, data := fillers[CSV](t, f, export(t, f, CSV, Options{}), all)
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var tabs bytes.Buffer
	w := csv.NewWriter(&tabs)
	w.Comma = '\t'
	if err := w.WriteAll(records); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(write(t, "review.txt", tabs.Bytes()), f, "anna"); err != nil || len(got) == 0 {
		t.Errorf("%d answers, %v", len(got), err)
	}
	for i, record := range records {
		records[i] = append(record, []string{"Vague", "yes"}[min(i, 1)])
	}
	var both bytes.Buffer
	if err := csv.NewWriter(&both).WriteAll(records); err != nil {
		t.Fatal(err)
	}
	_, err = Read(write(t, "review.csv", both.Bytes()), f, "anna")
	if err == nil || !strings.Contains(err.Error(), `there are a column "labels" and columns of single labels`) {
		t.Error(err)
	}
}
