// Package bench measures the encoders of erreval beside two other Go modules, on the same rows and vocabularies. It is
// a module of its own, so that those do not become dependencies of the product:
//
//	cd identifier/tokenfile/bench && go test -mod=mod -bench . [-rows FILE.jsonl]
package bench
