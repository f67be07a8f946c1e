"""Writes cases.jsonl: what training/window.py reads of texts, and the tokens that training makes of the row.

    python make_cases.py MODEL > cases.jsonl    (MODEL: models/embedded/default, for its tokenizer)

Texts are sentences of testdata/samples, shuffled, with spaces, quotes, abbreviations and lines as real texts have them.
"""
import json
import pathlib
import random
import sys

from tokenizers import Tokenizer

root = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(root / "training"))
import common  # noqa: E402
import window  # noqa: E402

ODD = ["Mr. J. Oke met Dr. Lind at 5 p.m. on the U.S. ship.", "\"Who?\" he said.", "(See fig. 3.)", "It cost 3.5 million…", "Straße und ÉCOLE, ΟΔΟΣ.",
       "they came ; it was late .", "— No!", "東京は大きい。", "a  b\tc\u00a0d", "She left", "Its roof fell in.", "1. First\n2. Second", "x" * 30]
BETWEEN = [" ", " ", " ", "  ", "\n", "\n\n", "\u2003"]


def main():
    rows = [json.loads(line) for line in (root / "testdata/samples/questions.jsonl").open(encoding="utf-8")]
    tokenizer = Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    rng = random.Random(24)
    texts = [r["passage"][a:b] for r in rows for a, b, _ in window.sentences(r["passage"])]
    for i in range(300):
        row, words = rng.choice(rows), rng.choice([40, 60, 60, 90, 130])
        some = rng.sample(texts, rng.randint(3, 14)) + rng.sample(ODD, rng.randint(0, 5))
        rng.shuffle(some)
        if rng.random() < 0.15:  # no sentences at all
            some = [s.replace(".", "").lower() for s in some]
        text = "".join(s + rng.choice(BETWEEN) for s in some)
        if rng.random() < 0.7:
            text = row["passage"] + " " + text
        question, answer = row["question"], rng.choice([row["answer"], "", rng.choice(text.split())])
        ends = 0 if i < 240 else rng.choice([5, 15, 20])
        ids, types, *_ = common.Encoder(tokenizer, 512, words, ends)(question, answer, text)
        print(json.dumps({"id": f"case-{i}", "text": text, "others": [question, answer], "words": words, "ends": ends,
                          "read": window.choose(text, [question, answer], words, ends), "ids": ids, "types": types}, ensure_ascii=False))


if __name__ == "__main__":
    main()
