package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/erreval/erreval/llm"
)

func TestDefaultPrices(t *testing.T) {
	p, err := DefaultPrices()
	if err != nil {
		t.Fatal(err)
	}
	if p.Currency != "USD" || p.Date.Format(time.DateOnly) != "2026-03-21" {
		t.Errorf("the list is in %s of %s", p.Currency, p.Date)
	}
	for _, model := range []string{"gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5-mini"} {
		if price, ok := p.Models[model]; !ok || price.Input <= 0 || price.Output <= price.Input {
			t.Errorf("%s costs %+v", model, price)
		}
	}
	// 3,000 tokens in and 200 out: 3000 x 0.15e-6 + 200 x 0.60e-6
	if cost := p.Models["gpt-4o-mini"].Cost(llm.Usage{Input: 3000, Output: 200}); cost < 0.000569999 ||
		cost > 0.000570001 {
		t.Errorf("cost %g, want 0.00057", cost)
	}
}

func TestParsePricesJSON(t *testing.T) {
	p, err := ParsePrices([]byte(`{"currency": "EUR", "date": "2026-01-02", "models": {"a": {"input": 0, "output": 1e1}}}`), "p")
	if err != nil || p.Currency != "EUR" || p.Models["a"] != (Price{0, 10}) {
		t.Errorf("got %+v %v", p, err)
	}
}

func TestParsePricesFaults(t *testing.T) {
	const head = "currency: USD\ndate: 2026-01-02\nmodels:\n"
	for _, c := range []struct{ data, want string }{
		{"", "p:1: the file is empty"},
		{"a", "p:1: a price file must be a mapping"},
		{"models: {", "p:1: not YAML"},
		{"\n\nx: 1\n", "p:3: unknown key \"x\" in a price file; it may have currency, date, models\n" +
			"p:3: a price file needs the key \"currency\"\np:3: a price file needs the key \"date\"\np:3: a price file needs " +
			"the key \"models\""},
		{"currency: usd\ndate: 2.1.2026\nmodels: {}", "p:1: currency is three capital letters, such as USD; got \"usd\"\n" +
			"p:2: date is the day the prices were taken, such as 2026-03-21; got \"2.1.2026\""},
		{head + "  a: 3", "p:4: \"a\" must be a mapping"},
		{head + "  a: {input: 1}", "p:4: \"a\" needs the key \"output\""},
		{head + "  a: {input: 1, output: 1}\n  a: {input: 1, output: 1}", "p:5: key \"a\" is given twice (first on line 4)"},
		{head + "  a: {input: 1, output: 1, cached: 1}", "p:4: unknown key \"cached\" in \"a\""},
		{head + "  a: {input: -1, output: '1'}",
			"p:4: input: a price of 0 to 1e+06 per million tokens is expected, not \"-1\"\n" +
				"p:4: output: a price of 0 to 1e+06 per million tokens is expected, not \"1\""},
		{head + "  a: {input: .nan, output: .inf}", "not \".nan\"\np:4: output: a price"},
		{head + "  a: {input: 1e7, output: [1]}", "not \"1e7\"\np:4: output: a price"},
		{head + "  ? [a]\n  : {input: 1, output: 1}", "p:4: models has a key that is no name"},
		{head + "  a: &x {input: 1, output: 1}\n  b: *x", "p:5: \"b\" must be a mapping"},
		{head + "  {}\n---\na: 1", "p:5: a second document"},
	} {
		p, err := ParsePrices([]byte(c.data), "p")
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.data, err, c.want)
		}
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add(defaultPrices)
	f.Add([]byte(`{"currency": "EUR", "date": "2026-01-02", "models": {"a": {"input": 0, "output": 1e1}}}`))
	f.Add([]byte("models:\n  a: &x {input: .nan, output: 0x10}\n  b: *x\n---\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePrices(data, "p")
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "p:") && !strings.HasPrefix(err.Error(), "p:") {
					t.Errorf("a fault without a place: %q", line)
				}
			}
			return
		}
		if !currencyForm.MatchString(p.Currency) || p.Date.IsZero() && !strings.Contains(string(data), "0001-01-01") {
			t.Errorf("%q is taken as %+v", data, p)
		}
		for name, price := range p.Models {
			if name == "" || !(price.Input >= 0 && price.Output >= 0 && price.Input <= maxPrice && price.Output <= maxPrice) {
				t.Errorf("%q costs %+v", name, price)
			}
		}
	})
}
