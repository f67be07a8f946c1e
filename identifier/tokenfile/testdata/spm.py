"""SentencePiece's part in the fixtures: models, and the charsmaps that their normalisation is compiled to."""
import base64
import functools
import io
import json
import pathlib
import random
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

import corpus


def train(texts, **options):
    """Trains a Unigram model and returns its protocol buffer."""
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(texts), model_writer=out, model_type="unigram", minloglevel=2, num_threads=1, hard_vocab_limit=False, **options)
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(out.getvalue())
    return model


def charsmap(rules):
    """Compiles a map of strings, by way of a model that nobody needs."""
    points = lambda s: " ".join(f"{ord(c):X}" for c in s)
    with tempfile.TemporaryDirectory() as folder:
        tsv = pathlib.Path(folder) / "rules.tsv"
        tsv.write_text("".join(f"{points(k)}\t{points(v)}\n" for k, v in rules.items()))
        return train(["some words for a model"] * 20, vocab_size=30, normalization_rule_tsv=str(tsv)).normalizer_spec.precompiled_charsmap


def added(tok, names, **mask):
    tok.add_special_tokens([AddedToken(n, normalized=n == "[UNK]", **(mask if "mask" in n.lower() else {})) for n in names])


@functools.cache
def model():
    """The model that both families are converted from: real scores, and the charsmap nmt_nfkc."""
    r = random.Random(1)
    return train([corpus.sentence(r) for _ in range(3000)] + [corpus.mix(r) for _ in range(1000)], vocab_size=1200, normalization_rule_name="nmt_nfkc", character_coverage=0.98)


def pieces():
    return [(p.piece, p.score) for p in model().pieces[3:]]


def precompiled():
    return normalizers.Precompiled(model().normalizer_spec.precompiled_charsmap)


def xlmr(converted):
    """As on the hub, in the older spelling of Metaspace; or as transformers' SpmConverter makes it."""
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    tok = Tokenizer(models.Unigram([(n, 0.0) for n in names] + pieces() + [("<mask>", 0.0)], 3, False))
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.normalizer = normalizers.Sequence([precompiled(), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")])
    added(tok, names + ["<mask>"], lstrip=True)
    if converted:
        return tok.to_str()
    tok.normalizer = precompiled()
    t = json.loads(tok.to_str())
    t["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}]}
    return json.dumps(t, ensure_ascii=False)


def deberta(five):
    """As transformers 4 converts DeBERTa-v3, or as transformers 5 builds it."""
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    tok = Tokenizer(models.Unigram([(n, 0.0) for n in names] + pieces(), 3, False))
    strip, metaspace = normalizers.Strip(left=not five, right=True), pre_tokenizers.Metaspace(prepend_scheme="first" if five else "always")
    space = normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]" if five else " {2,}"), " ")
    tok.normalizer = normalizers.Sequence([space, normalizers.NFC(), strip] if five else [strip, precompiled(), space])
    tok.pre_tokenizer = pre_tokenizers.Sequence([metaspace])
    added(tok, names + ["[MASK]"])
    return tok.to_str()


def odd_bytes():
    """Options that neither uses: bytes, another replacement, one piece a text, a vocabulary with pieces twice."""
    r = random.Random(3)
    tok = Tokenizer(models.Unigram())
    tok.train_from_iterator([corpus.sentence(r).replace(" ", "_") for _ in range(500)], trainers.UnigramTrainer(vocab_size=500, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))
    vocab = [tuple(p) for p in json.loads(tok.to_str())["model"]["vocab"]]
    vocab += [(f"<0x{b:02X}>", 0.0) for b in range(256) if b != 0xF0] + [("the", -3.5), ("_", -2.25)]
    tok = Tokenizer(models.Unigram(vocab, 0, True))
    tok.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("ab", " "), normalizers.Strip(left=True, right=False)])
    tok.pre_tokenizer = pre_tokenizers.Metaspace(replacement="_", prepend_scheme="never", split=False)
    tok.add_special_tokens([AddedToken("<s>", normalized=True), "</s>", AddedToken("<mask>", lstrip=True, rstrip=True)])
    tok.add_tokens([AddedToken("ﬁne"), AddedToken("foo", single_word=True), AddedToken("New York", rstrip=True, normalized=False)])
    return tok.to_str()


# Rules whose beginnings are short, so that it shows where grapheme clusters end.
RULES = {c: f"<{i}>" for i, c in enumerate(["a", "\u0301", "\u1100", "\u1161", "\u11a8", "가", "각", "\u0915", "\u094d", "\u0903", "\u0600", "\u00a9", "\u200d", "\ufe0f", "❤",
                                           "\n", "\r", "é", "e\u0301", "\u00ad", "\u0e33", "가\u11a8", "xy", "x", "\u0378", "\u0900", "\U0001f1e9", "1\ufe0f"])} | {"\u0302": "", "b": "", "\t": " "}


def odd_clusters():
    tok = Tokenizer(models.Unigram([("<unk>", -1.0), *((c, -2.0 - i / 8) for i, c in enumerate("▁<>0123456789")), ("▁<", -2.5), ("<1", -3.0), (">▁", -3.0)], 0, False))
    tok.normalizer = normalizers.Precompiled(charsmap(RULES))
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="never")])
    tok.add_tokens([AddedToken("©"), AddedToken("the end", single_word=True)])
    return tok.to_str()


CLUSTERS = [*RULES, *RULES, "\u0302", "\u0308", "\u0334", "\u0345", "क", "ष", "\u093c", "त", "\u1160", "\uac01", "\u11ff", "\ua960", "\ud7b0", "\ud7cb", "😀", "👩", "🏽", "🇩", "🇪",
            "\u200c", "\u200b", "\u06dd", "\U000110bd", "\u20e3", "ｶ", "ﾞ", "ﾟ", "①", "ﬁ", "Å", "\u212b", "A", "\u0327", "\u3133", "ㅏ", "\u09c7", "\u09be", "\U000105d2", "\u0307", "\U00010041", "ệ", "\ud7a3",
            "▁", "▁▁", " ", "  ", "_", "[UNK]", "<unk>", "<0x41>", "½", "\u00a8", "z", "\r\n", "\x01", "\u0344", "\u0387", "\u1026", "\u1025", "\u102e", "\U0001d15f", "\u0f73", "\u1b35", "\u1b05"]


def cluster_text(r):
    return "".join(r.choice(CLUSTERS) * r.choice([1, 1, 1, 1, 1, 1, 2, 3, 40 if r.random() < 0.05 else 1]) for _ in range(r.randint(1, 16)))


def spaced(r):
    return "".join(r.choice(["▁", " ", "  ", "\n", "a", "the", "unbelievable", "<unk>", "☃", "<0x4", "\u2581"]) for _ in range(r.randint(1, 12)))


TOKENIZERS = {
    "xlmr": lambda: xlmr(False),
    "xlmr-spm": lambda: xlmr(True),
    "deberta": lambda: deberta(False),
    "deberta-5": lambda: deberta(True),
    "odd-bytes": odd_bytes,
    "odd-clusters": odd_clusters,
}


def charsmap_text():
    return base64.b64encode(model().normalizer_spec.precompiled_charsmap).decode()
