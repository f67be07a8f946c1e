package journal

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/erreval/erreval/internal/strictyaml"
	"github.com/erreval/erreval/llm"
)

// maxPrice is the highest price, per million tokens, in any currency; a higher one is probably in another unit.
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

// DefaultPrices is the list in the program: a few models, as of its Date. Prices change: show the date beside costs
// that are computed from it. An error means that the program was built wrong.
func DefaultPrices() (*Prices, error) { return ParsePrices(defaultPrices, "prices.yaml") }

// ParsePrices reads a price list in YAML or JSON strictly: currency, date (2006-01-02) and models, a mapping of name
// to input and output. file stands in the messages. The error joins all faults, each as "file:line: what".
func ParsePrices(data []byte, file string) (*Prices, error) {
	l := &priceList{Reader: strictyaml.Reader{File: file}, prices: &Prices{Models: map[string]Price{}}}
	if root := l.Document(data, "price list"); root != nil {
		l.Mapping(root, "a price file", strictyaml.Need("currency", l.currency), strictyaml.Need("date", l.date),
			strictyaml.Need("models", l.Names(l.model)))
	}
	if err := l.Err(); err != nil {
		return nil, err
	}
	return l.prices, nil
}

type priceList struct {
	strictyaml.Reader
	prices *Prices
}

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

func (l *priceList) currency(_ string, n *yaml.Node) {
	if l.prices.Currency = n.Value; !currencyForm.MatchString(n.Value) {
		l.Fault(n.Line, "currency is three capital letters, such as USD; got %q", n.Value)
	}
}

func (l *priceList) date(_ string, n *yaml.Node) {
	var err error
	if l.prices.Date, err = time.Parse(time.DateOnly, n.Value); err != nil {
		l.Fault(n.Line, "date is the day the prices were taken, such as 2026-03-21; got %q", n.Value)
	}
}

func (l *priceList) model(name string, n *yaml.Node) {
	var p Price
	price := func(dst *float64) strictyaml.Value {
		want := fmt.Sprintf("a price of 0 to %g per million tokens", maxPrice)
		return l.Float(dst, want, func(x float64) bool { return x >= 0 && x <= maxPrice })
	}
	l.Mapping(n, strconv.Quote(name), strictyaml.Need("input", price(&p.Input)), strictyaml.Need("output",
		price(&p.Output)))
	l.prices.Models[name] = p
}
