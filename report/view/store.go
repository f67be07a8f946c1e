package view

import (
	"context"
	"fmt"
	"sync"
)

// storeFormat is the version of what stands in a store.
const storeFormat = 2

// store keeps the parts of an index by name.
type store interface {
	// get gives a part, or nil where there is none. Do not change it.
	get(ctx context.Context, name string) ([]byte, error)
	put(name string, data []byte) error
	close() error
}

// Names of parts.
func partOf(chunk int, what string, n int) string { return fmt.Sprintf("%d/%s/%d", chunk, what, n) }

const (
	partFacet    = "facet"    // n is its number
	partMeasure  = "measure"  // n is its number
	partGroup    = "group"    // numbers of groups
	partID       = "id"       // hashes of ids
	partInput    = "input"    // hashes of inputs
	partNames    = "names"    // ids, compressed
	partRank     = "rank"     // places of ids among all in order
	partRows     = "rows"     // n is the block's number
	partBlocks   = "blocks"   // the first row of each block
	partWords    = "words"    // n is the block's number
	partWordList = "wordlist" // the first word of each block, by segment
	metaPart     = "meta"
)

// memory is a store without a file.
type memory struct{ parts map[string][]byte }

func (m *memory) get(_ context.Context, name string) ([]byte, error) { return m.parts[name], nil }

func (m *memory) put(name string, data []byte) error {
	m.parts[name] = data
	return nil
}

func (m *memory) close() error { return nil }

// cacheBytes bounds what is kept of decoded parts.
const cacheBytes = 64 << 20

// cache keeps what was decoded last.
type cache struct {
	mu    sync.Mutex
	limit int
	size  int
	clock int
	held  map[string]*cached
}

type cached struct {
	value any
	size  int
	used  int
}

func newCache(limit int) *cache { return &cache{limit: limit, held: map[string]*cached{}} }

func (c *cache) find(name string) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.held[name]
	if e == nil {
		return nil, false
	}
	c.clock++
	e.used = c.clock
	return e.value, true
}

// keep keeps a value; the longest unused go.
func (c *cache) keep(name string, value any, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.limit/4 || c.held[name] != nil {
		return
	}
	for c.size+size > c.limit {
		oldest, at := "", 0
		for name, e := range c.held {
			if oldest == "" || e.used < at {
				oldest, at = name, e.used
			}
		}
		c.size -= c.held[oldest].size
		delete(c.held, oldest)
	}
	c.clock++
	c.held[name] = &cached{value: value, size: size, used: c.clock}
	c.size += size
}
