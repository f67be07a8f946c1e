package journal

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/llm"
)

// maxPrice bounds a price, per million tokens, in any currency; more is taken for a slip of the unit.
const maxPrice = 1e6

// Price is what a model costs, in the currency of its Prices per million tokens. 0 is free.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Cost is the price of u, in the currency of p.
func (p Price) Cost(u llm.Usage) float64 {
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output) / 1e6
}

// Prices is a price list.
type Prices struct {
	Currency string           // three capital letters, as in ISO 4217
	Date     time.Time        // the day the prices were taken; midnight, UTC
	Models   map[string]Price // by the model's name in requests, matched exactly
}

//go:embed prices.yaml
var defaultPrices []byte

// DefaultPrices is the list that comes with the program: a few models, as of its Date. Prices change; whoever
// shows a cost made of it should show the date as well.
func DefaultPrices() *Prices {
	p, err := ParsePrices(defaultPrices, "prices.yaml")
	if err != nil {
		panic(err) // a test reads it
	}
	return p
}

// ParsePrices reads a price list in YAML or JSON strictly: currency, date (2006-01-02) and models, a mapping of name
// to input and output. file stands in the messages. The error joins all faults, each as "file:line: what".
func ParsePrices(data []byte, file string) (*Prices, error) {
	l := &priceList{file: file, prices: &Prices{Models: map[string]Price{}}}
	if root := l.document(data); root != nil {
		l.mapping(root, "a price file", []string{"currency", "date", "models"}, l.top)
	}
	if len(l.faults) > 0 {
		return nil, errors.Join(l.faults...)
	}
	return l.prices, nil
}

type priceList struct {
	file   string
	prices *Prices
	faults []error
}

func (l *priceList) fault(line int, format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf("%s:%d: %s", l.file, max(line, 1), fmt.Sprintf(format, args...)))
}

// yamlLine takes the line out of yaml.v3's syntax errors, which carry it only as text.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (l *priceList) document(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		l.fault(1, "the file is empty")
		return nil
	case err == nil:
		if err = dec.Decode(&next); err == nil {
			l.fault(next.Line, "a second document; a price file holds one")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		l.syntax(err.Error())
		return nil
	}
	return doc.Content[0]
}

func (l *priceList) syntax(text string) {
	line := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	l.fault(line, "not YAML: %s", text)
}

// mapping hands each key of n to set. Keys other than want (nil takes any) are faults, and so are keys of want
// that n lacks and keys that come twice.
func (l *priceList) mapping(n *yaml.Node, what string, want []string, set func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		l.fault(n.Line, "%s is a mapping (name: value)", what)
		return
	}
	missing := map[string]bool{}
	for _, key := range want {
		missing[key] = true
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch name := key.Value; {
		case key.Kind != yaml.ScalarNode || name == "":
			l.fault(key.Line, "%s has a key that is no name", what)
		case seen[name]:
			l.fault(key.Line, "%s has %q twice", what, name)
		case want != nil && !missing[name]:
			l.fault(key.Line, "%s has no key %q; it has %q", what, name, want)
		default:
			set(key, n.Content[i+1])
		}
		seen[key.Value] = true
		delete(missing, key.Value)
	}
	for _, key := range want {
		if missing[key] {
			l.fault(n.Line, "%s lacks %q", what, key)
		}
	}
}

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

func (l *priceList) top(key, value *yaml.Node) {
	switch key.Value {
	case "currency":
		if l.prices.Currency = value.Value; !currencyForm.MatchString(value.Value) {
			l.fault(value.Line, "currency is three capital letters, such as USD; got %q", value.Value)
		}
	case "date":
		var err error
		if l.prices.Date, err = time.Parse(time.DateOnly, value.Value); err != nil {
			l.fault(value.Line, "date is the day the prices were taken, such as 2026-03-21; got %q", value.Value)
		}
	case "models":
		l.mapping(value, "models", nil, l.model)
	}
}

func (l *priceList) model(key, value *yaml.Node) {
	var p Price
	l.mapping(value, strconv.Quote(key.Value), []string{"input", "output"}, func(k, v *yaml.Node) {
		x := l.price(v)
		if k.Value == "input" {
			p.Input = x
		} else {
			p.Output = x
		}
	})
	l.prices.Models[key.Value] = p
}

func (l *priceList) price(n *yaml.Node) float64 {
	x, err := strconv.ParseFloat(n.Value, 64)
	number := n.Kind == yaml.ScalarNode && (n.Tag == "!!int" || n.Tag == "!!float")
	if !number || err != nil || math.IsNaN(x) || x < 0 || x > maxPrice {
		l.fault(n.Line, "a price is a number of 0 to %g per million tokens; got %q", maxPrice, n.Value)
		return 0
	}
	return x
}
