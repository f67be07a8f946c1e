package importing

import (
	"maps"
	"unicode/utf8"
)

// probeRows is how many sample rows a manifest keeps as probes.
const probeRows = 4

// sampleTexts are the rows of the self-check: questions with their answers and passages. A taxonomy with other fields
// gets the same texts, by position: the check compares numbers, not meaning.
var sampleTexts = [][3]string{
	{"When was the harbour of Eskmouth dredged for the first time?", "in 1887",
		"The harbour of Eskmouth silted up within forty years of its building. It was dredged for the first time in 1887, " +
			"by two steam barges hired from the canal company, and every third winter after that."},
	{"Who who keeped the bees?", "Sister Odile",
		"Behind the infirmary stood nine hives. Sister Odile kept the bees until her ninetieth year; the honey paid for " +
			"the lamp oil of the whole convent."},
	{"What is the boiling point of the solvent", "78 °C",
		"Ethanol boils at 78 °C at sea level, water at 100 °C. A mixture of 95.6 per cent ethanol boils lower than either."},
	{"Why did it happen?", "because the valve had frozen",
		"At 4:12 a.m. the pressure fell to zero because the valve had frozen. Nobody was hurt, but the line stood still " +
			"until noon."},
	{"The museum opened in which year, 1994 or 1995?", "1995",
		"Although the building was finished in 1994, the museum opened only in 1995, after a dispute over the roof."},
	{"How many moons does the planet have?", "the rings",
		"Its rings were seen in 1977, when a star dimmed nine times before the planet passed in front of it. Twenty-seven " +
			"moons are known."},
	{"What did Amara say to Jonas about the letter that she had found under the stairs of the old mill?",
		"that it was hers", "Jonas asked nothing. \"It is mine,\" said Amara, \"my grandmother wrote it,\" and she folded " +
			"the letter that she had found under the stairs of the old mill."},
	{"which rivers ?", "Aare, Reuss",
		"Three rivers meet near the town: the Aare, the Reuss and, a little downstream, the Limmat."},
	{"Translate the sentence into English.", "The cat sleeps.", "Die Katze schläft. Le chat dort. 猫は眠っている。"},
	{"", "none", "An empty question stands here on purpose."},
	{"What does the author recommend?", "resting twenty minutes",
		"For a firm crumb the author recommends resting the dough for twenty minutes, folding it twice, and baking it on a " +
			"stone at 240 degrees."},
	{"Is the capital of the province older than its university, which was founded in 1409, and by how much?",
		"yes, by some three hundred years", "The town received its charter in 1105. Its university was founded in 1409; " +
			"the province was named after the town only in 1790."},
}

// sampleRows are rows for the fields given, and one that is longer than maxTokens.
func sampleRows(fields []string, maxTokens int) []map[string]string {
	var rows []map[string]string
	for _, texts := range sampleTexts {
		row := map[string]string{}
		for i, field := range fields {
			row[field] = texts[i%len(texts)]
		}
		rows = append(rows, row)
	}
	long := maps.Clone(rows[0])
	last := fields[len(fields)-1]
	for utf8.RuneCountInString(long[last]) < 6*maxTokens { // English has some 4 letters a token
		for _, texts := range sampleTexts {
			long[last] += " " + texts[2]
		}
	}
	return append(rows, long)
}
