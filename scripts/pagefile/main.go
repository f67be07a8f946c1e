// Command pagefile makes what tests of the page open in a browser. That is a report file of data, or the document that
// a server gives for the page, after a line with its policy.
//
//	pagefile TITLE <DATA.jsonl >OUT.html
//	pagefile
//
// The first line is the JSON of data without records, which follow, a line each. What the data are, erreval report
// knows.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/erreval/erreval/report/page"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pagefile:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	out := bufio.NewWriter(os.Stdout)
	switch len(args) {
	case 0:
		fmt.Fprintf(out, "%s\n%s", page.Policy, page.Served())
	case 1:
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			return err
		}
		lines := bytes.Split(text, []byte("\n"))
		var records []json.RawMessage
		for _, line := range lines[1:] {
			records = append(records, line)
		}
		if err := page.File(out, args[0], "", lines[0], records); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%d arguments: give the title alone, or nothing", len(args))
	}
	return out.Flush()
}
