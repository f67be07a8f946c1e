package commandline

import "testing"

func TestWrap(t *testing.T) {
	const page = `NAME:
   erreval tag - find errors

DESCRIPTION:
   Rows are lines of a file, which may
   be packed. The rest stays.
      erreval tag rows.jsonl --limit "a > b" -o out

OPTIONS:
   --limit P  give an error from P on
   -q         say nothing
`
	for _, test := range []struct {
		columns int
		want    string
	}{{0, page}, {80, page}, {30, `NAME:
   erreval tag - find errors

DESCRIPTION:
   Rows are lines of a file,
   which may be packed. The
   rest stays.
      erreval tag rows.jsonl \
         --limit "a > b" -o \
         out

OPTIONS:
   --limit P  give an error
              from P on
   -q         say nothing
`}, {26, `NAME:
   erreval tag - find
   errors

DESCRIPTION:
   Rows are lines of a
   file, which may be
   packed. The rest stays.
      erreval tag \
         rows.jsonl \
         --limit "a > b" \
         -o out

OPTIONS:
   --limit P
         give an error
         from P on
   -q
         say nothing
`}} {
		if got := Wrap(page, test.columns); got != test.want {
			t.Errorf("%d columns:\n%s\nnot\n%s", test.columns, got, test.want)
		}
	}
}
