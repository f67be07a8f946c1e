// Command pagefile makes what tests of the page open in a browser: a report file of data, or the document that a server
// gives for the page, after a line with its policy.
//
//	pagefile TITLE <DATA.json >OUT.html
//	pagefile
//
// What the data are, erreval report knows.
package main

import (
	"bufio"
	"fmt"
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
		if err := page.File(out, args[0], os.Stdin); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%d arguments: give the title alone, or nothing", len(args))
	}
	return out.Flush()
}
