// Package bench measures how fast a model runs, compared with emulated peers.
//
// Peers are the schedules of other programs, run on the same runtime, rows and weights, so that only the schedule
// differs.
package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/erreval/erreval/dataset"
	"github.com/erreval/erreval/identifier"
	"github.com/erreval/erreval/models"
	"github.com/erreval/erreval/taxonomy"
)

// peerBatch is the batch size of the paper's script and the default of common pipelines.
const peerBatch = 32

// Names of the peers: Script pads all rows to one length, in batches of 32; Pipeline takes batches of 32 in the order
// of the rows, each padded to its longest; Careful takes one row at a time. Each uses all cores for a batch.
const (
	Script   = "script"
	Pipeline = "pipeline"
	Careful  = "careful"
)

// Peers runs the emulated schedules.
type Peers struct {
	manifest *models.Manifest
	runner   identifier.Runner
	encoder  *identifier.Encoder
	rows     []*dataset.Row
	longest  int // tokens
}

// NewPeers makes the peers of a model; the runner should have as many threads as there are cores.
func NewPeers(m *models.Model, t *taxonomy.Taxonomy, runner identifier.Runner, rows []*dataset.Row) (*Peers, error) {
	enc, err := identifier.NewEncoder(m, t)
	if err != nil {
		return nil, err
	}
	p := &Peers{manifest: &m.Manifest, runner: runner, encoder: enc, rows: rows}
	lengths, err := Lengths(enc, rows)
	for _, n := range lengths {
		p.longest = max(p.longest, n)
	}
	return p, err
}

// Run computes all rows with the schedule of the named peer, and returns their logits, row by row.
func (p *Peers) Run(ctx context.Context, name string) ([]float32, error) {
	size, width := peerBatch, 0
	switch name {
	case Script:
		width = p.longest
	case Careful:
		size = 1
	}
	labels := len(p.manifest.Labels)
	logits := make([]float32, len(p.rows)*labels)
	for from := 0; from < len(p.rows); from += size {
		to := min(from+size, len(p.rows))
		in, err := p.padBatch(p.rows[from:to], width)
		if err == nil {
			err = p.runner.Run(ctx, in, logits[from*labels:to*labels])
		}
		if err != nil {
			return nil, err
		}
	}
	return logits, nil
}

// padBatch pads rows to width tokens, or to the longest of them if that is more.
func (p *Peers) padBatch(rows []*dataset.Row, width int) (identifier.Input, error) {
	var all []identifier.Encoding
	for _, row := range rows {
		e, err := p.encoder.Encode(row.Values)
		if err != nil {
			return identifier.Input{}, err
		}
		all = append(all, identifier.Encoding{IDs: append([]int64(nil), e.IDs...), Types: append([]int64(nil), e.Types...)})
		width = max(width, len(e.IDs))
	}
	in := identifier.Input{Width: width}
	pad := max(0, p.encoder.ID(p.manifest.Pad))
	for _, e := range all {
		for i := range width {
			id, mask, typ := pad, int64(0), int64(0)
			if i < len(e.IDs) {
				id, mask, typ = e.IDs[i], 1, e.Types[i]
			}
			in.IDs, in.Mask, in.Types = append(in.IDs, id), append(in.Mask, mask), append(in.Types, typ)
		}
	}
	return in, nil
}

// Identify tags rows as the identify command does, without files. It is an error if a row cannot be tagged.
func Identify(ctx context.Context, id *identifier.Identifier, rows []*dataset.Row) error {
	at := 0
	next := func() (*dataset.Row, error) {
		if at == len(rows) {
			return nil, io.EOF
		}
		at++
		return rows[at-1], nil
	}
	return id.Identify(ctx, next, func(row *dataset.Row, d *dataset.Diagnosis) error {
		if d.Status == dataset.StatusUntagged {
			return fmt.Errorf("row %s: %s", row.ID, d.Reason)
		}
		return nil
	})
}

// Lengths are the numbers of tokens of the rows, as the model sees them.
func Lengths(enc *identifier.Encoder, rows []*dataset.Row) ([]int, error) {
	lengths := make([]int, len(rows))
	for i, row := range rows {
		e, err := enc.Encode(row.Values)
		if err != nil {
			return nil, err
		}
		lengths[i] = len(e.IDs)
	}
	return lengths, nil
}

// Turns runs all in turn, rounds times, and returns how long each took over all rounds. If the machine's speed changes,
// it changes for all alike.
func Turns(ctx context.Context, rounds int, all ...func(context.Context) error) ([]time.Duration, error) {
	took := make([]time.Duration, len(all))
	for range rounds {
		for i, run := range all {
			start := time.Now()
			if err := run(ctx); err != nil {
				return nil, err
			}
			took[i] += time.Since(start)
		}
	}
	return took, nil
}
