package comparing

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/pairwise"
)

// number parts items by the place of an output among the texts that its system has for the item.
func number(outputs []*pairwise.Output) {
	texts := map[[3]string]map[[sha256.Size]byte]int{}
	for _, x := range outputs {
		key, sum := [3]string{x.Item, x.Part, x.System}, x.Row.TextSum()
		if texts[key] == nil {
			texts[key] = map[[sha256.Size]byte]int{}
		}
		if texts[key][sum] == 0 {
			texts[key][sum] = len(texts[key]) + 1
		}
		x.Part += fmt.Sprintf("\n%d", texts[key][sum])
	}
}

// severalEach are the outputs for items, or parts of them, for which a system has several texts, in their order.
func severalEach(outputs []pairwise.Output) (several []*pairwise.Output) {
	texts, mixed := map[[3]string][sha256.Size]byte{}, map[[2]string]bool{}
	for i := range outputs {
		x := &outputs[i]
		key, sum := [3]string{x.Item, x.Part, x.System}, x.Row.TextSum()
		if first, before := texts[key]; before && first != sum {
			mixed[[2]string{x.Item, x.Part}] = true
		}
		texts[key] = sum
	}
	for i := range outputs {
		if x := &outputs[i]; mixed[[2]string{x.Item, x.Part}] {
			several = append(several, x)
		}
	}
	return several
}

// pairsBy tells whether a column tells apart the outputs that a system has for one item, as the id of a request or the
// number of a sample does: each system has each value for one text at most, and most outputs have the value of another
// system's. What a column says of an output, such as why it ended, would pair those that came out alike: so values are
// numbers from 0 or 1 on, or those of one item alone, of all outputs.
func pairsBy(all []pairwise.Output, outputs []*pairwise.Output, column string) bool {
	of, seen, paired := map[string]int{}, map[[2]string][sha256.Size]byte{}, 0
	for _, x := range outputs {
		value := valueOf(x.Row, column)
		item := strings.Join([]string{x.Item, x.Part, value}, "\n")
		key, sum := [2]string{item, x.System}, x.Row.TextSum()
		first, before := seen[key]
		if value == "" || before && first != sum {
			return false
		}
		if !before {
			seen[key] = sum
			of[item]++
		}
	}
	for _, n := range of {
		if n > 1 {
			paired += n
		}
	}
	return 2*paired > len(outputs) && (areNumbered(outputs, column) || areOfOneItem(all, column))
}

// areNumbered tells whether the values of each item are the whole numbers from 0 or 1 on.
func areNumbered(outputs []*pairwise.Output, column string) bool {
	numbers := map[[2]string]map[int]bool{}
	for _, x := range outputs {
		n, err := strconv.Atoi(valueOf(x.Row, column))
		if err != nil {
			return false
		}
		item := [2]string{x.Item, x.Part}
		if numbers[item] == nil {
			numbers[item] = map[int]bool{}
		}
		numbers[item][n] = true
	}
	for _, of := range numbers {
		first := 1
		if of[0] {
			first = 0
		}
		for n := range of {
			if n < first || n >= first+len(of) {
				return false
			}
		}
	}
	return true
}

// areOfOneItem tells whether no value belongs to two items.
func areOfOneItem(outputs []pairwise.Output, column string) bool {
	of, items := map[string]string{}, map[string]bool{}
	for i := range outputs {
		x := &outputs[i]
		value := valueOf(x.Row, column)
		if item, before := of[value]; before && item != x.Item {
			return false
		}
		of[value], items[x.Item] = x.Item, true
	}
	return len(items) > 1
}

// valueOf is a text or number in a column; "" is none.
func valueOf(row *dataset.Row, column string) string {
	raw, _ := row.Get(column)
	if len(raw) == 0 || string(raw) == "null" || raw[0] == '{' || raw[0] == '[' {
		return ""
	}
	return dataset.PlainText(raw)
}
