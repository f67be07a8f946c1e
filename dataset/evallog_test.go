package dataset

import (
	"slices"
	"strings"
	"testing"

	"github.com/erreval/erreval/taxonomy"
)

// Logs in the forms that promptfoo 0.120 and Inspect 0.3 document.
const (
	promptfooLog = `{"evalId":"e","results":{"version":3,"prompts":[],"results":[
{"prompt":{"raw":"Say hi to Ann","label":"p"},"vars":{"name":"Ann","response":"no"},"response":{"output":"Hi, Ann!"},
 "provider":{"id":"openai:gpt-4o-mini","label":"mini"},"success":true,"score":1,"testIdx":0,
 "gradingResult":{"pass":true,"reason":"All assertions passed"}},
{"prompt":{"raw":"[{\"role\":\"user\",\"content\":\"Say hi\"}]"},"response":{"output":{"a":1}},"provider":{"id":"x"}},
{"prompt":{"raw":"Say hi"},"error":"API error: 429","provider":"y"},
{"prompt":{"raw":"Say hi"},"response":{"error":"API error","output":null},"error":"API error","provider":"y"},
{"prompt":{"raw":"Say hi"},"response":{"output":""},"error":"Expected output to equal Hi","provider":"y"},
{"prompt":{"raw":"Say hi"},"provider":"y"}]},"config":{}}`
	inspectLog = `{"version":2,"eval":{"task":"t","model":"openai/gpt"},"samples":[
{"id":1,"epoch":1,"input":"2+2?","target":["4","four"],
 "output":{"choices":[{"message":{"role":"assistant","content":"Four."}}]},"scores":{"match":{"value":"C","explanation":"It is."}}},
{"id":1,"epoch":2,"input":[{"role":"user","content":"2+2?"}],"target":"4",
 "output":{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"5"}]}}]}},
{"id":2,"epoch":1,"input":"2+2?","target":"4","output":{"choices":[{"message":{"role":"assistant","content":""}}]}},
{"id":3,"epoch":1,"input":"2+2?","target":"4","output":{"choices":[]},"error":{"message":"429","traceback":"t"}},
{"id":4,"epoch":1,"input":"2+2?","target":"4","output":{"choices":[{"message":{"role":"assistant","content":"4"}}]},
 "error":{"message":"the scorer failed"}}],"stats":{}}`
)

// TestLog: a row an output, whatever else stands in a log; one without output is a fault of its row.
func TestLog(t *testing.T) {
	task, err := taxonomy.Builtin("instruction-following")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		log  string
		want []string // response|instruction|system, then the begins of errors
		rest string   // columns of the first row
	}{
		"promptfoo": {promptfooLog, []string{"Hi, Ann!|Say hi to Ann|mini", `{"a":1}|Say hi|x`, "|Say hi|y",
			"in.json: item 3: the model gave no output: API error: 429",
			"in.json: item 4: the model gave no output: API error",
			`in.json: item 6: no column "response"; the columns are system, prompt;`},
			"system,prompt,prompt_label,response,name,success,score,test,reason"},
		"Inspect": {inspectLog, []string{"Four.|2+2?|openai/gpt", "5|2+2?|openai/gpt", "|2+2?|openai/gpt",
			"in.json: item 4: the model gave no output: 429",
			"in.json: item 5: the sample ended in an error: the scorer failed"},
			"id,system,input,response,target,score_match,explanation_match"},
	} {
		t.Run(name, func(t *testing.T) {
			format, err := ParseFormat("json")
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewSource(strings.NewReader(c.log), "in.json", Options{Taxonomy: task, Format: format})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			rows, bad := readAll(t, r)
			if columns := strings.Join(rows[0].Columns(), ","); columns != c.rest {
				t.Errorf("columns %s, want %s", columns, c.rest)
			}
			for _, row := range rows {
				system, _ := row.Get(ColumnSystem)
				got = append(got, strings.Join(row.Values, "|")+"|"+PlainText(system))
			}
			for _, fault := range bad {
				got = append(got, fault.Error())
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) || !strings.Contains(strings.Join(r.Notes(), "; "), name) {
				t.Errorf("got  %q\nwant %q\nnotes %q", got, c.want, r.Notes())
			}
		})
	}
}

// TestLogOfManySamples: what a log expands to is bounded as a record is.
func TestLogOfManySamples(t *testing.T) {
	log := `{"eval":{"model":"m"},"samples":[` + strings.Repeat("{},", 40_000) + `{}]}`
	if _, _, err := flattenLog([]byte(log), 1<<20); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a log of 40,001 samples: %v", err)
	}
}
