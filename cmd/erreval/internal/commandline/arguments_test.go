package commandline

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func TestReorder(t *testing.T) {
	app := &cli.App{
		Name:  "erreval",
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
		{"tag a -o x --output x", "tag -o x --output x -- a"},
		{"tag - -o -", "tag -o - -- -"},
		{"tag -o ./--quiet in", "tag -o ./--quiet -- in"},
		{"tag -o=--quiet in", "tag -o=--quiet -- in"},
		{"tag -o -in in", "tag -o -in -- in"},
		{"tag in -- -o out", "tag -- in -o out"},
		{"tag -q -- -file --map", "tag -q -- -file --map"},
		{"tag in -- tag --", "tag -- in tag --"},
		{"tag tag meta", "tag -- tag meta"},
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
		{"tag -- --help", "tag -- --help"},
		{"meta -h labels", "meta --help"},
		{"meta labels pred --gold gold", "meta labels --gold gold -- pred"},
		{"meta labels --gold gold pred", "meta labels --gold gold -- pred"},
		{"--config c meta labels pred --gold g", "--config c meta labels --gold g -- pred"},
		{"bogus in -o x", "-- bogus in -o x"},
		{"meta bogus -o x", "meta -- bogus -o x"},
	} {
		got, err := Reorder(app, append([]string{"erreval"}, strings.Fields(c.in)...))
		if want := append([]string{"erreval"}, strings.Fields(c.want)...); !slices.Equal(got, want) || err != nil {
			t.Errorf("%s:\ngot  %q, %v\nwant %q", c.in, got, err, want)
		}
	}
	if got, err := Reorder(app, nil); got != nil || err != nil {
		t.Errorf("nothing became %q, %v", got, err)
	}
	for in, want := range map[string]string{
		"tag in -o":               "erreval tag: flag -o needs a value\nsee 'erreval tag --help'",
		"tag -o -- in":            "erreval tag: flag -o needs a value\n",
		"tag in --output -q":      "flag --output needs a value, and -q behind it is a flag; where it is meant as the value, ",
		"tag -o --map=x=y in":     "write -o=--map=x=y (a file of that name: -o ./--map=x=y)",
		"tag -o --help":           "--help behind it is a flag",
		"meta labels pred --gold": "erreval meta labels: flag --gold needs a value\nsee 'erreval meta labels --help'",
		"--config":                "erreval: flag --config needs a value\n",
		"tag -o a in --output=b":  "erreval tag: flag --output is given twice, with a and b; it takes one value",
	} {
		got, err := Reorder(app, append([]string{"erreval"}, strings.Fields(in)...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", in, got, err, want)
		}
	}
}
