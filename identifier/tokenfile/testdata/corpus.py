"""Texts that a tokenizer may get wrong, made from a seed. Nothing here comes from a data set."""
import random

WORDS = """the a of and to in is was which what why how many who where when question answer passage according river mountain
village teacher scientist discovered invented wrote founded between during before after because although However Therefore
University Cambridge Paris London Einstein Napoleon photosynthesis chlorophyll mitochondria electromagnetic unbelievable
antidisestablishmentarianism don't isn't we're they've I'm you'll he'd DON'T it's O'Brien rock'n'roll state-of-the-art e-mail
user@example.com https://example.org/a?b=c&d=1 3.14 1,000,000 1984 21st 50% $9.99 U.S. Dr. A.B.C. foo foobar New York
café naïve Émile Zoë Ångström façade jalapeño Straße Ærø Łódź Dvořák İstanbul ısı Iğdır ΑΘΗΝΑ σοφός ΣΟΦΟΣ Москва Ёлка йод
北京 東京タワー カタカナ ひらがな 한국어 ㅎㅏㄴ עִבְרִית العربية हिन्दी ไทย Tiếng Việt ﬁne ﬀ Ⅷ ½ ² x² ① 𝔘𝔫𝔦 𝟛 ¿Qué? «guillemets» “curly” ‘single’ — – … • § © ™ € £""".split()

PIECES = ["<s>", "</s>", "<pad>", "<unk>", "<mask>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<|endoftext|>", "<sep>", "<sep>x",
          "<s", "/s>", "[SEP", "SEP]", "[sep]", "<S>", "<mask", "foo", "foo bar", "New York", "émile", "Émile", "E\u0301mile", "EMILE", "the end", "X", "Xy", "'s", "'S", "'re", "'ll", "' s", "''s",
          " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\x0b", "\x1c", "\u200b", "\u200d", "\ufeff", "\u180e", "\x00", "\ufffd", "\x7f", "\u00ad",
          "!", "?", ".", ",", "-", "_", "__", "^", "`", "$", "+", "'", "\"", "...", "?!", "、", "。", "「", "？",
          "0", "12", "٣", "४", "½", "Ⅻ", "①", "²",
          "\u0301", "\u0308\u0301", "e\u0301", "i\u0307", "I\u0307", "\u0345", "\u0334", "\u302e", "\u302f", "\U0001d165", "\U0001d16d", "\u1b44", "\u093c", "\u0f73", "\u0f71\u0f72", "\U0001d15f", "\u0344",
          "\u1100\u1161\u11a8", "각", "가\u11a8", "ﾞ", "が", "か\u3099", "豈", "\uf900", "\U0002f800", "𠀀", "㐀", "鿿", "\u212b", "\u2126", "\u1e9b\u0323", "\u0390", "ﬃ", "ß", "ẞ", "ŉ", "ǰ", "Ǆ", "ᾳ", "İ", "ı",
          "😀", "👩\u200d👩\u200d👧", "👍🏽", "🇩🇪", "❤\ufe0f", "1\ufe0f\u20e3", "\U000e0041", "\ue000", "\U0010ffff", "\u0378", "\U0001fae8", "\U00011f00", "\u2ffc"]


def sentence(r, n=None):
    words = [r.choice(WORDS) for _ in range(n or r.randint(3, 30))]
    for i in range(len(words)):
        if r.random() < 0.12:
            words[i] += r.choice([",", ".", ";", ":", "?", "!", ")", "\"", "?\n", ".\n\n", " (", " -", "..."])
        if r.random() < 0.05:
            words[i] = words[i].upper()
    return r.choice([" ", " ", " ", " ", "  ", "\n"]).join(words)


def point(r):
    while True:
        c = r.choice([r.randrange(0x80), r.randrange(0x800), r.randrange(0x3000), r.randrange(0x10000), r.randrange(0x20000), r.randrange(0x110000)])
        if not 0xD800 <= c <= 0xDFFF:
            return chr(c)


def mix(r):
    return "".join(r.choice([r.choice(PIECES), r.choice(PIECES), r.choice(WORDS), point(r), r.choice("abc xyz")]) for _ in range(r.randint(1, 24)))


def blanks(r):
    space = [" ", " ", " ", "\n", "\t", "\r", "\u00a0", "\u3000", "\u0085"]
    return "".join("".join(r.choice(space) for _ in range(r.randint(0, 5))) + r.choice([r.choice(WORDS), r.choice(PIECES), ""]) for _ in range(r.randint(1, 10)))


def marked(r):
    words = sentence(r).split(" ")
    for _ in range(r.randint(1, 4)):
        words.insert(r.randint(0, len(words)), r.choice(["", " ", "\n"]) + r.choice(PIECES[:35]) + r.choice(["", " "]))
    return r.choice(["", " "]).join(words)


def long_word(r):
    alphabet = r.choice(["ab", "abcdefghijklmnopqrstuvwxyz", "0123456789", "éèê", "ab\u0301", "北京", "!?", "👩\u200d", "mississippi"])
    return "".join(r.choice(alphabet) for _ in range(r.choice([10, 23, 24, 25, 26, 99, 100, 101, 102, 400, 3000])))


def texts(seed, n, *more):
    """n different texts, some by the functions given."""
    r = random.Random(seed)
    kinds = [sentence, sentence, mix, mix, mix, blanks, blanks, marked, marked, long_word, *more * 2]
    out = dict.fromkeys(["", " ", "  ", "\n", "'", "''", "a", "İ", "\ufffd"] + WORDS + PIECES)
    while len(out) < n:
        make = r.choice(kinds)
        if make is not long_word or r.random() < 0.2:
            out[make(r)] = None
    return list(out)[:n]
