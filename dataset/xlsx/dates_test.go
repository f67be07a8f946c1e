package xlsx

import (
	"fmt"
	"testing"
)

// TestFormatDate: days as Excel counts them from 1900 on, before that as Python's datetime does from 30 December 1899;
// what is no day stays a number.
func TestFormatDate(t *testing.T) {
	for number, want := range map[string]string{"1": "1900-01-01", "61": "1900-03-01", "0.5": "12:00:00",
		"45000.25": "2023-03-15T06:00:00", "2958465": "9999-12-31", "-10590": "1871-01-01", "-693593": "0001-01-01",
		"-10589.5": "1871-01-01T12:00:00", "2958466": "2958466", "491711234567": "491711234567", "-693594": "-693594"} {
		got, err := (&workbook{}).formatDate(number)
		if text := fmt.Sprintf("%s", got); text != want || err != nil {
			t.Errorf("%s: %s, %v", number, text, err)
		}
	}
}
