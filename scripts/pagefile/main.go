// Command pagefile makes a report file of data, for tests of the page: pagefile TITLE <DATA.json >OUT.html. What the
// data are, erreval report knows.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/erreval/erreval/report/page"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pagefile TITLE <DATA.json >OUT.html")
		os.Exit(2)
	}
	out := bufio.NewWriter(os.Stdout)
	err := page.File(out, os.Args[1], os.Stdin)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pagefile:", err)
		os.Exit(1)
	}
}
