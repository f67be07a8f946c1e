package ask

import "testing"

// Three of the first calls, or 24 later ones, in a row are too many; a reply begins anew.
func TestHealth(t *testing.T) {
	var h health
	fail := func(times int) (down bool) {
		for i := range times {
			var n int
			if n, down = h.fail(); n != i+1 || down && i+1 < times {
				t.Fatalf("call %d of %d: counted %d, down %v", i+1, times, n, down)
			}
		}
		return down
	}
	if !fail(3) {
		t.Error("a model that never replied is not down after 3 calls")
	}
	for range 2 {
		h.reply()
		if !fail(24) {
			t.Error("a model that replied is not down after 24 calls")
		}
	}
	if h.reset(); !fail(3) {
		t.Error("reset left a reply")
	}
}
