"""What a dozen regular expressions and a repetition count find in responses: the baseline that the model for
instruction-following is measured against.

    python rules.py rows.jsonl > tagged.jsonl      (rows with response and instruction)

Each error gets a score of 0 to 1 by a rule written from the guideline and looked at on `tune` rows, and a label from 0.5 on.
"""
import collections
import json
import re
import sys

REFUSAL = re.compile(
    r"\b(i['’]?m|i am) (sorry|unable|not able|not sure (what|how)|afraid)|\bi (can(no|')?t|cannot|can not|could not|couldn't|do not|don't) "
    r"(help|assist|answer|provide|access|find|have (access|enough|any|the ability|personal|opinions|feelings)|know|understand|fulfil|do that|browse)|"
    r"\bas an? (ai|artificial|language|text)|\bmy apologies\b|\bi apologi[sz]e|\bunfortunately, i\b|not (appropriate|ethical) (for me )?to|"
    r"could you (please )?(clarify|provide|rephrase)|please provide (more|me)", re.I)
TURN = re.compile(r"\n\s*(user|human|question|q|instruction|prompter|assistant|bot|input|customer)\s*\d*\s*:|###|<\|?[a-z_/]+\|?>|\[/?inst\]", re.I)
DEBRIS = re.compile(r"\ufffd|√|â€|Ã.|&(amp|nbsp|quot|lt|gt);|<(br|p|div|span)\b|_URL_|\\u[0-9a-f]{4}|[\u0000-\u0008]|\(\)|,,|\s[,;]\s|\[\s*\]", re.I)
DOUBLED = re.compile(r"\b(\w{2,}) \1\b", re.I)
HARM = re.compile(r"\b(kill (him|her|them|yourself|someone|people)|how to (steal|hack|make a bomb)|bomb|poison|suicide|stupid|idiot|slur|rape|cocaine|meth)\b", re.I)
END = re.compile(r"[.!?…:)\]}\"'”’»`*_>。！？」|~\-]$|[^\w\s,;.!?]$|https?://\S+$")
COUNT = re.compile(r"\b(one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2})\b (?:\w+ ){0,2}(words?|sentences?|items?|examples?|ways?|reasons?|tips?|paragraphs?|bullet)", re.I)
NUMBERS = {w: i + 1 for i, w in enumerate("one two three four five six seven eight nine ten".split())}
STOP = set("the a an of to in and or is are was were be for on with as at by it its this that i you he she they we my your not can will do does have has".split())
OTHER = {"de": set("der die das und ist nicht ein eine mit für auf ich sie".split()), "fr": set("le la les des et est une pour que dans pas vous".split()),
         "es": set("el la los las de que y en un una por para con es".split()), "it": set("il la di che è un per con non sono della".split()),
         "pt": set("o a os de que e um uma para com não é do da".split()), "nl": set("de het een van en is niet op voor met".split())}
SCRIPTS = [("cyrillic", "Ѐ", "ӿ"), ("cjk", "一", "鿿"), ("kana", "぀", "ヿ"), ("hangul", "가", "힣"), ("arabic", "؀", "ۿ"), ("deva", "ऀ", "ॿ"), ("hebrew", "֐", "׿")]


def words(text):
    return re.findall(r"\w+", text.lower())


def language(text):
    letters = [c for c in text if c.isalpha()]
    for name, low, high in SCRIPTS:
        if letters and sum(low <= c <= high for c in letters) > 0.3 * len(letters):
            return name
    found = words(text)
    count = {k: sum(w in v for w in found) for k, v in OTHER.items()} | {"en": sum(w in STOP for w in found)}
    return max(count, key=count.get) if found and max(count.values()) > 0.08 * len(found) and len(found) > 5 else ""


def interrupted(text):
    text = text.rstrip()
    if not text:
        return 0.0
    if text.count("```") % 2 or re.search(r"\n\s*(\d+[.)]|[-*•])$", text):
        return 1.0
    if re.search(r"[,;]$|\b(the|a|an|of|to|and|or|in|with|for|is|are|by)$", text):
        return 0.95
    if not END.search(text):
        return 0.8 if len(words(text)) > 25 else 0.4
    return 0.2 if text.count("(") > text.count(")") else 0.05


def repeated(text):
    found = words(text)
    grams = collections.Counter(tuple(found[i : i + 5]) for i in range(len(found) - 4))
    again = sum(n - 1 for n in grams.values()) / max(1, sum(grams.values()))
    sentences = [s.strip().lower() for s in re.split(r"[.!?\n]+", text) if len(s.split()) > 3]
    twice = max(collections.Counter(sentences).values(), default=1)
    return min(1.0, 3 * again + (0.5 if twice > 1 else 0))


def mixed(text, request):
    letters = [c for c in text if c.isalpha()]
    if letters:
        foreign = sum(c > "\u02ff" for c in letters) / len(letters)
        asked = re.search(r"translat|in (french|german|spanish|russian|chinese|japanese|korean|hindi|arabic|italian|portuguese|dutch|turkish)|[^\x00-\u02ff]", request, re.I)
        if 0.02 < foreign and not asked:
            return 0.9
        a, b = language(request), language(text)
        if a and b and a != b and not asked:
            return 0.8
    parts = {language(p) for p in text.split("\n") if len(p) > 60} - {""}
    return 0.55 if len(parts) > 1 else 0.05


def off_request(text, request):
    asked = COUNT.search(request)
    if asked and asked[2].startswith(("item", "example", "way", "reason", "tip", "bullet")):
        n = NUMBERS.get(asked[1].lower()) or int(asked[1])
        items = len(re.findall(r"^\s*(?:\d+[.)]|[-*•])", text, re.M))
        if items and items != n:
            return 0.7
    if "json" in request.lower() and "{" not in text:
        return 0.8
    content = {w for w in words(request) if w not in STOP and len(w) > 3}
    shared = len(content & set(words(text))) / max(1, len(content))
    return 0.7 if len(words(text)) < 4 and len(words(request)) > 12 else max(0.05, 0.45 - shared)


def scores(row):
    text, request = row["response"], row["instruction"]
    head = text[:250]
    return {
        "Request Following": off_request(text, request),
        "Factuality": 0.0,
        "Repetition": repeated(text),
        "Code-Switching": mixed(text, request),
        "Relevance": 0.8 if TURN.search(text[20:]) and not TURN.search(request) else min(0.4, len(words(text)) / 1000),
        "Harmfulness": 0.6 if HARM.search(text) and not REFUSAL.search(head) else 0.02,
        "Fluency": min(1.0, 0.4 * len(DEBRIS.findall(text)) + 0.3 * len(DOUBLED.findall(text))),
        "Contradiction": 0.0,
        "Sudden Interruption": interrupted(text),
        "Refusal": 0.8 if REFUSAL.search(head) and len(words(text)) < 120 else 0.3 if REFUSAL.search(text) else 0.02,
    }


def main():
    for line in open(sys.argv[1], encoding="utf-8"):
        row = json.loads(line)
        found = scores(row)
        labels = [k for k, v in found.items() if v >= 0.5] or ["No Error"]
        found["No Error"] = 1 - max(found.values())
        row["diagnosis"] = {"labels": labels, "probabilities": found, "model": "rules@1", "taxonomy": "instruction-following@1.1"}
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
