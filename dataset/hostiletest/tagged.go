package hostiletest

import (
	"fmt"
	"strings"
)

// tagged are files of rows with labels and diagnoses, for the commands that read these.
func tagged() []File {
	var words strings.Builder
	for i := 0; words.Len() < 14*mib; i++ {
		fmt.Fprintf(&words, "%d ", i)
	}
	name := part{strings.Repeat("x", mib), 7}
	var texts, names []part
	for i := range 6 {
		texts = append(texts, one(taggedRow("s", "m", words.String())))
		begin, rest, _ := strings.Cut(taggedRow("SYSTEM", "MODEL", "Ann did."), "SYSTEM")
		middle, end, _ := strings.Cut(rest, "MODEL")
		names = append(names, one(begin), name, one(fmt.Sprint(i)+middle), name, one(fmt.Sprint(i)+end))
	}
	return []File{
		gzipped("tagged-words-of-14-MiB.jsonl", true, texts...),
		gzipped("tagged-names-of-7-MiB.jsonl", true, names...),
		gzipped("tagged-columns.csv", true, manyColumns(16_384)...),
	}
}

func taggedRow(system, model, passage string) string {
	return fmt.Sprintf(`{"labels":["Vague"],"question":"Who?","answer":"Ann","system":%q,"diagnosis":{"labels":["Vague"],`+
		`"probabilities":{"Vague":0.9},"model":%q,"taxonomy":"question-generation@1.1"},"passage":%q}`+"\n", system, model,
		passage)
}

// manyColumns are 60 tagged rows with so many columns.
func manyColumns(columns int) []part {
	header := "diagnosis.labels,labels," + strings.TrimSpace(headCSV)
	more := columns - strings.Count(header, ",") - 1
	for i := range more {
		header += fmt.Sprintf(",c%d", i)
	}
	return []part{one(header + "\n"),
		{"Vague,Vague," + strings.TrimSpace(goodCSV) + strings.Repeat(",v", more) + "\n", 60}}
}
