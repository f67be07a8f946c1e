package qualjudge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// items gives the items of "per_instance_analysis" as lines.
type items struct {
	dec      *json.Decoder
	inside   bool // of the list
	seen     bool
	debug    bool // there is more than the rows
	left     []byte
	places   []int // by item: its place among those with an analysis, or -1
	analysed int
	err      error
}

func newItems(r io.Reader) *items {
	i := &items{dec: json.NewDecoder(r)}
	if err := i.delim('{'); err != nil {
		i.err = err
	}
	return i
}

func (i *items) delim(want json.Delim) error {
	token, err := i.dec.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%v where %v is expected", token, want)
	}
	return notRows(err)
}

func notRows(err error) error {
	if err == nil {
		return nil
	}
	//nolint:errorlint // may be EOF
	return fmt.Errorf("no rows, as the qualitative judge writes them: an object with \"per_instance_analysis\" (%v)", err)
}

// Read implements io.Reader.
func (i *items) Read(p []byte) (int, error) {
	for len(i.left) == 0 && i.err == nil {
		i.err = i.next()
	}
	if len(i.left) == 0 {
		return 0, i.err
	}
	n := copy(p, i.left)
	i.left = i.left[n:]
	return n, nil
}

// next reads one item, or up to the list of items.
func (i *items) next() error {
	if !i.inside {
		return i.findList()
	}
	if !i.dec.More() {
		i.inside = false
		return i.delim(']')
	}
	var raw json.RawMessage
	if err := i.dec.Decode(&raw); err != nil {
		return notRows(err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return notRows(err)
	}
	i.left = append(b.Bytes(), '\n')
	var item struct {
		Analysis json.RawMessage `json:"analysis"`
	}
	place := -1
	if json.Unmarshal(raw, &item) == nil && item.Analysis != nil {
		place = i.analysed
		i.analysed++
	}
	i.places = append(i.places, place)
	return nil
}

// findList goes on to the list of items; io.EOF is the end of the object.
func (i *items) findList() error {
	for i.dec.More() {
		key, err := i.dec.Token()
		if err != nil {
			return notRows(err)
		}
		if key == "per_instance_analysis" {
			if i.seen {
				return errors.New("\"per_instance_analysis\" is there twice")
			}
			i.seen, i.inside = true, true
			return i.delim('[')
		}
		var skipped json.RawMessage
		if err := i.dec.Decode(&skipped); err != nil {
			return notRows(err)
		}
		i.debug = i.debug || len(skipped) > 2
	}
	if err := i.delim('}'); err != nil {
		return err
	}
	if !i.seen {
		return notRows(errors.New("it has none"))
	}
	return io.EOF
}
