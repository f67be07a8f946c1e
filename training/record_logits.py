#!/usr/bin/env python3
"""Records the logits that transformers gives for rows, for `erreval models import --verify`.

    python record_logits.py CHECKPOINT rows.jsonl -o reference.json [--join fields|text] [--fields question,answer,passage]
        [--window passage=60]

needs torch and transformers, and window.py beside it where --window is given. CHECKPOINT is a folder or a name on the hub; rows are JSON objects with the fields, in the
order in which the model was trained to read them. How fields are joined, truncated and separated is written down here once
more, so that the comparison covers tokenizer and layout as well as the graph:

  fields  each field is encoded alone (special tokens in it are text), with the separator between; what is too long is cut
          from the last field, then from the one before it
  text    the fields, joined by the separator's text, are encoded and cut as one string
"""
import argparse
import json

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def specials(tokenizer):
    """Start, separator and end: [CLS] [SEP] [SEP], or RoBERTa's <s> </s> </s>."""
    start = tokenizer.cls_token or tokenizer.bos_token
    end = tokenizer.sep_token or tokenizer.eos_token
    return start, end, end


def longest(config, tokenizer):
    """Positions that can be used: RoBERTa's count from pad_token_id + 1."""
    offset = config.pad_token_id + 1 if config.model_type.endswith("roberta") else 0
    return config.max_position_embeddings - offset


def encode_fields(tokenizer, texts, segments, limit):
    backend = tokenizer.backend_tokenizer
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    parts = [backend.encode(text, add_special_tokens=False).ids for text in texts]
    backend.encode_special_tokens = False
    over = sum(map(len, parts)) + len(parts) + 1 - limit
    for i in reversed(range(len(parts))):
        gone = max(0, min(over, len(parts[i])))
        parts[i] = parts[i][:len(parts[i]) - gone]
        over -= gone
    start, separator, end = tokenizer.convert_tokens_to_ids(list(specials(tokenizer)))
    ids, types = [start], [segments[0]]
    for i, part in enumerate(parts):
        ids += part + [end if i == len(parts) - 1 else separator]
        types += [segments[i]] * (len(part) + 1)
    return ids, types


def encode_text(tokenizer, texts, segments, limit):
    joined = specials(tokenizer)[1].join(texts)
    start, _, end = tokenizer.convert_tokens_to_ids(list(specials(tokenizer)))
    ids = tokenizer(joined, add_special_tokens=False, truncation=False)["input_ids"][:limit - 2]
    return [start] + ids + [end], [segments[0]] * (len(ids) + 2)


def windowed(texts, fields, wanted):
    """The texts of a row, of one of them the window that is wanted: FIELD=WORDS or FIELD=WORDS,ENDS."""
    if not wanted:
        return texts
    import window

    field, counts = wanted.split("=")
    at = fields.index(field)
    others = texts[:at] + texts[at + 1 :]
    return texts[:at] + [window.read(texts[at], others, *map(int, counts.split(",")))] + texts[at + 1 :]


@torch.no_grad()
def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("checkpoint")
    args.add_argument("rows")
    args.add_argument("-o", "--output", required=True)
    args.add_argument("--join", choices=["fields", "text"], default="fields")
    args.add_argument("--fields", default="question,answer,passage", help="the taxonomy's, in its order")
    args.add_argument("--segments", default="", help="token_type_ids, one a field, as in 0,1,1")
    args.add_argument("--window", default="", help="FIELD=WORDS or FIELD=WORDS,ENDS: the field of which only the sentences are read that bear most on the others")
    args.add_argument("--limit", type=int, default=64, help="rows to record")
    args = args.parse_args()

    fields = args.fields.split(",")
    segments = [int(s) for s in args.segments.split(",")] if args.segments else [0] * len(fields)
    tokenizer = AutoTokenizer.from_pretrained(args.checkpoint, use_fast=True)
    model = AutoModelForSequenceClassification.from_pretrained(args.checkpoint, dtype=torch.float32).eval()
    encode = {"fields": encode_fields, "text": encode_text}[args.join]
    limit = longest(model.config, tokenizer)
    out = []
    with open(args.rows, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f if line.strip()][:args.limit]
    for n, row in enumerate(rows):
        ids, types = encode(tokenizer, windowed([row[name] for name in fields], fields, args.window), segments, limit)
        feed = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
        if getattr(model.config, "type_vocab_size", 0) > 1:
            feed["token_type_ids"] = torch.tensor([types])
        logits = model(**feed).logits[0]
        out.append({"id": str(row.get("id", n + 1)), "fields": {name: row[name] for name in fields}, "logits": [round(float(x), 6) for x in logits]})
    labels = [model.config.id2label[i] for i in range(model.config.num_labels)]
    with open(args.output, "w", encoding="utf-8") as f:
        json.dump({"checkpoint": args.checkpoint, "join": args.join, "labels": labels, "rows": out}, f, ensure_ascii=False, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
