package pieces

import "fmt"

const (
	// Root is the node that every walk over a whole token starts from.
	Root = int32(0)
	// None is the node that a walk off the trie ends on, and the value of a node that ends no token.
	None = int32(-1)

	maxNodes = 1 << 24 // a node and a byte make a 32-bit key
)

type edge struct {
	key  uint32 // node<<8 | byte
	next int32  // 0: free; no edge leads back to the root
}

// Trie finds the longest token at a place: byte edges in one open-addressing table. Safe for concurrent use.
type Trie struct {
	edges  []edge
	values []int32 // by node
	shift  uint
}

// NewTrie builds the trie of the tokens and their values (at least 0); the empty token is left out.
func NewTrie(tokens map[string]int32) (*Trie, error) {
	t := &Trie{values: []int32{None}, edges: make([]edge, 1<<8), shift: 24}
	for token, value := range tokens {
		node := Root
		for i := range len(token) {
			if len(t.values) == maxNodes {
				return nil, fmt.Errorf("the vocabulary has more than %d distinct beginnings of tokens", maxNodes)
			}
			node = t.add(node, token[i])
		}
		if node != Root {
			t.values[node] = value
		}
	}
	return t, nil
}

func (t *Trie) find(key uint32) *edge {
	mask := uint32(len(t.edges) - 1)
	for i := key * 0x9e3779b1 >> t.shift; ; i = (i + 1) & mask {
		if e := &t.edges[i]; e.key == key || e.next == 0 {
			return e
		}
	}
}

func (t *Trie) add(node int32, b byte) int32 {
	key := uint32(node)<<8 | uint32(b)
	if e := t.find(key); e.next != 0 {
		return e.next
	}
	if 2*len(t.values) > len(t.edges) {
		t.grow()
	}
	next := int32(len(t.values))
	t.values = append(t.values, None)
	*t.find(key) = edge{key, next}
	return next
}

func (t *Trie) grow() {
	old := t.edges
	t.edges, t.shift = make([]edge, 2*len(old)), t.shift-1
	for _, e := range old {
		if e.next != 0 {
			*t.find(e.key) = e
		}
	}
}

// Walk returns the node that text leads to from node, or None.
func (t *Trie) Walk(node int32, text string) int32 {
	for i := 0; i < len(text) && node != None; i++ {
		node = t.Step(node, text[i])
	}
	return node
}

// Step returns the node that a byte leads to from node, or None.
func (t *Trie) Step(node int32, b byte) int32 {
	if e := t.find(uint32(node)<<8 | uint32(b)); e.next != 0 {
		return e.next
	}
	return None
}

// Value returns the value of the token that ends on node, or None.
func (t *Trie) Value(node int32) int32 { return t.values[node] }

// Longest returns the value and the length of the longest token at the beginning of text, walking from node;
// None and 0 if there is none.
func (t *Trie) Longest(node int32, text []byte) (value int32, size int) {
	value = None
	for i := 0; i < len(text) && node != None; i++ {
		if node = t.Step(node, text[i]); node != None && t.values[node] != None {
			value, size = t.values[node], i+1
		}
	}
	return value, size
}
