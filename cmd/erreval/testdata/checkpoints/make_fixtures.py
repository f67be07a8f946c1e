#!/usr/bin/env python3
"""Makes the tiny random checkpoints beside this script, each with the logits that transformers gives for some rows.

    python cmd/erreval/testdata/checkpoints/make_fixtures.py    # needs torch, transformers

paper   RoBERTa as the paper's checkpoints are: eleven LABEL_i, multi-label, to be joined as text
bert    BERT with the taxonomy's names, joined as fields, segments 0,1,1; its model card names a licence
single  DistilBERT whose labels exclude each other

xlm-r   XLM-R and DeBERTa-v3 with Unigram tokenizers of identifier/tokenfile/testdata, without their charsmap, which is large
deberta

The other tokenizers are those of identifier/testdata. reference.json is made by training/record_logits.py.
"""
import gzip
import json
import pathlib
import shutil
import subprocess
import sys

import torch
import transformers as t

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
TOKENIZERS = ROOT / "identifier" / "testdata"
UNIGRAM = ROOT / "identifier" / "tokenfile" / "testdata"
NAMES = ["Incomplete", "Not A Question", "Spell Error", "Grammar Error", "Vague", "Unnecessary Copy from Passage", "Off Topic",
         "Factual Error", "Information Not Mentioned", "Off Target Answer", "No Error"]
KINDS = {
    "roberta": {"tokenizer_class": "RobertaTokenizer"},
    "bert": {"tokenizer_class": "BertTokenizer"},
    "xlmr.json.gz": {"tokenizer_class": "PreTrainedTokenizerFast", "cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"},
    "deberta.json.gz": {"tokenizer_class": "PreTrainedTokenizerFast", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"},
}
MULTI = "multi_label_classification"


def rough(model, seed):
    """Weights far from the initial ones, so that rows differ in their logits."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" not in name.lower():
                p.copy_(torch.randn(p.shape, generator=g) * (0.6 if name.startswith("classifier") else 0.2))
    return model.eval()


def make(name, tokenizer, model, seed, *arguments):
    out = HERE / name
    shutil.rmtree(out, ignore_errors=True)
    rough(model, seed).half().float()
    model.half().save_pretrained(out)
    (out / "model.safetensors").chmod(0o644)
    (out / "tokenizer.json").write_text(read(tokenizer))
    (out / "tokenizer_config.json").write_text(json.dumps(KINDS[tokenizer]) + "\n")
    rows = HERE / "rows.jsonl"
    subprocess.run([sys.executable, ROOT / "training" / "record_logits.py", out, rows, "-o", out / "reference.json", *arguments], check=True)
    reference = json.loads((out / "reference.json").read_text())
    reference["checkpoint"] = name
    (out / "reference.json").write_text(json.dumps(reference, ensure_ascii=False, indent=1) + "\n")


def read(tokenizer):
    if not tokenizer.endswith(".gz"):
        return (TOKENIZERS / tokenizer / "tokenizer.json").read_text()
    data = json.loads(gzip.decompress((UNIGRAM / tokenizer).read_bytes()))
    data["normalizer"] = None
    return json.dumps(data, ensure_ascii=False) + "\n"


def vocabulary(tokenizer):
    data = json.loads(read(tokenizer))
    vocab = data["model"]["vocab"]
    ids = vocab.values() if isinstance(vocab, dict) else range(len(vocab))
    return 1 + max([*ids, *(a["id"] for a in data["added_tokens"])])


def named(names, problem):
    return dict(id2label=dict(enumerate(names)), label2id={n: i for i, n in enumerate(names)}, problem_type=problem)


def main():
    size = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    roberta = t.RobertaConfig(**size, vocab_size=vocabulary("roberta"), max_position_embeddings=130, type_vocab_size=1, pad_token_id=1,
                              bos_token_id=0, eos_token_id=2, **named([f"LABEL_{i}" for i in range(11)], MULTI))
    make("paper", "roberta", t.RobertaForSequenceClassification(roberta), 1, "--join", "text")
    bert = t.BertConfig(**size, vocab_size=vocabulary("bert"), max_position_embeddings=128, **named(NAMES, MULTI))
    make("bert", "bert", t.BertForSequenceClassification(bert), 2, "--segments", "0,1,1")
    (HERE / "bert" / "README.md").write_text("---\nlanguage: en\nlicense: apache-2.0\n---\n\n# Random weights\n")
    single = t.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=vocabulary("bert"), max_position_embeddings=128,
                                **named(["fine", "vague", "off topic", "odd"], "single_label_classification"))
    make("single", "bert", t.DistilBertForSequenceClassification(single), 3)
    size |= dict(hidden_size=16, num_attention_heads=2)
    xlm = t.XLMRobertaConfig(**size, vocab_size=vocabulary("xlmr.json.gz"), max_position_embeddings=66, type_vocab_size=1, pad_token_id=1,
                             bos_token_id=0, eos_token_id=2, **named(NAMES, MULTI))
    make("xlm-r", "xlmr.json.gz", t.XLMRobertaForSequenceClassification(xlm), 4)
    deberta = t.DebertaV2Config(**size, vocab_size=vocabulary("deberta.json.gz"), max_position_embeddings=64, type_vocab_size=0, relative_attention=True,
                                pos_att_type=["p2c", "c2p"], position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
                                position_biased_input=False, **named(NAMES, MULTI))
    make("deberta", "deberta.json.gz", t.DebertaV2ForSequenceClassification(deberta), 5)


if __name__ == "__main__":
    main()
