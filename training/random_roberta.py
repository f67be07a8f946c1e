"""Writes RoBERTa in its true size with random weights, as a checkpoint that `erreval models import` reads.

    python random_roberta.py OUT TEXT.jsonl [--size base|large|tiny]

12 layers of 768 (large: 24 of 1,024; tiny: 2 of 64, for trying), 50,265 tokens, eleven labels with a probability each. The byte-level BPE is learned from the rows' texts; its tokens
lie scattered over the whole table, as those of the published one do, and unused ones fill the gaps.
"""
import argparse
import json
import pathlib
import random

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import RobertaConfig, RobertaForSequenceClassification

SEED, VOCABULARY, LABELS = 11, 50265, 11
SIZES = {"base": (12, 768), "large": (24, 1024), "tiny": (2, 64)}  # layers, width
SPECIAL = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": VOCABULARY - 1}


def learn(texts):
    """The vocabulary and merges of a small byte-level BPE."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=2000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    model = json.loads(t.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [tuple(m) for m in model["merges"]]


def tokenizer(texts):
    tokens, merges = learn(texts)
    places = random.Random(SEED).sample(range(4, VOCABULARY - 1), len(tokens))
    names = dict(zip(places, tokens)) | {i: name for name, i in SPECIAL.items()}
    t = Tokenizer(models.BPE(vocab={names.get(i, f"unused{i}"): i for i in range(VOCABULARY)}, merges=merges))
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.add_special_tokens(list(SPECIAL))
    return t


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("out", type=pathlib.Path)
    args.add_argument("text", type=pathlib.Path, help="rows, the strings of which the tokenizer is learned from")
    args.add_argument("--size", choices=SIZES, default="base")
    args = args.parse_args()
    layers, width = SIZES[args.size]
    rows = [json.loads(line) for line in args.text.read_text(encoding="utf-8").splitlines()]
    torch.manual_seed(SEED)
    # The published size; weights are spread wider than at the start of training, so that the logits of rows differ.
    model = RobertaForSequenceClassification(RobertaConfig(
        num_hidden_layers=layers, hidden_size=width, intermediate_size=4 * width, num_attention_heads=max(width // 64, 2), vocab_size=VOCABULARY, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5, num_labels=LABELS,
        problem_type="multi_label_classification", initializer_range=0.05))
    model.eval().save_pretrained(args.out)
    tokenizer(sorted({v for r in rows for v in r.values() if isinstance(v, str)})).save(str(args.out / "tokenizer.json"))
    special = {"tokenizer_class": "RobertaTokenizerFast", "bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>",
               "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}
    (args.out / "tokenizer_config.json").write_text(json.dumps(special) + "\n")


if __name__ == "__main__":
    main()
