#!/usr/bin/env python3
"""Makes the random tiny models beside this script, and the placeholder in models/embedded/default.

    python identifier/testdata/make_fixtures.py            # needs torch, transformers, tokenizers, onnx, onnxruntime
    python identifier/testdata/make_fixtures.py --placeholder  # also rewrites models/embedded/default
    python identifier/testdata/make_fixtures.py --verifier     # rewrites verifier alone, with bert's tokenizer and labels

Each directory holds a model (model.onnx, tokenizer.json, config.json, manifest.json) and cases.json: rows with the
ids that Hugging Face's tokenizer gives them, the tokens cut per field, and the logits of torch and of onnxruntime-Python.
Training a WordPiece vocabulary is not deterministic, so a second run changes the bert files; commit them together.
Nothing here uses erreval's Go code: these files are its outside witness.
"""
import argparse, hashlib, json, pathlib, tempfile

import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import (AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers)
from transformers import BertConfig, BertForSequenceClassification, RobertaConfig, RobertaForSequenceClassification

HERE = pathlib.Path(__file__).resolve().parent
LABELS = ["Incomplete", "Not A Question", "Spell Error", "Grammar Error", "Vague",
          "Unnecessary Copy from Passage", "Off Topic", "Factual Error",
          "Information Not Mentioned", "Off Target Answer", "No Error"]
FIELDS = ["question", "answer", "passage"]

TEXT = """The harbour at Marrow Point was built in 1821, after two winters in which no ship could land. Its engineer, Ines
Caldwell, had never seen the sea before she was hired; she learned about tides from the pilots, and about stone from a
mason called Robert Oke. They argued every day. Caldwell wanted a wall of granite blocks, each of four tonnes; Oke said
that smaller blocks, laid with lime, would settle better. In the end they built half of it in each way, and a century
later both halves still stand. A beekeeper can tell from the sound of a hive whether its queen is alive. When she is
lost, the workers hum on a lower note and wander over the combs. Within a few hours they choose several young larvae
and feed them royal jelly, so that one becomes a new queen after sixteen days. Copper conducts heat about eight times
better than steel, which is why pans with a copper base warm evenly. It reacts with acids, however, so that most of them
are lined with tin. Which engineer designed the harbour wall? Why were the pilots important to her? How many days does it
take until a new queen hatches? What lines the inside of a copper pan, and for what reason?"""

PASSAGES = [p.strip() for p in TEXT.replace("\n", " ").split(". ") if p.strip()]


def rows():
    """Rows that exercise every path: plain, empty, special tokens inside, odd white space, other scripts, too long."""
    long = " ".join([TEXT.replace("\n", " ")] * 4)
    out = [
        ("Which engineer designed the harbour wall?", "Ines Caldwell", PASSAGES[1]),
        ("How many days does it take until a new queen hatches?", "sixteen days", PASSAGES[7]),
        ("what lines pan", "tin", PASSAGES[9] + "  \n\n\t and  more "),
        ("", "", ""),
        ("", "tin", PASSAGES[0]),
        ("Who?", "", PASSAGES[0]),
        ("Is </s> a wall? [SEP] no", "<s>Oke</s> [CLS]", "granite <mask> or  <mask>lime [MASK] <pad> [PAD] <unk> [UNK]"),
        ("<mask>", " <mask> ", "   <mask>\n<mask>   "),
        ("Où est le château ? 東京 🐝", "naïve café", "Ünïcödé \u00a0 \u3000 text — “quoted”…"),
        ("a" * 150, "1821", "b c d e f g"),
        ("Which engineer designed the harbour wall?", "Ines Caldwell", long),
        ("Which engineer designed the harbour wall?", long, PASSAGES[2]),
        (long, "Robert Oke", PASSAGES[3]),
        (long, long, long),
        ("Is </s> it?", "yes [SEP] no", "<mask> " + long + " </s> [SEP]"),
    ]
    out += [(f"What is said of {p.split()[1]}?", p.split()[0], p) for p in PASSAGES]
    return [{"id": f"r{i:02d}", "fields": dict(zip(FIELDS, r))} for i, r in enumerate(out)]


def roberta_tokenizer():
    specials = ["<s>", "<pad>", "</s>", "<unk>", AddedToken("<mask>", lstrip=True, special=True)]
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=specials, show_progress=False,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tok.train_from_iterator([TEXT], trainer)
    tok.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tok


def bert_tokenizer():
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
    tok.normalizer = normalizers.BertNormalizer(lowercase=True)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=300, show_progress=False,
                                        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tok.train_from_iterator([TEXT], trainer)
    tok.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    # Sections that the manifest overrides, as in MiniLM's published tokenizer.json; readers must ignore them.
    tok.enable_truncation(16)
    tok.enable_padding(length=16)
    return tok


def spread(model, seed):
    """Random weights large enough that logits differ between rows by more than rounding."""
    gen = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        if "LayerNorm.weight" in name:
            continue
        p.data = torch.randn(p.shape, generator=gen) * (0.3 if "embed" in name else 0.15)
        if name in ("classifier.weight", "classifier.out_proj.weight"):
            p.data *= 4
    return model.eval()


def roberta(vocab, positions):
    cfg = RobertaConfig(vocab_size=vocab, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=64, max_position_embeddings=positions, type_vocab_size=1, pad_token_id=1,
                        bos_token_id=0, eos_token_id=2, num_labels=len(LABELS), id2label=dict(enumerate(LABELS)),
                        label2id={l: i for i, l in enumerate(LABELS)}, problem_type="multi_label_classification",
                        attn_implementation="eager")
    return spread(RobertaForSequenceClassification(cfg), 7)


def bert(vocab, positions, seed=11):
    cfg = BertConfig(vocab_size=vocab, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                     intermediate_size=64, max_position_embeddings=positions, type_vocab_size=2, pad_token_id=0,
                     num_labels=len(LABELS), id2label=dict(enumerate(LABELS)),
                     label2id={l: i for i, l in enumerate(LABELS)}, problem_type="multi_label_classification",
                     attn_implementation="eager")
    return spread(BertForSequenceClassification(cfg), seed)


def export(model, inputs, path):
    """Writes the ONNX graph: int64 inputs [batch, tokens], one output `logits`."""
    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.m = model

        def forward(self, *args):
            return self.m(**dict(zip(inputs, args))).logits

    n = 9
    args = [torch.randint(5, 100, (1, n)), torch.ones(1, n, dtype=torch.long), torch.zeros(1, n, dtype=torch.long)]
    axes = {i: {0: "batch", 1: "tokens"} for i in inputs}
    torch.onnx.export(Wrapped().eval(), tuple(args[:len(inputs)]), str(path), input_names=inputs, output_names=["logits"],
                      dynamic_axes={**axes, "logits": {0: "batch"}}, opset_version=17, dynamo=False)


def encode_fields(tok, row, spec):
    """The `fields` joining, written down once more in the plainest way."""
    tok.encode_special_tokens = True
    parts = [tok.encode(row[f], add_special_tokens=False).ids for f in FIELDS]
    tok.encode_special_tokens = False
    over = sum(map(len, parts)) + len(FIELDS) + 1 - spec["max_tokens"]
    cut = {}
    for i in reversed(range(len(FIELDS))):
        gone = max(0, min(over, len(parts[i])))
        if gone:
            cut[FIELDS[i]] = gone
            parts[i] = parts[i][:len(parts[i]) - gone]
        over -= gone
    start, sep, end = (tok.token_to_id(spec[k]) for k in ("start", "separator", "end"))
    ids, types = [start], [spec["segments"][0]]
    for i, p in enumerate(parts):
        ids += p + [end if i == len(parts) - 1 else sep]
        types += [spec["segments"][i]] * (len(p) + 1)
    return ids, types, cut


def encode_text(tok, row, spec):
    """The `text` joining: Hugging Face tokenizes and truncates one string; offsets tell which field a token is of."""
    text = spec["separator"].join(row[f] for f in FIELDS)
    tok.enable_truncation(spec["max_tokens"])
    ids = tok.encode(text).ids
    tok.no_truncation()
    cut, begin = {}, 0
    whole = tok.encode(text)
    gone = whole.offsets[len(ids) - 1:-1] if len(whole.ids) > len(ids) else []
    for f in FIELDS:
        end = begin + len(row[f])
        n = sum(begin <= a < end for a, _ in gone)
        if n:
            cut[f] = n
        begin = end + len(spec["separator"])
    return ids, [spec["segments"][0]] * len(ids), cut


def feed(inputs, ids, types):
    all_inputs = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}
    return {k: np.array([all_inputs[k]], dtype=np.int64) for k in inputs}


def write_commands(out, manifest, recorded, tok):
    """Input and wanted output of `erreval identify --labels-only` and `erreval models tokenize --json`. For $TAXONOMY,
    which the program's tests put in, stands the default taxonomy of the day: the models are older than it."""
    def lines(name, objects):
        text = "".join(json.dumps(o, ensure_ascii=False, separators=(",", ":")) + "\n" for o in objects)
        (out / name).write_text(text, encoding="utf-8")

    cases = {c["id"]: c for c in recorded if c["join"] == "fields"}
    # Rows without a question are untagged: others stand in their place.
    cases = [cases[{"r03": "r05", "r04": "r15"}.get(i, i)] | {"id": i} for i in cases]
    rows = [{"id": c["id"], **c["fields"], "note": 1.50} for c in cases]
    tagged = []
    for row, c in zip(rows, cases):
        # A probability of 0.5 is a logit of 0.
        not_judged = [] if row["answer"].strip() else ["Off Target Answer"]
        labels = [l for l, x in zip(LABELS, c["ort"]) if l != "No Error" and x >= 0 and l not in not_judged] or ["No Error"]
        d = {"labels": labels, **({"not_judged": not_judged} if not_judged else {}),
             "model": f"{manifest['name']}@{manifest['version']}", "taxonomy": "$TAXONOMY"}
        if c["truncated"]:
            d["truncated"] = dict(sorted(c["truncated"].items()))
        tagged.append({**row, "diagnosis": d})
    lines("rows.jsonl", rows)
    lines("tagged.jsonl", tagged)
    lines("tokens.jsonl", [{"id": c["id"], "ids": c["ids"], "tokens": [tok.id_to_token(i) for i in c["ids"]],
                            "truncated": dict(sorted(c["truncated"].items()))} for c in cases])


def sha(path):
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def make(out, name, tok, model, inputs, spec, int8=False, cases=True):
    out.mkdir(parents=True, exist_ok=True)
    tok.save(str(out / "tokenizer.json"))
    tok.no_truncation()
    tok.no_padding()
    export(model, inputs, out / "model.onnx")
    if int8:
        with tempfile.TemporaryDirectory() as tmp:
            quantize_dynamic(str(out / "model.onnx"), f"{tmp}/q.onnx", weight_type=QuantType.QInt8)
            (out / "model.onnx").write_bytes(pathlib.Path(f"{tmp}/q.onnx").read_bytes())
    opts = onnxruntime.SessionOptions()
    opts.intra_op_num_threads = opts.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(out / "model.onnx"), opts, providers=["CPUExecutionProvider"])
    recorded = []
    for row in rows():
        for join, encode in (("fields", encode_fields), ("text", encode_text)):
            ids, types, cut = encode(tok, row["fields"], spec)
            f = feed(inputs, ids, types)
            case = {**row, "join": join, "ids": ids, "types": types, "truncated": cut,
                    "ort": [round(float(x), 6) for x in session.run(["logits"], f)[0][0]]}
            if not int8:
                with torch.no_grad():
                    t = model(**{k: torch.from_numpy(v) for k, v in f.items()}).logits[0]
                case["torch"] = [round(float(x), 6) for x in t]
            recorded.append(case)
    if cases:
        write(out / "cases.json", {"onnxruntime": onnxruntime.__version__, "torch": torch.__version__, "cases": recorded})
        write(out / "config.json", model.config.to_diff_dict())
    probes = [{"fields": c["fields"], "logits": c["ort"]} for c in recorded[:6] if c["join"] == "fields"]
    manifest = {
        "format": 1, "name": name, "version": "1", "architecture": model.config.model_type,
        "hidden_size": model.config.hidden_size, "layers": model.config.num_hidden_layers,
        "precision": "int8" if int8 else "fp32", "taxonomy": "question-generation@1.1", "labels": LABELS,
        "fields": FIELDS, "join": "fields", **spec, "activation": "sigmoid",
        "thresholds": {l: 0.5 for l in LABELS}, "inputs": inputs, "output": "logits",
        "files": {f: sha(out / f) for f in ("model.onnx", "tokenizer.json")},
        "licence": "Apache-2.0", "training_data": [], "quality": {}, "probes": probes,
    }
    if "token_type_ids" not in inputs:
        del manifest["segments"]
    if not cases:
        (out / "CARD.md").write_text("# Placeholder\n\nRandom weights: it tags nothing sensible. "
                                     "`make model` replaces it.\n", encoding="utf-8")
        manifest["files"]["CARD.md"] = sha(out / "CARD.md")
    write(out / "manifest.json", manifest)
    if out.name == "bert":
        write_commands(out, manifest, recorded, tok)


def verifier():
    """A model of one logit that reads bert's labels before the row, with torch's probabilities for bert's tagged rows."""
    out = HERE / "verifier"
    out.mkdir(exist_ok=True)
    tok = Tokenizer.from_file(str(HERE / "bert" / "tokenizer.json"))
    tok.no_truncation()
    tok.no_padding()
    tok.save(str(out / "tokenizer.json"))
    fields, label = ["labels", *FIELDS], "Right Labels"
    spec = {"separator": "[SEP]", "start": "[CLS]", "end": "[SEP]", "pad": "[PAD]", "segments": [0, 0, 1, 1], "max_tokens": 128}
    cfg = BertConfig(vocab_size=tok.get_vocab_size(), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                     intermediate_size=32, max_position_embeddings=128, type_vocab_size=2, pad_token_id=0, num_labels=1,
                     attn_implementation="eager")
    model, inputs = spread(BertForSequenceClassification(cfg), 5), ["input_ids", "attention_mask", "token_type_ids"]

    def logit(row):
        tok.encode_special_tokens = True
        parts = [tok.encode(row[f], add_special_tokens=False).ids for f in fields]
        over = sum(map(len, parts)) + len(parts) + 1 - spec["max_tokens"]
        for i in reversed(range(len(parts))):
            gone = max(0, min(over, len(parts[i])))
            parts[i], over = parts[i][:len(parts[i]) - gone], over - gone
        ids, types = [tok.token_to_id("[CLS]")], [0]
        for p, segment in zip(parts, spec["segments"]):
            ids, types = ids + p + [tok.token_to_id("[SEP]")], types + [segment] * (len(p) + 1)
        with torch.no_grad():
            return float(model(**{k: torch.tensor([v]) for k, v in zip(inputs, (ids, [1] * len(ids), types))}).logits[0, 0])

    rows = [json.loads(l) for l in (HERE / "bert" / "tagged.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = [{"labels": ", ".join(r["diagnosis"]["labels"]), **{f: r[f] for f in FIELDS}} for r in rows]
    first = [logit(t) for t in texts]  # far from 0 and close together: spread out around 0
    model.classifier.weight.data *= 100
    model.classifier.bias.data = (model.classifier.bias.data - float(np.mean(first))) * 100
    logits = [logit(t) for t in texts]
    export(model, inputs, out / "model.onnx")
    with (out / "verified.jsonl").open("w") as f:
        for r, x in zip(rows, logits):
            f.write(json.dumps({"id": r["id"], "probability": round(1 / (1 + float(np.exp(-x))), 6)}) + "\n")
    write(out / "manifest.json", {
        "format": 1, "name": "tiny-verifier", "version": "1", "architecture": "bert", "hidden_size": 16, "layers": 1,
        "precision": "fp32", "taxonomy": "question-generation-verifier@1.0", "labels": [label], "fields": fields, "join": "fields", **spec,
        "activation": "sigmoid", "thresholds": {label: 0.5}, "inputs": inputs, "output": "logits",
        "files": {f: sha(out / f) for f in ("model.onnx", "tokenizer.json")}, "licence": "Apache-2.0", "training_data": [],
        "quality": {}, "probes": [{"fields": t, "logits": [round(x, 6)]} for t, x in zip(texts[:3], logits)]})


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--placeholder", action="store_true", help="rewrite models/embedded/default with a random model")
    args.add_argument("--verifier", action="store_true", help="rewrite verifier alone")
    args = args.parse_args()
    torch.manual_seed(1)
    if args.verifier:
        return verifier()
    rob = {"separator": "</s>", "start": "<s>", "end": "</s>", "pad": "<pad>", "segments": [0, 0, 0], "max_tokens": 512}
    brt = {"separator": "[SEP]", "start": "[CLS]", "end": "[SEP]", "pad": "[PAD]", "segments": [0, 1, 1], "max_tokens": 128}
    three = ["input_ids", "attention_mask", "token_type_ids"]
    tok = roberta_tokenizer()
    make(HERE / "roberta", "tiny-roberta", tok, roberta(tok.get_vocab_size(), 514), three[:2], rob)
    tok = bert_tokenizer()
    make(HERE / "bert", "tiny-bert", tok, bert(tok.get_vocab_size(), 128), three, brt)
    tok = bert_tokenizer()
    make(HERE / "bert-int8", "tiny-bert-int8", tok, bert(tok.get_vocab_size(), 128), three, brt, int8=True)
    if args.placeholder:
        tok = bert_tokenizer()
        out = HERE.parent.parent / "models" / "embedded" / "default"
        make(out, "placeholder", tok, bert(tok.get_vocab_size(), 512, seed=13), three, {**brt, "max_tokens": 512},
             cases=False)


if __name__ == "__main__":
    main()
