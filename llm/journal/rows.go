package journal

import (
	"database/sql"
	"errors"
	"iter"
)

// eachRow gives the rows of a query, which it closes. An error, of the query or of reading them, is the last it gives.
func eachRow(rows *sql.Rows, err error) iter.Seq2[*sql.Rows, error] {
	return func(yield func(*sql.Rows, error) bool) {
		if err != nil {
			yield(nil, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			if !yield(rows, nil) {
				return
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			yield(nil, err)
		}
	}
}

// eachReply gives the replies that a query finds, compared with their checksums.
func eachReply(rows *sql.Rows, err error) iter.Seq2[*storedReply, error] {
	return func(yield func(*storedReply, error) bool) {
		for rows, err := range eachRow(rows, err) {
			var s *storedReply
			if err == nil {
				s, err = scanReply(rows, true)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}
