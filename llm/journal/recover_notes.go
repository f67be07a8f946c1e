package journal

import (
	"fmt"

	"github.com/erreval/erreval/internal/words"
)

// explainNothing says why nothing was copied.
func (r *recoverer) explainNothing(path string) error {
	var old int
	if err := r.from.QueryRowContext(background, "SELECT count(*) FROM reply, pragma_user_version WHERE user_version = ?",
		unchecked).Scan(&old); err == nil && old > 0 {
		return fmt.Errorf("%s: its %s of an older program have no checksums, so that nothing says which are whole", path,
			words.Plural(old, "reply", "replies"))
	}
	return fmt.Errorf("%s: nothing in it is a reply or a sum of a journal, as it was written", path)
}

// takeOff is what n is above 0 and above what is left, which it reduces.
func takeOff(n int64, left *int64) int64 {
	n = max(n, 0)
	off := min(n, *left)
	*left -= off
	return n - off
}
