"""Writes a tiny encoder with random weights, for trying the trainer and the importer: nothing is downloaded.

    python tiny_encoder.py bert|roberta|distilbert OUT TEXT.jsonl [WIDTH [VOCABULARY]]

The tokenizer is learned from the rows' texts; two layers of 32, or of WIDTH.
"""
import json
import pathlib
import sys

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast, RobertaConfig, RobertaModel

BERT = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}
ROBERTA = {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>", "bos_token": "<s>", "eos_token": "</s>"}


def size(width):
    return {"max_position_embeddings": 140, "hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 2 * width}


def distil(width):
    return {"max_position_embeddings": 140, "dim": width, "n_layers": 2, "n_heads": 4, "hidden_dim": 2 * width}


def wordpiece(texts, vocabulary):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=vocabulary, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    t.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(tokenizer_object=t, **BERT)


def bytelevel(texts, vocabulary):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
                                                     initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=t, **ROBERTA)


KINDS = {"bert": (wordpiece, BertModel, lambda n, w: BertConfig(vocab_size=n, **size(w))),
         "distilbert": (wordpiece, DistilBertModel, lambda n, w: DistilBertConfig(vocab_size=n, **distil(w))),
         "roberta": (bytelevel, RobertaModel, lambda n, w: RobertaConfig(vocab_size=n, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2, **size(w)))}


def main(kind, out, text, width=32, vocabulary=600):
    learn, model, config = KINDS[kind]
    with open(text, encoding="utf-8") as f:
        texts = [v for line in f for v in json.loads(line).values() if isinstance(v, str)]
    tokenizer = learn(texts, int(vocabulary))
    torch.manual_seed(5)
    model(config(len(tokenizer), int(width))).save_pretrained(out)
    tokenizer.save_pretrained(out)
    path = pathlib.Path(out) / "tokenizer_config.json"
    path.write_text(path.read_text().replace('"TokenizersBackend"', '"PreTrainedTokenizerFast"'))


if __name__ == "__main__":
    main(*sys.argv[1:])
