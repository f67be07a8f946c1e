package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"syscall"
	"time"

	"github.com/erreval/erreval/llm"
)

// leaseTime is how long a claim holds after its process last wrote to the journal: longer than calls take. A claim of a
// process of this machine that has ended holds no longer.
const leaseTime = 15 * time.Minute

// maxLead is how far ahead the clock of another process may be.
const maxLead = time.Minute

// isLease tells whether a claim that ends at expires, in Unix seconds, holds. One that ends later than a program of now
// writes it is none: who handed over the journal would make runs wait.
func isLease(expires int64) bool {
	now := time.Now()
	return expires >= now.Unix() && expires <= now.Add(leaseTime+maxLead).Unix()
}

// errTaken says that another process makes the call, or has made it.
var errTaken = fmt.Errorf("%w: another process makes it", llm.ErrUnsent)

// claims are the calls in flight of the processes that share the file. They are guarded by store.writing.
type claims struct {
	owner   int64  // of the own row
	machine string // hash of its name
	own     map[pendingKey]bool
	changed bool                // own, and not written yet
	written bool                // own, at least once
	others  map[pendingKey]bool // nil: to be read
	shared  bool                // another process has written since the file was opened
}

func newClaims() claims {
	host, _ := os.Hostname() // without a name, machines are taken for the same
	machine := fmt.Sprintf("%x", sha256.Sum256([]byte(host)))
	owner := rand.Int64N(math.MaxInt64) // #nosec G404 -- no secret
	return claims{owner: owner, machine: machine, own: map[pendingKey]bool{}}
}

// isTaken tells whether another process makes the call k, or has stored its reply.
func (t *transaction) isTaken(k pendingKey) (taken bool, err error) {
	c := &t.claims
	if c.others == nil {
		if err := t.readClaims(); err != nil {
			return false, err
		}
	}
	if c.others[k] {
		c.others = nil // next time its process may have ended
		return true, nil
	}
	if !c.shared {
		return false, nil
	}
	err = t.conn.QueryRowContext(background,
		"SELECT EXISTS (SELECT 1 FROM reply WHERE call = ? AND attempt >= ? AND NOT rejected)", k.id[:], k.attempt).
		Scan(&taken)
	return taken, err
}

// readClaims reads what other processes have claimed, and removes claims that no longer hold.
func (t *transaction) readClaims() error {
	c := &t.claims
	c.others = map[pendingKey]bool{}
	var ended []int64
	for rows, err := range eachRow(t.conn.QueryContext(background,
		"SELECT owner, machine, pid, expires, calls FROM claim WHERE owner <> ?", c.owner)) {
		if err != nil {
			return err
		}
		var owner, expires int64
		var machine string
		var pid int
		var calls []byte
		if err := rows.Scan(&owner, &machine, &pid, &expires, &calls); err != nil {
			return fmt.Errorf("a claim cannot be read: %w: %w", errDamaged, err)
		}
		if n := len(calls) - claimSum; n >= 0 && n%claimBytes == 0 { // of an older program, it has none
			if binary.BigEndian.Uint32(calls[n:]) != sumClaim(owner, machine, pid, expires, calls[:n]) {
				return fmt.Errorf("a claim of process %d: %w", pid, errDamaged)
			}
			calls = calls[:n]
		}
		if !isLease(expires) || machine == c.machine && hasEnded(pid) {
			ended = append(ended, owner)
			continue
		}
		for ; len(calls) >= claimBytes; calls = calls[claimBytes:] {
			k := pendingKey{attempt: int(binary.BigEndian.Uint64(calls[len(callID{}):]))} // #nosec G115 -- an int before
			copy(k.id[:], calls)
			c.others[k] = true
		}
	}
	for _, owner := range ended {
		if _, err := t.conn.ExecContext(background, "DELETE FROM claim WHERE owner = ?", owner); err != nil {
			return err
		}
	}
	return nil
}

const (
	claimBytes = len(callID{}) + 8 // of a call in a claim: its hash and its attempt
	claimSum   = 4                 // behind the calls
)

// sumClaim is the checksum of a claim.
func sumClaim(owner int64, machine string, pid int, expires int64, calls []byte) uint32 {
	head := make(digest, 0, 128).text(machine).numbers(owner, int64(pid), expires)
	return crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, calls)
}

// hasEnded tells whether there is surely no process of that number on this machine.
func hasEnded(pid int) bool {
	p, err := os.FindProcess(pid)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// claimCall claims k for this process until it is released.
func (t *transaction) claimCall(k pendingKey) {
	t.claims.own[k] = true
	t.claims.changed = true
}

func (t *transaction) releaseCall(k pendingKey) {
	if t.claims.own[k] {
		delete(t.claims.own, k)
		t.claims.changed = true
	}
}

// writeClaims writes the own calls in flight as one row.
func (t *transaction) writeClaims() error {
	c := &t.claims
	if !c.changed {
		return nil
	}
	calls := make([]byte, 0, len(c.own)*claimBytes+claimSum)
	for k := range c.own {
		calls = append(calls, k.id[:]...)
		calls = binary.BigEndian.AppendUint64(calls, uint64(k.attempt)) // #nosec G115 -- not below 0
	}
	pid, expires := os.Getpid(), time.Now().Add(leaseTime).Unix()
	calls = binary.BigEndian.AppendUint32(calls, sumClaim(c.owner, c.machine, pid, expires, calls))
	_, err := t.setClaim.ExecContext(background, c.owner, c.machine, pid, expires, calls)
	if err == nil {
		c.changed, c.written = false, true
	}
	return err
}

// removeClaims removes the row of this process, if it has written one.
func (s *store) removeClaims() error {
	if !s.claims.written {
		return nil
	}
	_, err := s.conn.ExecContext(background, "DELETE FROM claim WHERE owner = ?", s.claims.owner)
	return err
}

// Pauses between looks at a call that another process makes.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
)

// askOnce makes the call, or waits for the reply if another process makes it.
func (c *Client) askOnce(ctx context.Context, id callID, r *llm.Request) (*llm.Reply, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		reply, err := c.lookup(id, r.Attempt)
		if reply != nil || err != nil {
			return reply, err
		}
		if reply, err = c.call(ctx, id, r); !errors.Is(err, errTaken) {
			return reply, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
