package dataset

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// TestIDSet: what is remembered is the same in memory, in the file, and after the file grew.
func TestIDSet(t *testing.T) {
	const limit, n = 512, 5 * 512
	first, count := newIDSet(t.TempDir()), newIDSet(t.TempDir())
	first.limit, count.limit = limit, limit
	for round := range 2 {
		for i := range n {
			id := shortHash(sha256.Sum256(fmt.Append(nil, i)))
			at, err := first.rememberFirst(id, i+1)
			if err != nil || at != round*(i+1) {
				t.Fatalf("round %d: id %d was at %d, %v", round, i, at, err)
			}
			if c, err := count.countUse(id); err != nil || c != round+1 {
				t.Fatalf("round %d: id %d came %d times, %v", round, i, c, err)
			}
		}
	}
	if first.small != nil || first.slots != 16*limit {
		t.Errorf("%d slots, want a file that grew once", first.slots)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
}
