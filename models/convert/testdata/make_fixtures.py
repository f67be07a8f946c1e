"""Makes the tiny random checkpoints beside this file, with the logits that torch gives for them.

    python make_fixtures.py

Each directory holds a checkpoint as transformers saves it and reference.json: batches of token ids with their logits.
"""
import json
import pathlib
import shutil

import torch
import transformers as t

HERE = pathlib.Path(__file__).parent
VOCAB, LABELS = 120, 5
SIZE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=VOCAB)
NAMES = {i: f"type {i}" for i in range(LABELS)}


def rough(model):
    """Weights far from the initial ones, so that every part shows in the logits."""
    g = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.2 * noise if "LayerNorm.weight" in name or "layer_norm.weight" in name else 0.2 * noise)


def batches(pad, longest):
    """One row of each of several lengths, then rows of different lengths in one batch."""
    g = torch.Generator().manual_seed(7)
    row = lambda n: torch.randint(3, VOCAB, (n,), generator=g).tolist()
    for n in (1, 2, 7, longest):
        yield [row(n)], n
    rows = [row(n) for n in (5, 11, 1, 8)]
    yield [r + [pad] * (11 - len(r)) for r in rows], None
    yield [row(6) + [pad] * 3], None


@torch.no_grad()
def record(model, pad, longest, types):
    out = []
    for ids, n in batches(pad, longest):
        ids = torch.tensor(ids)
        mask = torch.ones_like(ids) if n else (ids != pad).long()
        feed = {"input_ids": ids, "attention_mask": mask}
        if types:
            feed["token_type_ids"] = torch.arange(ids.shape[1]).expand(ids.shape) // 3 % 2
        z = model(**feed)
        z = z if torch.is_tensor(z) else z.logits
        out.append({**{k: v.tolist() for k, v in feed.items()}, "logits": [[round(float(x), 6) for x in r] for r in z]})
    return out


def make(name, model, pad, longest, types=False, dtype=torch.float16):
    """Saved in fp16 unless told otherwise, to be small; the logits are those of the saved weights."""
    model.eval()
    rough(model)
    model.to(dtype).float()
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    reference = record(model, pad, longest, types)
    (model.model if isinstance(model, (MeanPooled, Linear)) else model).to(dtype).save_pretrained(out)
    (out / "reference.json").write_text(json.dumps(reference) + "\n")


class MeanPooled(torch.nn.Module):
    """RoBERTa with the same head over the mean of all tokens; saved as RoBERTa with classifier_pooling."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        x = self.model.roberta(input_ids, attention_mask=attention_mask).last_hidden_state
        m = attention_mask.unsqueeze(-1).float()
        return self.model.classifier(((x * m).sum(1) / m.sum(1)).unsqueeze(1))


class Linear(torch.nn.Module):
    """BERT without its pooler: one linear layer on the first token."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        model.bert.pooler = None

    def forward(self, **feed):
        return self.model.classifier(self.model.bert(**feed).last_hidden_state[:, 0])


def main():
    common = dict(id2label=NAMES, label2id={v: k for k, v in NAMES.items()}, problem_type="multi_label_classification", attn_implementation="eager")
    bert = lambda **k: t.BertForSequenceClassification(t.BertConfig(**SIZE, max_position_embeddings=40, **common, **k))
    roberta = lambda **k: t.RobertaForSequenceClassification(
        t.RobertaConfig(**SIZE, max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5, **common, **k))
    make("bert", bert(), 0, 40, types=True, dtype=torch.float32)
    make("bert-tanh", bert(hidden_act="gelu_new"), 0, 40, types=True)
    make("bert-linear", Linear(bert()), 0, 40, types=True)
    make("roberta", roberta(), 1, 40, dtype=torch.bfloat16)
    make("roberta-mean", MeanPooled(roberta(classifier_pooling="mean")), 1, 40)
    make("xlm-roberta", t.XLMRobertaForSequenceClassification(
        t.XLMRobertaConfig(**SIZE, max_position_embeddings=42, type_vocab_size=1, layer_norm_eps=1e-5, **common)), 1, 40)
    distil = t.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=VOCAB, max_position_embeddings=40, **common)
    make("distilbert", t.DistilBertForSequenceClassification(distil), 0, 40)
    deberta = dict(**SIZE, relative_attention=True, pos_att_type=["p2c", "c2p"], max_position_embeddings=40, type_vocab_size=0, **common)
    make("deberta-v3", t.DebertaV2ForSequenceClassification(t.DebertaV2Config(
        **deberta, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False)), 0, 40)
    make("deberta-v2", t.DebertaV2ForSequenceClassification(t.DebertaV2Config(
        **{**deberta, "type_vocab_size": 2, "pos_att_type": "c2p|p2c"}, embedding_size=16)), 0, 40, types=True)

    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
    d = torch.arange(-520, 520)
    kinds = [(256, 512), (8, 40)]
    (HERE / "buckets.json").write_text(json.dumps(
        [{"buckets": b, "positions": p, "first": -520, "rows": make_log_bucket_position(d, b, p).long().tolist()} for b, p in kinds]) + "\n")


if __name__ == "__main__":
    main()
