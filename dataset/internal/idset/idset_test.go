package idset

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// TestIDSet: what is counted is the same in memory, in the file, and after the file grew.
func TestIDSet(t *testing.T) {
	const limit, n = 512, 5 * 512
	count := New(t.TempDir())
	count.limit = limit
	for round := range 2 {
		for i := range n {
			sum := sha256.Sum256(fmt.Append(nil, i))
			if c, err := count.Count(Hash(sum[:16])); err != nil || c != round+1 {
				t.Fatalf("round %d: id %d came %d times, %v", round, i, c, err)
			}
		}
	}
	if count.small != nil || count.slots != 16*limit {
		t.Errorf("%d slots, want a file that grew once", count.slots)
	}
	if err := count.Close(); err != nil {
		t.Fatal(err)
	}
}
