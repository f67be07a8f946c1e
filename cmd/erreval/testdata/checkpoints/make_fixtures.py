#!/usr/bin/env python3
"""Makes the tiny random checkpoints beside this script, each with the logits that transformers gives for some rows.

    python cmd/erreval/testdata/checkpoints/make_fixtures.py    # needs torch, transformers

paper   RoBERTa as the paper's checkpoints are: eleven LABEL_i, multi-label, to be joined as text
bert    BERT with the taxonomy's names, joined as fields, segments 0,1,1; its model card names a licence
single  DistilBERT whose labels exclude each other

Tokenizers are those of identifier/testdata. reference.json is made by training/record_logits.py.
"""
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
NAMES = ["Incomplete", "Not A Question", "Spell Error", "Grammar Error", "Vague", "Unnecessary Copy from Passage", "Off Topic",
         "Factual Error", "Information Not Mentioned", "Off Target Answer", "No Error"]
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
    shutil.copy(TOKENIZERS / tokenizer / "tokenizer.json", out)
    kind = {"roberta": "RobertaTokenizer", "bert": "BertTokenizer"}[tokenizer]
    (out / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind}) + "\n")
    rows = HERE / "rows.jsonl"
    subprocess.run([sys.executable, ROOT / "training" / "record_logits.py", out, rows, "-o", out / "reference.json", *arguments], check=True)
    reference = json.loads((out / "reference.json").read_text())
    reference["checkpoint"] = name
    (out / "reference.json").write_text(json.dumps(reference, ensure_ascii=False, indent=1) + "\n")


def vocabulary(tokenizer):
    data = json.loads((TOKENIZERS / tokenizer / "tokenizer.json").read_text())
    return 1 + max([*data["model"]["vocab"].values(), *(a["id"] for a in data["added_tokens"])])


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


if __name__ == "__main__":
    main()
