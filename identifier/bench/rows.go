package bench

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// Lengths of real question-generation rows: 43 to 798 tokens, 198 on average. The draws are log-normal.
const (
	leastTokens, mostTokens = 43, 798
	logMean, logSpread      = 5.17, 0.5
	distinctRows            = 512 // later rows repeat earlier ones
)

// short and long texts, from which rows are made.
var (
	short = []string{"Which engineer designed the harbour wall?", "the pilots of the bay",
		"How long does it take until the lime has set?",
		"sixteen days", "Why did the town move its market across the river?", "in 1821", "What did the masons use for the " +
			"upper courses?"}
	long = strings.SplitAfter(`The harbour was built after two winters in which no ship could land. Its engineer had never seen the sea before she `+
		`was hired, and learned about tides from the pilots. Most of the stone came from a quarry nine miles inland, on carts that were drawn by oxen. `+
		`In the end they built one half in granite and the other in brick, and both still stand. Lime sets slowly under water, which is why the masons `+
		`worked from the bottom up and waited. A century later the council measured the wall again, and found that it had moved by the width of a hand. `+
		`Copper conducts heat better than steel. The market was held on Tuesdays until the bridge was opened; from then on it moved to the square across `+
		`the river, where there was more room for cattle. Nobody wrote down who had proposed it. Beekeepers know by its sound whether a hive has a queen. `+
		`The first train arrived in October, three years behind its schedule, with the minister and 140 guests on board. Prices fell, and so did rents. `+
		`Several letters of that time mention the noise, the smoke and the new lamps (there were forty-two of them) along the quay. `+
		`Her notebooks, which are kept in the town's archive, contain sketches of cranes, of sluices and of the faces of those who worked there. `, ". ")
)

// Rows makes n rows, in the taxonomy's order of fields, whose lengths have the distribution of real ones: the last
// field of the model is long, the others are short. Every call gives the same rows.
func Rows(m *models.Model, t *taxonomy.Taxonomy, n int) ([]*dataset.Row, error) {
	whole := *m
	whole.Manifest.MaxTokens, whole.Manifest.Window = 1<<20, nil
	enc, err := identifier.NewEncoder(&whole, t)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	body := 0 // the long field
	for i, field := range t.FieldNames() {
		if fields := m.Manifest.Fields; field == fields[len(fields)-1] {
			body = i
		}
	}
	rows := make([]*dataset.Row, n)
	for i := range rows {
		rows[i] = &dataset.Row{ID: fmt.Sprint(i), Line: i + 1}
		if i >= distinctRows {
			rows[i].Values = rows[i-distinctRows].Values
			continue
		}
		target := int(math.Exp(logMean + logSpread*random.NormFloat64()))
		values := make([]string, len(t.Fields))
		for j := range values {
			values[j] = short[(i+3*j)%len(short)]
		}
		values[body], err = growText(enc, values, body, random.IntN(len(long)), min(max(target, leastTokens), mostTokens))
		if err != nil {
			return nil, err
		}
		rows[i].Values = values
	}
	return rows, nil
}

// growText gives the body text that makes a row of about target tokens.
func growText(enc *identifier.Encoder, values []string, body, at, target int) (string, error) {
	values[body] = ""
	before := -1 // tokens when the sentences last began anew
	for i := 0; ; i++ {
		e, err := enc.Encode(values)
		if err != nil {
			return "", err
		}
		if over := len(e.IDs) - target; over >= 0 {
			words := strings.Fields(values[body])
			return strings.Join(words[:max(0, len(words)-int(float64(over)/1.3))], " "), nil // about 1.3 tokens a word
		}
		if i%len(long) == 0 {
			if len(e.IDs) <= before {
				return "", errors.New("the model's tokenizer has no tokens for English text; rows of the right lengths cannot be " +
					"made, give your own with --rows")
			}
			before = len(e.IDs)
		}
		values[body] += long[(at+i)%len(long)]
	}
}
