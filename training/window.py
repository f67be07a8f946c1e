"""The reading window: the sentences of a long field that bear on the others, up to a number of words.

Package identifier/window does the same in Go, to the token; its testdata hold both to it.
"""
import math

SPACE = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000")
CLOSERS, OPENERS, ENDS = "\"')]}”’»", "\"'([{“‘«", ".!?…"
# A full stop behind these, or behind a single letter, ends no sentence.
ABBREVIATIONS = frozenset("mr mrs ms dr prof st jr sr vs etc no fig vol gen col lt rev hon ca cf inc ltd co corp dept e.g i.e u.s u.k a.m p.m ph.d".split())
# Sentences that begin with these need the one before.
PRONOUNS = frozenset("he she it they his her its their him them this these that those such there".split())
STOP = frozenset("a an the of in on at to for from by with and or is are was were be been has have had do does did it its he his she her "
                 "they their this that these those which who whom whose what when where why how".split())
LONGEST = 40  # words: a longer sentence, or text without any, is cut into pieces


def words(text):
    """Spans of what stands between spaces, each with whether a new line follows."""
    out, start, newline = [], -1, False
    for i, c in enumerate(text):
        if c in SPACE:
            if start >= 0:
                out.append([start, i, False])
                start = -1
            if c == "\n" and out:
                out[-1][2] = True
        elif start < 0:
            start = i
    if start >= 0:
        out.append([start, len(text), False])
    return out


def ends(word):
    core = word.rstrip(CLOSERS)
    if not core or core[-1] not in ENDS:
        return False
    before = core[:-1].lstrip(OPENERS)
    return core[-1] != "." or not (len(before) == 1 and before.isalpha() or before.lower() in ABBREVIATIONS)


def sentences(text):
    """[from, to, words] of each sentence, in characters."""
    out, open_ = [], False
    for start, end, newline in words(text):
        if open_:
            out[-1][1], out[-1][2] = end, out[-1][2] + 1
        else:
            out.append([start, end, 1])
        open_ = not (newline or out[-1][2] == LONGEST or ends(text[start:end]))
    return out


def content(text):
    """Beginnings of the words that are not function words, in order, each once."""
    found, word = {}, ""
    for c in text.lower() + " ":
        if c.isalnum():
            word += c
        elif word:
            if word not in STOP:
                found[word[:5]] = True
            word = ""
    return list(found)


def first_word(text):
    out = ""
    for c in text.lower():
        if c.isalnum():
            out += c
        elif out:
            break
    return out


def flat(text):
    """In lower case, with single spaces."""
    text = text.lower()
    return " ".join(text[a:b] for a, b, _ in words(text))


def rarity(all_, with_):
    """How much a word says that stands in some of the sentences, in thousandths."""
    return math.floor(1000 * math.log(1 + all_ / with_) + 0.5) if with_ else 0


def scores(texts, others):
    """How much each sentence bears on the other fields, in whole numbers so that every language adds alike."""
    n, held, plain = len(texts), [set(content(t)) for t in texts], [flat(t) for t in texts]
    own = [0] * n

    def add(times, has):
        for i in has:
            own[i] += times * rarity(n, len(has))

    for other in others:
        for w in content(other):
            add(1, [i for i in range(n) if w in held[i]])
        if flat(other):
            add(2, [i for i in range(n) if flat(other) in plain[i]])
    out = []
    for i in range(n):
        s = 20 * own[i]
        if i + 1 < n:
            s += own[i + 1] * (12 if first_word(texts[i + 1]) in PRONOUNS else 7)
        if i > 0:
            s += 3 * own[i - 1]
        out.append(s)
    return out


def outer(order, found, most):
    """The sentences that come first in this order, of `most` words together."""
    keep = set()
    for i in order:
        if sum(found[k][2] for k in keep) + found[i][2] > most:
            break
        keep.add(i)
    return keep


def choose(text, others, most, ends=0):
    """Spans [from, to] of the text that is read: its sentences with the highest scores, in their order, `most` words at most,
    with those of its first and last `ends` words."""
    found = sentences(text)
    if sum(n for _, _, n in found) <= most:
        return [[0, len(text)]]
    s = scores([text[a:b] for a, b, _ in found], others)
    keep = outer(range(len(found)), found, ends) | outer(reversed(range(len(found))), found, ends)
    used = sum(found[i][2] for i in keep)
    for i in sorted(range(len(found)), key=lambda i: (-s[i], i)):
        if i not in keep and used + found[i][2] <= most:
            keep.add(i)
            used += found[i][2]
    out = []
    for i in sorted(keep):
        if i - 1 in keep:
            out[-1][1] = found[i][1]
        else:
            out.append(found[i][:2])
    return out


def read(text, others, most, ends=0):
    """The text that is read."""
    return " ".join(text[a:b] for a, b in choose(text, others, most, ends))
