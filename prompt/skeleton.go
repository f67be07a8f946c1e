package prompt

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"

	"github.com/erreval/erreval/taxonomy"
)

// skeletons are parts of prompts, executed once for all rows that differ in their texts alone: text/template takes
// longer for a prompt than anything else that is done about a call. Blocks and fence, which depend on the texts,
// replace their marks.
type skeletons struct {
	mu   sync.Mutex
	made map[skeletonKey][]string // text, mark, text, mark, …; nil: to be executed for every row
}

// skeletonKey is all that a part depends on, except the texts.
type skeletonKey struct {
	part        string
	task        *taxonomy.Taxonomy
	dimension   *taxonomy.Dimension
	mode        string
	target      LabelSlot
	field       int
	errors      string // joined
	otherErrors string // likewise, of the second of two texts
	unlabelled  bool
	paper, json bool
}

const (
	mark         = "\x00" // around the number of what is put in
	maxSkeletons = 4096   // a row's labels are one of 2 to the number of types
)

// fillPart executes a part, or fills its skeleton.
func (t *Template) fillPart(part string, in Input, s *Slots) (string, error) {
	if !t.plain || len(in.Examples) > 0 || isOfIssues(t.Kind) {
		return t.render(part, s)
	}
	key := skeletonKey{part, in.Task, in.Dimension, in.Mode, s.target, in.Field, strings.Join(in.Errors, mark),
		strings.Join(in.OtherErrors, mark), in.Errors == nil, in.PaperWording, in.JSON}
	t.skeletons.mu.Lock()
	pieces, ok := t.skeletons.made[key]
	t.skeletons.mu.Unlock()
	if pieces != nil {
		return s.joinPieces(pieces), nil
	}
	text, err := t.render(part, s)
	if err != nil || ok {
		return text, err
	}
	marked, err := t.render(part, s.marked())
	if err != nil {
		return "", err
	}
	if pieces = strings.Split(marked, mark); !isSound(pieces, len(s.blocks())) || s.joinPieces(pieces) != text {
		pieces = nil // the taxonomy has marks of its own
	}
	t.skeletons.storePieces(key, pieces)
	return text, nil
}

func (k *skeletons) storePieces(key skeletonKey, pieces []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil || len(k.made) >= maxSkeletons {
		k.made = map[skeletonKey][]string{}
	}
	k.made[key] = pieces
}

// blocks are the texts that differ from row to row: the fields, then both texts of a pair.
func (s *Slots) blocks() []*Text {
	all := make([]*Text, 0, len(s.Fields)+2)
	for i := range s.Fields {
		all = append(all, &s.Fields[i])
	}
	if isOfPairs(s.kind) {
		all = append(all, &s.pair.first, &s.pair.second)
	}
	return all
}

// marked is s with marks for its fence (0) and its blocks (1, 2, …).
func (s *Slots) marked() *Slots {
	c := *s
	c.Fence, c.Fields = mark+"0"+mark, slices.Clone(s.Fields)
	for i, text := range c.blocks() {
		text.Block = mark + strconv.Itoa(i+1) + mark
	}
	return &c
}

func isSound(pieces []string, fields int) bool {
	for i := 1; i < len(pieces); i += 2 {
		if n, err := strconv.Atoi(pieces[i]); err != nil || n < 0 || n > fields {
			return false
		}
	}
	return len(pieces)%2 == 1
}

// joinPieces is the part that a sound skeleton gives with the fence and the blocks of s.
func (s *Slots) joinPieces(pieces []string) string {
	var b strings.Builder
	blocks := s.blocks()
	for i, piece := range pieces {
		switch n, _ := strconv.Atoi(piece); {
		case i%2 == 0:
			b.WriteString(piece)
		case n == 0:
			b.WriteString(s.Fence)
		default:
			b.WriteString(blocks[n-1].Block)
		}
	}
	return b.String()
}

// isPlain tells whether a template copies texts and computes nothing from them: it calls no function that could.
func isPlain(tree *template.Template) bool {
	for _, part := range tree.Templates() {
		if part.Tree != nil && !isPlainNode(part.Root) {
			return false
		}
	}
	return true
}

// plainFuncs take numbers, or ask whether something is empty, which no block and no fence is.
var plainFuncs = []string{"add", "and", "or", "not"}

func isPlainNode(n parse.Node) bool {
	if b := branchOf(n); b != nil {
		return isPlainNode(b.Pipe) && isPlainNode(b.List) && isPlainNode(b.ElseList)
	}
	switch n := n.(type) {
	case *parse.ListNode:
		return n == nil || !slices.ContainsFunc(n.Nodes, func(n parse.Node) bool { return !isPlainNode(n) })
	case *parse.ActionNode:
		return isPlainNode(n.Pipe)
	case *parse.TemplateNode:
		return isPlainNode(n.Pipe)
	case *parse.PipeNode:
		return n == nil || !slices.ContainsFunc(n.Cmds, func(c *parse.CommandNode) bool {
			return slices.ContainsFunc(c.Args, func(n parse.Node) bool { return !isPlainNode(n) })
		})
	case *parse.ChainNode:
		return isPlainNode(n.Node)
	case *parse.IdentifierNode:
		return slices.Contains(plainFuncs, n.Ident)
	case *parse.TextNode, *parse.FieldNode, *parse.VariableNode, *parse.DotNode, *parse.NilNode, *parse.BoolNode,
		*parse.NumberNode,
		*parse.StringNode, *parse.CommentNode, *parse.BreakNode, *parse.ContinueNode:
		return true
	}
	return false
}
