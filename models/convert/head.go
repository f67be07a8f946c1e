package convert

import (
	"errors"
	"fmt"

	"github.com/erreval/erreval/internal/protobuf"
)

// isPooled says whether the head reads the mean of all tokens.
func (b *builder) isPooled() bool { return b.Pooling == "mean" }

// head is a classification head: a hidden layer with its activation, if there is one, and the layer that gives the
// logits.
type head struct {
	name              string // as in Result.Head
	dense, activation string
	logits            string
}

func (b *builder) findHead() (head, error) {
	pooler := b.name("pooler.dense")
	switch {
	case b.relative && b.hasWeight("pooler.dense.weight"):
		return head{"pooler+classifier", "pooler.dense", b.PoolerActivation, "classifier"}, nil
	case b.hasWeight("classifier.dense.weight"):
		return head{"dense+tanh+out_proj", "classifier.dense", "tanh", "classifier.out_proj"}, nil
	case b.distilled && b.hasWeight("pre_classifier.weight"):
		return head{"pre_classifier+relu+classifier", "pre_classifier", "relu", "classifier"}, nil
	case b.ModelType == "bert" && b.hasWeight(pooler+".weight") && b.hasWeight("classifier.weight"):
		return head{"pooler+classifier", pooler, "tanh", "classifier"}, nil
	case b.hasWeight("classifier.weight"):
		return head{name: "linear", logits: "classifier"}, nil
	}
	return head{}, errors.New("the checkpoint has no classification head (classifier.weight): it is a bare encoder; " +
		"fine-tune it as a sequence classifier first")
}

// classify adds the head over the encoder's output x, and returns the number of logits. It is computed in fp32 unless
// the precision is fp16.
func (b *builder) classify(x string, h head) int64 {
	if b.isPooled() {
		x = b.mean(x)
	} else {
		x = b.op("Squeeze", []string{x, b.vector(1)})
	}
	if h.dense != "" {
		x = b.op(activationOps[h.activation], []string{b.gemm(x, h.dense, b.HiddenSize)})
	}
	_, shape := b.findWeight(h.logits+".weight", -1, b.HiddenSize)
	labels := shape[0]
	x = b.gemm(x, h.logits, labels)
	b.nodes = protobuf.AppendBytes(b.nodes, 1, encodeNode("Cast", []string{x}, []string{output},
		[]attribute{intAttr("to", elemFloat)}))
	return labels
}

// gemm applies a linear layer of the head to x, [batch, hidden].
func (b *builder) gemm(x, name string, out int64) string {
	return b.op("Gemm", []string{x, b.plain(name+".weight", out, b.HiddenSize), b.plain(name+".bias", out)},
		intAttr("transB", 1))
}

// mean is the mean over the tokens that are no padding.
func (b *builder) mean(x string) string {
	m := b.op("Unsqueeze", []string{b.op("Cast", []string{inputMask}, intAttr("to", int64(b.elem()))), b.vector(2)})
	sum := b.op("ReduceSum", []string{b.op("Mul", []string{x, m}), b.vector(1)}, intAttr("keepdims", 0))
	return b.op("Div", []string{sum, b.op("ReduceSum", []string{m, b.vector(1)}, intAttr("keepdims", 0))})
}

func (b *builder) headNotes(h head) []string {
	var notes []string
	if h.name == "linear" {
		notes = append(notes, fmt.Sprintf("the head is one linear layer (%s) over the encoder's output", h.logits))
	}
	if len(b.ID2Label) == 0 {
		notes = append(notes, configFile+" names no labels (id2label); they are numbered")
	}
	return notes
}
