#!/usr/bin/env python3
"""Writes identifier/internal/pieces/tables.txt, the Unicode tables of the tokenizers.

Every table is probed from the Python package `tokenizers` itself, code point by code point, since the Rust crates
behind it follow several Unicode versions and none of them is Go's. Needs the package sentencepiece too.

    python identifier/tokenfile/testdata/tables.py        (from the root of the repository, about a minute)
"""
import pathlib
import textwrap

import tokenizers
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

import spm

TABLES = pathlib.Path(__file__).resolve().parents[2] / "internal" / "pieces" / "tables.txt"
POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic


def ranges(points):
    """The entries 41-5a of a list of code points."""
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return [f"{first:x}-{last:x}" if first < last else f"{first:x}" for first, last in out]


def write(tables):
    lines = [f"# Made by identifier/tokenfile/testdata/tables.py from Hugging Face tokenizers {tokenizers.__version__}. Code points are",
             "# hexadecimal. An entry of a table is a code point, a range of them (41-5a), or one and what becomes of it (130:69,307)."]
    for name, comment, entries in tables:
        lines += ["", f"# {comment}", f"{name}:", *textwrap.wrap(" ".join(entries), 120, break_on_hyphens=False)]
    TABLES.write_text("\n".join(lines) + "\n")


def byte_level():
    pre = pre_tokenizers.ByteLevel(add_prefix_space=False)

    def joins(c, with_):
        return len(pre.pre_tokenize_str(with_ + chr(c) + with_)) == 1

    letters, numbers, spaces = [], [], []
    for c in POINTS:
        if joins(c, "a"):
            letters.append(c)
        elif joins(c, "1"):
            numbers.append(c)
        elif not joins(c, "!"):
            spaces.append(c)
    return [("letters", r"\p{L} of the GPT-2 expression.", ranges(letters)),
            ("numbers", r"\p{N} of it.", ranges(numbers)),
            ("spaces", r"\s of it.", ranges(spaces))]


def bert():
    def norm(clean=False, chinese=False, strip=False, lower=False):
        return normalizers.BertNormalizer(clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower).normalize_str

    def becomes(c, text):
        return f"{c:x}:" + ",".join(f"{ord(t):x}" for t in text)

    clean, chinese, strip, lower = norm(clean=True), norm(chinese=True), norm(strip=True), norm(lower=True)
    nfd = normalizers.NFD().normalize_str
    pre = pre_tokenizers.BertPreTokenizer().pre_tokenize_str

    def moves(mark):  # around one of the lowest or of the highest class: its own is not 0
        return nfd(mark + "\u0334") != mark + "\u0334" or nfd("\u0345" + mark) != "\u0345" + mark or mark in "\u0334\u0345"

    removed, blank, cjk, spaces, punctuation, marks, transparent, kept, stripped, lowered = ([] for _ in range(10))
    for c in POINTS:
        ch = chr(c)
        got = clean("a" + ch + "b")
        if got == "ab":
            removed.append(c)
        elif got == "a b":
            blank.append(c)
        if chinese(ch) != ch:
            cjk.append(c)
        pieces = [p for p, _ in pre("a" + ch + "b")]
        if pieces == ["a", "b"]:
            spaces.append(c)
        elif len(pieces) == 3:
            punctuation.append(c)
        if strip(ch) == "" and all(map(moves, nfd(ch))):
            transparent.append(c)
        elif nfd(ch) == ch and moves(ch):
            kept.append(c)
        if strip(ch) == "":
            marks.append(c)
        elif c not in HANGUL and strip(ch) != ch:
            stripped.append(becomes(c, strip(ch)))
        if lower(ch) != ch:
            lowered.append(becomes(c, lower(ch)))
    # The rank of a mark is how many of the others it has to stand behind: as good as its class.
    ranks = [f"{c:x}:{1 + sum(nfd(chr(c) + chr(k)) == chr(k) + chr(c) for k in kept if k != c):x}" for c in kept]
    return [("removed", "What clean_text drops.", ranges(removed)),
            ("blank", "What clean_text turns into a space.", ranges(blank)),
            ("chinese", "What handle_chinese_chars puts spaces around.", ranges(cjk)),
            ("separators", "What separates words.", ranges(spaces)),
            ("punctuation", "What is a word by itself.", ranges(punctuation)),
            ("marks", "What strip_accents drops.", ranges(marks)),
            ("transparent", "Those of them that do not end a run of reordered marks.", ranges(transparent)),
            ("ranks", "The marks that strip_accents keeps and that NFD reorders, each with its place in the order.", ranks),
            ("stripped", "What strip_accents makes of others, Hangul syllables left out.", stripped),
            ("lowered", "What lowercase makes of others.", lowered)]


def word():
    tok = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    tok.add_tokens([AddedToken("xx", single_word=True, normalized=False)])
    free = [c for c in POINTS if tok.encode(chr(c) + "xx").ids[-1:] != [1]]
    return [("words", r"\w of Rust's regex, at which single_word looks.", ranges(free))]


def graphemes():
    """Told by where the normaliser Precompiled drops what stands in one cluster with a short beginning that it maps."""
    keys = {"a": "X", "\u00a9": "X", "\u0915": "X", "\u0301": "Y"}
    norm = normalizers.Precompiled(spm.charsmap(keys)).normalize_str

    def joined(text):  # is the X within a longer cluster: each of its characters was mapped then
        return norm(text).endswith("XY")

    probes = {
        "joining": lambda c: norm("a" + c) == "X",
        "controls": lambda c: norm(c + "\u0301\u0302").endswith("Y"),
        "prepends": lambda c: joined(c + "a\u0301"),
        "pictures": lambda c: joined(c + "\u200d\u00a9\u0301"),
        "extends": lambda c: c != "\u200d" and joined("\U0001f600" + c + "\u200d\u00a9\u0301"),
        "consonants": lambda c: joined(c + "\u094d\u0915\u0301"),
        "conjuncts": lambda c: joined("\u0915" + c + "\u094d\u0915\u0301"),
        "linkers": lambda c: joined("\u0915" + c + "\u0915\u0301"),
    }
    found = {name: [c for c in POINTS if probe(chr(c))] for name, probe in probes.items()}
    found["extends"] = sorted(set(found["extends"]) - set(found["pictures"]))  # which begin anew what an Extend would go on with
    found["conjuncts"] = sorted(set(found["conjuncts"]) - set(found["consonants"]))
    return [("joining", "What no cluster ends before: Extend, ZWJ, SpacingMark.", ranges(found["joining"])),
            ("controls", "What is a cluster by itself: Control, CR, LF.", ranges(found["controls"])),
            ("prepends", "What no cluster ends behind.", ranges(found["prepends"])),
            ("pictures", "Extended_Pictographic.", ranges(found["pictures"])),
            ("extends", "What may stand between a picture and a ZWJ.", ranges(found["extends"])),
            ("consonants", "Indic_Conjunct_Break=Consonant.", ranges(found["consonants"])),
            ("conjuncts", "Indic_Conjunct_Break=Extend and Linker.", ranges(found["conjuncts"])),
            ("linkers", "Indic_Conjunct_Break=Linker.", ranges(found["linkers"])),
            ("normalized", "What NFKC or NFD change or move: all that the crate knows of normalisation.", ranges(touched()))]


def touched():
    nfd, nfkd = normalizers.NFD().normalize_str, normalizers.NFKD().normalize_str
    return [c for c in POINTS if nfkd(chr(c)) != chr(c) or nfd("\u0345" + chr(c)) != "\u0345" + chr(c) or nfd(chr(c) + "\u0334") != chr(c) + "\u0334" or chr(c) in "\u0334\u0345"]


write(byte_level() + bert() + graphemes() + word())
