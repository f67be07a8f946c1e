package main

import (
	"encoding/json"
	"hash/fnv"
	"os"
	"regexp"
	"strings"
	"sync"
)

// outputs are the rows whose faults the judge of pairs knows.
const outputs = "testdata/samples/outputs.jsonl"

// faultsOf are the faults of each response in a file of rows with a diagnosis.
func faultsOf(path string) (map[string][]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	faults := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		var row struct {
			Response  string
			Diagnosis struct{ Labels []string }
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, err
		}
		known := []string{}
		for _, label := range row.Diagnosis.Labels {
			if label != "No Error" {
				known = append(known, label)
			}
		}
		faults[row.Response] = known
	}
	return faults, nil
}

var knownFaults = sync.OnceValues(func() (map[string][]string, error) { return faultsOf(outputs) })

var (
	respect = regexp.MustCompile(`(?m)(?:^The error |free of this error\? |as to this error: )([^.:\n]+)(?:\. Definition)?: `)
	listed  = regexp.MustCompile(`(?m)^- (\w+): (?:([^:\n]+): )?`)
)

type pairVerdict struct {
	Reason  string `json:"reason"`
	Verdict string `json:"verdict"`
}

// compare is the reply to a prompt about two texts; false if it is none, or about texts that the judge does not know.
// The rule: as to an error, the text without it wins; overall, the one with fewer errors, and with as many of them
// neither. Of five pairs of texts, as to one respect, one is decided by the order: there the first wins.
func compare(prompt string, faults map[string][]string) (string, bool) {
	texts := fenced.FindAllStringSubmatch(prompt, -1)
	if len(texts) < 2 {
		return "", false
	}
	first, second := texts[len(texts)-2][1], texts[len(texts)-1][1]
	a, okA := faults[first]
	b, okB := faults[second]
	if !okA || !okB {
		return "", false
	}
	about := func(name string) pairVerdict {
		if takesTheFirst(first, second, name) {
			return pairVerdict{"The first one reads better.", "first"}
		}
		return pairVerdict{"By the faults planted.", better(count(a, name), count(b, name))}
	}
	_, requirements, joint := strings.Cut(prompt, "\n# Requirements\n")
	if !joint {
		name := overall
		if m := respect.FindStringSubmatch(prompt); m != nil {
			name = m[1]
		}
		return marshal(about(name))
	}
	requirements, _, _ = strings.Cut(requirements, "\n# ")
	all := map[string]pairVerdict{}
	for _, m := range listed.FindAllStringSubmatch(requirements, -1) {
		if m[1] == overall {
			m[2] = overall
		}
		all[m[1]] = about(m[2])
	}
	return marshal(all)
}

const overall = "Overall"

// count is the number of faults of a name, or of all.
func count(faults []string, name string) int {
	n := 0
	for _, f := range faults {
		if name == overall || f == name {
			n++
		}
	}
	return n
}

func better(a, b int) string {
	switch {
	case a < b:
		return "first"
	case b < a:
		return "second"
	case a == 0:
		return "both_good"
	}
	return "both_bad"
}

// takesTheFirst draws one of five pairs of texts, in whichever order they stand.
func takesTheFirst(first, second, name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(min(first, second) + "\n" + max(first, second) + "\n" + name)) // a hash never fails
	return h.Sum32()%5 == 0
}
