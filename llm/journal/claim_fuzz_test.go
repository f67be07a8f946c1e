package journal

import (
	"bytes"
	"testing"
	"time"
)

// FuzzClaims: a claim that somebody else wrote is read or refused, and claims nothing but the calls that it lists.
func FuzzClaims(f *testing.F) {
	one := append(bytes.Repeat([]byte{7}, len(callID{})), 0, 0, 0, 0, 0, 0, 0, 3)
	f.Add([]byte("a"), int64(1), int64(60), one)
	f.Add([]byte{}, int64(-1), int64(-60), append(one, 1, 2, 3))
	f.Add([]byte{0xff}, int64(1)<<62, int64(1)<<40, bytes.Repeat([]byte{0xff}, claimBytes))
	j := open(f, file(f))
	f.Fuzz(func(t *testing.T, machine []byte, pid, left int64, calls []byte) {
		err := j.store.writeChange(change{apply: func(tx *transaction) error {
			if _, err := tx.conn.ExecContext(background, "REPLACE INTO claim VALUES (1, ?, ?, ?, ?)", machine, pid,
				time.Now().Unix()+left, calls); err != nil {
				t.Fatal(err)
			}
			tx.claims.others = nil
			return tx.readClaims()
		}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(j.store.claims.others); n > len(calls)/claimBytes {
			t.Fatalf("%d calls from %d bytes", n, len(calls))
		}
		for k := range j.store.claims.others {
			if !bytes.Contains(calls, k.id[:]) {
				t.Fatalf("%x is not in the claim", k.id)
			}
		}
	})
}
