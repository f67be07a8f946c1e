package commandline

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestReorder(t *testing.T) {
	app := &cli.App{
		Flags: []cli.Flag{&cli.StringFlag{Name: "config"}},
		Commands: []*cli.Command{
			{Name: "tag", Flags: []cli.Flag{
				&cli.StringFlag{Name: "output", Aliases: []string{"o"}},
				&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}},
				&cli.Float64Flag{Name: "threshold"},
				&cli.StringSliceFlag{Name: "map"},
			}},
			{Name: "meta", Subcommands: []*cli.Command{{Name: "labels", Flags: []cli.Flag{&cli.StringFlag{Name: "gold"}}}}},
		},
	}
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"tag", "tag"},
		{"tag in -o out", "tag -o out -- in"},
		{"tag -o out in", "tag -o out -- in"},
		{"tag in --output out --quiet in2", "tag --output out --quiet -- in in2"},
		{"tag --quiet in -o=out in2", "tag --quiet -o=out -- in in2"},
		{"tag in -q -threshold -0.5 in2", "tag -q -threshold -0.5 -- in in2"},
		{"tag a --map x=y b --map z=w c", "tag --map x=y --map z=w -- a b c"},
		{"tag - -o -", "tag -o - -- -"},
		{"tag -o -- in", "tag -o -- -- in"},
		{"tag in -- -o out", "tag -- in -o out"},
		{"tag -q -- -file --map", "tag -q -- -file --map"},
		{"tag in -- tag --", "tag -- in tag --"},
		{"tag tag meta", "tag -- tag meta"},
		{"tag in -o", "tag -o -- in"},
		{"tag in -oout.jsonl", "tag -o out.jsonl -- in"},
		{"tag in -o/tmp/x=y", "tag -o /tmp/x=y -- in"},
		{"tag in -outptu x", "tag -outptu -- in x"},
		{"tag in -quiet", "tag -quiet -- in"},
		{"help", "--help"},
		{"help meta labels", "meta labels --help"},
		{"version", "--version"},
		{"tag version", "tag -- version"},
		{"tag in --bogus x", "tag --bogus -- in x"},
		{"tag in --help -o", "tag --help"},
		{"tag -o --help", "tag -o --help"},
		{"tag -- --help", "tag -- --help"},
		{"meta -h labels", "meta --help"},
		{"meta labels pred --gold gold", "meta labels --gold gold -- pred"},
		{"meta labels --gold gold pred", "meta labels --gold gold -- pred"},
		{"--config c meta labels pred --gold g", "--config c meta labels --gold g -- pred"},
		{"bogus in -o x", "-- bogus in -o x"},
		{"meta bogus -o x", "meta -- bogus -o x"},
	} {
		got := Reorder(app, append([]string{"erreval"}, strings.Fields(c.in)...))
		if want := append([]string{"erreval"}, strings.Fields(c.want)...); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.in, got, want)
		}
	}
	if got := Reorder(app, nil); got != nil {
		t.Errorf("nothing became %q", got)
	}
}
