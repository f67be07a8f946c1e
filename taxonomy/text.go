package taxonomy

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// OpenBuiltins loads every embedded taxonomy, the default first.
func OpenBuiltins() ([]*Taxonomy, error) {
	var all []*Taxonomy
	for _, name := range builtinNames {
		t, err := Builtin(name)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// WriteList writes a table with a line for each taxonomy.
func WriteList(w io.Writer, all []*Taxonomy) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "TAXONOMY\tTYPES\tDIMENSIONS\tFIELDS")
	for _, t := range all {
		fmt.Fprintf(tw, "%s\t%d\t%d\t%s\n", t.ID(), len(t.Types), len(t.Dimensions), strings.Join(t.FieldNames(), ", "))
	}
	return tw.Flush()
}

// Summary counts what the taxonomy has, in a line.
func (t *Taxonomy) Summary() string {
	return fmt.Sprintf("%s: %d error types, %d dimensions, fields %s", t.ID(), len(t.Types), len(t.Dimensions),
		strings.Join(t.FieldNames(), ", "))
}

// WriteText writes the fields, error types and dimensions for a person to read.
func (t *Taxonomy) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n%s\n\nFields, in the order of the encoder's input\n", t.Title, t.ID(), t.Description)
	for _, f := range t.Fields {
		more := ""
		if f.Optional {
			more = " (optional)"
		}
		if f.Group {
			more += " (group: rows share it)"
		}
		fmt.Fprintf(&b, "  %-12s %s%s\n", f.Name, f.Definition, more)
	}
	if t.IsTask() {
		b.WriteString("\nNo error types: \"erreval discover\" finds issues in such rows\n")
	} else {
		b.WriteString("\nError types\n")
	}
	for _, y := range t.Types {
		more := ""
		if y.Severity > 0 {
			more = fmt.Sprintf(", severity %g", y.Severity)
		}
		if len(y.Needs) > 0 {
			more += ", needs " + strings.Join(y.Needs, " and ")
		}
		if y.Simulate != nil {
			more += ", simulated by " + strings.Join(y.Simulate.Edits, " or ")
		}
		fmt.Fprintf(&b, "  %s (%s, %s%s)\n      %s\n", y.Name, y.Code, y.Category, more, y.Definition)
	}
	for i, d := range t.Dimensions {
		if i == 0 {
			b.WriteString("\nDimensions\n")
		}
		fmt.Fprintf(&b, "  %s: %s\n", d.Name, d.Definition)
		for _, c := range d.Criteria {
			fmt.Fprintf(&b, "      %d  %s\n", c.Score, c.Text)
		}
		fmt.Fprintf(&b, "      errors: %s\n", strings.Join(d.Types, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
